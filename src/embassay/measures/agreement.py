"""How well raters agree on the same items: Krippendorff's alpha, for any scale and with gaps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judged import Values
from embassay.measures.raters import Ratings, rating_rows

Level = Literal["nominal", "ordinal", "interval"]
Floats = NDArray[np.float64]


def krippendorff_alpha(
    ratings: Ratings, level: Level = "ordinal", *, counts: ArrayLike | None = None
) -> Values:
    """Krippendorff's alpha of `ratings`, a row per rater and a column per item: (raters, items).

    None or NaN is a missing rating; any number of raters may have rated an item, and an item with one rating
    counts for nothing. `level` says what a disagreement weighs: `nominal` all alike, `ordinal` by the ratings that lie
    between, `interval` by the squared difference; values are numbers but for `nominal`. At most 1 (higher is better),
    0 is chance, below 0 is worse than chance. NaN where no item has two ratings or where all are one value: then
    nothing could have disagreed.
    With `counts` (b, items), how often each of b resamples draws every item, one value per resample, (b,).
    Source: Krippendorff, Content Analysis, 2004, chapter 11 (unbiased coincidences).
    Raises UsageError for rows of different lengths, another level, values that are no numbers where numbers are needed,
    or counts that do not fit.

    >>> round(krippendorff_alpha([[1, 2, 3, None], [1, 2, 4, 2], [1, 3, 3, 2]], "interval"), 4)
    0.8113
    """
    values, codes = _coded(ratings, level)
    coincidences = _per_item(codes, len(values))
    together = coincidences.sum(axis=0) if counts is None else _drawn(counts, coincidences)
    alpha = _alpha(together, values, level)
    return float(alpha) if counts is None else alpha


def _coded(ratings: Ratings, level: Level) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct values in their order (their positions where they are nominal), and every rating as its position
    there, -1 where it is missing, (raters, items)."""
    rows = rating_rows(ratings)
    if level not in ("nominal", "ordinal", "interval"):
        raise UsageError(f"The level is {level!r}.", mend="Use nominal, ordinal or interval.")
    known = dict.fromkeys(value for row in rows for value in row if value is not None)
    places = {value: place for place, value in enumerate(known if level == "nominal" else _sorted(known))}
    codes = [[-1 if value is None else places[value] for value in row] for row in rows]
    values = range(len(places)) if level == "nominal" else places
    return np.array(list(values), dtype=np.float64), np.array(codes, dtype=np.int64)


def _sorted(known: dict[Hashable, None]) -> list[float]:
    numbers = [float(value) for value in known if isinstance(value, int | float | np.number)]
    if len(numbers) < len(known):
        raise UsageError("A rating is not a number.", mend="Give numbers, or use the level nominal.")
    return sorted(numbers)


def _per_item(codes: NDArray[np.int64], n_values: int) -> Floats:
    """The coincidences of every item, (items, values, values): each pair of ratings by two raters counts
    1 / (ratings - 1)."""
    placed = codes[:, :, None] == np.arange(n_values)
    each = placed.sum(axis=0).astype(np.float64)
    ratings = each.sum(axis=1)
    pairs = each[:, :, None] * each[:, None, :] - each[:, :, None] * np.eye(n_values)
    return np.asarray(pairs / np.maximum(ratings - 1, 1)[:, None, None])


def _drawn(counts: ArrayLike, coincidences: Floats) -> Floats:
    drawn = np.asarray(counts, dtype=np.float64)
    if drawn.ndim != 2 or drawn.shape[1] != len(coincidences):
        raise UsageError(
            f"Counts of shape {drawn.shape} do not go with {len(coincidences)} items.",
            mend="Give one row per resample, one count per item.",
        )
    return np.tensordot(drawn, coincidences, axes=1)


def _alpha(coincidences: Floats, values: Floats, level: Level) -> Floats:
    """1 - observed over expected disagreement, of coincidences (..., values, values)."""
    margins = coincidences.sum(axis=-1)
    n = margins.sum(axis=-1)
    weights = _disagreement(margins, values, level)
    observed = (coincidences * weights).sum(axis=(-2, -1))
    expected = (margins[..., :, None] * margins[..., None, :] * weights).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def _disagreement(margins: Floats, values: Floats, level: Level) -> Floats:
    """What it weighs when one rater says c and another k: (..., values, values)."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    # The ratings up to the middle of each value; what lies between two middles is their distance.
    middles = np.cumsum(margins, axis=-1) - margins / 2
    return np.asarray((middles[..., :, None] - middles[..., None, :]) ** 2)
