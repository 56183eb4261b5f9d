"""Kappas and measures of groups in resamples, which are given as counts of items (b, n), from tables of counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def indicators(values: Sequence[Hashable]) -> Floats:
    """A column per distinct value, 1 where an item has it; items without one (None) are in no column: (n, k)."""
    places = {value: place for place, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    found = np.zeros((len(values), len(places)))
    for item, value in enumerate(values):
        if value is not None:
            found[item, places[value]] = 1
    return found


def drawn_fleiss(counts: Floats, votes: Floats) -> Floats:
    """Fleiss' kappa in every resample, (b,), of `votes` (n, k): how many raters gave item i the label j, as many for
    every item. NaN where all ratings are one label."""
    size = float(votes[0].sum())
    drawn = counts.sum(axis=1)
    alike = counts @ (votes * (votes - 1)).sum(axis=1)
    together = counts @ votes
    n = drawn * size
    with np.errstate(invalid="ignore", divide="ignore"):
        observed, expected = alike / (n * (size - 1)), (together**2).sum(axis=1) / n**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def drawn_cohen(counts: Floats, one: Floats, other: Floats) -> Floats:
    """Cohen's kappa of two raters in every resample, (b,), from their indicators over the same labels (n, k); an item
    that either left out must have a row of zeros. NaN where both gave one and the same label only, or nothing."""
    both = one.sum(axis=1) * other.sum(axis=1)
    drawn = counts @ both
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = ((counts @ (one * both[:, None])) * (counts @ (other * both[:, None]))).sum(
            axis=1
        ) / drawn**2
        observed = counts @ (one * other).sum(axis=1) / drawn
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def drawn_ari(counts: Floats, one: Floats, other: Floats) -> Floats:
    """The adjusted Rand index of two partitions (indicators, (n, k) and (n, l)) in every resample, (b,).

    Two draws of one item are no pair: they lie together in both partitions whoever made these, and would raise the
    index of every resample. NaN where no pair is apart in either, or together in either.
    """
    kept = counts * (one.sum(axis=1) * other.sum(axis=1))
    again = _pairs(kept).sum(axis=1)
    total = _pairs(kept.sum(axis=1)) - again
    cells = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
    both = _pairs(kept @ cells[:, cells.any(axis=0)]).sum(axis=1) - again
    left, right = _pairs(kept @ one).sum(axis=1) - again, _pairs(kept @ other).sum(axis=1) - again
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = left * right / total
        most = (left + right) / 2
        return np.where(most > expected, (both - expected) / (most - expected), np.nan)


def drawn_v_measure(counts: Floats, one: Floats, other: Floats) -> Floats:
    """V-measure (beta 1) of two partitions (indicators, (n, k) and (n, l)) in every resample, (b,); 0 where either is
    one group, as in a human score. NaN where no item is in both.

    Copies of an item lie together in both, so the mean over resamples is above the value of the items themselves.
    """
    kept = counts * (one.sum(axis=1) * other.sum(axis=1))
    total = kept.sum(axis=1)
    cells = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
    left, right = _entropy(kept @ one, total), _entropy(kept @ other, total)
    shared = np.maximum(left + right - _entropy(kept @ cells[:, cells.any(axis=0)], total), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # 2hc / (h + c) with h = shared / left and c = shared / right
        found = np.where((left > 1e-12) & (right > 1e-12), 2 * shared / (left + right), 0.0)
    return np.where(total > 0, found, np.nan)


def _pairs(sizes: Floats) -> Floats:
    return sizes * (sizes - 1) / 2


def _entropy(sizes: Floats, total: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sizes / total[:, None]
        return np.asarray(-np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=1))
