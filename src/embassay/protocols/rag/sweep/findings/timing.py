"""Percentiles of times: p50 of what is usual for a query, p95 of all that was seen (spec rag 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.sweep.findings.record import Time

Floats = NDArray[np.float64]

FEW = 20
"""Under so many samples a 95th percentile is hardly more than the largest."""
MEDIAN = 50.0


def percentile_of(samples: Floats, percentile: float) -> float:
    """A percentile of times (sessions, queries), linear between samples.

    The 50th is the median over sessions per query, then over queries: a slow session does not move it. Any other is
    over all samples, for a slow session is what it is to show.

    >>> percentile_of(np.array([[1.0, 5.0], [9.0, 5.0], [3.0, 5.0]]), 50)
    4.0
    """
    if percentile == MEDIAN:
        return float(np.median(np.median(samples, axis=0)))
    return float(np.percentile(samples, percentile))


def resampled(samples: Floats, percentile: float, drawn: NDArray[np.int64]) -> Floats:
    """The same for resamples of queries, `drawn` (B, queries): (B,)."""
    if percentile == MEDIAN:
        return np.asarray(np.median(np.median(samples, axis=0)[drawn], axis=1))
    whole = samples[:, drawn].transpose(1, 0, 2).reshape(len(drawn), -1)
    return np.asarray(np.percentile(whole, percentile, axis=1))


def jitter_of(samples: Sequence[Floats], percentile: float) -> float | None:
    """By how much times of one stack differ from session to session: the 95th percentile of the differences of two
    sessions, over stacks, each (sessions, queries) in ms. None where no stack has two sessions.

    >>> jitter_of([np.array([[1.0, 3.0], [2.0, 5.0]]), np.array([[4.0], [4.0]])], 50)
    1.4249999999999998
    """
    found: list[float] = []
    for one in samples:
        levels = np.percentile(one, percentile, axis=1)
        found += [abs(a - b) for a, b in combinations(levels.tolist(), 2)]
    return float(np.percentile(found, 95)) if found else None


def time_of(stage: str, samples: Floats) -> Time:
    """A stage's time, from (sessions, queries)."""
    p50, p95 = percentile_of(samples, MEDIAN), percentile_of(samples, 95.0)
    return Time(stage, p50, p95, samples.size, samples.shape[1], samples.size < FEW)


def mean_time(times: list[Time]) -> Time:
    """The mean over datasets; samples are counted together."""
    samples = sum(one.samples for one in times)
    return Time(
        times[0].stage, float(np.mean([one.p50 for one in times])), float(np.mean([one.p95 for one in times])),
        samples, sum(one.queries for one in times), any(one.few for one in times),
    )  # fmt: skip
