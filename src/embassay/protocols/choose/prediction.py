"""From signals without labels to what is likely to be best: weights fitted on public collections, and a belief.

The difference of two systems' nDCG@10 is predicted by a weighted sum of the differences of their signals. How far
that is off depends on how much they disagree: two systems that find the same passages cannot differ. So errors have
the covariance of the systems' agreement, times a scale that is another one for every collection; the belief is a
multivariate Student t. Labels, where there are some, update it as an observation of the same differences.
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


@dataclass(frozen=True)
class Evidence:
    """What is known of the systems of one collection: signals (systems, signals), and the share of the first ten
    passages that two systems have in common, (systems, systems)."""

    values: Values
    agreement: Values


def evidence(signals: Values, agreement: Values) -> Evidence:
    """With how much each system agrees with the others as the last signal."""
    n = len(agreement)
    others = (agreement.sum(axis=1) - np.diag(agreement)) / (n - 1)
    return Evidence(np.column_stack([signals, others]), agreement)


@dataclass(frozen=True)
class Weights:
    """Weights of the signals (d,), their covariance (d, d) in units of the error's scale, that scale (nDCG squared per
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
    """Signals and truth of one collection as independent differences: (systems - 1, signals) and (systems - 1,)."""
    basis = contrasts(len(truth))
    kernel = basis.T @ (evidence.agreement + NUGGET * np.eye(len(truth))) @ basis
    root = np.linalg.cholesky(kernel)
    return np.linalg.solve(root, basis.T @ evidence.values), np.linalg.solve(root, basis.T @ truth)


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
