"""How well raters agree: Krippendorff's alpha, kappas, marks of relevance, and the words for what they come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, starmap
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.correlation import spearman
from embassay.measures.judgements import Values

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
    """Every rater's answers to all rated items, in the order of item ids.

    >>> align({"ann": {"b": 1}, "bob": {"a": 2, "b": 3}}).rows
    ((None, 1), (2, 3))
    """
    items = tuple(sorted({item for given in answers.values() for item in given}))
    rows = tuple(tuple(given.get(item) for item in items) for given in answers.values())
    return Aligned(tuple(answers), items, rows)


def replace_missing_ratings_by_none(ratings: Ratings) -> list[list[Hashable | None]]:
    """The rows of `ratings` with None for what is missing. Raises UsageError for rows of different lengths or none."""
    rows = [[None if _is_missing_rating(value) else value for value in row] for row in ratings]
    if len({len(row) for row in rows}) != 1:
        raise UsageError(
            f"Every rater needs the same number of items, but the numbers are {[len(row) for row in rows]}.",
            mend="Pass a rating or None per item for every rater.",
        )
    return rows


def mean_pairwise(ratings: Ratings, measure: Callable[[Any, Any], Values], *, min_shared: int = 1) -> Pairwise:
    """The mean of `measure` over pairs of raters, applied to the items that both rated.

    A pair weighs as many items as it shares, and nothing below `min_shared`. Made for `ari`, `v_measure`,
    `spearman`, `pearson`, `cohen_kappa`, `percent_agreement` and `absolute_difference`. A pair whose value is NaN
    is left out and counted, never 0. Source: HUME section 6, where all pairs share all items. Raises UsageError for
    rows of different lengths or fewer than two raters.

    >>> mean_pairwise([[1, 2, 3], [1, 2, 5], [2, 3, None]], absolute_difference).values
    (0.6666666666666666, 1.0, 1.0)
    """
    rows = replace_missing_ratings_by_none(ratings)
    if len(rows) < 2:
        raise UsageError("Agreement needs two raters.", mend="Pass two or more raters, or report the agreement as NA.")
    shared = list(starmap(pick_ratings_of_shared_items, combinations(rows, 2)))
    items = tuple(len(pair[0]) for pair in shared)
    values = tuple(
        float(measure(*pair)) if n >= max(min_shared, 1) else math.nan for n, pair in zip(items, shared, strict=True)
    )
    defined = [(n, value) for n, value in zip(items, values, strict=True) if not math.isnan(value)]
    # Shares of the largest pair: where all share as many, each weighs exactly 1.
    weights = [n / max(items) for n, _ in defined]
    weighed = math.fsum(weight * value for weight, (_, value) in zip(weights, defined, strict=True))
    mean = weighed / math.fsum(weights) if defined else math.nan
    return Pairwise(mean, values, items, len(values) - len(defined))


def pick_ratings_of_shared_items(
    one: Sequence[Hashable | None], other: Sequence[Hashable | None]
) -> tuple[list[Hashable], list[Hashable]]:
    """The ratings of two raters over the items that both rated. Raises UsageError for different lengths."""
    first, second = replace_missing_ratings_by_none([list(one), list(other)])
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return [a for a, _ in pairs], [b for _, b in pairs]


def absolute_difference(x: ArrayLike, y: ArrayLike) -> float:
    """Mean absolute difference of two series of numbers (n,): 0 or more, lower is better, NaN if empty.

    Raises UsageError for shapes that differ.

    >>> absolute_difference([1, 2], [1, 5])
    1.5
    """
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise UsageError(
            f"Differences need two series of the same shape, found {left.shape} and {right.shape}.",
            mend="Pass two series of the same shape, with one number per item.",
        )
    return float(np.abs(left - right).mean()) if len(left) else math.nan


def _is_missing_rating(value: object) -> bool:
    return value is None or value != value  # NaN alone differs from itself


Level = Literal["nominal", "ordinal", "interval"]
Floats = NDArray[np.float64]


def krippendorff_alpha(ratings: Ratings, level: Level = "ordinal", *, counts: ArrayLike | None = None) -> Values:
    """Krippendorff's alpha of `ratings`, a row per rater and a column per item: (raters, items).

    None or NaN is a missing rating; an item with one rating counts for nothing. `level` weighs disagreements:
    `nominal` all alike, `ordinal` by the ratings between, `interval` by the squared difference; values are
    numbers but for `nominal`. At most 1 (higher is better), 0 is chance, below 0 worse than chance. NaN where
    no item has two ratings or all are one value.
    With `counts` (b, items), how often each of b resamples draws every item, one value per resample, (b,).
    Source: Krippendorff, Content Analysis, 2004, chapter 11 (unbiased coincidences).
    Raises UsageError for rows of different lengths, another level, values that are no numbers where numbers are needed,
    or counts that do not fit.

    >>> round(krippendorff_alpha([[1, 2, 3, None], [1, 2, 4, 2], [1, 3, 3, 2]], "interval"), 4)
    0.8113
    """
    values, codes = _encode_ratings_as_positions(ratings, level)
    coincidences = _count_item_coincidences(codes, len(values))
    # Coincidences of items add up: a resample is a weighted sum, and no rating is counted again.
    together = coincidences.sum(axis=0) if counts is None else _sum_coincidences_by_resample(counts, coincidences)
    alpha = _compute_krippendorff_alpha(together, values, level)
    return float(alpha) if counts is None else alpha


def _encode_ratings_as_positions(ratings: Ratings, level: Level) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct values in their order (their positions where they are nominal), and every rating as its position
    there, -1 where it is missing, (raters, items)."""
    rows = replace_missing_ratings_by_none(ratings)
    if level not in ("nominal", "ordinal", "interval"):
        raise UsageError(f"Unknown level {level!r}.", mend="Use nominal, ordinal or interval.")
    seen = dict.fromkeys(value for row in rows for value in row if value is not None)
    codes_by = {value: code for code, value in enumerate(seen if level == "nominal" else _sort_rating_values(seen))}
    codes = [[-1 if value is None else codes_by[value] for value in row] for row in rows]
    # Nominal values may be anything, and only whether they are equal counts.
    values = range(len(codes_by)) if level == "nominal" else codes_by
    return np.array(list(values), dtype=np.float64), np.array(codes, dtype=np.int64)


