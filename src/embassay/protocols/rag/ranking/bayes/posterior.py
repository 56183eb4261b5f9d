"""The posterior of a pool's scores: one Gaussian per point of the grid, mixed by evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.bayes.laplace import factor_at, learn_last
from embassay.protocols.rag.ranking.bayes.likelihood import Floats
from embassay.protocols.rag.ranking.bayes.linear import solve_upper
from embassay.protocols.rag.ranking.bayes.prior import (
    RELIABILITY,
    SHARPNESS,
    Spread,
    grid,
    log_weights,
    priors,
)

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
