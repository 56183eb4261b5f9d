"""From signals without labels to what is likely to be best: a score, and its worth by public collections.

The difference of two systems' nDCG@10 is predicted by that of their scores: the mean of the signals, each counted in
its own spread among the systems. How far that is off depends on how much they disagree: two systems that find the same
passages cannot differ. So errors have the covariance of the systems' agreement, times a scale that is another one for
every collection; the belief is a multivariate Student t. Labels, where there are some, update it as an observation of
the same differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
NUGGET = 0.02
"""Added to the diagonal of the agreement: what two systems with the same first ten may still differ by."""
LEAST_FREEDOM, MOST_FREEDOM = 3.0, 200.0
CHANCE = 2.0
"""Standard errors that a signal's spread among the systems may come of by chance."""


@dataclass(frozen=True)
class Evidence:
    """What is known of the systems of one collection: signals (systems, signals), the share of the first ten passages
    that two systems have in common, (systems, systems), and the scores that weights are for, (systems, scores)."""

    values: Values
    agreement: Values
    scores: Values


def evidence(signals: Sequence[Values], shares: Values, chance: float = CHANCE) -> Evidence:
    """Of what each question says: signals (questions, systems), and the shares of the first ten that two systems have
    in common (questions, systems, systems). How much each system agrees with the others is the last signal."""
    n = shares.shape[1]
    apart = ~np.eye(n, dtype=bool)
    others = (shares * apart).sum(axis=2) / (n - 1)
    columns = [*signals, others]
    values = np.column_stack([column.mean(axis=0) for column in columns])
    agreement = np.where(apart, shares.mean(axis=0), 1.0)
    found = scores(values, np.array([error(column) for column in columns]), agreement, chance)
    return Evidence(values, agreement, found[:, None])


def error(values: Values) -> float:
    """The standard error of how far a system's mean lies from that of all, over questions: (questions, systems). 0 of
    one question."""
    if len(values) < 2:
        return 0.0
    off = values - values.mean(axis=1, keepdims=True)
    return float(np.sqrt(np.mean(off.var(axis=0, ddof=1)) / len(values)))


def scores(values: Values, errors: Values, agreement: Values, chance: float = CHANCE) -> Values:
    """One per system, (systems,): the mean of its signals, each in its own spread among the systems and in what chance
    makes of it, times the root of how much the systems disagree. So a signal counts where all its values are small too,
    counts little where they hardly differ, and systems that find the same passages are nearly equal."""
    n = len(agreement)
    disagree = 1 - (agreement.sum() - np.trace(agreement)) / (n * (n - 1))
    spreads = np.sqrt(values.var(axis=0) + (chance * errors) ** 2)
    own = (values - values.mean(axis=0)) / np.maximum(spreads, 1e-9)
    return np.asarray(own.mean(axis=1) * np.sqrt(max(float(disagree), 0.0)))


@dataclass(frozen=True)
class Weights:
    """Weights of the scores (d,), their covariance (d, d) in units of the error's scale, that scale (nDCG squared per
    unit of disagreement) and the degrees of freedom with which it varies between collections."""

    weights: Values
    covariance: Values
    scale: float
    freedom: float


def contrasts(n: int) -> Values:
    """An orthonormal basis of the differences between n values, (n, n - 1)."""
    basis = np.zeros((n, n - 1))
    for place in range(n - 1):
        basis[: place + 1, place] = 1 / (place + 1)
        basis[place + 1, place] = -1
    return np.asarray(basis / np.linalg.norm(basis, axis=0))


def whitened(evidence: Evidence, truth: Values) -> tuple[Values, Values]:
    """Scores and truth of one collection as independent differences: (systems - 1, scores) and (systems - 1,)."""
    basis = contrasts(len(truth))
    kernel = basis.T @ (evidence.agreement + NUGGET * np.eye(len(truth))) @ basis
    root = np.linalg.cholesky(kernel)
    return np.linalg.solve(root, basis.T @ evidence.scores), np.linalg.solve(root, basis.T @ truth)


Case = tuple[Evidence, Values]
"""A set of systems on a collection, and their nDCG@10."""


def fitted(collections: Sequence[Sequence[Case]], ridge: float) -> Weights:
    """Weights from collections with known truth, each with one set of systems or more; each collection counts the same.
    The error's scale is that of collections left out of the fit."""
    parts = [[whitened(*case) for case in cases] for cases in collections]
    inner = [np.mean([x.T @ x / len(y) for x, y in part], axis=0) for part in parts]
    outer = [np.mean([x.T @ y / len(y) for x, y in part], axis=0) for part in parts]
    size = np.eye(len(inner[0])) * ridge * len(parts)

    def solve(rows: Sequence[int]) -> Values:
        return np.asarray(
            np.linalg.solve(sum((inner[row] for row in rows), size), sum(outer[row] for row in rows))
        )

    errors = []
    for left, part in enumerate(parts):
        weights = solve([row for row in range(len(parts)) if row != left])
        errors.append(float(np.mean([np.mean((y - x @ weights) ** 2) for x, y in part])))
    sizes = [float(np.mean([len(y) for _, y in part])) for part in parts]
    scale, freedom = spread(np.array(errors), sizes)
    every = range(len(parts))
    return Weights(solve(every), np.linalg.inv(sum((inner[row] for row in every), size)), scale, freedom)


def spread(errors: Values, sizes: Sequence[float]) -> tuple[float, float]:
    """The scale and the degrees of freedom of the scaled inverse chi-squared that mean squared errors of collections
    come from, by the mean and variance of their logarithms; `sizes` are the differences behind each."""
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    logs = np.log(errors)
    own = float(np.mean([polygamma(1, max(n, 2.0) / 2) for n in sizes]))
    aim = max(float(np.var(logs, ddof=1)) - own, polygamma(1, MOST_FREEDOM / 2))
    freedom = float(brentq(lambda v: polygamma(1, v / 2) - aim, 0.1, MOST_FREEDOM + 1))
    freedom = max(freedom, LEAST_FREEDOM)
    return float(np.exp(logs.mean() - np.log(freedom / 2) + digamma(freedom / 2))), freedom
