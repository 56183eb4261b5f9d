"""The evaluation of each family, and the data that it takes from a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.contracts import Similarity
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.models import classification, reranking
from embassay.protocols.hume.models.classification import FewLabelled
from embassay.protocols.hume.models.described import with_method
from embassay.protocols.hume.models.items import labelled_texts, reranking_set, scored_pairs
from embassay.protocols.hume.models.training import training_of
from embassay.protocols.hume.study import Family, Item
from embassay.protocols.pteb.context import Context
from embassay.protocols.pteb.tasks import clustering, sts
from embassay.records import RerankingSet, ScoredPairs, TaskOutcome

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
        "reranking": reranking.evaluate,
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
