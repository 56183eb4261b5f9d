"""Bootstrap replicates of statistics that are no function of means, from how often each item was drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from semblance.measures.counted import counted_spearman
from semblance.protocols.context import Context
from semblance.protocols.estimates import Estimate
from semblance.stats.bootstrap import resampled_rows, row_counts

_DRAWS = 1 << 18

OfCounts = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def replicates(
    statistic: OfCounts, n: int, context: Context, purpose: str, *, lost: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """`statistic` (counts (b, n) -> (b,)) on each of the run's resamples of n units, (resamples,).

    Lost units are drawn like the others, so that systems that lost different ones stay paired, and then count 0.
    Empty, for no interval, where there are fewer than two units.
    """
    if n - (0 if lost is None else int(lost.sum())) < 2:
        return np.empty(0)
    parts = []
    for rows in resampled_rows(n, context.resamples, context.stream(purpose), most=_DRAWS // n):
        counts = row_counts(rows)
        if lost is not None:
            counts[:, lost] = 0
        parts.append(statistic(counts))
    return np.concatenate(parts)


def correlated(
    similar: NDArray[np.float64],
    gold: NDArray[np.float64],
    context: Context,
    purpose: str,
    *,
    within: NDArray[np.int64] | None = None,
    method: str,
) -> Estimate | str:
    """Spearman's correlation of `similar` and `gold`, (n,); the reason where it is not defined.

    Items whose `similar` is NaN are lost. `within` is the cluster of each item, 0 .. m - 1, where clusters are what
    is drawn.
    """
    lost = np.isnan(similar)
    kept = ~lost
    if kept.sum() < 2:
        return f"{int(kept.sum())} left, too few for a correlation"
    for name, values in (("similarity", similar[kept]), ("human score", gold[kept])):
        if (values == values[0]).all():
            return f"the {name} does not vary"

    def statistic(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = counts if within is None else counts[:, within]
        if within is not None:
            drawn[:, lost] = 0
        return counted_spearman(similar, gold, drawn)

    value = float(counted_spearman(similar, gold, kept[None, :].astype(np.int64))[0])
    units, gone = (len(similar), lost) if within is None else (int(within.max()) + 1, None)
    return Estimate(value, int(kept.sum()), replicates(statistic, units, context, purpose, lost=gone), method)
