"""Tests of paired differences, and their correction for how many were made."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import (
    Estimate,
    Significance,
    check_confidence,
    compute_normal_critical_value,
    convert_to_finite_sample_array,
    subtract_scores_item_by_item,
)
from embassay.stats.resampling import (
    DEFAULT_SEED,
    count_draws_of_each_row,
    iterate_resample_row_blocks,
    make_resampling_generator,
    percentile_interval,
)


def holm(p: ArrayLike) -> list[float]:
    """Holm's adjusted p-values for one family of tests, in the order given.

    The k-th smallest of m is multiplied by m - k + 1; none falls below one before it, none exceeds 1. Equal
    p-values get equal results. No tests give an empty list. Source: Holm 1979; PTEB tables 7 and 14.
    Raises UsageError for values outside 0 to 1.

    >>> holm([0.01, 0.04, 0.03, 0.005])
    [0.03, 0.06, 0.06, 0.02]
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError(f"The p-values are {values.tolist()}.", mend="Give one number from 0 to 1 per test.")
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return [float(value) for value in adjusted]


_DRAWS = 1 << 20
# Sums of the same numbers in another order differ in the last bits; they count as equal.
_ROUNDING = 1e-12


def randomization_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Significance:
    """Two-sided test of whether swapping `a` and `b` (n,) item by item matters; the statistic is the mean of a - b.

    p is the share of sign patterns whose mean difference is at least as far from 0 as the observed one: over
    all 2^n patterns if these are at most `n_resamples`, else over random ones, with one added to count and
    total. The interval applies the same patterns to the differences around their mean. One item has no
    interval (NaN). `rng` replaces the stream of `seed`.
    Raises UsageError for no items, unequal lengths or values that are not finite. Source: Fisher 1935;
    Smucker, Allan and Carterette 2007.

    >>> result = randomization_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.4])
    >>> round(result.value, 3), result.p, result.method
    (0.3, 0.125, 'all 16 sign patterns')
    """
    check_confidence(confidence)
    differences = subtract_scores_item_by_item(a, b)
    estimate, n = float(differences.mean()), len(differences)
    every = 2**n <= n_resamples
    patterns = (
        _iterate_sign_patterns(n)
        if every
        else _draw_sign_patterns(n, n_resamples, make_resampling_generator(seed, rng))
    )
    columns = np.column_stack([differences, differences - estimate])
    means = np.abs(np.concatenate([_compute_sign_flipped_means(pattern, columns) for pattern in patterns]))
    # The observed pattern is among them: rounding must not leave it out.
    extreme = int((means[:, 0] >= abs(estimate) - _ROUNDING * np.abs(differences).max()).sum())
    p = extreme / 2**n if every else (extreme + 1) / (n_resamples + 1)
    half = float(np.quantile(means[:, 1], confidence)) if n > 1 else float("nan")
    method = f"all {2**n} sign patterns" if every else f"{n_resamples} random sign patterns"
    return Significance(estimate, estimate - half, estimate + half, n, method, statistic=estimate, p=p)


