"""How probable it is that Gaussian variables are all positive, by expectation propagation. Compiled.

Each condition d_i > 0 is stood for by a Gaussian factor, chosen so that putting the true condition in its place leaves
mean and variance of d_i as they are (Minka 2001; for orthants Cunningham, Hennig and Lacoste-Julien 2011).
"""

from __future__ import annotations

import math

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats

SWEEPS = 12
SETTLED = 1e-3
"""Passes over the conditions at most; they end when no factor's precision moves by more than this share."""
FAR = -25.0
"""Below this many standard deviations the tail is taken by its asymptote."""


@compiled
def log_orthant(mean: Floats, covariance: Floats) -> float:
    """The log probability that all of N(mean, covariance) are positive; `mean` (p,), `covariance` (p, p) definite."""
    p = len(mean)
    pull = np.linalg.solve(covariance, mean)
    precision, shift, evidence = np.zeros(p), np.zeros(p), np.zeros(p)
    approximate, centre, column = covariance.copy(), mean.copy(), np.empty(p)
    log_volume = 0.0  # of `approximate`, relative to `covariance`
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(p):
            variance = 1.0 / (1.0 / approximate[i, i] - precision[i])
            without = variance * (centre[i] / approximate[i, i] - shift[i])
            z = without / math.sqrt(variance)
            log_chance, ratio = _tail(z)
            narrowed = max(variance * (1.0 - ratio * (z + ratio)), 1e-9 * variance)
            new = max(1.0 / narrowed - 1.0 / variance, 0.0)
            change = new - precision[i]
            moved = max(moved, abs(change) * variance)
            precision[i] = new
            shift[i] = (without + math.sqrt(variance) * ratio) / narrowed - without / variance
            natural = without / variance + shift[i]
            grown = 1.0 + variance * new
            evidence[i] = log_chance + 0.5 * (
                math.log(grown) - natural * natural * variance / grown + without * without / variance
            )
            column[:] = approximate[i]
            grown = 1.0 + change * column[i]
            log_volume -= math.log(grown)
            for j in range(p):
                for k in range(p):
                    approximate[j, k] -= change / grown * column[j] * column[k]
            for j in range(p):
                centre[j] = 0.0
                for k in range(p):
                    centre[j] += approximate[j, k] * (pull[k] + shift[k])
        if moved < SETTLED:
            break
    total = 0.5 * log_volume
    for i in range(p):
        total += evidence[i] + 0.5 * ((pull[i] + shift[i]) * centre[i] - pull[i] * mean[i])
    return total


@compiled
def _tail(z: float) -> tuple[float, float]:
    """log Phi(z) and phi(z) / Phi(z) of a standard normal."""
    if z < FAR:
        return -0.5 * z * z - math.log(-z) - 0.9189385332046727, -z - 1.0 / z
    chance = 0.5 * math.erfc(-z / math.sqrt(2.0))
    return math.log(chance), math.exp(-0.5 * z * z) / (chance * 2.5066282746310002)
