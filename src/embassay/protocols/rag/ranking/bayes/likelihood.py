"""How probable answers are: under given scores, at the posterior's mode (Laplace), and before they came. Compiled.

An answer is the order of m of the candidates, best first. Under Plackett-Luce its probability is the product over
places k of exp(s_k) / sum over j >= k of exp(s_j) (Plackett 1975; Luce 1959), where s is the score of the candidate at
that place of the answer; a judge answers at random with probability `random`, any order alike. The vector x of
unknowns holds the n scores and, last, the bias for places: a candidate shown at place z in -1 .. 1 has the score
x[i] - z x[n] for this answer, so that a positive bias favours what is shown first.

No library may choose another order of summation on another machine, and numba takes seconds to bind one. Of a matrix
only the upper half is read; its factor is the upper triangular U with U'U = matrix.

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

With prior N(mean, 1 / precision) and H the negative Hessian of the log posterior at its mode x, the scores are taken
as N(x, 1 / H).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@compiled
def add_answers(
    x: Floats, orders: Positions, places: Floats, random: float, slope: Floats, curvature: Floats
) -> float:
    """The log likelihood of all answers `orders` (calls, m), shown at `places` (calls, m), both in the order of the
    answers. Its gradient is added to `slope` (n + 1,), and to `curvature` (n + 1, n + 1) the negative Hessian of each
    answer's Plackett-Luce part, weighted by the chance that the answer is a real one (its weight held fixed, which
    keeps the sum positive definite: a generalised Gauss-Newton matrix)."""
    calls, m = orders.shape
    bias = len(x) - 1
    score, tail, share = np.empty(m), np.empty(m), np.empty(m)
    guess = -math.lgamma(m + 1.0)
    total = 0.0
    for call in range(calls):
        log_probability = _stages(x, orders[call], places[call], score, tail)
        weight = 1.0
        if random > 0.0:
            real, other = math.log1p(-random) + log_probability, math.log(random) + guess
            high = max(real, other)
            mixed = high + math.log(math.exp(real - high) + math.exp(other - high))
            weight = math.exp(real - mixed)
            total += mixed
        else:
            total += log_probability
        for k in range(m - 1):
            mean_place, square_place = 0.0, 0.0
            for j in range(k, m):
                share[j] = math.exp(score[j] - tail[k])
                mean_place += share[j] * places[call, j]
                square_place += share[j] * places[call, j] * places[call, j]
            slope[orders[call, k]] += weight
            slope[bias] += weight * (mean_place - places[call, k])
            curvature[bias, bias] += weight * (square_place - mean_place * mean_place)
            for j in range(k, m):
                one, mass = orders[call, j], weight * share[j]
                slope[one] -= mass
                curvature[one, one] += mass
                across = mass * (mean_place - places[call, j])
                curvature[one, bias] += across
                curvature[bias, one] += across
                for i in range(k, m):
                    curvature[one, orders[call, i]] -= mass * share[i]
    return total


@compiled
def log_likelihood(x: Floats, orders: Positions, places: Floats, random: float) -> float:
    """The log likelihood of all answers: what `add_answers` returns, without the slopes."""
    calls, m = orders.shape
    score, tail = np.empty(m), np.empty(m)
    guess = -math.lgamma(m + 1.0)
    total = 0.0
    for call in range(calls):
        real = _stages(x, orders[call], places[call], score, tail)
        if random > 0.0:
            real, other = math.log1p(-random) + real, math.log(random) + guess
            high = max(real, other)
            real = high + math.log(math.exp(real - high) + math.exp(other - high))
        total += real
    return total


@compiled
def _stages(x: Floats, order: Positions, place: Floats, score: Floats, tail: Floats) -> float:
    """The log probability of one answer. Written: the scores, and the log-sum-exp of each place's score and later ones
    (summed from the tail, so that scores of hundreds neither overflow nor vanish)."""
    m = len(order)
    bias = x[len(x) - 1]
    for k in range(m):
        score[k] = x[order[k]] - place[k] * bias
    tail[m - 1] = score[m - 1]
    total = 0.0
    for k in range(m - 2, -1, -1):
        high, low = max(score[k], tail[k + 1]), min(score[k], tail[k + 1])
        tail[k] = high + math.log1p(math.exp(low - high))
        total += score[k] - tail[k]
    return total


@compiled
def cholesky(matrix: Floats) -> None:
    """Overwrite the upper half of a positive definite matrix (d, d) by its factor U; the lower half is left."""
    d = len(matrix)
    for j in range(d):
        root = np.sqrt(matrix[j, j])
        for i in range(j, d):
            matrix[j, i] /= root
        for i in range(j + 1, d):
            times = matrix[j, i]
            if times != 0.0:
                for k in range(i, d):
                    matrix[i, k] -= times * matrix[j, k]


@compiled
def solve(factor: Floats, side: Floats, solved: Floats) -> None:
    """Write the x (d,) with U'U x = `side` (d,)."""
    d = len(side)
    for i in range(d):
        solved[i] = side[i]
    for i in range(d):
        solved[i] /= factor[i, i]
        for j in range(i + 1, d):
            solved[j] -= solved[i] * factor[i, j]
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            solved[i] -= factor[i, j] * solved[j]
        solved[i] /= factor[i, i]


@compiled
def solve_upper(factor: Floats, sides: Floats) -> Floats:
    """The X with U X = `sides` (d, columns). Standard normal columns become draws of N(0, 1 / U'U)."""
    d, columns = sides.shape
    solved = np.empty((d, columns))
    for i in range(d - 1, -1, -1):
        for column in range(columns):
            solved[i, column] = sides[i, column]
        for j in range(i + 1, d):
            times = factor[i, j]
            for column in range(columns):
                solved[i, column] -= times * solved[j, column]
        for column in range(columns):
            solved[i, column] /= factor[i, i]
    return solved


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
