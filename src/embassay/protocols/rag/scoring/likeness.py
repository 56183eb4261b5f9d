"""How alike the first documents of two runs are: what they share, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.measures.lists import tau_b
from embassay.protocols.rag.scoring.placed import NOBODY, Board, Placed
from embassay.protocols.rag.scoring.record import Likeness
from embassay.randomness import generator
from embassay.stats import percentile_interval
from embassay.stats.masked import resample_defined_means

Floats = NDArray[np.float64]
_COMPARED = 1 << 24
"""Documents compared at once: rows of queries are taken so that memory stays bounded."""


def likeness(board: Board, cutoffs: Sequence[int], *, resamples: int, seed: int) -> tuple[Likeness, ...]:
    """Overlap@K and Kendall's tau-b of every pair of runs at every cutoff, with bootstrap intervals over queries."""
    asked = [(a, b, k) for k in cutoffs for a, b in combinations(board.runs, 2)]
    if not asked:
        return ()
    columns = [column for a, b, k in asked for column in alike(a, b, k)]
    rng = generator(seed, "resample")
    means = resample_defined_means(np.column_stack(columns), n_resamples=resamples, rng=rng)
    return tuple(
        Likeness(
            a.name,
            b.name,
            k,
            *_shared(columns[2 * i], means[:, 2 * i]),
            *_order(columns[2 * i + 1], means[:, 2 * i + 1]),
        )
        for i, (a, b, k) in enumerate(asked)
    )


def alike(a: Placed, b: Placed, k: int) -> tuple[Floats, Floats]:
    """Overlap@`k` and tau-b of the common documents of two runs, one value per query; as `measures.overlap` and
    `measures.list_tau`."""
    first, second = a.documents[:, :k], b.documents[:, :k]
    step = max(1, _COMPARED // max(1, first.shape[1] * second.shape[1]))
    rows = range(0, len(first), step)
    parts = [_alike(first[row : row + step], second[row : row + step], k) for row in rows]
    return np.concatenate([one for one, _ in parts]), np.concatenate([other for _, other in parts])


def _alike(first: NDArray[np.int64], second: NDArray[np.int64], k: int) -> tuple[Floats, Floats]:
    same = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] != NOBODY)
    common = same.any(axis=2)
    place = np.where(common, same.argmax(axis=2) + 1.0, np.nan)
    rank = np.broadcast_to(np.arange(1.0, first.shape[1] + 1), first.shape)
    return common.sum(axis=1) / k, tau_b(rank, place)


def _shared(values: Floats, replicates: Floats) -> tuple[float, float, float, int]:
    return (float(values.mean()), *percentile_interval(replicates), len(values))


def _order(values: Floats, replicates: Floats) -> tuple[float | None, float | None, float | None, int]:
    n = int((~np.isnan(values)).sum())
    if not n:
        return None, None, None, 0
    low, high = percentile_interval(replicates)
    known = (None, None) if np.isnan(low) or n < 2 else (low, high)
    return float(np.nanmean(values)), *known, n
