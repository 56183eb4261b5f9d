"""How good final lists are: values per query, the ceilings of their pools, and the signals that routing looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from embassay.measures import evaluate_graded
from embassay.measures.ceiling import Companion
from embassay.measures.graded import ABSENT, UNJUDGED, Graded
from embassay.protocols.rag.sweep.collection import Collection

Floats = NDArray[np.float64]
MARGIN_RANK = 10
ENTROPY_OF = 50


def graded(collection: Collection, lists: Sequence[Sequence[int]], pools: Sequence[Sequence[int]]) -> Graded:
    """Rankings of documents (positions, each once) and the pools they are from, by grade."""
    width = max((len(one) for one in lists), default=0)
    top = np.full((len(lists), max(1, width)), ABSENT, dtype=np.int8)
    pool = np.zeros((len(lists), 5), dtype=np.int64)
    for row, (own, ranked, candidates) in enumerate(zip(collection.grades, lists, pools, strict=True)):
        top[row, : len(ranked)] = [own.get(place, UNJUDGED) for place in ranked]
        for place in set(candidates):
            if place in own:
                pool[row, own[place] - 1] += 1
    sizes = np.array([len(set(one)) for one in pools], dtype=np.int64)
    return Graded(collection.counts, top, pool, pool_sizes=sizes, names=collection.query_ids)


def quality(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """Each query's value of each measure, (q,), NaN where it is undefined."""
    return evaluate_graded(list(measures), lists)


def ceilings(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """What the best set from each pool reaches (PROC), by the measure that it bounds; spec rag 1.6."""
    bounded = {one: _ceiling(one) for one in measures}
    wanted = {one: proc for one, proc in bounded.items() if proc}
    values = evaluate_graded(list(wanted.values()), lists)
    return {one: values[proc] for one, proc in wanted.items()}


def _ceiling(measure: str) -> str:
    name, _, cutoff = measure.rpartition("@")
    return f"PROC(of={name!r})@{cutoff}" if name in get_args(Companion) else ""


def margins(scores: Sequence[Sequence[float]]) -> Floats:
    """The first score less the tenth of each list, (q,); NaN for a shorter one. Spec rag 3.5."""
    return np.array(
        [one[0] - one[MARGIN_RANK - 1] if len(one) >= MARGIN_RANK else np.nan for one in scores],
        dtype=np.float64,
    )


def entropies(scores: Sequence[Floats | None]) -> Floats:
    """How undecided a reranker is on the first 50 candidates, (q,): the entropy of the softmax of its scores over its
    maximum, 0 to 1; NaN where there is none or fewer than two. Spec rag 3.5.

    >>> float(entropies([np.array([2.0, 1.0, 0.0, 0.0])])[0].round(6))
    0.756481
    """
    return np.array([_entropy(one) for one in scores], dtype=np.float64)


def _entropy(scores: Floats | None) -> float:
    if scores is None or len(scores) < 2:
        return float("nan")
    first = scores[:ENTROPY_OF]
    weights = np.exp(first - first.max())
    share = weights / weights.sum()
    there = share[share > 0]
    return float(-(there * np.log(there)).sum() / np.log(len(first)))


def index_recall(
    exact: Sequence[Sequence[int]], own: Sequence[Sequence[int]], cutoffs: Sequence[int]
) -> Mapping[int, float]:
    """By cutoff, the mean share of the exact first K that an index has among its own first K.

    >>> index_recall([[1, 2]], [[2, 3]], [2])
    {2: 0.5}
    """
    return {
        k: float(
            np.mean([len({*a[:k]} & {*b[:k]}) / max(1, len(a[:k])) for a, b in zip(exact, own, strict=True)])
        )
        for k in cutoffs
    }
