"""How probable it is that Gaussian variables are all positive, by expectation propagation. Compiled.

Each condition d_i > 0 is stood for by a Gaussian factor, chosen so that putting the true condition in its place leaves
mean and variance of d_i as they are (Minka 2001; for orthants Cunningham, Hennig and Lacoste-Julien 2011).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from semblance.protocols.rag.ranking.bayes.likelihood import Floats

SWEEPS = 12
SETTLED = 1e-5
"""Passes over the conditions at most; they end when no factor's precision moves by more than this share."""
FAR = -25.0
"""Below this many standard deviations the tail is taken by its asymptote."""


@njit(cache=True)
def log_orthant(mean: Floats, covariance: Floats) -> float:
    """The log probability that all of N(mean, covariance) are positive; `mean` (p,), `covariance` (p, p) definite."""
    p = len(mean)
    inverse = np.linalg.inv(covariance)
    pull = inverse @ mean
    precision, shift = np.zeros(p), np.zeros(p)
    approximate, centre = covariance.copy(), mean.copy()
    evidence = np.zeros(p)
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(p):
            variance = 1.0 / (1.0 / approximate[i, i] - precision[i])
            without = variance * (centre[i] / approximate[i, i] - shift[i])
            log_chance, ratio = _tail(without / math.sqrt(variance))
            z = without / math.sqrt(variance)
            narrowed = max(variance * (1.0 - ratio * (z + ratio)), 1e-9 * variance)
            new = max(1.0 / narrowed - 1.0 / variance, 0.0)
            change = new - precision[i]
            moved = max(moved, abs(change) * variance)
            precision[i] = new
            shift[i] = (without + math.sqrt(variance) * ratio) / narrowed - without / variance
            column = approximate[i].copy()
            approximate -= change / (1.0 + change * column[i]) * np.outer(column, column)
            centre = approximate @ (pull + shift)
            natural = without / variance + shift[i]
            evidence[i] = log_chance + 0.5 * (
                math.log(1.0 + variance * new)
                - natural * natural * variance / (1.0 + variance * new)
                + without * without / variance
            )
        if moved < SETTLED:
            break
    total = pull + shift
    return (
        np.sum(evidence)
        + 0.5 * (np.linalg.slogdet(approximate)[1] - np.linalg.slogdet(covariance)[1])
        + 0.5 * (np.sum(total * (approximate @ total)) - np.sum(pull * mean))
    )


@njit(cache=True)
def _tail(z: float) -> tuple[float, float]:
    """log Phi(z) and phi(z) / Phi(z) of a standard normal."""
    if z < FAR:
        return -0.5 * z * z - math.log(-z) - 0.9189385332046727, -z - 1.0 / z
    chance = 0.5 * math.erfc(-z / math.sqrt(2.0))
    return math.log(chance), math.exp(-0.5 * z * z) / (chance * 2.5066282746310002)