def _sort_rating_values(known: dict[Hashable, None]) -> list[float]:
    numbers = [float(value) for value in known if isinstance(value, int | float | np.number)]
    if len(numbers) < len(known):
        raise UsageError("A rating is not a number.", mend="Pass numbers, or use the level nominal.")
    return sorted(numbers)


def _count_item_coincidences(codes: NDArray[np.int64], n_values: int) -> Floats:
    """The coincidences of every item, (items, values, values): each pair of ratings by two raters counts
    1 / (ratings - 1)."""
    placed = codes[:, :, None] == np.arange(n_values)
    totals = placed.sum(axis=0).astype(np.float64)
    ratings = totals.sum(axis=1)
    pairs = totals[:, :, None] * totals[:, None, :] - totals[:, :, None] * np.eye(n_values)
    # An item with one rating has no pairs: its row is 0 whatever it is divided by.
    return np.asarray(pairs / np.maximum(ratings - 1, 1)[:, None, None])


def _sum_coincidences_by_resample(counts: ArrayLike, coincidences: Floats) -> Floats:
    drawn = np.asarray(counts, dtype=np.float64)
    if drawn.ndim != 2 or drawn.shape[1] != len(coincidences):
        raise UsageError(
            f"Counts of shape {drawn.shape} do not match {len(coincidences)} items.",
            mend="Pass one row per resample, with one count per item.",
        )
    return np.tensordot(drawn, coincidences, axes=1)


