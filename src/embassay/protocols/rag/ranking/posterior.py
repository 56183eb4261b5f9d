"""What is believed of a pool's scores: a prior from grades, and one Gaussian per point of a grid, mixed by evidence.

Utilities z have unit variance in the pool; the judge orders by scores A z (in units of its own Gumbel noise), so A is
its sharpness. A grade says in which interval a noisy copy of z lies: y = rho z + sqrt(1 - rho^2) e. Where the intervals
are cut is learned from how frequent each grade is in the pool, so grades are only an order: any increasing relabelling
changes nothing. A passage without a grade could lie anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from embassay.machine import compile_with_numba_on_first_call

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@compile_with_numba_on_first_call
def accumulate_likelihood_and_slopes(
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
        log_probability = _compute_answer_log_likelihood(x, orders[call], places[call], score, tail)
        weight = 1.0
        if random > 0.0:
            real, other = math.log1p(-random) + log_probability, math.log(random) + guess
            # A log-sum-exp: the likelihoods of long answers underflow.
            high = max(real, other)
            mixed = high + math.log(math.exp(real - high) + math.exp(other - high))
            weight = math.exp(real - mixed)
            total += mixed
        else:
            total += log_probability
        # The last item is left over: its stage is certain.
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
                item, mass = orders[call, j], weight * share[j]
                slope[item] -= mass
                curvature[item, item] += mass
                across = mass * (mean_place - places[call, j])
                curvature[item, bias] += across
                curvature[bias, item] += across
                for i in range(k, m):
                    curvature[item, orders[call, i]] -= mass * share[i]
    return total


@compile_with_numba_on_first_call
def compute_answers_log_likelihood(x: Floats, orders: Positions, places: Floats, random: float) -> float:
    """The log likelihood of all answers: what `accumulate_likelihood_and_slopes` returns, without the slopes."""
    calls, m = orders.shape
    score, tail = np.empty(m), np.empty(m)
    guess = -math.lgamma(m + 1.0)
    total = 0.0
    for call in range(calls):
        real = _compute_answer_log_likelihood(x, orders[call], places[call], score, tail)
        if random > 0.0:
            real, other = math.log1p(-random) + real, math.log(random) + guess
            high = max(real, other)
            real = high + math.log(math.exp(real - high) + math.exp(other - high))
        total += real
    return total


@compile_with_numba_on_first_call
def _compute_answer_log_likelihood(x: Floats, order: Positions, place: Floats, score: Floats, tail: Floats) -> float:
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


@compile_with_numba_on_first_call
def factor_cholesky_in_place(matrix: Floats) -> None:
    """Overwrite the upper half of a positive definite matrix (d, d) by its factor U; the lower half is left."""
    d = len(matrix)
    # Cholesky's factor, row by row: the matrix is U'U.
    for j in range(d):
        root = np.sqrt(matrix[j, j])
        for i in range(j, d):
            matrix[j, i] /= root
        for i in range(j + 1, d):
            times = matrix[j, i]
            if times != 0.0:
                for k in range(i, d):
                    matrix[i, k] -= times * matrix[j, k]


@compile_with_numba_on_first_call
def solve_cholesky_system(factor: Floats, side: Floats, solved: Floats) -> None:
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


@compile_with_numba_on_first_call
def solve_upper_triangular(factor: Floats, sides: Floats) -> Floats:
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


@compile_with_numba_on_first_call
def predict_answer_log_chance(
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
        # The w with U'w = step, so that products of two are covariances.
        for i in range(min(first, second), d):
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
    real = math.log1p(-random) + estimate_log_orthant_chance(mean, covariance)
    if random == 0.0:
        return real
    guess = math.log(random) - math.lgamma(m + 1.0)
    high = max(real, guess)
    return high + math.log(math.exp(real - high) + math.exp(guess - high))


@compile_with_numba_on_first_call
def estimate_log_orthant_chance(mean: Floats, covariance: Floats) -> float:
    """The log probability that all of N(mean, covariance) are positive; `mean` (p,), `covariance` (p, p) definite."""
    p = len(mean)
    factor, approximate, pull, centre, column = (
        np.empty((p, p)), np.empty((p, p)), np.empty(p), np.empty(p), np.empty(p)
    )  # fmt: skip
    precision, shift, evidence = np.zeros(p), np.zeros(p), np.zeros(p)
    for i in range(p):
        centre[i] = mean[i]
    _copy_matrix(covariance, factor)
    _copy_matrix(covariance, approximate)
    factor_cholesky_in_place(factor)
    solve_cholesky_system(factor, mean, pull)
    log_volume = 0.0  # of `approximate`, relative to `covariance`
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(p):
            # The cavity: what the others say of it, its own factor taken out (expectation propagation).
            variance = 1.0 / (1.0 / approximate[i, i] - precision[i])
            without = variance * (centre[i] / approximate[i, i] - shift[i])
            z = without / math.sqrt(variance)
            log_chance, ratio = _compute_log_normal_cdf_and_ratio(z)
            narrowed = max(variance * (1.0 - ratio * (z + ratio)), 1e-9 * variance)
            # A truncated normal is never wider, so a negative precision is rounding.
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
            _update_covariance_for_precision(change, i, approximate, column)
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


@compile_with_numba_on_first_call
def _compute_log_normal_cdf_and_ratio(z: float) -> tuple[float, float]:
    """log Phi(z) and phi(z) / Phi(z) of a standard normal."""
    if z < FAR:
        # Further out erfc underflows; 0.9189 is log sqrt(2 pi).
        return -0.5 * z * z - math.log(-z) - 0.9189385332046727, -z - 1.0 / z
    chance = 0.5 * math.erfc(-z / math.sqrt(2.0))
    # 2.5066 is sqrt(2 pi).
    return math.log(chance), math.exp(-0.5 * z * z) / (chance * 2.5066282746310002)


@compile_with_numba_on_first_call
def _update_covariance_for_precision(change: float, i: int, covariance: Floats, column: Floats) -> None:
    """Overwrite `covariance` (p, p) by what it is when the precision of variable `i` grows by `change`; `column` (p,)
    is overwritten."""
    p = len(covariance)
    for j in range(p):
        column[j] = covariance[i, j]
    share = change / (1.0 + change * column[i])
    for j in range(p):
        for k in range(p):
            covariance[j, k] -= share * column[j] * column[k]


@compile_with_numba_on_first_call
def _copy_matrix(matrix: Floats, copied: Floats) -> None:
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


@compile_with_numba_on_first_call
def learn_answer_and_return_evidence(
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
        value = _compute_log_posterior_and_slopes(x, mean, precision, orders[:-1], places[:-1], random, slope, factor)
        for i in range(d):
            for j in range(i, d):
                before[i, j] = factor[i, j]
        factor_cholesky_in_place(before)
        logs[point] = predict_answer_log_chance(x, before, orders[-1], places[-1], random, steps)
        value += accumulate_likelihood_and_slopes(x, orders[-1:], places[-1:], random, slope, factor)
        _climb_to_posterior_mode(x, mean, precision, orders, places, random, (value, slope, factor))
    return logs


@compile_with_numba_on_first_call
def factor_posterior_precision(
    x: Floats, precision: Floats, orders: Positions, places: Floats, random: float
) -> Floats:
    """The upper triangular U with U'U = H, the negative Hessian of the log posterior at x."""
    d = len(x)
    slope, factor = np.zeros(d), np.zeros((d, d))
    for i in range(d):
        factor[i, i] = precision[i]
    accumulate_likelihood_and_slopes(x, orders, places, random, slope, factor)
    factor_cholesky_in_place(factor)
    return factor


