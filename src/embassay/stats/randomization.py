"""The paired randomisation test: what if each item's two values had been swapped by a coin?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.bootstrap import DEFAULT_SEED, stream
from embassay.stats.estimate import Significance, check_confidence, paired_differences

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
    """Two-sided test that swapping `a` and `b` (n,) item by item changes nothing; statistic: mean of a - b.

    p is the share of sign patterns of the differences whose mean is at least as far from 0 as the observed
    one: over all 2^n patterns where these are no more than `n_resamples`, else over random ones, with one
    added to count and total. The interval holds the means that the same patterns, applied to the differences
    around their mean, leave possible. One item has no interval (NaN). `rng` replaces the stream of `seed`.
    Raises UsageError for no items, unequal lengths or values that are not finite. Source: Fisher 1935;
    Smucker, Allan and Carterette 2007.

    >>> result = randomization_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.4])
    >>> round(result.estimate, 3), result.p, result.method
    (0.3, 0.125, 'all 16 sign patterns')
    """
    check_confidence(confidence)
    differences = paired_differences(a, b)
    estimate, n = float(differences.mean()), len(differences)
    every = 2**n <= n_resamples
    patterns = _all_patterns(n) if every else _random_patterns(n, n_resamples, stream(seed, rng))
    columns = np.column_stack([differences, differences - estimate])
    means = np.abs(np.concatenate([_signed_means(pattern, columns) for pattern in patterns]))
    extreme = int((means[:, 0] >= abs(estimate) - _ROUNDING * np.abs(differences).max()).sum())
    p = extreme / 2**n if every else (extreme + 1) / (n_resamples + 1)
    half = float(np.quantile(means[:, 1], confidence)) if n > 1 else float("nan")
    method = f"all {2**n} sign patterns" if every else f"{n_resamples} random sign patterns"
    return Significance(estimate, estimate - half, estimate + half, n, method, estimate, p)


def _signed_means(negative: NDArray[np.int64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means (b, m) of the columns (n, m) after turning the signs where `negative` (b, n) is 1."""
    turned: NDArray[np.float64] = negative.astype(np.float64) @ columns
    return np.asarray(columns.mean(axis=0) - 2 / len(columns) * turned)


def _all_patterns(n: int) -> Iterator[NDArray[np.int64]]:
    yield np.arange(2**n)[:, None] >> np.arange(n) & 1


def _random_patterns(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    if n_resamples < 1:
        raise UsageError(f"The number of resamples is {n_resamples}.", mend="It must be 1 or more.")
    step = max(1, _DRAWS // n)
    for start in range(0, n_resamples, step):
        yield rng.integers(0, 2, size=(min(step, n_resamples - start), n))
