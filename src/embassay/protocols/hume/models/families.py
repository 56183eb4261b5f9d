"""The evaluation of each family on the items that people annotated, and the data it takes (spec hume 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embassay.contracts import Similarity
from embassay.errors import DataError
from embassay.protocols.hume.folder.files import Task
from embassay.protocols.hume.models import classification
from embassay.protocols.hume.models.classification import FewLabelled, training_of
from embassay.protocols.hume.study import Family, Item
from embassay.protocols.tasks import clustering, reranking, sts
from embassay.protocols.tasks.comparison import nearest
from embassay.protocols.tasks.task import Context
from embassay.records import LabelledTexts, RerankingSet, ScoredPairs, TaskOutcome

VECTORS: frozenset[Family] = frozenset({"classification", "clustering"})
"""Families that take vectors: a system without them does these by another method (design.md)."""
Evaluate = Callable[[Similarity, Any, Context], TaskOutcome]


@dataclass(frozen=True)
class Settings:
    """What the evaluations can be told: `per_label` None as in the paper."""

    per_label: int | None = None
    repeats: int = 10


def evaluation(family: Family) -> Evaluate:
    """How a family is evaluated: its headline is the family's main measure."""
    every: Mapping[Family, Evaluate] = {
        "classification": classification.evaluate,
        "clustering": clustering.evaluate,
        "reranking": evaluate,
        "sts": _pairs,
    }
    return every[family]


def data_of(task: Task, items: Sequence[Item], gold: Mapping[str, Any], settings: Settings) -> Any:
    """The items with gold in the form that the family's evaluation takes. DataError for items that lack a text, and
    where there is nothing to train on."""
    if task.family == "sts":
        return scored_pairs(items, gold)
    if task.family == "reranking":
        return reranking_set(items, gold)
    texts = labelled_texts(items, gold)
    if task.family == "clustering":
        return texts
    labels = tuple(str(label.value) for label in task.labels) or tuple(sorted(set(texts.labels)))
    training = training_of(task, items, settings.per_label)
    known = tuple(dict.fromkeys((*labels, *sorted(set(training.rows.labels)))))
    return FewLabelled(texts, training, known, settings.repeats, task.name)


def fingerprint_of(data: Any) -> str:
    """What besides the study itself the scores depend on: the source of training texts."""
    return data.training.fingerprint if isinstance(data, FewLabelled) else ""


def texts_of(data: Any) -> list[str]:
    """Every text that a system sees, for sizes and speed; of training texts as many as one repeat draws."""
    if isinstance(data, FewLabelled):
        each = data.training.per_label * len(set(data.training.rows.labels))
        return [*data.training.rows.texts[: each * data.repeats], *data.test.texts]
    if isinstance(data, ScoredPairs):
        return [*data.first, *data.second]
    if isinstance(data, RerankingSet):
        return [text for group in (*data.queries, *data.candidates) for text in group]
    return list(data.texts)


def _pairs(system: Similarity, data: ScoredPairs, context: Context) -> TaskOutcome:
    return with_method(sts.evaluate(system, data, context), lambda method: f"similarity, {method}")


def labelled_texts(items: Sequence[Item], gold: Mapping[str, Any]) -> LabelledTexts:
    """Texts with their gold label or cluster, as one set."""
    return LabelledTexts(
        tuple(item.id for item in items),
        tuple(_text(item, "text") for item in items),
        tuple(str(gold[item.id]) for item in items),
        ("",) * len(items),
    )


def scored_pairs(items: Sequence[Item], gold: Mapping[str, Any]) -> ScoredPairs:
    """Pairs of texts with their gold rating."""
    return ScoredPairs(
        tuple(item.id for item in items),
        tuple(_text(item, "text1") for item in items),
        tuple(_text(item, "text2") for item in items),
        np.array([gold[item.id] for item in items], dtype=np.float64),
    )


def reranking_set(items: Sequence[Item], gold: Mapping[str, Any]) -> RerankingSet:
    """Queries with their candidates in the order shown, and the gold grades of these."""
    return RerankingSet(
        tuple(item.id for item in items),
        tuple((_text(item, "query"),) for item in items),
        tuple(_documents(item, len(gold[item.id])) for item in items),
        tuple(np.array(gold[item.id], dtype=np.float64) for item in items),
    )


def _text(item: Item, name: str) -> str:
    value = item.payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f"Item {item.id} of {item.task} has no {name}.", mend="Give the study as it was sampled."
        )
    return value


def _documents(item: Item, grades: int) -> tuple[str, ...]:
    documents = item.payload.get("documents")
    texts = [one.get("text") for one in documents or () if isinstance(one, Mapping)]
    # An empty document is one that people saw, too: only what is no text is a fault.
    if len(texts) != grades or not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"Item {item.id} of {item.task} has {len(texts)} documents and {grades} grades.",
            mend="Give the study as it was sampled.",
        )
    return tuple(map(str, texts))


HEADLINE = reranking.HEADLINE
SCORE = "similarity"
TIES = "equal similarities: irrelevant first"


def evaluate(system: Similarity, data: RerankingSet, context: Context) -> TaskOutcome:
    """Score one system; items are the `ap` of each query, and the `similarity` of each of its documents, whose place
    in the order shown is the variant."""
    similar = nearest(system, data.queries, data.candidates)
    found = reranking.evaluated(system, data, similar, context)
    columns = {name: list(values) for name, values in found.items.items()}
    for query, values in zip(data.ids, similar, strict=True):
        for place, value in enumerate(values.tolist()):
            for name, entry in zip(columns, (query, f"document={place}", SCORE, value), strict=True):
                columns[name].append(None if entry != entry else entry)
    return with_method(replace(found, items=columns), lambda method: f"similarity, {TIES}, {method}")


def with_method(found: TaskOutcome, said: Callable[[str], str]) -> TaskOutcome:
    """The outcome with what `said` makes of the method of every row that has one."""
    scores = tuple(replace(one, method=said(one.method)) if one.method else one for one in found.scores)
    return replace(found, scores=scores)
