"""Means and correlations of resamples, which are given as counts: how often each of n items was drawn, (b, n).

A resample is never written out. So one product of counts and values gives the means of all resamples, and ranks come
from running sums of counts in the order of the values, without a sort per resample. A value that is NaN is missing: its
item counts for nothing. What is undefined in a resample is NaN there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def drawn_mean(counts: Floats, values: Floats) -> Floats:
    """The mean of `values` (n,) or (n, m) in every resample: (b,) or (b, m).

    >>> drawn_mean(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]]), np.array([1.0, 2.0, np.nan])).tolist()
    [1.5, 2.0]
    """
    defined = ~np.isnan(values)
    drawn = counts @ defined.astype(np.float64)
    return _divided(counts @ np.where(defined, values, 0.0), drawn)


def drawn_ranks(counts: Floats, values: Floats) -> Floats:
    """The rank of every value (n,) in every resample (b, n), from 1; equal values share the mean of their ranks, and an
    item drawn three times is three equal values.

    >>> drawn_ranks(np.array([[1.0, 1.0, 2.0]]), np.array([5.0, 7.0, 5.0])).tolist()
    [[2.0, 4.0, 2.0]]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    each = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.cumsum(each, axis=1) - (each - 1) / 2
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(values)]))
    return np.asarray(ranks[:, place])


def drawn_pearson(counts: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's correlation of `x` and `y` in every resample, (b,); each is (n,), or (b, n) where it differs between
    resamples, as ranks do. NaN where a side is constant."""
    total = counts.sum(axis=1, keepdims=True)
    left, right = _centred(counts, x, total), _centred(counts, y, total)
    products = (counts * left * right).sum(axis=1)
    squares = (counts * left**2).sum(axis=1) * (counts * right**2).sum(axis=1)
    # Ranks are halves of whole numbers; what is left of a constant side is rounding.
    scale = (counts * (left**2 + right**2)).sum(axis=1) ** 2
    found = _divided(products, np.sqrt(np.where(squares > 1e-20 * scale, squares, 0.0)))
    return np.clip(found, -1.0, 1.0)


def drawn_spearman(counts: Floats, x: Floats, y: Floats) -> Floats:
    """Spearman's correlation of `x` and `y` (n,) over the items where both are there, in every resample: (b,).

    >>> x, y = np.array([1.0, 2.0, 3.0, 3.0]), np.array([10.0, 30.0, 20.0, 40.0])
    >>> drawn_spearman(np.ones((1, 4)), x, y).round(4).tolist()
    [0.6325]
    """
    both = ~np.isnan(x) & ~np.isnan(y)
    kept = counts[:, both]
    if not both.any():
        return np.full(len(counts), np.nan)
    return drawn_pearson(kept, drawn_ranks(kept, x[both]), drawn_ranks(kept, y[both]))


def _centred(counts: Floats, values: Floats, total: Floats) -> Floats:
    return np.asarray(values - _divided((counts * values).sum(axis=1, keepdims=True), total))


def _divided(above: Floats, below: Floats) -> Floats:
    found = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found
