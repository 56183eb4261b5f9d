"""One engine of resamples: replicates of means and of masked means, and the intervals they give.

A statistic that is a smooth function of means (a correlation, an F1, a ratio) gets its replicates by applying
that function to the replicates of `resample_means`; nothing is resampled twice.

What is promised of the draws: they come from `GeneratorSettings.integers` of the given generator, one call order for
all block sizes and numbers of columns, so one seed draws the same items for every system and differences are
paired. They are equal on every machine with one version of numpy; numpy keeps the right to change them
between versions. The sums over the drawn items may differ in the last bits between machines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.stats.intervals import (
    NORMAL,
    Estimate,
    Freedom,
    Significance,
    check_confidence,
    convert_to_finite_sample_array,
    subtract_scores_item_by_item,
    t_quantile,
)

_LEAST = 1e-4
TIE = 1e-9
FEWEST = 8
"""Units from which percentiles of replicates hold what they promise (docs/how_sure.md)."""


def corrected_interval(
    replicates: ArrayLike,
    estimate: float,
    freedom: Freedom = NORMAL,
    confidence: float = 0.95,
    *,
    accelerated: bool = False,
) -> tuple[float, float]:
    """Interval from percentiles of the replicates (B,), corrected for bias and widened according to Student's t.

    The plain percentile interval is too narrow from few items, and biased where the replicates are. Here the
    ends are at Phi(2 z0 -+ t x factor) instead of 2.5% and 97.5%: z0 is the normal quantile of the share of
    replicates below the estimate; t and factor come from `freedom`. They stay within the replicates, but below
    8 units (7 degrees) the interval is the estimate -+ t errors. With `accelerated` the ends also lean as the
    replicates do, for means near an end of what they can be. Undefined replicates and errors as in
    `percentile_interval`.
    Source: Efron 1981 and 1987 (bias correction, acceleration: a sixth of the skewness), Hesterberg 2015 (widening).

    >>> from embassay.stats.intervals import freedom_of_units
    >>> draws = np.random.default_rng(0).normal(5, 1, 10_000)
    >>> [round(end, 1) for end in corrected_interval(draws, 5)]
    [3.1, 7.0]
    >>> [round(end, 1) for end in corrected_interval(draws, 5, freedom_of_units(5))]
    [1.9, 8.1]
    """
    from scipy.special import ndtr, ndtri

    check_confidence(confidence)
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        return percentile_interval(values, confidence)
    defined = values[~np.isnan(values)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(values):
        return float("nan"), float("nan")
    if freedom.df < FEWEST - 1:
        half = t_quantile((1 + confidence) / 2, freedom.df) * freedom.error(defined)
        return float(estimate - half), float(estimate + half)
    # Replicates that are the estimate but for the rounding of sums, which differs between processors, are ties.
    tie = TIE * max(1.0, abs(estimate))
    # Half of the ties are taken to lie below.
    below = ((defined < estimate - tie).mean() + (defined <= estimate + tie).mean()) / 2
    # An estimate beyond all replicates would have an infinite quantile.
    bias = ndtri(np.clip(below, _LEAST, 1 - _LEAST))
    reach = freedom.factor * t_quantile((1 + confidence) / 2, freedom.df)
    lean = _compute_replicate_skewness(defined) / 6 if accelerated else 0.0
    steps = bias + np.array([-reach, reach])
    low, high = np.quantile(defined, ndtr(bias + steps / (1 - lean * steps)))
    return float(low), float(high)


def _compute_replicate_skewness(values: NDArray[np.float64]) -> float:
    """Compute the skewness of replicates; 0 where they do not vary."""
    off = values - values.mean()
    spread = float((off**2).mean()) ** 0.5
    return float((off**3).mean()) / spread**3 if spread > 0 else 0.0


Statistic = Callable[..., float]
Groups = NDArray[np.int64]
"""The number of each row's group, 0 .. g - 1: rows that are not independent, and are drawn together."""

DEFAULT_SEED = 1337
# OpenBLAS makes products of up to 2^18 multiplications in one thread, without waiting for others; and drawing
# and counting are fastest in blocks that stay in the cache.
_PRODUCTS = 1 << 18
_DRAWS = 1 << 16
MOST_UNDEFINED = 0.05
"""Share of resamples that may be without a value."""


