"""Which systems can be told apart, which ranks each may hold, and how stable an order is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.records import ResampledUnitGroup
from embassay.stats.intervals import (
    KEPT,
    NORMAL,
    ROUNDING,
    Estimate,
    Freedom,
    check_confidence,
    find_pooled_degrees_of_differences,
    freedom_of_difference,
    t_quantile,
    t_test,
)
from embassay.stats.resampling import DEFAULT_SEED, make_resampling_generator, resample_means
from embassay.stats.tests import holm

Scores = Mapping[str, ArrayLike] | Sequence[ArrayLike] | NDArray[np.float64]


@dataclass(frozen=True)
class PairTest:
    """The difference of system `a` to system `b` (positions), and a two-sided t test that it is 0.

    `error` is its bootstrap standard error, `df` its degrees of freedom and `low` to `high` the difference within t
    errors; `p_adjusted` is corrected by Holm over all pairs of the comparison.
    """

    a: int
    b: int
    difference: float
    low: float
    high: float
    error: float
    statistic: float
    p: float
    p_adjusted: float
    df: float = math.inf

    def apart(self, alpha: float = 0.05) -> bool:
        """Whether the two are told apart."""
        return self.p_adjusted < alpha


def run_test_of_system_pair(
    a: int,
    b: int,
    difference: float,
    draws: NDArray[np.float64],
    free: Freedom,
    *,
    scale: float,
    confidence: float = 0.95,
) -> PairTest:
    """The test of one pair, alone, from the replicates `draws` (B,) of its difference. What is rounding depends on the
    `scale`, the size of what was summed, not of the difference."""
    error = free.error(draws)
    reach = t_quantile((1 + confidence) / 2, free.df) * error
    score, p = t_test(difference, error, scale, free.df)
    if math.isinf(score):
        p = compute_p_of_equal_signs(free.df)
    return PairTest(a, b, difference, difference - reach, difference + reach, error, score, p, p, free.df)


def compute_p_of_equal_signs(df: float) -> float:
    """p of a difference that is the same everywhere: how likely that is with one sign for each of the df + 1 units.

    >>> compute_p_of_equal_signs(4), compute_p_of_equal_signs(math.inf)
    (0.0625, 0.0)
    """
    return 2.0**-df if math.isfinite(df) else 0.0


def correct_tests_by_holm(tests: Sequence[PairTest], scale: float) -> tuple[PairTest, ...]:
    """The tests of all pairs of a comparison, corrected by Holm over those that differ on some item."""
    tested = [test.error > ROUNDING * scale or test.statistic != 0 for test in tests]
    adjusted = correct_p_values_by_holm([test.p for test in tests], tested)
    return tuple(replace(test, p_adjusted=p) for test, p in zip(tests, adjusted, strict=True))


def compare_replicates(
    replicates: ArrayLike,
    estimates: ArrayLike,
    *,
    strata: Sequence[Sequence[ResampledUnitGroup]] = (),
    confidence: float = 0.95,
) -> tuple[PairTest, ...]:
    """Test every pair of systems from their bootstrap replicates (systems, B) and estimates (systems,).

    Replicate j of all systems must come from one resample of the same items. The standard error of a difference
    is the standard deviation of its replicates, corrected by the `strata` of every system; without them it is
    taken as known, and the test is a z test. Pairs are ordered (0, 1), (0, 2) ... Where the error is 0, p is that of
    equal signs in all units, 0 without strata; two systems equal on every item have p 1 and are no test of the
    family. Fewer than two systems give no pairs.
    Raises UsageError for shapes that do not fit, fewer than two resamples, or values that are not finite.

    >>> rng = np.random.default_rng(0)
    >>> [pair] = compare_replicates(rng.normal([[0.7], [0.5]], 0.02, size=(2, 500)), [0.7, 0.5])
    >>> round(pair.difference, 3), pair.p_adjusted < 0.001
    (0.2, True)
    """
    draws, values = _check_replicates(replicates, estimates)
    check_confidence(confidence)
    scale = float(np.abs(values).max(initial=0))
    most, tests = find_pooled_degrees_of_differences(strata), []
    for a, b in combinations(range(len(values)), 2):
        free = freedom_of_difference(strata[a], strata[b], most=most) if strata else NORMAL
        apart = float(values[a] - values[b]), draws[a] - draws[b]
        tests.append(run_test_of_system_pair(a, b, *apart, free, scale=scale, confidence=confidence))
    return correct_tests_by_holm(tests, scale)


def correct_p_values_by_holm(p: Sequence[float], tested: Sequence[bool]) -> list[float]:
    """p of pairs, corrected by Holm over those that are `tested`; 1 for the others.

    >>> correct_p_values_by_holm([0.03, 0.01, 1.0], [True, True, False])
    [0.03, 0.02, 1.0]
    """
    family = iter(holm([raw for raw, counts in zip(p, tested, strict=True) if counts]))
    return [next(family) if counts else 1.0 for counts in tested]


def rank_ranges(
    replicates: ArrayLike,
    estimates: ArrayLike,
    *,
    strata: Sequence[Sequence[ResampledUnitGroup]] = (),
    alpha: float = 0.05,
) -> tuple[tuple[int, int], ...]:
    """The best and worst rank that each system may hold (1 = best); arguments as for `compare_replicates`.

    From 1 + the number of systems that beat it, to the number of systems minus those that it beats. One beats
    another when its estimate is higher and their adjusted p is below `alpha`, so that with equal systems the chance
    that any range is wrong is at most about `alpha` (docs/how_sure.md).

    >>> rng = np.random.default_rng(0)
    >>> rank_ranges(rng.normal([[0.7], [0.5], [0.51]], 0.02, size=(3, 500)), [0.7, 0.5, 0.51])
    ((1, 1), (2, 3), (2, 3))
    """
    pairs = compare_replicates(replicates, estimates, strata=strata)
    return make_rank_ranges(pairs, len(np.atleast_1d(np.asarray(estimates))), alpha=alpha)


def make_rank_ranges(pairs: Sequence[PairTest], systems: int, *, alpha: float = 0.05) -> tuple[tuple[int, int], ...]:
    """`rank_ranges` of so many systems from the tests of their pairs, differences being higher where better."""
    beaten_by, beats = [0] * systems, [0] * systems
    for pair in pairs:
        if pair.apart(alpha):
            winner, loser = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
            beats[winner] += 1
            beaten_by[loser] += 1
    return tuple((1 + above, systems - below) for above, below in zip(beaten_by, beats, strict=True))


def rank_intervals(
    scores: Scores,
    *,
    alpha: float = 0.05,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> tuple[Estimate, ...]:
    """The rank of each system by its mean over the items of `scores` (systems, n), and the ranks that it may hold.

    `scores` may map names to values (n,); results are in its order. Rank 1 is the highest mean, and equal
    means share the better rank. Items are resampled for all systems together; the interval is that of
    `rank_ranges`.
    Raises UsageError for unequal lengths, fewer than two items, or values that are not finite.

    >>> scores = {"good": [0.9, 0.8, 0.9, 0.8], "bad": [0.1, 0.3, 0.1, 0.2], "poor": [0.2, 0.1, 0.2, 0.3]}
    >>> [(rank.value, rank.low, rank.high) for rank in rank_intervals(scores)]
    [(1.0, 1.0, 1.0), (3.0, 2.0, 3.0), (2.0, 2.0, 3.0)]
    """
    table = _convert_scores_to_matrix(scores)
    replicates = resample_means(table.T, n_resamples=n_resamples, rng=make_resampling_generator(seed, rng)).T
    means = table.mean(axis=1)
    strata = [(ResampledUnitGroup(table.shape[1], row[:KEPT]),) for row in replicates]
    ranges = rank_ranges(replicates, means, strata=strata, alpha=alpha)
    method = f"paired bootstrap t tests, {n_resamples} resamples, Holm, alpha {alpha:g}"
    return tuple(
        Estimate(float(1 + (means > mean).sum()), float(best), float(worst), table.shape[1], method)
        for mean, (best, worst) in zip(means, ranges, strict=True)
    )


def _check_replicates(replicates: ArrayLike, estimates: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    draws, values = np.asarray(replicates, dtype=np.float64), np.asarray(estimates, dtype=np.float64)
    if values.ndim != 1 or draws.ndim != 2 or len(draws) != len(values) or draws.shape[1] < 2:
        raise UsageError(
            f"Replicates of shape {draws.shape} do not match estimates of shape {values.shape}.",
            mend="Give (systems, resamples) with at least two resamples, and (systems,).",
        )
    if not (np.isfinite(draws).all() and np.isfinite(values).all()):
        raise UsageError(
            "An estimate or replicate is not finite.", mend="Leave out systems without a value, and report it."
        )
    return draws, values


def _convert_scores_to_matrix(scores: Scores) -> NDArray[np.float64]:
    rows = scores.values() if isinstance(scores, Mapping) else scores
    table = [np.asarray(row, dtype=np.float64) for row in rows]
    shapes = {row.shape for row in table}
    if len(shapes) != 1 or table[0].ndim != 1 or len(table[0]) < 2:
        raise UsageError(
            f"The scores have the shapes {[row.shape for row in table]}.",
            mend="Give every system one number per item, for the same two or more items.",
        )
    return np.stack(table)


Floats = NDArray[np.float64]

# Relative to the largest estimate: what two orders of summation may differ by.
_ROUNDING = 1e-12


def kendall_tau(x: ArrayLike, y: ArrayLike) -> Floats:
    """Kendall's tau-b of `x` and `y` over their last axis, (..., n) -> (...), for few items in many orders.

    -1 (reversed) to 1 (same order); a pair that is equal in one of the two counts as in Kendall 1945. NaN where one
    side is all equal or n is below 2. Memory grows with n squared.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]).round(4)), float(kendall_tau([1, 2, 2], [1, 2, 3]).round(4))
    (0.6667, 0.8165)
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or not left.ndim:
        raise UsageError(
            f"Orders of shapes {left.shape} and {right.shape} cannot be compared.",
            mend="Give two orders of the same shape, one number per item.",
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise UsageError("A value to order is not finite.", mend="Leave it out on both sides.")
    first, second = np.triu_indices(left.shape[-1], 1)
    signs = [np.sign(side[..., first] - side[..., second]) for side in (left, right)]
    sizes = np.sqrt((signs[0] ** 2).sum(axis=-1) * (signs[1] ** 2).sum(axis=-1))
    # 0 / 0 where one side is all equal, which is NaN as promised.
    with np.errstate(invalid="ignore"):
        return np.asarray((signs[0] * signs[1]).sum(axis=-1) / sizes)


def win_probabilities(replicates: ArrayLike) -> Floats:
    """Share of the replicates (systems, B) in which a system is above another, with ties counting half:
    (systems, systems), row above column; 0.5 on the diagonal.

    Replicate b of all systems must come from one resample. Raises UsageError for another shape, no replicates, or
    values that are not finite.

    >>> win_probabilities([[0.7, 0.6, 0.7], [0.5, 0.6, 0.8]]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    draws = _check_finite_replicates(replicates)
    signs = [np.sign(row - draws).mean(axis=1) for row in draws]
    return (1 + np.stack(signs)) / 2


def best_shares(
    replicates: ArrayLike,
    estimates: ArrayLike,
    freedom: Freedom = NORMAL,
    *,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Floats:
    """The probability that each system is best, (systems,), summing to 1: the share of replicates (systems, B) in which
    it is above all others, with ties split.

    For few units, each replicate's deviations are stretched by the factor of `freedom` and the root of df over
    a chi-squared draw, which makes them Student's t. Errors as for `win_probabilities`.

    >>> best_shares([[0.7, 0.6, 0.7, 0.6], [0.5, 0.5, 0.5, 0.5]], [0.65, 0.5]).tolist()
    [1.0, 0.0]
    """
    draws, values = _check_finite_replicates(replicates), np.asarray(estimates, dtype=np.float64)
    scale = np.full(draws.shape[1], freedom.factor)
    if np.isfinite(freedom.df):
        scale *= np.sqrt(freedom.df / make_resampling_generator(seed, rng).chisquare(freedom.df, draws.shape[1]))
    moved = values[:, None] + scale * (draws - draws.mean(axis=1, keepdims=True))
    # Values that differ by rounding alone are tied.
    top = moved >= moved.max(axis=0) - _ROUNDING * np.abs(values).max()
    return np.asarray((top / top.sum(axis=0)).mean(axis=1))


LEAD = 0.84
"""Standard errors by which a leader has to be above another to be clearly so: it was picked because it is above, and
without them `ahead in 80 of 100` was wrong in 30 of 100 (docs/how_sure.md)."""


def clear_lead(replicates: ArrayLike, freedom: Freedom = NORMAL) -> float:
    """Share of the replicates (systems, B) in which the first system is above every other by more than `LEAD` standard
    errors of their difference; 1 if there is only one system. Errors as for `win_probabilities`.

    >>> clear_lead([[0.7, 0.6, 0.7, 0.6], [0.5, 0.5, 0.5, 0.7]])
    0.5
    """
    draws = _check_finite_replicates(replicates)
    leads = draws[0] - draws[1:]
    errors = np.array([freedom.error(lead) for lead in leads])
    # What never varied is no evidence of more than what was seen; ties are no lead.
    return float((leads > LEAD * errors[:, None] + _ROUNDING * np.abs(draws).max()).all(axis=0).mean())


def rank_quantiles(replicates: ArrayLike, *, confidence: float = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lowest and highest rank (1 = best) of each system in the central share `confidence` of the replicates
    (systems, B): two arrays (systems,).

    Equal systems share the better rank in the lower end and the worse in the higher end, so that a tie widens the
    interval. Errors as for `win_probabilities`.

    >>> low, high = rank_quantiles([[0.7, 0.6, 0.7], [0.5, 0.6, 0.5], [0.1, 0.2, 0.1]])
    >>> low.tolist(), high.tolist()
    ([1, 1, 3], [2, 2, 3])
    """
    check_confidence(confidence)
    draws = _check_finite_replicates(replicates)
    tail = (1 - confidence) / 2
    best = np.stack([1 + (draws > row).sum(axis=0) for row in draws])
    worst = np.stack([(draws >= row).sum(axis=0) for row in draws])
    # Ranks that were seen, never one between two.
    low = np.quantile(best, tail, axis=1, method="inverted_cdf")
    high = np.quantile(worst, 1 - tail, axis=1, method="higher")
    return low.astype(np.int64), high.astype(np.int64)


def _check_finite_replicates(replicates: ArrayLike) -> Floats:
    draws = np.asarray(replicates, dtype=np.float64)
    if draws.ndim != 2 or not draws.size or not np.isfinite(draws).all():
        raise UsageError(
            f"Replicates of shape {draws.shape} are not finite numbers for every system.",
            mend="Give (systems, resamples), and leave out resamples in which a system is undefined.",
        )
    return draws
