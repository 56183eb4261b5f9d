"""SAGE task 1: does similarity(source, summary) follow what people prefer? (SAGE section 2.1, tables 2 and 3)

Comparisons: the more similar of two summaries is predicted to be the chosen one; accuracy, precision, recall, F1.
Ratings: Pearson correlation of similarity and rating on each axis, mapped to [0, 1] by (r + 1) / 2.
The headline is the mean of the mean over the four figures of each kind (established by recomputing table 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import (
    Estimate,
    Items,
    Lost,
    Statistic,
    average_estimates,
    estimate,
    make_undefined_score,
)
from embassay.protocols.kernel.groups import describe_bootstrap_units, find_item_groups
from embassay.protocols.kernel.inputs import Columns
from embassay.protocols.sage.tasks import SageContext
from embassay.records import HeadlineComponent, Score, SkippedItems, SummaryComparisons, SummaryRatings, TaskOutcome

HEADLINE = "human_preference"
CHOICES = ("accuracy", "precision", "recall", "f1")


@dataclass(frozen=True)
class HumanPreferences:
    """What a dataset knows of people's preferences: choices, ratings or both."""

    comparisons: SummaryComparisons | None
    ratings: SummaryRatings | None


@dataclass(frozen=True)
class _SummaryPreferenceTaskHalf:
    """One half of the task: its rows, and its mean as a component (value None when undefined)."""

    scores: tuple[Score, ...]
    component: HeadlineComponent
    whole: Estimate | None
    skipped: tuple[SkippedItems, ...] = ()


def evaluate_system(system: Similarity, data: HumanPreferences, context: SageContext) -> TaskOutcome:
    """Evaluate a system on a dataset's comparisons, ratings or both."""
    items = Items()
    parts: dict[str, _SummaryPreferenceTaskHalf] = {}
    if data.comparisons is not None and len(data.comparisons):
        parts["comparisons"] = _score_summary_preference_choices(system, data.comparisons, context, items)
    if data.ratings is not None and len(data.ratings):
        parts["ratings"] = _score_similarity_against_ratings(system, data.ratings, context, items)
    return TaskOutcome(
        scores=(_make_preference_headline_score(parts), *(score for part in parts.values() for score in part.scores)),
        components={name: part.component for name, part in parts.items()},
        items=items.columns,
        skipped=tuple(skip for part in parts.values() for skip in part.skipped),
        counts={name: part.component.n for name, part in parts.items()},
    )