def resample_means(
    columns: ArrayLike, *, n_resamples: int, rng: np.random.Generator, groups: Groups | None = None
) -> NDArray[np.float64]:
    """Bootstrap means of several columns at once: (n, m) -> (n_resamples, m).

    Every resample draws n rows with replacement, the same rows for all columns; with `groups` (n,), the number 0 ..
    g - 1 of each row's group, it draws g groups with all their rows. Memory stays within a few megabytes besides input
    and output. The module says what is promised of the draws. Raises UsageError for no rows or values that are not
    finite.

    >>> resample_means([[1.0, 2.0], [3.0, 6.0]], n_resamples=4, rng=make_seeded_generator(1)).shape
    (4, 2)
    """
    values = convert_to_finite_sample_array(columns, "columns", most_dimensions=2)
    values = np.ascontiguousarray(values.reshape(len(values), -1))
    if groups is not None:
        # A group has as many rows as it has, so that a resample's mean is of their sums and of their number.
        sums = sum_rows_by_group(np.column_stack([values, np.ones(len(values))]), groups)
        drawn = resample_means(sums, n_resamples=n_resamples, rng=rng)
        return drawn[:, :-1] / drawn[:, -1:]
    n, m = values.shape
    means = np.empty((n_resamples, m))
    done = 0
    for rows in iterate_resample_row_blocks(n, n_resamples, rng, most=min(_PRODUCTS // (n * m), _DRAWS // n)):
        # Counts as floats: whole numbers have no fast product.
        means[done : done + len(rows)] = count_draws_of_each_row(rows).astype(np.float64) @ values
        done += len(rows)
    means /= n
    return means


def sum_rows_by_group(columns: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """The rows of `columns` (n, m) summed by group, (g, m): what is drawn where `groups` (n,) are drawn whole.

    >>> sum_rows_by_group(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])).tolist()
    [[5.0], [2.0]]
    """
    sums = np.zeros((int(groups.max()) + 1, columns.shape[1]))
    np.add.at(sums, groups, columns)
    return sums


def count_effective_groups(groups: Groups) -> int:
    """How many groups of one size tell as much as these do: of a group that holds half of the items there are few more
    (Kish 1965).

    >>> count_effective_groups(np.array([0, 1, 2, 3])), count_effective_groups(np.array([0, 0, 0, 0, 1, 2]))
    (4, 2)
    """
    sizes = np.bincount(groups).astype(np.float64)
    return round(float(sizes.sum() ** 2 / (sizes**2).sum()))


def stratified_means(strata: Sequence[ArrayLike], *, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Bootstrap of an unweighted mean over strata: [(n_1, m), (n_2, m), ...] -> (n_resamples, m).

    Rows are drawn within each stratum, one stratum after the other from one generator, and the strata's means
    are averaged with equal weight whatever their sizes. Raises UsageError for no strata or unequal numbers of
    columns.

    >>> stratified_means([[1.0], [3.0, 5.0]], n_resamples=4, rng=make_seeded_generator(1)).shape
    (4, 1)
    """
    means = [resample_means(stratum, n_resamples=n_resamples, rng=rng) for stratum in strata]
    if len({part.shape for part in means}) != 1:
        raise UsageError(
            f"The {len(means)} strata have {[part.shape[1] for part in means]} columns.",
            mend="Give at least one stratum, with the same columns in all strata.",
        )
    return np.asarray(np.mean(means, axis=0))


def percentile_interval(replicates: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """The percentile interval of bootstrap replicates (B,), with quantiles by linear interpolation.

    Replicates that are undefined (NaN: a constant resample has no correlation) are left out up to a share of
    5%; beyond it the interval itself is undefined, (NaN, NaN). So it is where all replicates are one value: what never
    varied here may vary elsewhere, and no interval has a width of 0. Raises UsageError for no replicates.

    >>> low, high = percentile_interval(range(101), confidence=0.9)
    >>> round(low, 6), round(high, 6)
    (5.0, 95.0)
    """
    check_confidence(confidence)
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise UsageError(f"The replicates have the shape {values.shape}.", mend="Give one number per resample.")
    undefined = np.isnan(values)
    if undefined.mean() > MOST_UNDEFINED or are_replicates_constant(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values[~undefined], [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


UNVARIED = "no interval: every resample gives the same value"


def are_replicates_constant(replicates: NDArray[np.float64]) -> bool:
    """Whether the replicates are one value, but for the last bits of a float; one replicate is."""
    defined = replicates[np.isfinite(replicates)]
    return len(defined) > 0 and float(np.ptp(defined)) <= _ROUNDING * max(1.0, float(np.abs(defined).max()))


def bootstrap_ci(
    x: ArrayLike,
    statistic: Statistic = np.mean,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Percentile bootstrap interval of `statistic` over the items of `x`, (n,) or (n, m) with a row per item.

    `statistic` gets a resample shaped as `x` and returns a number; for (n,) it is called on many resamples at
    once where it has a parameter `axis`. `rng` replaces the stream of `seed`. The interval of one item is
    undefined, NaN.
    Raises UsageError for no items or values that are not finite. Source: Efron 1979.

    >>> result = bootstrap_ci([0.2, 0.4, 0.4, 0.8])
    >>> result.value, result.n, result.low < 0.45 < result.high
    (0.45, 4, True)
    """
    values = convert_to_finite_sample_array(x, most_dimensions=2)
    estimate = float(statistic(values))
    if len(values) == 1:
        return Estimate(estimate, n=1, method="no interval from one item")
    source = make_resampling_generator(seed, rng)
    if statistic is np.mean and values.ndim == 1:
        replicates = resample_means(values, n_resamples=n_resamples, rng=source)[:, 0]
    else:
        replicates = _compute_replicates(values, statistic, n_resamples, source)
    low, high = percentile_interval(replicates, confidence)
    method = UNVARIED if are_replicates_constant(replicates) else _describe_bootstrap(confidence, n_resamples)
    return Estimate(estimate, low, high, len(values), method)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    rng: np.random.Generator | None = None,
) -> Significance:
    """Mean of `a` minus mean of `b` over the same items (n,), with interval and p-value from the paired bootstrap.

    Items are resampled with both their values. p is twice the smaller share of resampled differences on one
    side of 0 (0 counts for both; one is added to count and total), at most 1; `statistic` is the difference.
    One item has neither interval nor p (NaN). Other rules as
    for `bootstrap_ci`.

    >>> result = paired_bootstrap([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.4])
    >>> round(result.value, 3), result.low > 0, result.p < 0.01
    (0.3, True, True)
    """
    differences = subtract_scores_item_by_item(a, b)
    estimate, n = float(differences.mean()), len(differences)
    if n == 1:
        unknown = float("nan")
        return Significance(estimate, n=1, method="no interval from one item", statistic=estimate, p=unknown)
    replicates = resample_means(differences, n_resamples=n_resamples, rng=make_resampling_generator(seed, rng))[:, 0]
    low, high = percentile_interval(replicates, confidence)
    smaller = min(int((replicates <= 0).sum()), int((replicates >= 0).sum()))
    p = min(1.0, 2 * (smaller + 1) / (n_resamples + 1))
    method = (
        UNVARIED if are_replicates_constant(replicates) else f"paired {_describe_bootstrap(confidence, n_resamples)}"
    )
    return Significance(estimate, low, high, n, method, statistic=estimate, p=p)


def make_resampling_generator(seed: int, rng: np.random.Generator | None) -> np.random.Generator:
    """`rng`, or the stream of `seed` that all resampling of this package shares."""
    return make_seeded_generator(seed, "resample") if rng is None else rng


def _describe_bootstrap(confidence: float, n_resamples: int) -> str:
    return f"{confidence:.0%} percentile bootstrap, {n_resamples} resamples"


def iterate_resample_row_blocks(
    n: int, n_resamples: int, rng: np.random.Generator, *, most: int
) -> Iterator[NDArray[np.int64]]:
    """The rows each resample of n rows draws: arrays of up to `most` (but at least 1) resamples, (b, n)."""
    if n_resamples < 1:
        raise UsageError(f"The number of resamples is {n_resamples}.", mend="Use 1 or more.")
    step = max(1, most)
    for start in range(0, n_resamples, step):
        yield rng.integers(0, n, size=(min(step, n_resamples - start), n))


def draw_all_resample_rows(n: int, n_resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the rows of all resamples in one array, (n_resamples, n): where they are few."""
    return next(iterate_resample_row_blocks(n, n_resamples, rng, most=n_resamples))


def count_draws_of_each_row(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count how often each of n rows was drawn: (b, n) row numbers to (b, n) counts, in place."""
    n = rows.shape[1]
    # Each resample gets numbers of its own, so that one count serves all.
    rows += np.arange(len(rows))[:, None] * n
    return np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape)


def _compute_replicates(
    values: NDArray[np.float64], statistic: Statistic, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    blocks = iterate_resample_row_blocks(len(values), n_resamples, rng, most=_DRAWS // len(values))
    if values.ndim == 1 and _has_axis_parameter(statistic):
        return np.concatenate([np.asarray(statistic(values[rows], axis=-1)) for rows in blocks])
    return np.array([statistic(values[row]) for rows in blocks for row in rows], dtype=np.float64)


def _has_axis_parameter(statistic: Statistic) -> bool:
    try:
        return "axis" in inspect.signature(statistic).parameters
    except ValueError:  # some built-in functions have no signature
        return False


# Draws of a block stay in the cache. OpenBLAS makes products of up to 2^18 multiplications in one thread, and threads
# that wait for each other cost more than they bring here.
_MASKED_DRAWS = 1 << 18
_TILE = 1024
_ROUNDING = 1e-12


def resample_defined_means(
    columns: ArrayLike, *, n_resamples: int, rng: np.random.Generator, groups: Groups | None = None
) -> NDArray[np.float64]:
    """Bootstrap means of several columns over the items where each is not NaN: (n, m) -> (n_resamples, m).

    Every resample draws n items with replacement, the same for all columns, and takes each column's mean over those
    drawn that are defined; NaN where none of them is. So replicate b of one column and of another are a pair, and how
    many items are defined varies as it does between samples. The draws, and `groups`, are those of `resample_means`.
    Raises UsageError for no items or infinite values.

    >>> from embassay.randomness import make_seeded_generator
    >>> means = resample_defined_means([[1.0, np.nan], [3.0, 6.0]], n_resamples=4, rng=make_seeded_generator(1))
    >>> means.shape, set(means[~np.isnan(means[:, 1]), 1].tolist())
    ((4, 2), {6.0})
    """
    table = np.asarray(columns, dtype=np.float64)
    if table.ndim != 2 or not len(table) or np.isinf(table).any():
        raise UsageError(
            f"The columns have the shape {table.shape}, or contain infinite values.",
            mend="Give a matrix of items by columns, with NaN where a column is undefined.",
        )
    defined = ~np.isnan(table)
    # Columns with the same gaps share one count of what was drawn.
    masks, which = np.unique(defined, axis=1, return_inverse=True)
    table_and_masks = np.column_stack([np.where(defined, table, 0.0), masks])
    if groups is not None:
        table_and_masks = sum_rows_by_group(table_and_masks, groups)
    sums = np.empty((n_resamples, table_and_masks.shape[1]))
    done = 0
    n = len(table_and_masks)
    for rows in iterate_resample_row_blocks(n, n_resamples, rng, most=_MASKED_DRAWS // n):
        sums[done : done + len(rows)] = _multiply_in_tiles(
            count_draws_of_each_row(rows).astype(np.float64), table_and_masks
        )
        done += len(rows)
    counts = sums[:, table.shape[1] :][:, which.ravel()]
    means = np.full((n_resamples, table.shape[1]), np.nan)
    np.divide(sums[:, : table.shape[1]], counts, out=means, where=counts > 0)
    return means


def compute_sign_flip_p_values(
    columns: ArrayLike, *, n_resamples: int, rng: np.random.Generator, groups: Groups | None = None
) -> NDArray[np.float64]:
    """Two-sided p that each column of differences (n, m) has mean 0 over its items that are not NaN: (m,).

    The paired randomisation test of `randomization_test` for many columns: every pattern of signs is drawn for all
    items and serves all columns; the items of one of the `groups` (n,) have one sign. One is added to count and
    number. A column of zeros, or of NaN, has p = 1.
    Raises UsageError for columns without items.
    """
    table = np.nan_to_num(np.asarray(columns, dtype=np.float64))
    if table.ndim != 2 or not len(table):
        raise UsageError(f"The columns have the shape {table.shape}.", mend="Give a matrix of items by columns.")
    if groups is not None:
        table = sum_rows_by_group(table, groups)
    total = table.sum(axis=0)
    least = np.abs(total) - _ROUNDING * np.abs(table).sum(axis=0)
    extreme = np.zeros(table.shape[1])
    step = max(1, _MASKED_DRAWS // len(table))
    for start in range(0, n_resamples, step):
        drawn = min(step, n_resamples - start) * len(table)
        # A bit per sign: numbers from 0 to 1 would use up many times the stream.
        bits = np.unpackbits(np.frombuffer(rng.bytes((drawn + 7) // 8), np.uint8), count=drawn)
        # Turning some signs takes twice the sum of these away.
        signed = total - 2 * _multiply_in_tiles(bits.reshape(-1, len(table)).astype(np.float64), table)
        extreme += (np.abs(signed) >= least).sum(axis=0)
    return np.asarray((extreme + 1) / (n_resamples + 1))


def _multiply_in_tiles(counts: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """`counts` (b, n) times `columns` (n, m), in tiles."""
    b, n = counts.shape
    step = max(1, _PRODUCTS // (_TILE * columns.shape[1]))
    product = np.zeros((b, columns.shape[1]))
    for item in range(0, n, _TILE):
        part = columns[item : item + _TILE]
        for first in range(0, b, step):
            product[first : first + step] += counts[first : first + step, item : item + _TILE] @ part
    return product
