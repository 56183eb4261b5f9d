"""How far each item moves a score: the linear part of a mean, of Spearman's correlation, of average precision.

An influence is what the score changes by per weight that an item gets more, where that is little; those of all items
have the weighted mean 0. Sums of them are what estimators of means can handle, where the score itself is no mean.
Source: Hampel 1974 (influence curves); Efron 1982, chapter 6 (the infinitesimal jackknife).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ScoreWithInfluence(NamedTuple):
    """A score on weighted items, and how far each moves it, (n,); NaN and zeros where the score is undefined."""

    value: float
    influence: Floats


def mean_with_influence(values: Floats, weight: Floats) -> ScoreWithInfluence:
    """The mean of `values` (n,) with the `weight` of each (n,), 0 or more.

    >>> mean_with_influence(np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 0.0]))
    ScoreWithInfluence(value=0.5, influence=array([-0.5,  0.5,  4.5]))
    """
    total = weight.sum()
    if not total > 0:
        return _make_nan_score_without_influence(len(values))
    mean = float(weight @ values / total)
    return ScoreWithInfluence(mean, values - mean)


def spearman_with_influence(first: Floats, second: Floats, weight: Floats) -> ScoreWithInfluence:
    """Spearman's correlation of `first` and `second`, (n,) each; equal values share the mean of their ranks.

    >>> linear = spearman_with_influence(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.ones(3))
    >>> round(linear.value, 3), linear.influence.round(2).tolist()
    (0.5, [1.5, -0.75, -0.75])
    """
    total = weight.sum()
    if not total > 0:
        return _make_nan_score_without_influence(len(first))
    share = weight / total
    u, w = (_compute_centred_ranks(values, share) for values in (first, second))
    spread_u, spread_w, shared = float(share @ u**2), float(share @ w**2), float(share @ (u * w))
    if spread_u * spread_w <= 1e-18:
        return _make_nan_score_without_influence(len(first))
    rho = shared / (spread_u * spread_w) ** 0.5
    # An item counts by its own ranks, and by what it does to the ranks of those above it.
    together = (
        u * w
        + _sum_over_higher_and_half_of_equal(first, w, share)
        + _sum_over_higher_and_half_of_equal(second, u, share)
        - 3 * shared
    )
    alone_u = u**2 + 2 * _sum_over_higher_and_half_of_equal(first, u, share) - 3 * spread_u
    alone_w = w**2 + 2 * _sum_over_higher_and_half_of_equal(second, w, share) - 3 * spread_w
    influence = together / (spread_u * spread_w) ** 0.5
    influence -= rho / 2 * (alone_u / spread_u + alone_w / spread_w)
    return ScoreWithInfluence(rho, influence)


def average_precision_with_influence(labels: Floats, scores: Floats, weight: Floats) -> ScoreWithInfluence:
    """Average precision of `labels` (0 or 1) by `scores`, (n,) each; equal scores are taken together.

    >>> linear = average_precision_with_influence(np.array([1.0, 0, 1]), np.array([0.9, 0.5, 0.1]), np.ones(3))
    >>> round(linear.value, 4), linear.influence.round(2).tolist()
    (0.8333, [0.42, -0.33, -0.08])
    """
    total = weight.sum()
    if not total > 0:
        return _make_nan_score_without_influence(len(scores))
    share, hit = weight / total, (labels > 0).astype(np.float64)
    positive = float(share @ hit)
    if not positive > 0:
        return _make_nan_score_without_influence(len(scores))
    reached, of_hits = (_sum_over_equal_or_higher(scores, share * part) for part in (np.ones_like(hit), hit))
    # A hit of no weight above all others would be the first.
    precision = np.divide(of_hits, reached, out=hit.copy(), where=reached > 0)
    summed = float(share @ (hit * precision))
    # At each hit, what an item at or above it does to the precision there.
    per_hit = np.divide(share * hit, reached, out=np.zeros_like(reached), where=reached > 0)
    gained = hit * _sum_over_equal_or_lower(scores, per_hit) - _sum_over_equal_or_lower(scores, per_hit * precision)
    value = summed / positive
    influence = (hit * precision - summed + gained) / positive - value * (hit - positive) / positive
    # Of the sum, the part that is in every item's share.
    return ScoreWithInfluence(value, influence - float(share @ influence))


def _make_nan_score_without_influence(n: int) -> ScoreWithInfluence:
    return ScoreWithInfluence(float("nan"), np.zeros(n))


def _compute_centred_ranks(values: Floats, share: Floats) -> Floats:
    """The share of what is lower and half of what is equal, less a half."""
    below = 1.0 - _sum_over_equal_or_higher(values, share)
    return below + _sum_over_equal_values(values, share) / 2 - 0.5


def _sum_over_higher_and_half_of_equal(values: Floats, of: Floats, share: Floats) -> Floats:
    """For each item the sum of `of` over those above it, and half of that over those equal to it, by their share."""
    weighed = share * of
    return _sum_over_equal_or_higher(values, weighed) - _sum_over_equal_values(values, weighed) / 2


def _sum_over_equal_or_higher(values: Floats, summed: Floats) -> Floats:
    """For each item the sum over those with its value or a higher one."""
    _, place = np.unique(values, return_inverse=True)
    by_value = np.bincount(place, weights=summed)
    return np.asarray(np.cumsum(by_value[::-1])[::-1][place])


def _sum_over_equal_or_lower(values: Floats, summed: Floats) -> Floats:
    _, place = np.unique(values, return_inverse=True)
    return np.asarray(np.cumsum(np.bincount(place, weights=summed))[place])


def _sum_over_equal_values(values: Floats, summed: Floats) -> Floats:
    _, place = np.unique(values, return_inverse=True)
    return np.asarray(np.bincount(place, weights=summed)[place])
