"""The compiled part of measures on resamples; imported only where they are asked for, because numba loads slowly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled

Counts = NDArray[np.int64]
Groups = NDArray[np.int64]


@compiled
def spearman_of_counts(x: Groups, y: Groups, counts: Counts) -> NDArray[np.float64]:
    """Rank correlation of every row of counts; `x` and `y` are the items' places among the distinct values."""
    values = np.empty(len(counts))
    ranks_x, ranks_y = np.empty(x.max() + 1), np.empty(y.max() + 1)
    for row in range(len(counts)):
        drawn = counts[row]
        spread = _centred_ranks(x, drawn, ranks_x) * _centred_ranks(y, drawn, ranks_y)
        together = 0.0
        for i in range(len(drawn)):
            together += drawn[i] * ranks_x[x[i]] * ranks_y[y[i]]
        values[row] = together / np.sqrt(spread) if spread > 0 else np.nan
    return values


@compiled
def _centred_ranks(group: Groups, drawn: Counts, ranks: NDArray[np.float64]) -> float:
    """Write each group's mean rank less the mean of all into `ranks`, and return the sum of their squares."""
    ranks[:] = 0.0
    total = 0
    for i in range(len(drawn)):
        ranks[group[i]] += drawn[i]
        total += drawn[i]
    below, squares = 0.0, 0.0
    for g in range(len(ranks)):
        size = ranks[g]
        ranks[g] = below + (size - total) / 2
        squares += size * ranks[g] * ranks[g]
        below += size
    return squares


@compiled
def average_precision_of_counts(
    order: NDArray[np.int64], last: NDArray[np.bool_], labels: NDArray[np.bool_], counts: Counts
) -> NDArray[np.float64]:
    """Average precision of every row of counts. `order` are the items by falling score, `last` marks those after
    which the score changes."""
    values = np.empty(len(counts))
    for row in range(len(counts)):
        drawn = counts[row]
        seen, hits, before, area = 0, 0, 0, 0.0
        for place in range(len(order)):
            item = order[place]
            seen += drawn[item]
            if labels[item]:
                hits += drawn[item]
            if last[place] and hits > before:
                area += (hits - before) * hits / seen
                before = hits
        values[row] = area / hits if hits else np.nan
    return values
