"""The items of a study's task as the records that systems are evaluated on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from embassay.errors import DataError
from embassay.protocols.hume.study import Item
from embassay.records import LabelledTexts, RerankingSet, ScoredPairs


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
