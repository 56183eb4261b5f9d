"""What is believed before a judge was asked: utilities from grades, and the judge's sharpness and grades' reliability.

Utilities z have unit variance in the pool; the judge orders by scores A z (in units of its own Gumbel noise), so A is
its sharpness. A grade says in which interval a noisy copy of z lies: y = rho z + sqrt(1 - rho^2) e. Where the intervals
are cut is learned from how frequent each grade is in the pool, so grades are only an order: any increasing relabelling
changes nothing. A passage without a grade could lie anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARPNESS: Floats = 0.35 * np.sqrt(2.0) ** np.arange(15)
"""A = 0.35 .. 44.8. About 14, 4 and 1.8 turn 3, 10 and 20 % of a pool's pairs."""
RELIABILITY: Floats = np.array([0.0, 0.3, 0.5, 0.65, 0.75, 0.82, 0.88, 0.93, 0.96])
"""rho: the correlation of what the grader saw with what the judge orders by."""


@dataclass(frozen=True)
class Spread:
    """Mean and variance of each candidate's noisy utility y, (n,): of a standard normal within its grade's cuts."""

    mean: Floats
    variance: Floats

    @property
    def says_nothing(self) -> bool:
        """Whether grades tell no candidate from another: none is graded, or all are alike."""
        return bool((self.variance == 1.0).all())

    @property
    def says_little(self) -> bool:
        """Whether grades leave more than half of all pairs equal."""
        counts = np.unique(self.mean, return_counts=True)[1]
        return bool((counts**2).sum() > len(self.mean) ** 2 / 2)

    def borders(self, top: int) -> tuple[int, ...]:
        """The places whose two sides are to be told apart: `top`, and where that falls among equals that are more than
        half of the pool, also the place before those, at which grades say that relevance ends."""
        if not 0 < top < len(self.mean):
            return (top,)
        last = np.sort(self.mean)[::-1][top - 1]
        above, equal = np.count_nonzero(self.mean > last), np.count_nonzero(self.mean == last)
        return (int(above), top) if above and 2 * equal > len(self.mean) else (top,)


def spread_of_grades(grades: Sequence[int | None]) -> Spread:
    """Of grades (higher is better), the moments of a standard normal within the quantiles that each grade covers.

    >>> [round(float(one), 3) for one in spread_of_grades([5, 3, 3, 1, None]).mean]
    [1.271, 0.0, 0.0, -1.271, 0.0]
    """
    from scipy.special import ndtri

    mean, variance = np.zeros(len(grades)), np.ones(len(grades))
    given = sorted(grade for grade in grades if grade is not None)
    for grade in sorted(set(given)):
        below, upto = given.index(grade) / len(given), (given.index(grade) + given.count(grade)) / len(given)
        if upto - below == 1.0:
            break
        low, high = ndtri(below), ndtri(upto)
        share, at_low, at_high = upto - below, _density(low), _density(high)
        first = (at_low - at_high) / share
        second = 1 + ((low * at_low if below else 0.0) - (high * at_high if upto < 1 else 0.0)) / share
        chosen = [i for i, one in enumerate(grades) if one == grade]
        mean[chosen], variance[chosen] = first, second - first**2
    return Spread(mean, variance)


def _density(x: float) -> float:
    return float(np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Priors:
    """At each point of the grid (sharpness x reliability, row by row) the prior of the n scores and, last, the bias."""

    means: Floats
    precisions: Floats


def priors(spread: Spread, bias: float) -> Priors:
    """A z ~ N(A rho mean, A^2 (rho^2 variance + 1 - rho^2)), and A times a bias for places of standard deviation
    `bias`; both arrays (points, n + 1)."""
    sharpness, reliability = (one.reshape(-1, 1) for one in grid())
    means = sharpness * reliability * spread.mean
    variances = sharpness**2 * (reliability**2 * spread.variance + 1 - reliability**2)
    none = np.zeros_like(sharpness)
    return Priors(
        np.hstack([means, none]), 1 / np.hstack([variances, (sharpness * bias) ** 2 if bias else none + 1])
    )


@lru_cache
def grid() -> tuple[Floats, Floats]:
    """Sharpness and reliability of every point, (points,) each."""
    return np.repeat(SHARPNESS, len(RELIABILITY)), np.tile(RELIABILITY, len(SHARPNESS))


def log_weights() -> Floats:
    """The prior over the grid, (points,), as logarithms: log A ~ N(log 5, 1); rho with density 1 - rho^2, taken times
    the width of its cell, because reliability that is thought too high makes an engine boast."""
    edges = np.concatenate([[0.0], (RELIABILITY[1:] + RELIABILITY[:-1]) / 2, [1.0]])
    sharpness = -0.5 * np.log(SHARPNESS / 5.0) ** 2
    reliability = np.log(np.diff(edges) * (1 - RELIABILITY**2))
    both = sharpness[:, None] + reliability[None, :]
    return np.asarray(both - np.logaddexp.reduce(both, axis=None)).ravel()
