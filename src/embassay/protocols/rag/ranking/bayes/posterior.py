"""What is believed of a pool's scores: a prior from grades, and one Gaussian per point of a grid, mixed by evidence.

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

from embassay.protocols.rag.ranking.bayes.likelihood import Floats, factor_at, learn_last, solve_upper

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


SLIGHT = 0.02
"""Points with less than this share of the best point's posterior rest, unless a neighbour has more."""
KEPT = 0.05
"""A component has at least this share of the best one's weight."""
SHAPE = (len(SHARPNESS), len(RELIABILITY))


@dataclass(frozen=True)
class Component:
    """A point of the grid with its weight in the mixture: sharpness A, reliability rho, mode (n + 1,) of the scores
    and the bias, and the factor U of its precision, U'U."""

    weight: float
    sharpness: float
    reliability: float
    mode: Floats
    factor: Floats

    def covariance(self) -> Floats:
        """(n + 1, n + 1)."""
        inverse = solve_upper(self.factor, np.eye(len(self.factor)))
        return np.asarray(inverse @ inverse.T)

    def draws(self, normal: Floats) -> Floats:
        """Scores and bias (columns, n + 1), of standard normal columns (n + 1, columns)."""
        return np.asarray(self.mode + solve_upper(self.factor, normal).T)


class Posterior:
    """Learns answers on m of n candidates; `log_prior` over the grid may be replaced at any time."""

    def __init__(self, spread: Spread, m: int, *, random: float, bias: float, gamma: float) -> None:
        self.log_prior = log_weights()
        self._random, self._gamma = random, gamma
        self._priors = priors(spread, bias)
        self._modes = self._priors.means.copy()
        self._evidence = np.zeros(len(self._modes))
        self._orders: NDArray[np.int64] = np.empty((0, m), dtype=np.int64)
        self._places = np.empty((0, m))
        self._biased = bias > 0
        self._flat = spread.says_nothing
        # Without grades, reliability makes no difference.
        self._resting = np.tile(np.arange(SHAPE[1]) > 0, SHAPE[0]) & self._flat

    def learn(self, orders: NDArray[np.int64], places: Floats) -> None:
        """Take in answers (calls, m), best first, and where each candidate was shown, -1 (first) .. 1 (last)."""
        for order, place in zip(orders, places if self._biased else np.zeros_like(places), strict=True):
            self._learn(order, place)

    def _learn(self, order: NDArray[np.int64], place: Floats) -> None:
        if not self._flat:
            self._resting = ~_spread_out(self.log_posterior() > np.log(SLIGHT))
        live = np.flatnonzero(~self._resting)
        calls, best = len(self._orders), self._evidence.max()
        modes = self._modes[live]
        self._orders = np.concatenate([self._orders, order[None]])
        self._places = np.concatenate([self._places, place[None]])
        evidence = self._evidence[live] + learn_last(
            modes, self._priors.means[live], self._priors.precisions[live],
            self._orders, self._places, self._random,
        )  # fmt: skip
        self._modes[live], self._evidence[live] = modes, evidence
        # A point that rests goes on losing to the best at the rate it had.
        lag = (self._evidence[self._resting] - best) * (calls + 1) / max(calls, 1)
        self._evidence[self._resting] = evidence.max() + lag
        if self._flat:
            self._evidence = np.repeat(evidence, SHAPE[1])

    @property
    def evidence(self) -> Floats:
        """Log evidence of the answers at every point, (points,); roughly where a point is out of the question."""
        return self._evidence

    def log_posterior(self) -> Floats:
        """Of the points, relative to the best, (points,)."""
        log_posterior = self._evidence + self.log_prior
        return np.asarray(log_posterior - log_posterior.max())

    def components(self) -> list[Component]:
        """The mixture, the best first: weights are posteriors to the power gamma."""
        log_posterior = self.log_posterior()
        if self._flat:
            total = np.logaddexp.reduce(log_posterior.reshape(SHAPE), axis=1)
            log_posterior = np.full(SHAPE, -np.inf)
            log_posterior[:, 0] = total
            log_posterior = log_posterior.ravel()
        weights = np.exp(self._gamma * (log_posterior - log_posterior.max())) * ~self._resting
        kept = np.flatnonzero(weights > KEPT * weights.max())
        kept = kept[np.argsort(-weights[kept], kind="stable")]
        return [self._component(point, weights[point] / weights[kept].sum()) for point in kept]

    def _component(self, point: np.intp, weight: float) -> Component:
        sharpness, reliability = grid()
        mode = self._modes[point]
        factor = factor_at(mode, self._priors.precisions[point], self._orders, self._places, self._random)
        return Component(float(weight), float(sharpness[point]), float(reliability[point]), mode, factor)


def draw(components: list[Component], normal: Floats) -> Floats:
    """Scores and bias (draws, n + 1) of the mixture, of standard normal `normal` (n + 1, draws): component by
    component, each as often as its weight says."""
    draws = normal.shape[1]
    ends = np.rint(np.cumsum([one.weight for one in components]) * draws).astype(int)
    starts = np.concatenate([[0], ends[:-1]])
    return np.concatenate(
        [
            one.draws(np.ascontiguousarray(normal[:, start:end]))
            for one, start, end in zip(components, starts, ends, strict=True)
            if end > start
        ]
    )


def _spread_out(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The chosen points of the grid and their neighbours."""
    padded = np.pad(chosen.reshape(SHAPE), 1)
    rows, columns = SHAPE
    near = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.array([padded[i : i + rows, j : j + columns] for i, j in near]).any(axis=0).ravel()
