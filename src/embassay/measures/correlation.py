"""How two series of numbers move together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judged import Values
from embassay.measures.registry import measure


@measure(
    "Pearson",
    direction="higher",
    range="[-1, 1]",
    needs="numbers, numbers",
    undefined="either side is constant, or there are fewer than 2 items",
    source="Pearson 1895; SAGE table 3",
)
def pearson(x: ArrayLike, y: ArrayLike) -> Values:
    """Pearson's product-moment correlation of `x` and `y` over their last axis.

    Shapes (n,) give a float; (..., n) give an array (...). Range -1 to 1, higher is better. NaN where either
    side is constant or n is below 2. Source: SAGE table 3.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or not left.ndim:
        raise UsageError(
            f"Series of shapes {left.shape} and {right.shape} cannot be correlated.",
            mend="Give two of the same shape, one number per item.",
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise UsageError(
            "A value to be correlated is not finite.",
            mend="Leave undefined items out on both sides, and count them.",
        )
    if left.shape[-1] < 2:
        values = np.full(left.shape[:-1], np.nan)
    else:
        left, right = _standard(left), _standard(right)
        constant = ~(left.any(axis=-1) & right.any(axis=-1))
        values = np.where(constant, np.nan, np.clip((left * right).sum(axis=-1), -1.0, 1.0))
    return float(values) if left.ndim == 1 else values


@measure(
    "Spearman",
    direction="higher",
    range="[-1, 1]",
    needs="numbers, numbers",
    undefined="either side is constant, or there are fewer than 2 items",
    source="Spearman 1904; the measure of the STS tasks of MTEB and PTEB",
)
def spearman(x: ArrayLike, y: ArrayLike) -> Values:
    """Spearman's rank correlation of `x` and `y` over their last axis: Pearson's of their ranks.

    Shapes (n,) give a float; (..., n) give an array (...). Equal values share the mean of their ranks. Range -1
    to 1, higher is better. NaN where either side is constant or n is below 2. Source: Spearman 1904, with
    ties as in scipy.stats.spearmanr, which MTEB uses.
    Raises UsageError for shapes that differ or values that are not finite.

    >>> round(spearman([1, 2, 3, 3], [10, 30, 20, 40]), 4)
    0.6325
    """
    from scipy.stats import rankdata

    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    ordered = left.ndim and right.ndim and np.isfinite(left).all() and np.isfinite(right).all()
    # What cannot be ranked is refused by `pearson`, in the same words.
    return pearson(rankdata(left, axis=-1), rankdata(right, axis=-1)) if ordered else pearson(left, right)


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centred and of length 1; all 0 where constant."""
    low, high = values.min(axis=-1, keepdims=True), values.max(axis=-1, keepdims=True)
    # Scaled to 0..1 first: squares of very large or very small values would leave the range of a float.
    scaled = np.divide(values - low, high - low, out=np.zeros_like(values), where=high > low)
    centred = scaled - scaled.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    result = np.zeros_like(values)
    np.divide(centred, length, out=result, where=high > low)
    return result