def compute_accuracy_precision_recall_f1(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute accuracy, precision, recall, F1 from means of correct, true positive and the like.

    Precision and recall are 0 when nothing is predicted or nothing is positive, F1 when both are.
    """
    correct, hit, predicted, actual = np.moveaxis(means, -1, 0)
    precision = _divide_or_zero(hit, predicted)
    recall = _divide_or_zero(hit, actual)
    return np.stack([correct, precision, recall, _divide_or_zero(2 * hit, predicted + actual)], axis=-1)


def map_pearson_to_unit_interval(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute (r + 1) / 2 from the means of (x, y, xx, yy, xy), (..., 5); NaN for no variance."""
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    # Rounding may leave the variance of a resample of equal values a little below 0.
    spread = np.clip(xx - x * x, 0, None) * np.clip(yy - y * y, 0, None)
    r = np.divide(xy - x * y, np.sqrt(spread), out=np.full_like(spread, np.nan), where=spread > 1e-24)
    return np.asarray(0.5 * (np.clip(r, -1, 1) + 1), dtype=np.float64)


def _score_summary_preference_choices(
    system: Similarity, data: SummaryComparisons, context: SageContext, items: Items
) -> _SummaryPreferenceTaskHalf:
    similarity = system.pairs((*data.sources, *data.sources), (*data.first, *data.second))
    # Six decimals: float32 gives equal texts similarities that differ in their last bits, and would break ties by
    # chance.
    first, second = np.round(similarity.astype(np.float64), 6).reshape(2, len(data))
    tied = (first == second).astype(np.float64)
    predicted = (first <= second).astype(np.float64)
    credit = (predicted == data.choice).astype(np.float64)
    if context.options.preference_ties == "half":
        predicted[tied == 1] = credit[tied == 1] = 0.5
    lost = Lost(system, data.ids, "comparisons")
    lost.note_items_with_undefined_similarity(first, data.sources, data.first)
    lost.note_items_with_undefined_similarity(second, data.sources, data.second)
    credit[lost.rows] = tied[lost.rows] = np.nan
    items.add(data.ids, first, "similarity", "first")
    items.add(data.ids, second, "similarity", "second")
    items.add(data.ids, credit, "correct")
    if lost.too_many_lost_reason:
        return _make_undefined_preference_half(CHOICES, lost, len(data))

    actual = data.choice.astype(np.float64)
    # Which summary is `positive` changes precision and recall, not accuracy.
    if context.options.positive == "first":
        predicted, actual = 1 - predicted, 1 - actual
    columns = np.stack([credit, predicted * actual, predicted, actual], axis=1)
    groups = find_item_groups(data)
    method = describe_bootstrap_units("comparisons", SummaryComparisons, groups)

    def estimate_over_comparisons(columns: Columns, statistic: Statistic, *, share: bool) -> Estimate:
        return estimate(columns, statistic, context, "comparisons", method, share=share, groups=groups)

    figures = [
        estimate_over_comparisons(columns, partial(_compute_choice_score_at_place, i), share=name == "accuracy")
        for i, name in enumerate(CHOICES)
    ]
    whole = average_estimates(figures, method)
    ties = estimate_over_comparisons(tied[:, None], lambda means: means[..., 0], share=True)
    rows = [figure.score(name) for name, figure in zip(CHOICES, figures, strict=True)]
    return _SummaryPreferenceTaskHalf((*rows, ties.score("tie_share")), whole.component(), whole, lost.skipped)


def _compute_choice_score_at_place(place: int, means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(compute_accuracy_precision_recall_f1(means)[..., place])


def _score_similarity_against_ratings(
    system: Similarity, data: SummaryRatings, context: SageContext, items: Items
) -> _SummaryPreferenceTaskHalf:
    similarity = system.pairs(data.sources, data.summaries).astype(np.float64)
    items.add(data.ids, similarity, "similarity", "rating")
    lost = Lost(system, data.ids, "rated summaries")
    lost.note_items_with_undefined_similarity(similarity, data.sources, data.summaries)
    if lost.too_many_lost_reason:
        return _make_undefined_preference_half(("score",), lost, len(data), *data.axes)
    # Standardised first, so that sums of squares of values around 0.99 lose no digits.
    standard = _standardise_values(similarity)
    scores, axes, skipped, groups = [], [], [*lost.skipped], find_item_groups(data)
    method = describe_bootstrap_units("ratings", SummaryRatings, groups)
    for axis, ratings in data.axes.items():
        rated = np.isfinite(ratings)
        items.add(data.ids, ratings, axis, "human")
        if missing := int((~rated).sum()):
            skipped.append(SkippedItems(f"no rating on {axis}", missing))
        x, y = standard[rated], _standardise_values(ratings[rated])
        kept = ~np.isnan(x)
        if kept.sum() < 2 or not x[kept].any() or not y[kept].any():
            reason = f"the {'similarity' if kept.sum() > 1 and not x[kept].any() else 'rating'} does not vary"
            scores.append(make_undefined_score("score", int(kept.sum()), reason, variant=axis))
            continue
        columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
        strata = None if groups is None else np.unique(groups[rated], return_inverse=True)[1]
        figure = estimate(columns, map_pearson_to_unit_interval, context, f"ratings:{len(x)}", method, groups=strata)
        scores.append(figure.score("score", variant=axis))
        axes.append(figure)
    if len(axes) < len(data.axes):
        reason = next(score.reason for score in scores if score.value is None)
        return _SummaryPreferenceTaskHalf(
            tuple(scores), HeadlineComponent(None, len(data), reason=reason), None, tuple(skipped)
        )
    whole = average_estimates(axes, method)
    return _SummaryPreferenceTaskHalf(tuple(scores), whole.component(), whole, tuple(skipped))


def _make_undefined_preference_half(
    measures: Sequence[str], lost: Lost, n: int, *variants: str
) -> _SummaryPreferenceTaskHalf:
    """Make a half of the task that lost too many of its rows."""
    reason, left = lost.too_many_lost_reason, n - len(lost.rows)
    rows = [
        make_undefined_score(measure, left, reason, variant=variant)
        for measure in measures
        for variant in variants or ("",)
    ]
    return _SummaryPreferenceTaskHalf(tuple(rows), HeadlineComponent(None, left, reason=reason), None, lost.skipped)


def _make_preference_headline_score(parts: dict[str, _SummaryPreferenceTaskHalf]) -> Score:
    n = sum(part.component.n for part in parts.values())
    if not parts:
        return make_undefined_score(HEADLINE, 0, "no usable comparison or rating")
    for name, part in parts.items():
        if part.whole is None:
            return make_undefined_score(HEADLINE, n, f"{name}: {part.component.reason}")
    whole = average_estimates([part.whole for part in parts.values() if part.whole], f"mean over {' and '.join(parts)}")
    score = whole.score(HEADLINE)
    return Score(HEADLINE, score.value, n, score.ci_low, score.ci_high, method=whole.method)


def _standardise_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and variance 1; all zeros if the values are constant to within float noise. NaN stays, and counts not."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return values
    centred = values - defined.mean()
    deviation = (defined - defined.mean()).std()
    return centred / deviation if deviation > 1e-7 else np.where(np.isnan(values), np.nan, 0.0)


def _divide_or_zero(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
