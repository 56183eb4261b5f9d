"""Whether the place at which a passage is shown moves its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.engine import Call, Candidate
from embassay.protocols.rag.ranking.report.judged import Judged, over_queries
from embassay.protocols.rag.ranking.starting import starting_scores
from embassay.stats import Estimate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """By how many places of the answer a passage does better (above 0) than the grades have it, by the place at which
    it is shown: `gains` of the first place, the second ...; they sum to 0. `lift` is what the first place gains over
    the last along the straight line through all: 0 for a judge that does not care. Over `calls` of `batch` passages.

    A bias shows only where the order shown is random, as `locks` and `bayes` have it.
    """

    batch: int
    calls: int
    gains: tuple[Estimate, ...]
    lift: Estimate


def place_gains(queries: Sequence[Judged], *, seed: int = 0) -> Places | None:
    """Estimate the gains from the answers to batches of the commonest size; None where there are no answers, or where
    most of them show passages by fusion rank or by grade: then a place says something of what stands there.

    Intervals resample queries; those of a single query its answers.
    """
    sizes = Counter(len(call.shown) for query in queries for call in query.calls)
    if not sizes:
        return None
    batch = max(sizes, key=lambda size: (sizes[size], size))
    sorted_ = [_is_sorted(call, query.candidates) for query in queries for call in query.calls]
    if 2 * sum(sorted_) > len(sorted_):
        return None
    by_query = [
        [_gains(call, scores) for call in query.calls if len(call.shown) == batch]
        for query in queries
        for scores in [np.array(starting_scores(query.candidates))]
    ]
    groups = by_query if len(queries) > 1 else [[gains] for gains in by_query[0]]
    rows = [[*np.sum(gains, axis=0), len(gains)] for gains in groups if gains]
    calls = sizes[batch]
    weights = [*np.eye(batch), _line(batch)]
    *gains, lift = (
        over_queries(rows, partial(_weighted, weights=one), calls, f"place {place}", seed)
        for place, one in enumerate(weights)
    )
    return Places(batch, calls, tuple(gains), lift)


def _weighted(means: Floats, weights: Floats) -> Floats:
    """A weighted sum of the gains per answer, (..., batch + 1) -> (...); the last column counts answers."""
    return np.asarray(means[..., :-1] @ weights / means[..., -1])


def _is_sorted(call: Call, candidates: Sequence[Candidate]) -> bool:
    """Whether passages were shown by fusion rank, or from the best grade to the worst."""
    ranks = [candidates[position].rank for position in call.shown]
    grades = [candidates[position].grade for position in call.shown]
    known = [grade for grade in grades if grade is not None]
    varied = len(known) == len(grades) and len(set(known)) > 1
    return ranks == sorted(ranks) or (varied and known == sorted(known, reverse=True))


def _gains(call: Call, scores: Floats) -> Floats:
    """What each passage shown gains over its expected place, in the order shown, (batch,)."""
    shown = scores[list(call.shown)]
    above, below = shown[None, :] > shown[:, None], shown[None, :] < shown[:, None]
    expected = (above.sum(axis=1) + len(shown) - 1 - below.sum(axis=1)) / 2
    place = {position: number for number, position in enumerate(call.order)}
    return np.asarray(expected - np.array([place[position] for position in call.shown]))


def _line(batch: int) -> Floats:
    """Weights (batch,) that make of gains what a straight line through them falls from the first place to the last."""
    centred = (batch - 1) / 2 - np.arange(batch)
    return np.asarray(centred * (batch - 1) / max(1.0, float(centred @ centred)))