def _compute_krippendorff_alpha(coincidences: Floats, values: Floats, level: Level) -> Floats:
    """1 - observed over expected disagreement, of coincidences (..., values, values)."""
    margins = coincidences.sum(axis=-1)
    n = margins.sum(axis=-1)
    weights = _weigh_rating_disagreement(margins, values, level)
    observed = (coincidences * weights).sum(axis=(-2, -1))
    expected = (margins[..., :, None] * margins[..., None, :] * weights).sum(axis=(-2, -1))
    # Where all values are the same no disagreement is expected: 0 / 0 is undefined.
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def _weigh_rating_disagreement(margins: Floats, values: Floats, level: Level) -> Floats:
    """Weigh the disagreement of one rater who says c with another who says k."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    # The ratings up to the middle of each value; what lies between two middles is their distance.
    middles = np.cumsum(margins, axis=-1) - margins / 2
    return np.asarray((middles[..., :, None] - middles[..., None, :]) ** 2)


Weights = Literal["linear", "quadratic"]


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
    """`fleiss_kappa` with the number of items used.

    Every item must have the same number of ratings. So the commonest number from two on is used (the larger of two
    equally common ones), and the other items are left out.

    >>> fleiss([[1, 2, 1, 1], [1, 2, 2, None]]).dropped
    1
    """
    counted = [
        Counter(value for value in item if value is not None)
        for item in zip(*replace_missing_ratings_by_none(ratings), strict=True)
    ]
    sizes = Counter(count.total() for count in counted if count.total() > 1)
    if not sizes:
        return Fleiss(math.nan, 0, 0, len(counted))
    # Of two equally common numbers the larger: more ratings an item tell more.
    size = max(sizes, key=lambda size: (sizes[size], size))
    used = [count for count in counted if count.total() == size]
    return Fleiss(_compute_fleiss_kappa(used, size), len(used), size, len(counted) - len(used))


def _compute_fleiss_kappa(counted: Sequence[Counter[Hashable]], size: int) -> float:
    together = sum((count for count in counted), start=Counter[Hashable]())
    n = len(counted) * size
    if len(together) == 1:  # chance agreement is then 1, and kappa 0 / 0
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
    """Cohen's kappa of two raters' ratings, (n,) and (n,), over the items that both rated.

    At most 1, higher is better, 0 is chance. NaN without common items, or where both raters gave one and the
    same value throughout. `weights` weigh a disagreement by the distance of the two values ("linear") or its
    square ("quadratic"), in the order of `scale`, or else of the values found, as scikit-learn does.
    Source: Cohen 1960, 1968; HUME section 6.
    Raises UsageError for different lengths, unknown weights, a value that is not on the scale, or values
    without an order where one is needed.

    >>> round(cohen_kappa("aabbccabca", "abbbcaabcc"), 6)
    0.552239
    """
    if weights not in (None, "linear", "quadratic"):
        raise UsageError(f"Unknown weights {weights!r}.", mend="Use linear, quadratic or None.")
    left, right = pick_ratings_of_shared_items(x, y)
    codes_of = {value: code for code, value in enumerate(_determine_rating_scale({*left, *right}, weights, scale))}
    unknown = {*left, *right} - codes_of.keys()
    if unknown:
        raise UsageError(f"The scale lacks {sorted(map(str, unknown))}.", mend="Include every rating in it.")
    table = np.zeros((len(codes_of), len(codes_of)))
    for a, b in zip(left, right, strict=True):
        table[codes_of[a], codes_of[b]] += 1
    return _compute_weighted_kappa(table, _build_disagreement_weights(len(codes_of), weights))


def _determine_rating_scale(
    found: set[Hashable], weights: Weights | None, scale: Sequence[Hashable] | None
) -> Sequence[Hashable]:
    if scale is not None or weights is None:
        return list(found) if scale is None else scale
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        raise UsageError("The ratings cannot be sorted.", mend="Pass the values in order as the scale.") from None


def _build_disagreement_weights(n: int, weights: Weights | None) -> Floats:
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)
    return np.minimum(apart, 1) if weights is None else apart if weights == "linear" else apart**2


def _compute_weighted_kappa(table: Floats, disagreement: Floats) -> float:
    """Compute weighted kappa: 1 - observed over expected disagreement."""
    expected = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * disagreement).sum())
    # Whole numbers up to the quotient, so that full agreement is exactly 1.
    observed = float((table * disagreement).sum()) * float(table.sum())
    return 1 - observed / expected if expected else math.nan


def gwet_ac2(
    ratings: Ratings, weights: Weights | None = "quadratic", *, scale: Sequence[float], counts: ArrayLike | None = None
) -> Values:
    """Gwet's AC2 of `ratings` on an ordered `scale`, a row per rater and a column per item: (raters, items); without
    weights, Gwet's AC1.

    None or NaN is a missing rating; an item with one rating counts for how often values are given, and not for
    agreement. Disagreements weigh by their distance on the scale ("linear") or its square ("quadratic"). At most 1
    (higher is better), 0 is chance; unlike kappa it does not fall where nearly all ratings are one value. NaN where no
    item has two ratings. With `counts` (b, items), how often each of b resamples draws every item, one value per
    resample, (b,). Source: Gwet, Handbook of Inter-Rater Reliability, 4th ed. 2014, chapters 3 and 5.
    Raises UsageError for rows of different lengths, a rating that is not on the scale, or counts that do not fit.

    >>> twice = [[1] * 118 + [1] * 5 + [2] * 2, [1] * 118 + [2] * 5 + [1] * 2]
    >>> round(float(gwet_ac2(twice, None, scale=(1, 2))), 4)
    0.9408
    """
    if weights not in (None, "linear", "quadratic"):
        raise UsageError(f"Unknown weights {weights!r}.", mend="Use linear, quadratic or None.")
    places = {float(value): place for place, value in enumerate(scale)}
    rows = replace_missing_ratings_by_none(ratings)
    given = {value for row in rows for value in row if value is not None}
    if unknown := sorted(str(value) for value in given if value not in places):
        raise UsageError(f"The scale lacks {unknown}.", mend="Include every rating in it.")
    codes = np.array([[-1 if v is None else places[v] for v in row] for row in rows], dtype=np.int64)  # type: ignore[index]
    each = (codes[:, :, None] == np.arange(len(places))).sum(axis=0).astype(np.float64)
    alike = 1 - _build_disagreement_weights(len(places), weights) / max(
        1.0, float(_build_disagreement_weights(len(places), weights).max())
    )
    parts = _compute_item_agreement_and_shares(each, alike)
    drawn = np.ones((1, len(each))) if counts is None else np.asarray(counts, dtype=np.float64)
    if drawn.ndim != 2 or drawn.shape[1] != len(each):
        raise UsageError(f"Counts of shape {drawn.shape} do not match {len(each)} items.", mend="Pass one per item.")
    found = _compute_gwet_ac2(drawn @ parts, alike)
    return float(found[0]) if counts is None else found


def _compute_item_agreement_and_shares(each: Floats, alike: Floats) -> Floats:
    """Of every item (items, values): how far its ratings agree, whether it has two, whether it has any, and its shares
    of values; (items, 3 + values)."""
    n = each.sum(axis=1)
    twice = n > 1
    # Ordered pairs of ratings that agree; 1 is taken off because no rating is a pair with itself.
    agreed = (each * (each @ alike - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    return np.column_stack([np.where(twice, agreed, 0.0), twice, n > 0, each / np.maximum(n, 1)[:, None]])


def _compute_gwet_ac2(sums: Floats, alike: Floats) -> Floats:
    """Compute Gwet's AC2 of sums over items, (b, 3 + values) -> (b,)."""
    q = len(alike)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[:, 0] / sums[:, 1]
        shares = sums[:, 3:] / sums[:, 2:3]
        # Gwet's chance agreement: the mean weight of two values, by how evenly the values are used.
        expected = alike.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
        return np.asarray((observed - expected) / (1 - expected))


