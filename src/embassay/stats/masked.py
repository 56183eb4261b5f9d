"""The bootstrap, and the sign test, of means over those items where each is defined, many columns at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.bootstrap import resampled_rows, row_counts

# Draws of a block stay in the cache. OpenBLAS makes products of up to 2^18 multiplications in one thread, and threads
# that wait for each other cost more than they bring here.
_DRAWS = 1 << 18
_PRODUCTS = 1 << 18
_TILE = 1024
_ROUNDING = 1e-12


def resample_defined_means(
    columns: ArrayLike, *, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Bootstrap means of several columns over the items where each is not NaN: (n, m) -> (n_resamples, m).

    Every resample draws n items with replacement, the same for all columns, and takes each column's mean over those
    drawn that are defined; NaN where none of them is. So replicate b of one column and of another are a pair, and how
    many items are defined varies as it does between samples. The draws are those of `resample_means`.
    Raises UsageError for no items or infinite values.

    >>> from embassay.randomness import generator
    >>> means = resample_defined_means([[1.0, np.nan], [3.0, 6.0]], n_resamples=4, rng=generator(1))
    >>> means.shape, set(means[~np.isnan(means[:, 1]), 1].tolist())
    ((4, 2), {6.0})
    """
    table = np.asarray(columns, dtype=np.float64)
    if table.ndim != 2 or not len(table) or np.isinf(table).any():
        raise UsageError(
            f"The columns have the shape {table.shape}, or infinite values.",
            mend="Give items by columns, NaN where a column is not defined.",
        )
    defined = ~np.isnan(table)
    masks, which = np.unique(defined, axis=1, return_inverse=True)
    both = np.column_stack([np.where(defined, table, 0.0), masks])
    sums = np.empty((n_resamples, both.shape[1]))
    done = 0
    for rows in resampled_rows(len(table), n_resamples, rng, most=_DRAWS // len(table)):
        sums[done : done + len(rows)] = _product(row_counts(rows).astype(np.float64), both)
        done += len(rows)
    counts = sums[:, table.shape[1] :][:, which.ravel()]
    means = np.full((n_resamples, table.shape[1]), np.nan)
    np.divide(sums[:, : table.shape[1]], counts, out=means, where=counts > 0)
    return means


def sign_flip_p(columns: ArrayLike, *, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Two-sided p that each column of differences (n, m) has mean 0 over its items that are not NaN: (m,).

    The paired randomisation test of `randomization_test` for many columns: every pattern of signs is drawn for all
    items and serves all columns. One is added to count and number. A column of zeros, or of NaN, has p = 1.
    Raises UsageError for columns without items.
    """
    table = np.nan_to_num(np.asarray(columns, dtype=np.float64))
    if table.ndim != 2 or not len(table):
        raise UsageError(f"The columns have the shape {table.shape}.", mend="Give items by columns.")
    total = table.sum(axis=0)
    least = np.abs(total) - _ROUNDING * np.abs(table).sum(axis=0)
    extreme = np.zeros(table.shape[1])
    step = max(1, _DRAWS // len(table))
    for start in range(0, n_resamples, step):
        drawn = min(step, n_resamples - start) * len(table)
        bits = np.unpackbits(np.frombuffer(rng.bytes((drawn + 7) // 8), np.uint8), count=drawn)
        signed = total - 2 * _product(bits.reshape(-1, len(table)).astype(np.float64), table)
        extreme += (np.abs(signed) >= least).sum(axis=0)
    return np.asarray((extreme + 1) / (n_resamples + 1))


def _product(counts: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """`counts` (b, n) times `columns` (n, m), in tiles."""
    b, n = counts.shape
    step = max(1, _PRODUCTS // (_TILE * columns.shape[1]))
    product = np.zeros((b, columns.shape[1]))
    for item in range(0, n, _TILE):
        part = columns[item : item + _TILE]
        for first in range(0, b, step):
            product[first : first + step] += counts[first : first + step, item : item + _TILE] @ part
    return product