@compile_with_numba_on_first_call
def _climb_to_posterior_mode(
    x: Floats, mean: Floats, precision: Floats, orders: Positions, places: Floats, random: float,
    at_x: tuple[float, Floats, Floats]
) -> None:  # fmt: skip
    """Newton's method with halved steps. At x, which is overwritten, log posterior, gradient and H are as `here`; of
    these, too, the arrays are overwritten."""
    value, slope, factor = at_x
    d = len(x)
    step, tried = np.empty(d), np.empty(d)
    for _ in range(MOST_STEPS):
        factor_cholesky_in_place(factor)
        solve_cholesky_system(factor, slope, step)
        gain = 0.0
        for i in range(d):
            gain += step[i] * slope[i]
        size = 1.0
        for _ in range(MOST_HALVINGS):
            for i in range(d):
                tried[i] = x[i] + size * step[i]
            if gain < SURE_ENOUGH:
                break
            if (
                compute_answers_log_likelihood(tried, orders, places, random)
                + _compute_gaussian_log_prior(tried, mean, precision)
                > value
            ):
                break
            size *= 0.5
        else:
            break
        for i in range(d):
            x[i] = tried[i]
        if gain < CLOSE_ENOUGH:
            break
        value = _compute_log_posterior_and_slopes(x, mean, precision, orders, places, random, slope, factor)


