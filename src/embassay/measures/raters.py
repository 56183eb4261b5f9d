"""Ratings of several raters: brought into rows over the same items, and compared two raters at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judged import Values

Ratings = Sequence[Sequence[Hashable | None]] | NDArray[np.generic]
"""A row per rater, a column per item: (raters, items). None or NaN is a missing rating."""
Answers = Mapping[str, Mapping[str, Hashable]]
"""What every rater said of every item, by the ids of both."""


@dataclass(frozen=True)
class Aligned:
    """Ratings of the same items in the same order: `rows` has one row per rater, None where one is missing."""

    raters: tuple[str, ...]
    items: tuple[str, ...]
    rows: tuple[tuple[Hashable | None, ...], ...]


@dataclass(frozen=True)
class Pairwise:
    """The mean of a measure over pairs of raters, each weighed by the items it shares, NaN where no pair has a value.

    `values` has one per pair, in the order (1, 2), (1, 3), ... (2, 3), NaN where it is undefined or the pair shares too
    few items; `items` how many items both of the pair rated; `skipped` how many pairs are not in the mean.
    """

    value: float
    values: tuple[float, ...]
    items: tuple[int, ...]
    skipped: int


def align(answers: Answers) -> Aligned:
    """The answers of every rater over the items that anyone rated, items in the order of their ids.

    >>> align({"ann": {"b": 1}, "bob": {"a": 2, "b": 3}}).rows
    ((None, 1), (2, 3))
    """
    items = tuple(sorted({item for own in answers.values() for item in own}))
    rows = tuple(tuple(own.get(item) for item in items) for own in answers.values())
    return Aligned(tuple(answers), items, rows)


def rating_rows(ratings: Ratings) -> list[list[Hashable | None]]:
    """The rows of `ratings` with None for what is missing. Raises UsageError for rows of different lengths or none."""
    rows = [[None if _is_missing(value) else value for value in row] for row in ratings]
    if len({len(row) for row in rows}) != 1:
        raise UsageError(
            f"The raters have {[len(row) for row in rows]} items.",
            mend="Give every rater a rating or None per item.",
        )
    return rows


def mean_pairwise(
    ratings: Ratings, measure: Callable[[Any, Any], Values], *, min_shared: int = 1
) -> Pairwise:
    """The mean over pairs of raters of `measure`, which gets the ratings of the two over the items both rated.

    A pair weighs as many items as it shares, so that the few items of someone who hardly began weigh little, and below
    `min_shared` of them nothing. Made for `ari`, `v_measure`, `spearman`, `pearson`, `cohen_kappa`, `percent_agreement`
    of two and `absolute_difference`. A pair whose value is NaN (one rater constant, no common items) is left out and
    counted, never 0. Source: HUME section 6, where all pairs share all items. Raises UsageError for rows of different
    lengths or fewer than two raters.

    >>> mean_pairwise([[1, 2, 3], [1, 2, 5], [2, 3, None]], absolute_difference).values
    (0.6666666666666666, 1.0, 1.0)
    """
    rows = rating_rows(ratings)
    if len(rows) < 2:
        raise UsageError(
            "One rater agrees with nobody.", mend="Give two raters or more, or report the agreement as NA."
        )
    both = [common(one, other) for one, other in combinations(rows, 2)]
    items = tuple(len(pair[0]) for pair in both)
    values = tuple(
        float(measure(*pair)) if n >= max(min_shared, 1) else math.nan
        for n, pair in zip(items, both, strict=True)
    )
    defined = [(n, value) for n, value in zip(items, values, strict=True) if not math.isnan(value)]
    # Shares of the largest pair: where all share as many, each weighs exactly 1.
    weights = [n / max(items) for n, _ in defined]
    weighed = math.fsum(weight * value for weight, (_, value) in zip(weights, defined, strict=True))
    mean = weighed / math.fsum(weights) if defined else math.nan
    return Pairwise(mean, values, items, len(values) - len(defined))


def common(
    one: Sequence[Hashable | None], other: Sequence[Hashable | None]
) -> tuple[list[Hashable], list[Hashable]]:
    """The ratings of two raters over the items that both rated. Raises UsageError for different lengths."""
    first, second = rating_rows([list(one), list(other)])
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return [a for a, _ in pairs], [b for _, b in pairs]


def absolute_difference(x: ArrayLike, y: ArrayLike) -> float:
    """Mean absolute difference of two series of numbers (n,), 0 or more, lower is better; NaN for none.

    Raises UsageError for shapes that differ.

    >>> absolute_difference([1, 2], [1, 5])
    1.5
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise UsageError(
            f"Series of shapes {left.shape} and {right.shape} have no differences.",
            mend="Give two of the same shape, one number per item.",
        )
    return float(np.abs(left - right).mean()) if len(left) else math.nan


def _is_missing(value: object) -> bool:
    return value is None or value != value
