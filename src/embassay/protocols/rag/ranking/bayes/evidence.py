"""How probable the next answer was thought to be, before it came: the evidence for hyper-parameters. Compiled.

The evidence of all answers is the product of what each was predicted with by the posterior of those before it.
Laplace's own evidence multiplies ratios of determinants instead, and is far too low where a judge is sharp: one answer
then cuts the prior like a knife, and the curvature at the mode says nothing of the wide space behind the cut. Over
thirty queries that lost 35 nats after 4 calls each.

Here the m scores of an answer are taken by their Gaussian, and the judge's noise, Gumbel in Plackett-Luce, as the
normal noise with the same slope for two near candidates: then the order is m - 1 differences that are all positive.
Where all m candidates are alike beforehand this gives the same at every sharpness, as it must: their order says nothing
of it.
"""

from __future__ import annotations

import math

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions
from embassay.protocols.rag.ranking.bayes.orthant import log_orthant

NOISE = 4 / math.sqrt(4 * math.pi)
"""Standard deviation of the normal noise: 1 / (2 sqrt(pi) NOISE), its slope for a pair, is the logistic's 1/4."""


@compiled
def log_prediction(
    x: Floats, factor: Floats, order: Positions, place: Floats, random: float, steps: Floats
) -> float:
    """The log probability of the answer `order` (m,), shown at `place` (m,), if scores are N(x, 1 / U'U) with the upper
    triangular `factor` U; `steps` (m - 1, n + 1) is overwritten."""
    m, d = len(order), len(x)
    mean, covariance = np.empty(m - 1), np.zeros((m - 1, m - 1))
    steps[:] = 0.0
    for k in range(m - 1):
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
            covariance[k, i] = np.sum(steps[k] * steps[i])
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