def percent_agreement(ratings: Ratings, *, min_shared: int = 1) -> float:
    """The share of equal ratings (0 to 1) among the items that two raters share, averaged over pairs and weighted by
    items.

    NaN where no two raters share `min_shared` items. Source: HUME section 6. Raises UsageError as `mean_pairwise` does.

    >>> percent_agreement(["aabbccabca", "abbbcaabcc"])
    0.7
    """
    return mean_pairwise(ratings, _compute_equal_pair_share, min_shared=min_shared).value


def _compute_equal_pair_share(x: Sequence[Hashable], y: Sequence[Hashable]) -> float:
    return sum(a == b for a, b in zip(x, y, strict=True)) / len(x)


Marks = Mapping[str, Sequence[int]]
"""Of each query, by id: 1 for a marked document and 0 for another, in one order for all raters."""


@dataclass(frozen=True)
class MarksAgreement:
    """Means over comparisons, each of two raters on one query.

    `spearman` (on vectors of 0 and 1 also Kendall's tau-b and the phi coefficient: they are equal there) with its
    population standard deviation `spearman_sd`, over `comparisons`; a comparison in which a vector is constant has
    none and is only counted, in `skipped`. `kappa` is Cohen's over `kappa_comparisons`: undefined only where both
    vectors are the same constant. NaN where there is no comparison left.
    """

    spearman: float
    spearman_sd: float
    kappa: float
    comparisons: int
    skipped: int
    kappa_comparisons: int

    @property
    def kendall(self) -> float:
        """Kendall's tau-b: Spearman's, as the values are only 0 and 1."""
        return self.spearman