def _compute_sign_flipped_means(negative: NDArray[np.int64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means (b, m) of the columns (n, m) after turning the signs where `negative` (b, n) is 1."""
    # Only what is turned is summed, since the mean of all is known.
    turned: NDArray[np.float64] = negative.astype(np.float64) @ columns
    return np.asarray(columns.mean(axis=0) - 2 / len(columns) * turned)


def _iterate_sign_patterns(n: int) -> Iterator[NDArray[np.int64]]:
    # The bits of each number are a pattern.
    yield np.arange(2**n)[:, None] >> np.arange(n) & 1


def _draw_sign_patterns(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    if n_resamples < 1:
        raise UsageError(f"The number of resamples is {n_resamples}.", mend="Use 1 or more.")
    step = max(1, _DRAWS // n)
    for start in range(0, n_resamples, step):
        yield rng.integers(0, 2, size=(min(step, n_resamples - start), n))


# When the exact distribution is used: scipy's rule, so that p-values agree with it.
_MOST_EXACT = 50
_MOST_EXACT_WITH_TIES = 13
# Walsh averages are n (n + 1) / 2 numbers: 100 MB at this n.
_MOST_WALSH = 5000
_CELLS = 1 << 22

Floats = NDArray[np.float64]


def compute_walsh_averages(d: ArrayLike) -> Floats:
    """All means of two differences, a difference with itself included, sorted: (n,) -> (n(n+1)/2,).

    >>> compute_walsh_averages([0, 0, 10]).tolist()
    [0.0, 0.0, 0.0, 5.0, 5.0, 10.0]
    """
    values = convert_to_finite_sample_array(d, "d")
    if len(values) > _MOST_WALSH:
        raise UsageError(
            f"There are {len(values)} differences, but at most {_MOST_WALSH} are supported.",
            mend="Average within groups first, or use bootstrap_ci of the mean or median.",
        )
    first, second = np.triu_indices(len(values))
    return np.sort((values[first] + values[second]) / 2)


def hodges_lehmann(
    d: ArrayLike,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Hodges-Lehmann shift of the differences `d` (n,): the median of their Walsh averages, including self-pairs.

    In the unit of `d`; the interval is the percentile bootstrap over the differences. One difference has no
    interval (NaN). `rng` replaces the stream of `seed`. Source: Hodges and Lehmann 1963; PTEB tables 7 and
    14.
    Raises UsageError for no differences, values that are not finite, or more than 5,000 differences.

    >>> hodges_lehmann([0, 0, 10]).value
    2.5
    """
    values = convert_to_finite_sample_array(d, "d")
    averages = compute_walsh_averages(values)
    estimate = float(np.median(averages))
    if len(values) == 1:
        return Estimate(estimate, n=1, method="no interval from one item")
    replicates = _compute_resampled_median_shifts(values, averages, n_resamples, make_resampling_generator(seed, rng))
    low, high = percentile_interval(replicates, confidence)
    method = f"median of Walsh averages, {confidence:.0%} percentile bootstrap, {n_resamples} resamples"
    return Estimate(estimate, low, high, len(values), method)


def wilcoxon(d: ArrayLike, *, confidence: float = 0.95) -> Significance:
    """Two-sided Wilcoxon signed-rank test of whether the differences `d` (n,) are symmetric about 0.

    `statistic` is the smaller rank sum; zeros are dropped and equal sizes share their mean rank. p is exact for
    up to 50 differences without ties or zeros and up to 13 with them, else the normal approximation with tie
    correction and without continuity correction, as in scipy; `method` says which. Zeros alone give p 1.
    `estimate` is the Hodges-Lehmann shift, the interval the order statistics of the Walsh averages that invert
    the test (infinite where n is too small); NaN above 5,000 differences. Source:
    Wilcoxon 1945; PTEB tables 7 and 14.
    Raises UsageError for no differences or values that are not finite.

    >>> result = wilcoxon([1.2, 0.8, 2.1, -0.3, 1.9, 0.5])
    >>> result.statistic, result.p, result.method
    (1.0, 0.0625, 'exact signed-rank test')
    """
    values = convert_to_finite_sample_array(d, "d")
    moved = values[values != 0]
    ranks, ties = _rank_values_and_count_ties(np.abs(moved))
    positive = float(ranks[moved > 0].sum())
    statistic = min(positive, float(ranks.sum()) - positive)
    regular = len(moved) == len(values) and not ties
    exact = len(values) <= (_MOST_EXACT if regular else _MOST_EXACT_WITH_TIES)
    if exact:
        # Shared ranks end in a half: twice them is a whole number.
        cumulative = np.cumsum(_compute_subset_sum_chances(2 * ranks))
        p, method = min(1.0, float(2 * cumulative[round(2 * statistic)])), "exact signed-rank test"
    else:
        p, method = _rank_sum_normal_p(statistic, len(moved), ties), "signed-rank test, normal approximation"
    if len(values) > _MOST_WALSH:
        method = f"{method}; shift not estimated"
        return Significance(None, n=len(values), method=method, statistic=statistic, p=p)
    averages = compute_walsh_averages(values)
    low, high = _invert_rank_test(averages, len(values), 1 - confidence, exact=exact)
    shift = float(np.median(averages))
    return Significance(shift, low, high, len(values), method, statistic=statistic, p=p)


def _compute_resampled_median_shifts(
    values: Floats, averages: Floats, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """The shift of every resample, (n_resamples,), as a weighted median of the averages of the whole sample.

    A resample that draws difference i c_i times has the average of i and j c_i c_j times (c_i (c_i + 1) / 2
    for i = j), so the averages are sorted once.
    """
    n = len(values)
    first, second = np.triu_indices(n)
    order = np.argsort((values[first] + values[second]) / 2, kind="stable")
    first, second = first[order], second[order]
    itself = np.flatnonzero(first == second)
    middle = [(len(averages) - 1) // 2, len(averages) // 2]
    replicates = []
    for rows in iterate_resample_row_blocks(n, n_resamples, rng, most=_CELLS // len(averages)):
        counts = count_draws_of_each_row(rows).astype(np.int32)  # their sum is at most 5000 * 5001 / 2
        weights = np.take(counts, first, axis=1)
        weights *= np.take(counts, second, axis=1)
        weights[:, itself] += counts[:, first[itself]]
        weights[:, itself] //= 2
        upto = np.cumsum(weights, axis=1, out=weights)
        middles = np.array([np.searchsorted(row, middle, side="right") for row in upto])
        replicates.append(averages[middles].mean(axis=1))
    return np.concatenate(replicates)


def _rank_values_and_count_ties(sizes: Floats) -> tuple[Floats, list[int]]:
    """Ranks from 1, equal sizes sharing their mean, and how many share each shared rank."""
    _, group, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return ranks[group].astype(np.float64), [int(count) for count in counts if count > 1]


def _compute_subset_sum_chances(ranks: Floats) -> Floats:
    """Probability of each sum of a random subset of the (whole) ranks: each is in with probability 1/2."""
    shares = np.ones(1)
    for rank in ranks.astype(int).tolist():
        nothing = np.zeros(rank)
        shares = (np.concatenate([shares, nothing]) + np.concatenate([nothing, shares])) / 2
    return shares


def _compute_rank_sum_standard_deviation(n: int, ties: list[int]) -> float:
    """Standard deviation of a rank sum under the null hypothesis."""
    return math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - sum(t**3 - t for t in ties) / 48)


def _rank_sum_normal_p(statistic: float, n: int, ties: list[int]) -> float:
    if not n:
        return 1.0
    return math.erfc(abs(statistic - n * (n + 1) / 4) / _compute_rank_sum_standard_deviation(n, ties) / math.sqrt(2))


def _invert_rank_test(averages: Floats, n: int, alpha: float, *, exact: bool) -> tuple[float, float]:
    """The shifts that the test does not reject: Walsh averages at equal distance from both ends."""
    if exact:
        outside = int((2 * np.cumsum(_compute_subset_sum_chances(np.arange(1.0, n + 1))) <= alpha).sum())
    else:
        # The normal approximation: n (n + 1) / 4 is the mean of the rank sum.
        outside = (
            math.floor(
                n * (n + 1) / 4 - compute_normal_critical_value(1 - alpha) * _compute_rank_sum_standard_deviation(n, [])
            )
            + 1
        )
    if outside < 1:
        return -math.inf, math.inf
    return float(averages[outside - 1]), float(averages[-outside])
