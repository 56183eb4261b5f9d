"""The end of a stack as its configuration wants it, on a bench: near copies out, reranked, boosted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.protocols.rag.sweep.bench import Bench
from embassay.protocols.rag.sweep.candidates import Ending, Listed, Score
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.parts import Parts


class RerankerFailed(Exception):
    """A reranker could not be had, or did not score."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _scoring(parts: Parts, name: str, *, cached: bool) -> Score:
    """A reranker's scores, from the cache or afresh; one that fails is not asked again."""
    try:
        kept = parts.reranker(name)
    except ModelError as error:
        raise RerankerFailed(error.message) from error
    ask = kept.score if cached else kept.reranker.score

    def score(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return ask(query, texts)
        except ModelError as error:
            parts.give_up("reranker", name, error)
            raise RerankerFailed(error.message) from error

    return score


def ending_of(bench: Bench, one: Configuration, *, cached: bool) -> Ending:
    """What is done with candidates; `cached` scores come from the cache where it has them. Here and in its calls,
    RerankerFailed for a reranker that fails."""
    score = None if one.reranker == NONE else _scoring(bench.parts, one.reranker, cached=cached)
    words = bench.words if one.boost else None
    return Ending(bench.passages, words, score, one.deduplicate, one.boost)


def first(listed: Listed, k: int) -> Listed:
    """The first `k` of a list."""
    return listed[0][:k], listed[1][:k]
