"""Agreement beyond chance on categories: the kappas of Fleiss and of Cohen, and the plain share of agreement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.raters import Ratings, common, mean_pairwise, rating_rows

Weights = Literal["linear", "quadratic"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fleiss:
    """Fleiss' kappa and what it is of: `items` with `ratings_per_item` ratings each; `dropped` items had another
    number of ratings."""

    value: float
    items: int
    ratings_per_item: int
    dropped: int


def fleiss_kappa(ratings: Ratings) -> float:
    """Fleiss' kappa of `ratings`, a row per rater and a column per item: (raters, items).

    At most 1, higher is better, 0 is chance. Items that are not rated as often as most are left out: `fleiss` says how
    many. NaN where every rating is the same, or no item has two. Values are labels: only whether two are equal counts.
    Source: Fleiss 1971; HUME section 6. Raises UsageError for rows of different lengths.

    >>> round(fleiss_kappa(["aabbccabca", "abbbcaabcc"]), 6)
    0.548872
    """
    return fleiss(ratings).value


def fleiss(ratings: Ratings) -> Fleiss:
    """`fleiss_kappa` with the number of items behind it.

    Every item must have the same number of ratings. So the commonest number from two on is used (the larger of two
    equally common ones), and the other items are left out.

    >>> fleiss([[1, 2, 1, 1], [1, 2, 2, None]]).dropped
    1
    """
    counted = [
        Counter(value for value in item if value is not None)
        for item in zip(*rating_rows(ratings), strict=True)
    ]
    sizes = Counter(count.total() for count in counted if count.total() > 1)
    if not sizes:
        return Fleiss(math.nan, 0, 0, len(counted))
    size = max(sizes, key=lambda size: (sizes[size], size))
    kept = [count for count in counted if count.total() == size]
    return Fleiss(_fleiss(kept, size), len(kept), size, len(counted) - len(kept))


def _fleiss(counted: Sequence[Counter[Hashable]], size: int) -> float:
    together = sum((count for count in counted), start=Counter[Hashable]())
    n = len(counted) * size
    if len(together) == 1:
        return math.nan
    # Whole numbers until the last step, so that full agreement is exactly 1.
    alike = sum(times * (times - 1) for count in counted for times in count.values())
    observed = alike / (n * (size - 1))
    expected = sum(times * times for times in together.values()) / (n * n)
    return (observed - expected) / (1 - expected)


def cohen_kappa(
    x: Sequence[Hashable | None],
    y: Sequence[Hashable | None],
    *,
    weights: Weights | None = None,
    scale: Sequence[Hashable] | None = None,
) -> float:
    """Cohen's kappa of two raters, one rating per item each, over the items that both rated: (n,) and (n,).

    At most 1, higher is better, 0 is chance. NaN where there are no common items or both raters gave nothing but
    one and the same value. With `weights` a disagreement weighs how far apart the two values stand ("linear") or the
    square of that ("quadratic"): in the order of `scale`, or else of the values found, as scikit-learn does.
    Source: Cohen 1960, 1968; HUME section 6.
    Raises UsageError for different lengths, unknown weights, a value that is not on the scale, or values
    without an order where one is needed.

    >>> round(cohen_kappa("aabbccabca", "abbbcaabcc"), 6)
    0.552239
    """
    if weights not in (None, "linear", "quadratic"):
        raise UsageError(f"The weights are {weights!r}.", mend="Use linear, quadratic or None.")
    left, right = common(x, y)
    places = {value: place for place, value in enumerate(_scale({*left, *right}, weights, scale))}
    unknown = {*left, *right} - places.keys()
    if unknown:
        raise UsageError(f"{sorted(map(str, unknown))} is not on the scale.", mend="Name every value there.")
    table = np.zeros((len(places), len(places)))
    for a, b in zip(left, right, strict=True):
        table[places[a], places[b]] += 1
    return _kappa(table, _disagreement(len(places), weights))


def _scale(
    found: set[Hashable], weights: Weights | None, scale: Sequence[Hashable] | None
) -> Sequence[Hashable]:
    if scale is not None or weights is None:
        return list(found) if scale is None else scale
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        raise UsageError(
            "The ratings have no common order.", mend="Name the values in their order as the scale."
        ) from None


def _disagreement(n: int, weights: Weights | None) -> Floats:
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)
    return np.minimum(apart, 1) if weights is None else apart if weights == "linear" else apart**2


def _kappa(table: Floats, disagreement: Floats) -> float:
    """1 - observed over expected disagreement."""
    expected = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * disagreement).sum())
    observed = float((table * disagreement).sum()) * float(table.sum())
    return 1 - observed / expected if expected else math.nan


def percent_agreement(ratings: Ratings, *, min_shared: int = 1) -> float:
    """The share of equal ratings, 0 to 1, over the items that two raters share, as the mean over pairs of raters, each
    weighed by its items.

    NaN where no two raters share `min_shared` items. Source: HUME section 6. Raises UsageError as `mean_pairwise` does.

    >>> percent_agreement(["aabbccabca", "abbbcaabcc"])
    0.7
    """
    return mean_pairwise(ratings, _equal_share, min_shared=min_shared).value


def _equal_share(x: Sequence[Hashable], y: Sequence[Hashable]) -> float:
    return sum(a == b for a, b in zip(x, y, strict=True)) / len(x)