@compile_with_numba_on_first_call
def _compute_log_posterior_and_slopes(
    x: Floats, mean: Floats, precision: Floats, orders: Positions, places: Floats, random: float,
    slope: Floats, curvature: Floats
) -> float:  # fmt: skip
    """The log posterior without its constants; written are its gradient and H."""
    for i in range(len(x)):
        for j in range(len(x)):
            curvature[i, j] = 0.0
        curvature[i, i] = precision[i]
        slope[i] = -precision[i] * (x[i] - mean[i])
    return accumulate_likelihood_and_slopes(x, orders, places, random, slope, curvature) + _compute_gaussian_log_prior(
        x, mean, precision
    )


@compile_with_numba_on_first_call
def _compute_gaussian_log_prior(x: Floats, mean: Floats, precision: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total -= 0.5 * precision[i] * (x[i] - mean[i]) ** 2
    return total


SHARPNESS: Floats = 0.35 * np.sqrt(2.0) ** np.arange(15)
"""A = 0.35 .. 44.8. About 14, 4 and 1.8 turn 3, 10 and 20 % of a pool's pairs."""
RELIABILITY: Floats = np.array([0.0, 0.3, 0.5, 0.65, 0.75, 0.82, 0.88, 0.93, 0.96])
"""rho: the correlation of what the grader saw with what the judge orders by."""


@dataclass(frozen=True)
class CandidateUtilityMoments:
    """Mean and variance of each candidate's noisy utility y, (n,): of a standard normal within its grade's cuts."""

    mean: Floats
    variance: Floats

    @property
    def has_uninformative_grades(self) -> bool:
        """Whether grades tell no candidate from another: none is graded, or all are alike."""
        return bool((self.variance == 1.0).all())

    @property
    def has_mostly_tied_grades(self) -> bool:
        """Whether grades leave more than half of all pairs equal."""
        counts = np.unique(self.mean, return_counts=True)[1]
        return bool((counts**2).sum() > len(self.mean) ** 2 / 2)

    def list_relevance_border_places(self, top: int) -> tuple[int, ...]:
        """The places whose two sides are to be told apart: `top`, and where that falls among equals that are more than
        half of the pool, also the place before those, at which grades say that relevance ends."""
        if not 0 < top < len(self.mean):
            return (top,)
        last = np.sort(self.mean)[::-1][top - 1]
        above, equal = np.count_nonzero(self.mean > last), np.count_nonzero(self.mean == last)
        return (int(above), top) if above and 2 * equal > len(self.mean) else (top,)


def estimate_utility_moments_from_grades(grades: Sequence[int | None]) -> CandidateUtilityMoments:
    """Of grades (higher is better), the moments of a standard normal within the quantiles that each grade covers.

    >>> [round(float(one), 3) for one in estimate_utility_moments_from_grades([5, 3, 3, 1, None]).mean]
    [1.271, 0.0, 0.0, -1.271, 0.0]
    """
    from scipy.special import ndtri

    mean, variance = np.zeros(len(grades)), np.ones(len(grades))
    rated = sorted(grade for grade in grades if grade is not None)
    for grade in sorted(set(rated)):
        below, upto = rated.index(grade) / len(rated), (rated.index(grade) + rated.count(grade)) / len(rated)
        if upto - below == 1.0:
            break
        low, high = ndtri(below), ndtri(upto)
        share, at_low, at_high = upto - below, _normal_density(low), _normal_density(high)
        first = (at_low - at_high) / share
        # A truncated normal; an end at infinity has no density, but infinity times 0 would be NaN.
        second = 1 + ((low * at_low if below else 0.0) - (high * at_high if upto < 1 else 0.0)) / share
        chosen = [i for i, other in enumerate(grades) if other == grade]
        mean[chosen], variance[chosen] = first, second - first**2
    return CandidateUtilityMoments(mean, variance)


def _normal_density(x: float) -> float:
    return float(np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class ScorePriors:
    """At each point of the grid (sharpness x reliability, row by row) the prior of the n scores and, last, the bias."""

    means: Floats
    precisions: Floats


def make_score_priors(spread: CandidateUtilityMoments, bias: float) -> ScorePriors:
    """A z ~ N(A rho mean, A^2 (rho^2 variance + 1 - rho^2)), and A times a bias for places of standard deviation
    `bias`; both arrays (points, n + 1)."""
    sharpness, reliability = (axis.reshape(-1, 1) for axis in make_sharpness_reliability_grid())
    means = sharpness * reliability * spread.mean
    variances = sharpness**2 * (reliability**2 * spread.variance + 1 - reliability**2)
    none = np.zeros_like(sharpness)
    return ScorePriors(
        np.hstack([means, none]), 1 / np.hstack([variances, (sharpness * bias) ** 2 if bias else none + 1])
    )


@lru_cache
def make_sharpness_reliability_grid() -> tuple[Floats, Floats]:
    """Sharpness and reliability of every point, (points,) each."""
    return np.repeat(SHARPNESS, len(RELIABILITY)), np.tile(RELIABILITY, len(SHARPNESS))


def compute_log_prior_weights() -> Floats:
    """The prior over the grid, (points,), as logarithms: log A ~ N(log 5, 1); rho with density 1 - rho^2, taken times
    the width of its cell, because reliability that is thought too high makes an engine boast."""
    edges = np.concatenate([[0.0], (RELIABILITY[1:] + RELIABILITY[:-1]) / 2, [1.0]])
    sharpness = -0.5 * np.log(SHARPNESS / 5.0) ** 2
    reliability = np.log(np.diff(edges) * (1 - RELIABILITY**2))
    joint = sharpness[:, None] + reliability[None, :]
    return np.asarray(joint - np.logaddexp.reduce(joint, axis=None)).ravel()


SLIGHT = 0.02
"""Points with less than this share of the best point's posterior rest, unless a neighbour has more."""
KEPT = 0.05
"""A component has at least this share of the best one's weight."""
SHAPE = (len(SHARPNESS), len(RELIABILITY))


@dataclass(frozen=True)
class RankingPosteriorMixturePoint:
    """A point of the grid with its weight in the mixture: sharpness A, reliability rho, mode (n + 1,) of the scores
    and the bias, and the factor U of its precision, U'U."""

    weight: float
    sharpness: float
    reliability: float
    mode: Floats
    factor: Floats

    def compute_score_covariance(self) -> Floats:
        """(n + 1, n + 1)."""
        inverse = solve_upper_triangular(self.factor, np.eye(len(self.factor)))
        return np.asarray(inverse @ inverse.T)

    def draws(self, normal: Floats) -> Floats:
        """Scores and bias (columns, n + 1), of standard normal columns (n + 1, columns)."""
        return np.asarray(self.mode + solve_upper_triangular(self.factor, normal).T)


class CandidateRankingLearner:
    """Learns answers on m of n candidates; `log_prior` over the grid may be replaced at any time."""

    def __init__(self, spread: CandidateUtilityMoments, m: int, *, random: float, bias: float, gamma: float) -> None:
        self.log_prior = compute_log_prior_weights()
        self._random, self._gamma = random, gamma
        self._priors = make_score_priors(spread, bias)
        self._modes = self._priors.means.copy()
        self._evidence = np.zeros(len(self._modes))
        self._orders: NDArray[np.int64] = np.empty((0, m), dtype=np.int64)
        self._places = np.empty((0, m))
        self._biased = bias > 0
        self._flat = spread.has_uninformative_grades
        # Without grades, reliability makes no difference.
        self._resting = np.tile(np.arange(SHAPE[1]) > 0, SHAPE[0]) & self._flat

    def learn_answers(self, orders: NDArray[np.int64], places: Floats) -> None:
        """Take in answers (calls, m), best first, and where each candidate was shown, -1 (first) .. 1 (last)."""
        for order, place in zip(orders, places if self._biased else np.zeros_like(places), strict=True):
            self._learn_one_answer(order, place)

    def _learn_one_answer(self, order: NDArray[np.int64], place: Floats) -> None:
        if not self._flat:
            self._resting = ~_mark_chosen_and_neighbour_grid_points(
                self.compute_point_log_posteriors() > np.log(SLIGHT)
            )
        live = np.flatnonzero(~self._resting)
        calls, best = len(self._orders), self._evidence.max()
        modes = self._modes[live]
        self._orders = np.concatenate([self._orders, order[None]])
        self._places = np.concatenate([self._places, place[None]])
        evidence = self._evidence[live] + learn_answer_and_return_evidence(
            modes, self._priors.means[live], self._priors.precisions[live],
            self._orders, self._places, self._random
        )  # fmt: skip
        self._modes[live], self._evidence[live] = modes, evidence
        # A point that rests goes on losing to the best at the rate it had.
        lag = (self._evidence[self._resting] - best) * (calls + 1) / max(calls, 1)
        self._evidence[self._resting] = evidence.max() + lag
        if self._flat:
            self._evidence = np.repeat(evidence, SHAPE[1])

    @property
    def evidence(self) -> Floats:
        """Log evidence of the answers at every point, (points,); roughly where a point is out of the question."""
        return self._evidence

    def compute_point_log_posteriors(self) -> Floats:
        """Compute the log posteriors of the points, relative to the best, (points,)."""
        log_posterior = self._evidence + self.log_prior
        return np.asarray(log_posterior - log_posterior.max())

    def components(self) -> list[RankingPosteriorMixturePoint]:
        """List the components of the mixture, best first: weights are posteriors to the power gamma."""
        log_posterior = self.compute_point_log_posteriors()
        if self._flat:
            total = np.logaddexp.reduce(log_posterior.reshape(SHAPE), axis=1)
            log_posterior = np.full(SHAPE, -np.inf)
            log_posterior[:, 0] = total
            log_posterior = log_posterior.ravel()
        weights = np.exp(self._gamma * (log_posterior - log_posterior.max())) * ~self._resting
        heavy = np.flatnonzero(weights > KEPT * weights.max())
        heavy = heavy[np.argsort(-weights[heavy], kind="stable")]
        return [self._make_mixture_component(point, weights[point] / weights[heavy].sum()) for point in heavy]

    def _make_mixture_component(self, point: np.intp, weight: float) -> RankingPosteriorMixturePoint:
        sharpness, reliability = make_sharpness_reliability_grid()
        mode = self._modes[point]
        factor = factor_posterior_precision(
            mode, self._priors.precisions[point], self._orders, self._places, self._random
        )
        return RankingPosteriorMixturePoint(
            float(weight), float(sharpness[point]), float(reliability[point]), mode, factor
        )


def draw_mixture_scores(components: list[RankingPosteriorMixturePoint], normal: Floats) -> Floats:
    """Scores and bias (draws, n + 1) of the mixture, of standard normal `normal` (n + 1, draws): component by
    component, each as often as its weight says."""
    draws = normal.shape[1]
    ends = np.rint(np.cumsum([component.weight for component in components]) * draws).astype(int)
    starts = np.concatenate([[0], ends[:-1]])
    return np.concatenate(
        [
            component.draws(np.ascontiguousarray(normal[:, start:end]))
            for component, start, end in zip(components, starts, ends, strict=True)
            if end > start
        ]
    )


def _mark_chosen_and_neighbour_grid_points(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Add their neighbours to the chosen points of the grid."""
    padded = np.pad(chosen.reshape(SHAPE), 1)
    rows, columns = SHAPE
    near = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.array([padded[i : i + rows, j : j + columns] for i, j in near]).any(axis=0).ravel()
