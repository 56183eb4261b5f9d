"""Weights of a choice's signals by collections whose truth is known, and how far off what they say is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.choose.belief import NUGGET, SignalWeightPosterior, SystemSignals, make_contrast_basis

Values = NDArray[np.float64]
LEAST_FREEDOM, MOST_FREEDOM = 3.0, 200.0


def whiten_scores(evidence: SystemSignals, truth: Values) -> tuple[Values, Values]:
    """Scores and truth of one collection as independent differences: (systems - 1, scores) and (systems - 1,)."""
    basis = make_contrast_basis(len(truth))
    kernel = basis.T @ (evidence.agreement + NUGGET * np.eye(len(truth))) @ basis
    root = np.linalg.cholesky(kernel)
    return np.linalg.solve(root, basis.T @ evidence.scores), np.linalg.solve(root, basis.T @ truth)


Case = tuple[SystemSignals, Values]
"""A set of systems on a collection, and their nDCG@10."""


def fit_weights(collections: Sequence[Sequence[Case]], ridge: float) -> SignalWeightPosterior:
    """Weights from collections with known truth, each with one set of systems or more; each collection counts the same.
    The error's scale is that of collections left out of the fit."""
    parts = [[whiten_scores(*case) for case in cases] for cases in collections]
    inner = [np.mean([x.T @ x / len(y) for x, y in part], axis=0) for part in parts]
    outer = [np.mean([x.T @ y / len(y) for x, y in part], axis=0) for part in parts]
    size = np.eye(len(inner[0])) * ridge * len(parts)

    def solve(rows: Sequence[int]) -> Values:
        return np.asarray(np.linalg.solve(sum((inner[row] for row in rows), size), sum(outer[row] for row in rows)))

    errors = []
    for left, part in enumerate(parts):
        weights = solve([row for row in range(len(parts)) if row != left])
        errors.append(float(np.mean([np.mean((y - x @ weights) ** 2) for x, y in part])))
    sizes = [float(np.mean([len(y) for _, y in part])) for part in parts]
    scale, freedom = error_spread(np.array(errors), sizes)
    every = range(len(parts))
    return SignalWeightPosterior(solve(every), np.linalg.inv(sum((inner[row] for row in every), size)), scale, freedom)


def error_spread(errors: Values, sizes: Sequence[float]) -> tuple[float, float]:
    """The scale and the degrees of freedom of the scaled inverse chi-squared that mean squared errors of collections
    come from, by the mean and variance of their logarithms; `sizes` are the differences behind each."""
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    logs = np.log(errors)
    sampling = float(np.mean([polygamma(1, max(n, 2.0) / 2) for n in sizes]))
    aim = max(float(np.var(logs, ddof=1)) - sampling, polygamma(1, MOST_FREEDOM / 2))
    # The variance of the log of a chi-squared over its freedom v is the trigamma of v / 2.
    freedom = float(brentq(lambda v: polygamma(1, v / 2) - aim, 0.1, MOST_FREEDOM + 1))
    freedom = max(freedom, LEAST_FREEDOM)
    return float(np.exp(logs.mean() - np.log(freedom / 2) + digamma(freedom / 2))), freedom