def marks_agreement(raters: Sequence[Marks], *, min_shared: int = 1) -> MarksAgreement:
    """How well raters agree on relevance, over the queries that each pair shares; pairs with fewer than `min_shared`
    are left out.

    Source: HUME section 6. Raises UsageError for fewer than two raters, vectors of different lengths for one query,
    or marks other than 0 and 1.

    >>> round(marks_agreement([{"q": [1, 1, 1, 0, 0, 0, 0]}, {"q": [1, 1, 0, 1, 0, 0, 0]}]).spearman, 6)
    0.416667
    """
    if len(raters) < 2:
        raise UsageError("Agreement needs two raters.", mend="Pass two or more raters, or report the agreement as NA.")
    # Sorted, because a set has another order in each process, and a sum of floats depends on it.
    pairs = [
        (_require_binary_marks(query, first[query]), _require_binary_marks(query, second[query]))
        for first, second in combinations(raters, 2)
        if len(first.keys() & second.keys()) >= min_shared
        for query in sorted(first.keys() & second.keys())
    ]
    correlations = list(starmap(_compute_spearman_of_document_marks, pairs))
    defined = [value for value in correlations if not math.isnan(value)]
    kappas = [value for pair in pairs if not math.isnan(value := cohen_kappa(*pair))]
    return MarksAgreement(
        spearman=_mean(defined),
        spearman_sd=float(np.std(defined)) if defined else math.nan,
        kappa=_mean(kappas),
        comparisons=len(defined),
        skipped=len(pairs) - len(defined),
        kappa_comparisons=len(kappas),
    )


def _compute_spearman_of_document_marks(one: Sequence[int], other: Sequence[int]) -> float:
    if len(one) != len(other):
        raise UsageError(
            f"Marks for {len(one)} and for {len(other)} documents of one query cannot be compared.",
            mend="Pass one mark per document, in the same order for all raters.",
        )
    return float(spearman(one, other))


def _require_binary_marks(query: str, marks: Sequence[int]) -> Sequence[int]:
    if any(mark not in (0, 1) for mark in marks):
        raise UsageError(f"The marks of query {query} cannot be {list(marks)}.", mend="Use 0 and 1.")
    return marks


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


Coefficient = Literal["kappa", "correlation", "ari"]

_KAPPA = ((0.8, "excellent"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"))
_BANDS = {
    "kappa": (*_KAPPA, (-math.inf, "poor")),
    "correlation": ((0.7, "strong"), (0.4, "moderate"), (-math.inf, "weak")),
    # The source has no bands for the ARI. Worse than chance is no grouping in common at all.
    "ari": (*_KAPPA, (-math.inf, "poor")),
}


def agreement_band(value: float, coefficient: Coefficient) -> str:
    """The word for a coefficient's `value`, such as "fair"; "NA" for NaN.

    Kappa: above .8 excellent, .6 substantial, .4 moderate, .2 fair, else poor. Correlation: above .7 strong, .4
    moderate, else weak. The ARI is read as a kappa is, and below 0 as "none". A value on a limit is in the lower band.
    Source: HUME section 6 (the ARI is our own choice). Raises UsageError for another coefficient.

    >>> agreement_band(0.386155, "kappa"), agreement_band(0.751323, "correlation"), agreement_band(-0.001, "ari")
    ('fair', 'strong', 'none')
    """
    if coefficient not in _BANDS:
        raise UsageError(f"The coefficient is {coefficient!r}.", mend=f"Use one of {', '.join(_BANDS)}.")
    if math.isnan(value):
        return "NA"
    if coefficient == "ari" and value < 0:
        return "none"
    return next(band for limit, band in _BANDS[coefficient] if value > limit or limit == -math.inf)
