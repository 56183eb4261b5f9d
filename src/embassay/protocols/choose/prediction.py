"""From signals without labels to what is likely to be best: weights fitted on public collections, and a belief.

The difference of two systems' nDCG@10 is predicted by a weighted sum of the differences of their signals. How far
that is off depends on how much they disagree: two systems that find the same passages cannot differ. So errors have
the covariance of the systems' agreement, times a scale that is another one for every collection; the belief is a
multivariate Student t. Labels, where there are some, update it as an observation of the same differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
NUGGET = 0.02
"""Added to the diagonal of the agreement: what two systems with the same first ten may still differ by."""


@dataclass(frozen=True)
class Evidence:
    """What is known of the systems of one collection: signals (systems, signals), and the share of the first ten
    passages that two systems have in common, (systems, systems)."""

    values: Values
    agreement: Values

    def only(self, systems: Sequence[int]) -> Evidence:
        """Of some of the systems."""
        rows = np.asarray(systems)
        return Evidence(self.values[rows], self.agreement[np.ix_(rows, rows)])


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
    basis = np.vstack([np.tri(n - 1), np.zeros(n - 1)])
    rows = np.arange(1, n)
    full = np.zeros((n, n - 1))
    for place, k in enumerate(rows):
        full[:k, place] = 1 / k
        full[k, place] = -1
    del basis
    return np.asarray(full / np.linalg.norm(full, axis=0))


def whitened(evidence: Evidence, truth: Values) -> tuple[Values, Values]:
    """Signals and truth of one collection as independent differences: (systems - 1, signals) and (systems - 1,)."""
    basis = contrasts(len(truth))
    kernel = basis.T @ (evidence.agreement + NUGGET * np.eye(len(truth))) @ basis
    root = np.linalg.cholesky(kernel)
    return np.linalg.solve(root, basis.T @ evidence.values), np.linalg.solve(root, basis.T @ truth)


def fitted(cases: Sequence[tuple[Evidence, Values]], ridge: float) -> Weights:
    """Weights from collections with known truth; each counts the same. The error's scale is that of collections left
    out of the fit."""
    parts = [whitened(*case) for case in cases]
    inner = [x.T @ x / len(y) for x, y in parts]
    outer = [x.T @ y / len(y) for x, y in parts]
    size = np.eye(len(inner[0])) * ridge * len(parts)

    def solve(rows: Sequence[int]) -> tuple[Values, Values]:
        matrix = sum((inner[row] for row in rows), size)
        return np.linalg.solve(matrix, sum(outer[row] for row in rows)), matrix

    errors = []
    for left, (x, y) in enumerate(parts):
        weights, _ = solve([row for row in range(len(parts)) if row != left])
        errors.append(float(np.mean((y - x @ weights) ** 2)))
    weights, matrix = solve(range(len(parts)))
    scale, freedom = spread(np.array(errors), [len(y) for _, y in parts])
    return Weights(weights, np.linalg.inv(matrix), scale, freedom)


def spread(errors: Values, sizes: Sequence[int]) -> tuple[float, float]:
    """The scale and degrees of freedom of a scaled inverse chi-squared that mean squared errors come from."""
    logs = np.log(errors)
    varied = max(float(np.var(logs, ddof=1)), 1e-3)
    # Var(log chi2_v / v) = trigamma(v / 2), about 2 / v (1 + 1 / v): the freedom that gives this variance.
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    own = float(np.mean([polygamma(1, max(n, 2) / 2) for n in sizes]))
    aim = max(varied - own, 0.02)
    freedom = float(brentq(lambda v: polygamma(1, v / 2) - aim, 0.5, 200.0)) if polygamma(1, 100.0) < aim else 200.0
    centre = float(np.mean(logs))
    # E log s2 = log scale + log(v / 2) - digamma(v / 2)
    scale = float(np.exp(centre - np.log(freedom / 2) + digamma(freedom / 2)))
    return scale, freedom
