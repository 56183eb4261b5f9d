"""The answers about one query's pool, and estimates over queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.engine import Call, Candidate
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval, resample_means

RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """A query's candidates and all answers about them."""

    candidates: tuple[Candidate, ...]
    calls: tuple[Call, ...]

    def wins(self) -> NDArray[np.int64]:
        """How often i was put before j, (n, n)."""
        wins = np.zeros((len(self.candidates), len(self.candidates)), dtype=np.int64)
        for call in self.calls:
            order = np.array(call.order, dtype=np.intp)
            above, below = np.triu_indices(len(order), 1)
            wins[order[above], order[below]] += 1
        return wins


def over_queries(
    columns: Sequence[Sequence[float]], statistic: Callable[[Floats], Floats], n: int, name: str, seed: int
) -> Estimate:
    """A smooth function of column sums (queries, columns), with its interval by resampling queries (rows).

    `statistic` maps means of columns (..., columns) to values (...); `n` is the number of items behind the estimate.
    """
    rows = np.asarray(columns, dtype=np.float64)
    value = float(statistic(rows.mean(axis=0)))
    if len(rows) < 2:
        return Estimate(value, float("nan"), float("nan"), n, "no interval from one query")
    rng = generator(seed, "ranking report", name)
    replicates = np.asarray(statistic(resample_means(rows, n_resamples=RESAMPLES, rng=rng)))
    return Estimate(value, *percentile_interval(replicates), n, "bootstrap over queries")


def ratio(columns: Floats) -> Floats:
    """The first column over the second, (..., 2) -> (...); NaN where the second is 0."""
    above, below = columns[..., 0], columns[..., 1]
    return np.asarray(np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0))
