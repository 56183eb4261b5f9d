"""Measures on many resamples of the same items at once, each given by how often it drew every item.

What is sorted is sorted once, for all resamples; a resample costs one pass over the items. The values are exactly those
of the measure on the repeated items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError


def counted_spearman(x: ArrayLike, y: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Spearman's correlation of `x` and `y`, (n,), on resamples `counts` (b, n) -> (b,).

    As `spearman` of the items repeated so often: equal values, copies too, share the mean of their ranks. NaN where
    what was drawn does not vary. Range -1 to 1. Raises UsageError for shapes that do not fit or values that are not
    finite; an item that no resample draws may have any value.

    >>> counted_spearman([1, 2, 3], [1, 3, 2], [[1, 1, 1], [1, 0, 3], [0, 0, 3]]).round(4).tolist()
    [0.5, 1.0, nan]
    """
    from embassay.measures.kernels import spearman_of_counts

    drawn = _counts(counts)
    left, right = _column(x, drawn), _column(y, drawn)
    if not drawn.size:
        return np.full(len(drawn), np.nan)
    return np.clip(spearman_of_counts(_places(left), _places(right), drawn), -1.0, 1.0)


def counted_average_precision(labels: ArrayLike, scores: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Average precision of `labels` (0 or 1) by `scores`, both (n,), on resamples `counts` (b, n) -> (b,).

    As `pair_average_precision` of the items repeated so often. NaN where nothing that was drawn has the label 1.
    Raises UsageError for shapes that do not fit or scores that are not finite, but for items that no resample draws.

    >>> counted_average_precision([1, 0, 1], [.9, .5, .1], [[1, 1, 1], [1, 2, 0], [0, 1, 0]]).round(4).tolist()
    [0.8333, 1.0, nan]
    """
    from embassay.measures.kernels import average_precision_of_counts

    drawn = _counts(counts)
    ranked, relevant = _column(scores, drawn), _column(labels, drawn) > 0
    if not drawn.size:
        return np.full(len(drawn), np.nan)
    order = np.argsort(-ranked, kind="stable")
    last = np.append(ranked[order][1:] != ranked[order][:-1], True)
    return np.asarray(average_precision_of_counts(order, last, relevant, drawn))


def _counts(counts: ArrayLike) -> NDArray[np.int64]:
    drawn = np.ascontiguousarray(counts, dtype=np.int64)
    if drawn.ndim != 2 or drawn.min(initial=0) < 0:
        raise UsageError(
            f"Counts of shape {drawn.shape} are no resamples.",
            mend="Give one row per resample, one count of 0 or more per item.",
        )
    return drawn


def _column(values: ArrayLike, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values, 0 for items that are never drawn."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != counts.shape[1:]:
        raise UsageError(
            f"Values of shape {column.shape} do not go with counts of shape {counts.shape}.",
            mend="Give one value per item.",
        )
    unknown = ~np.isfinite(column)
    if unknown.any():
        if counts[:, unknown].any():
            raise UsageError(
                "A value of a drawn item is not finite.",
                mend="Leave undefined items out on both sides, and count them.",
            )
        column = np.where(unknown, 0.0, column)
    return column


def _places(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """The place of each value among the distinct ones, ascending."""
    return np.unique(column, return_inverse=True)[1].astype(np.int64)
