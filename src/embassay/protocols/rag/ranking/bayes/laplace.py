"""The posterior of the scores at given hyper-parameters, as the Gaussian at its mode (Laplace's method). Compiled.

With prior N(mean, 1 / precision) and H the negative Hessian of the log posterior at its mode x, the scores are taken
as N(x, 1 / H).
"""

from __future__ import annotations

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.evidence import log_prediction
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions, add_answers, log_likelihood
from embassay.protocols.rag.ranking.bayes.linear import cholesky, solve

MOST_STEPS = 40
MOST_HALVINGS = 12
CLOSE_ENOUGH = 1e-2
SURE_ENOUGH = 0.5
"""Newton's method ends with the first step that should gain less than `CLOSE_ENOUGH` in log posterior, since what is
left then is of the order of its square; below `SURE_ENOUGH` it takes steps without looking whether they overshoot."""


@compiled
def learn_last(
    modes: Floats, means: Floats, precisions: Floats, orders: Positions, places: Floats, random: float
) -> Floats:
    """With the last of the answers being new: how probable it was (log, (points,)) by the posterior of those before it,
    of which `modes` (points, n + 1) are the modes. They are moved to the modes of the posterior of all.

    Priors are `means` and `precisions`, both (points, n + 1); answers as in `likelihood`.
    """
    d, m = modes.shape[1], orders.shape[1]
    logs, slope = np.empty(len(modes)), np.empty(d)
    factor, before, steps = np.empty((d, d)), np.empty((d, d)), np.empty((m - 1, d))
    for point in range(len(modes)):
        x, mean, precision = modes[point], means[point], precisions[point]
        value = _ascent(x, mean, precision, orders[:-1], places[:-1], random, slope, factor)
        for i in range(d):
            for j in range(i, d):
                before[i, j] = factor[i, j]
        cholesky(before)
        logs[point] = log_prediction(x, before, orders[-1], places[-1], random, steps)
        value += add_answers(x, orders[-1:], places[-1:], random, slope, factor)
        _climb(x, mean, precision, orders, places, random, (value, slope, factor))
    return logs


@compiled
def factor_at(x: Floats, precision: Floats, orders: Positions, places: Floats, random: float) -> Floats:
    """The upper triangular U with U'U = H, the negative Hessian of the log posterior at x."""
    d = len(x)
    slope, factor = np.zeros(d), np.zeros((d, d))
    for i in range(d):
        factor[i, i] = precision[i]
    add_answers(x, orders, places, random, slope, factor)
    cholesky(factor)
    return factor


@compiled
def _climb(
    x: Floats, mean: Floats, precision: Floats, orders: Positions, places: Floats, random: float,
    here: tuple[float, Floats, Floats],
) -> None:  # fmt: skip
    """Newton's method with halved steps. At x, which is overwritten, log posterior, gradient and H are as `here`; of
    these, too, the arrays are overwritten."""
    value, slope, factor = here
    d = len(x)
    step, tried = np.empty(d), np.empty(d)
    for _ in range(MOST_STEPS):
        cholesky(factor)
        solve(factor, slope, step)
        gain = 0.0
        for i in range(d):
            gain += step[i] * slope[i]
        size = 1.0
        for _ in range(MOST_HALVINGS):
            for i in range(d):
                tried[i] = x[i] + size * step[i]
            if gain < SURE_ENOUGH:
                break
            if log_likelihood(tried, orders, places, random) + _log_prior(tried, mean, precision) > value:
                break
            size *= 0.5
        else:
            break
        for i in range(d):
            x[i] = tried[i]
        if gain < CLOSE_ENOUGH:
            break
        value = _ascent(x, mean, precision, orders, places, random, slope, factor)


@compiled
def _ascent(
    x: Floats, mean: Floats, precision: Floats, orders: Positions, places: Floats, random: float,
    slope: Floats, curvature: Floats,
) -> float:  # fmt: skip
    """The log posterior without its constants; written are its gradient and H."""
    for i in range(len(x)):
        for j in range(len(x)):
            curvature[i, j] = 0.0
        curvature[i, i] = precision[i]
        slope[i] = -precision[i] * (x[i] - mean[i])
    return add_answers(x, orders, places, random, slope, curvature) + _log_prior(x, mean, precision)


@compiled
def _log_prior(x: Floats, mean: Floats, precision: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total -= 0.5 * precision[i] * (x[i] - mean[i]) ** 2
    return total
