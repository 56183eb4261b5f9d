"""Data without what models may have been trained on, where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from embassay.protocols.hume.sampling.contamination import twins
from embassay.protocols.hume.sampling.drawn import pair_text
from embassay.records import Documents, LabelledTexts, RerankingSet, RetrievalSet, ScoredPairs


def without_leaked(data: Any, shape: str, trained: Sequence[str]) -> tuple[Any, int]:
    """The data in `shape` without texts, pairs or queries that `trained` has or nearly has, and how many they were."""
    if shape == "classification":
        test, left = without_leaked(data.test, "labelled", (*data.train.texts, *trained))
        return replace(data, test=test), left
    texts = _texts(data, shape)
    leaked = twins(texts, trained)
    kept = [place for place in range(len(texts)) if place not in leaked]
    return _only(data, kept), len(leaked)


def _texts(data: Any, shape: str) -> list[str]:
    if shape == "pairs":
        return [pair_text(one, other) for one, other in zip(data.first, data.second, strict=True)]
    if shape == "reranking":
        return [queries[0] for queries in data.queries]
    return list(data.queries.texts if shape == "retrieval" else data.texts)


def _only(data: Any, kept: Sequence[int]) -> Any:
    """The rows at these positions, in every column."""

    def of(column: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(column[place] for place in kept)

    if isinstance(data, ScoredPairs):
        return ScoredPairs(of(data.ids), of(data.first), of(data.second), data.scores[list(kept)])
    if isinstance(data, RerankingSet):
        return RerankingSet(of(data.ids), of(data.queries), of(data.candidates), of(data.relevance))
    if isinstance(data, RetrievalSet):
        return replace(data, queries=Documents(of(data.queries.ids), of(data.queries.texts)))
    return LabelledTexts(of(data.ids), of(data.texts), of(data.labels), of(data.sets))
