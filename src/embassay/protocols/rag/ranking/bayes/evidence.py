"""How probable the next answer was thought to be, before it came: the evidence for hyper-parameters. Compiled.

The evidence of all answers is the product of what each was predicted with by the posterior of those before it.
Laplace's own evidence multiplies ratios of determinants instead, and is far too low where a judge is sharp: one answer
then cuts the prior like a knife, and the curvature at the mode says nothing of the wide space behind the cut. Over
thirty queries that lost 35 nats after 4 calls each.

Here the m scores of an answer are taken by their Gaussian, and the judge's noise, Gumbel in Plackett-Luce, as the
normal noise with the same slope for two near candidates: then the order is m - 1 differences that are all positive.
Where all m candidates are alike beforehand this gives the same at every sharpness, as it must: their order says nothing
of it.

That chance is found by expectation propagation. Each condition d_i > 0 is stood for by a Gaussian factor, chosen so
that putting the true condition in its place leaves mean and variance of d_i as they are (Minka 2001; for orthants
Cunningham, Hennig and Lacoste-Julien 2011).
"""

from __future__ import annotations

import math

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions
from embassay.protocols.rag.ranking.bayes.linear import cholesky, solve

NOISE = 4 / math.sqrt(4 * math.pi)
"""Standard deviation of the normal noise: 1 / (2 sqrt(pi) NOISE), its slope for a pair, is the logistic's 1/4."""
SWEEPS = 12
SETTLED = 1e-3
"""Passes over the conditions at most; they end when no factor's precision moves by more than this share."""
FAR = -25.0
"""Below this many standard deviations the tail is taken by its asymptote."""


@compiled
def log_prediction(
    x: Floats, factor: Floats, order: Positions, place: Floats, random: float, steps: Floats
) -> float:
    """The log probability of the answer `order` (m,), shown at `place` (m,), if scores are N(x, 1 / U'U) with the upper
    triangular `factor` U; `steps` (m - 1, n + 1) is overwritten."""
    m, d = len(order), len(x)
    mean, covariance = np.empty(m - 1), np.zeros((m - 1, m - 1))
    for k in range(m - 1):
        for j in range(d):
            steps[k, j] = 0.0
        first, second, bias = order[k], order[k + 1], place[k + 1] - place[k]
        mean[k] = x[first] - x[second] + bias * x[d - 1]
        steps[k, first], steps[k, second], steps[k, d - 1] = 1.0, -1.0, bias
        for i in range(
            min(first, second), d
        ):  # the w with U'w = step, so that products of two are covariances
            steps[k, i] /= factor[i, i]
            times = steps[k, i]
            if times != 0.0:
                for j in range(i + 1, d):
                    steps[k, j] -= times * factor[i, j]
        for i in range(k + 1):
            for j in range(d):
                covariance[k, i] += steps[k, j] * steps[i, j]
            covariance[i, k] = covariance[k, i]
        covariance[k, k] += 2 * NOISE * NOISE
        if k:
            covariance[k, k - 1] -= NOISE * NOISE
            covariance[k - 1, k] -= NOISE * NOISE
    real = math.log1p(-random) + log_orthant(mean, covariance)
    if random == 0.0:
        return real
    guess = math.log(random) - math.lgamma(m + 1.0)
    high = max(real, guess)
    return high + math.log(math.exp(real - high) + math.exp(guess - high))


@compiled
def log_orthant(mean: Floats, covariance: Floats) -> float:
    """The log probability that all of N(mean, covariance) are positive; `mean` (p,), `covariance` (p, p) definite."""
    p = len(mean)
    factor, approximate, pull, centre, column = (
        np.empty((p, p)), np.empty((p, p)), np.empty(p), np.empty(p), np.empty(p)
    )  # fmt: skip
    precision, shift, evidence = np.zeros(p), np.zeros(p), np.zeros(p)
    for i in range(p):
        centre[i] = mean[i]
    _copy(covariance, factor)
    _copy(covariance, approximate)
    cholesky(factor)
    solve(factor, mean, pull)
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
            log_volume -= math.log(1.0 + change * approximate[i, i])
            _absorb(change, i, approximate, column)
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


@compiled
def _absorb(change: float, i: int, covariance: Floats, column: Floats) -> None:
    """Overwrite `covariance` (p, p) by what it is when the precision of variable `i` grows by `change`; `column` (p,)
    is overwritten."""
    p = len(covariance)
    for j in range(p):
        column[j] = covariance[i, j]
    share = change / (1.0 + change * column[i])
    for j in range(p):
        for k in range(p):
            covariance[j, k] -= share * column[j] * column[k]


@compiled
def _copy(matrix: Floats, copied: Floats) -> None:
    """Write `matrix` (p, p) to `copied`."""
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            copied[i, j] = matrix[i, j]
