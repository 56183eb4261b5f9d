"""Bootstrap replicates of statistics that are no function of means, from how often each item was drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.measures.summary import counted_spearman
from embassay.protocols.kernel.estimates import Estimate
from embassay.protocols.kernel.inputs import Context
from embassay.stats.resampling import resampled_rows, row_counts

_DRAWS = 1 << 18

OfCounts = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Drawn:
    """Replicates, (resamples,), and how many units with an item that counts were drawn."""

    replicates: NDArray[np.float64]
    units: int


def drawn(
    statistic: OfCounts,
    context: Context,
    purpose: str,
    *,
    lost: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
) -> Drawn:
    """`statistic` (counts (b, n) -> (b,)) on each of the run's resamples of the n items, or of `groups` of them (n,).

    Lost items are drawn like the others, so that systems that lost different ones stay paired, and then count 0.
    No replicates, for no interval, where there are fewer than two units.
    """
    of_item = np.arange(len(lost)) if groups is None else groups
    units, many = len(set(of_item[~lost].tolist())), int(of_item.max(initial=-1)) + 1
    if units < 2:
        return Drawn(np.empty(0), units)
    parts = []
    for rows in resampled_rows(many, context.resamples, context.stream(purpose), most=_DRAWS // len(lost)):
        counts = row_counts(rows) if groups is None else row_counts(rows)[:, groups]
        counts[:, lost] = 0
        parts.append(statistic(counts))
    return Drawn(np.concatenate(parts), units)


def correlated(
    similar: NDArray[np.float64],
    gold: NDArray[np.float64],
    context: Context,
    purpose: str,
    *,
    groups: NDArray[np.int64] | None = None,
    method: str,
) -> Estimate | str:
    """Spearman's correlation of `similar` and `gold`, (n,); the reason where it is not defined.

    Items whose `similar` is NaN are lost. `groups` (n,) are the items that are drawn together, 0 .. m - 1.
    """
    lost = np.isnan(similar)
    kept = ~lost
    if kept.sum() < 2:
        return f"{int(kept.sum())} left, too few for a correlation"
    for name, values in (("similarity", similar[kept]), ("human score", gold[kept])):
        if (values == values[0]).all():
            return f"the {name} does not vary"

    def statistic(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return counted_spearman(similar, gold, counts)

    value = float(statistic(kept[None, :].astype(np.int64))[0])
    found = drawn(statistic, context, purpose, lost=lost, groups=groups)
    return Estimate(value, int(kept.sum()), found.replicates, method, units=found.units)
