"""From a score to a probability: curves through labelled scores, how good they are, and how sure each point is.

A curve is beta calibration (Kull, Silva Filho and Flach 2017; logistic calibration is a case of it) or isotonic
regression (Zadrozny and Elkan 2002); which one, held-out log loss decides. Neither falls as the score rises.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit
from scipy.stats import beta

Values = NDArray[np.float64]
Labels = NDArray[np.bool_]
Groups = NDArray[np.int64] | None
Kind = Literal["beta", "isotonic"]

KINDS: tuple[Kind, ...] = ("beta", "isotonic")
FOLDS = 5
GRID = 201
"""Points of a saved curve."""
_RIDGE = 1e-3
"""So little that it shows only where a curve would be a step between the two labels."""


class Curve(Protocol):
    """A fitted curve: scores (n,) -> probabilities (n,)."""

    def __call__(self, scores: Values) -> Values: ...


@dataclass(frozen=True)
class Beta:
    """logit p = a log u - b log(1 - u) + c with a, b >= 0, where u is the score's place on a logistic scale."""

    middle: float
    scale: float
    weights: Values
    """a, b and c."""

    @classmethod
    def fit(cls, scores: Values, same: Labels) -> Beta:
        """By maximum likelihood."""
        middle = float(np.median(scores))
        scale = float(scores.std()) or 1.0
        up, down = _sides(scores, middle, scale)
        signs = np.where(same, 1.0, -1.0)

        def loss(weights: Values) -> tuple[float, Values]:
            a, b, c = weights
            margin = signs * (a * up + b * down + c)
            slope = -signs * expit(-margin)
            gradient = np.array([slope @ up, slope @ down, slope.sum()])
            ridge = _RIDGE * np.array([a, b, 0.0])
            return float(np.logaddexp(0.0, -margin).sum() + ridge @ weights / 2), gradient + ridge

        base = math.log((same.sum() + 0.5) / ((~same).sum() + 0.5))
        found = minimize(
            loss, np.array([1.0, 1.0, base]), jac=True, method="L-BFGS-B",
            bounds=[(0.0, None), (0.0, None), (None, None)], options={"maxiter": 500},
        )  # fmt: skip
        return cls(middle, scale, found.x)

    def __call__(self, scores: Values) -> Values:
        up, down = _sides(scores, self.middle, self.scale)
        a, b, c = self.weights
        return np.asarray(expit(a * up + b * down + c))


def _sides(scores: Values, middle: float, scale: float) -> tuple[Values, Values]:
    """log u and -log(1 - u) of u = expit of the standardised score."""
    place = (scores - middle) / scale
    return -np.logaddexp(0.0, -place), np.logaddexp(0.0, place)


@dataclass(frozen=True)
class Isotonic:
    """The rising steps that lie nearest to the labels, with straight lines between what was seen."""

    knots: Values
    levels: Values

    @classmethod
    def fit(cls, scores: Values, same: Labels) -> Isotonic:
        """Equal scores have one level; none is 0 or 1, which no sample shows."""
        knots, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
        shares = np.bincount(place, weights=same) / counts
        levels = isotonic_regression(shares, weights=counts).x
        end = 0.5 / (len(scores) + 1)
        return cls(knots, np.clip(levels, end, 1 - end))

    def __call__(self, scores: Values) -> Values:
        return np.asarray(np.interp(scores, self.knots, self.levels))


def fit(kind: Kind, scores: Values, same: Labels) -> Curve:
    """The curve of a kind through scores (n,) and whether each pair is the same (n,)."""
    return (Beta if kind == "beta" else Isotonic).fit(scores, same)


@dataclass(frozen=True)
class Chosen:
    """The kind of curve that foretells best, the probability of each pair by curves that were fitted without it (n,),
    and the mean log loss of each kind."""

    kind: Kind
    held_out: Values
    losses: dict[Kind, float]


def choose(scores: Values, same: Labels, groups: Groups, rng: np.random.Generator) -> Chosen:
    """By cross-validation in `FOLDS` parts; pairs of one group (n,) are in one part."""
    units = np.arange(len(scores)) if groups is None else groups
    part = (rng.permutation(int(units.max()) + 1) % FOLDS)[units]
    found = {kind: np.empty(len(scores)) for kind in KINDS}
    for fold in range(FOLDS):
        left = part == fold
        for kind in KINDS:
            found[kind][left] = fit(kind, scores[~left], same[~left])(scores[left])
    losses = {kind: float(log_losses(found[kind], same).mean()) for kind in KINDS}
    kind = min(KINDS, key=lambda one: losses[one])
    return Chosen(kind, found[kind], losses)


def log_losses(probability: Values, same: Labels) -> Values:
    """-log of the probability of what was the case, (n,), in nats."""
    return np.asarray(-np.log(np.where(same, probability, 1 - probability).clip(1e-12)))


@dataclass(frozen=True)
class Bin:
    """Pairs of like probability: what was foretold, and what came true, with its exact 95% interval."""

    n: int
    foretold: float
    came: float
    low: float
    high: float


def bins(probability: Values, same: Labels, count: int = 10) -> Iterator[Bin]:
    """As many pairs in each; equal probabilities may fall into two."""
    order = np.argsort(probability, kind="stable")
    for rows in np.array_split(order, min(count, len(order))):
        hits = int(same[rows].sum())
        low, high = exact(hits, len(rows), 0.95)
        yield Bin(len(rows), float(probability[rows].mean()), hits / len(rows), low, high)


def calibration_error(probability: Values, same: Labels, count: int = 10) -> float:
    """Mean distance of what was foretold from what came true, over bins of as many pairs (ECE)."""
    return sum(one.n * abs(one.foretold - one.came) for one in bins(probability, same, count)) / len(same)


def exact(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """The interval of a share by Clopper and Pearson.

    >>> low, high = exact(9, 10, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.555, 0.997)
    """
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def band(at: Values, scores: Values, same: Labels, confidence: float = 0.95) -> tuple[Values, Values]:
    """Low and high ends (m,) of the probability at the scores `at` (m,).

    The probability at a score is at least that of the pairs that score less, and at most that of those that score more:
    each end is the exact bound of a fixed number of nearest ones. So each point alone holds its confidence for any
    curve that never falls, whatever was fitted. (A normal interval around the fitted curve held in 41% of draws where
    the truth has a kink, at n 800.)
    """
    n = len(scores)
    order = np.argsort(scores, kind="stable")
    ranked, right = scores[order], np.concatenate([[0], np.cumsum(same[order])])
    near = max(1, min(n, round(1.5 * n**0.5)))
    tail = (1 - confidence) / 2
    below, above = np.searchsorted(ranked, at, "right"), np.searchsorted(ranked, at, "left")
    low, high = np.zeros(len(at)), np.ones(len(at))
    hits = right[below] - right[(below - near).clip(0)]
    known = (below >= near) & (hits > 0)
    low[known] = beta.ppf(tail, hits[known], near - hits[known] + 1)
    hits = right[(above + near).clip(None, n)] - right[above]
    known = (above + near <= n) & (hits < near)
    high[known] = beta.ppf(1 - tail, hits[known] + 1, near - hits[known])
    return low, high
