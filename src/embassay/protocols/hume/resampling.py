"""Bootstrap intervals over items of statistics that take a resample as counts: how often each of n items was drawn.

A resample is never written out. So one product of counts and values gives the means of all resamples, and ranks come
from running sums of counts in the order of the values, without a sort per resample. A value that is NaN is missing: its
item counts for nothing. What is undefined in a resample is NaN there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures import align, cohen_kappa, krippendorff_alpha
from embassay.measures.correlation import spearman
from embassay.protocols.hume.options import Aggregation, ApMode, StudyRequest
from embassay.protocols.hume.scoring import (
    POOLED_FIRST,
    average_precision_of_marks,
    choose_min_shared_items,
    pool_annotator_answers,
)
from embassay.protocols.hume.study import Answers, Family, Gold, TaskSpec
from embassay.stats.intervals import Estimate, check_confidence, t_quantile
from embassay.stats.resampling import (
    DEFAULT_SEED,
    count_draws_of_each_row,
    iterate_resample_row_blocks,
    make_resampling_generator,
)

Floats = NDArray[np.float64]


def resampled_mean(counts: Floats, values: Floats) -> Floats:
    """The mean of `values` (n,) or (n, m) in every resample: (b,) or (b, m).

    >>> resampled_mean(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]]), np.array([1.0, 2.0, np.nan])).tolist()
    [1.5, 2.0]
    """
    defined = ~np.isnan(values)
    drawn = counts @ defined.astype(np.float64)
    return _divide_or_nan(counts @ np.where(defined, values, 0.0), drawn)


def resampled_ranks(counts: Floats, values: Floats) -> Floats:
    """The rank of every value (n,) in every resample (b, n), from 1; equal values share the mean of their ranks, and an
    item drawn three times is three equal values.

    >>> resampled_ranks(np.array([[1.0, 1.0, 2.0]]), np.array([5.0, 7.0, 5.0])).tolist()
    [[2.0, 4.0, 2.0]]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)
    # The last rank of a tie less half of those before it: the mean of its ranks.
    ranks = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(values)]))
    return np.asarray(ranks[:, place])


def resampled_pearson(counts: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's correlation of `x` and `y` in every resample, (b,); each is (n,), or (b, n) where it differs between
    resamples, as ranks do. NaN where a side is constant."""
    total = counts.sum(axis=1, keepdims=True)
    left, right = _center_values(counts, x, total), _center_values(counts, y, total)
    products = (counts * left * right).sum(axis=1)
    squares = (counts * left**2).sum(axis=1) * (counts * right**2).sum(axis=1)
    # Ranks are halves of whole numbers; what is left of a constant side is rounding.
    scale = (counts * (left**2 + right**2)).sum(axis=1) ** 2
    r = _divide_or_nan(products, np.sqrt(np.where(squares > 1e-20 * scale, squares, 0.0)))
    return np.clip(r, -1.0, 1.0)


def resampled_spearman(counts: Floats, x: Floats, y: Floats) -> Floats:
    """Spearman's correlation of `x` and `y` (n,) over the items where both are there, in every resample: (b,).

    >>> x, y = np.array([1.0, 2.0, 3.0, 3.0]), np.array([10.0, 30.0, 20.0, 40.0])
    >>> resampled_spearman(np.ones((1, 4)), x, y).round(4).tolist()
    [0.6325]
    """
    both = ~np.isnan(x) & ~np.isnan(y)
    kept = counts[:, both]
    if not both.any():
        return np.full(len(counts), np.nan)
    return resampled_pearson(kept, resampled_ranks(kept, x[both]), resampled_ranks(kept, y[both]))


def _center_values(counts: Floats, values: Floats, total: Floats) -> Floats:
    return np.asarray(values - _divide_or_nan((counts * values).sum(axis=1, keepdims=True), total))


def _divide_or_nan(above: Floats, below: Floats) -> Floats:
    ratio = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


def value_indicators(values: Sequence[Hashable]) -> Floats:
    """A column per distinct value, 1 where an item has it; items without one (None) are in no column: (n, k)."""
    places = {value: place for place, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    inside = np.zeros((len(values), len(places)))
    for item, value in enumerate(values):
        if value is not None:
            inside[item, places[value]] = 1
    return inside


def resampled_fleiss(counts: Floats, votes: Floats) -> Floats:
    """Fleiss' kappa in every resample, (b,), of `votes` (n, k): how many raters gave item i the label j, as many for
    every item. NaN where all ratings are one label."""
    # Every item has as many ratings: the first one's tell it.
    size = float(votes[0].sum())
    drawn = counts.sum(axis=1)
    # Pairs of ratings of one item that agree, each counted in both orders.
    alike = counts @ (votes * (votes - 1)).sum(axis=1)
    together = counts @ votes
    n = drawn * size
    with np.errstate(invalid="ignore", divide="ignore"):
        observed, expected = alike / (n * (size - 1)), (together**2).sum(axis=1) / n**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def compute_resampled_cohen_kappa(counts: Floats, one: Floats, other: Floats) -> Floats:
    """Cohen's kappa of two raters in every resample, (b,), from their indicators over the same labels (n, k); an item
    that either left out must have a row of zeros. NaN where both gave one and the same label only, or nothing."""
    both = one.sum(axis=1) * other.sum(axis=1)
    # Items that both labelled, as often as they were drawn.
    drawn = counts @ both
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = ((counts @ (one * both[:, None])) * (counts @ (other * both[:, None]))).sum(axis=1) / drawn**2
        observed = counts @ (one * other).sum(axis=1) / drawn
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def resampled_ari(counts: Floats, one: Floats, other: Floats) -> Floats:
    """The adjusted Rand index of two partitions (indicators, (n, k) and (n, l)) in every resample, (b,).

    Two draws of one item are no pair: they lie together in both partitions whoever made these, and would raise the
    index of every resample. NaN where no pair is apart in either, or together in either.
    """
    kept = counts * (one.sum(axis=1) * other.sum(axis=1))
    # Pairs of two draws of one item, which every count below would hold as well.
    again = _count_pairs_within_groups(kept).sum(axis=1)
    total = _count_pairs_within_groups(kept.sum(axis=1)) - again
    cells = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
    both = _count_pairs_within_groups(kept @ cells[:, cells.any(axis=0)]).sum(axis=1) - again
    left, right = (
        _count_pairs_within_groups(kept @ one).sum(axis=1) - again,
        _count_pairs_within_groups(kept @ other).sum(axis=1) - again,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = left * right / total
        most = (left + right) / 2
        return np.where(most > expected, (both - expected) / (most - expected), np.nan)


def resampled_v_measure(counts: Floats, one: Floats, other: Floats) -> Floats:
    """V-measure (beta 1) of two partitions (indicators, (n, k) and (n, l)) in every resample, (b,); 0 where either is
    one group, as in a human score. NaN where no item is in both.

    Copies of an item lie together in both, so the mean over resamples is above the value of the items themselves.
    """
    kept = counts * (one.sum(axis=1) * other.sum(axis=1))
    total = kept.sum(axis=1)
    cells = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
    left, right = _size_entropy(kept @ one, total), _size_entropy(kept @ other, total)
    # Rounding may leave the mutual information a little below 0.
    shared = np.maximum(left + right - _size_entropy(kept @ cells[:, cells.any(axis=0)], total), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # 2hc / (h + c) with h = shared / left and c = shared / right
        v = np.where((left > 1e-12) & (right > 1e-12), 2 * shared / (left + right), 0.0)
    return np.where(total > 0, v, np.nan)


def _count_pairs_within_groups(sizes: Floats) -> Floats:
    return sizes * (sizes - 1) / 2


def _size_entropy(sizes: Floats, total: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sizes / total[:, None]
        return np.asarray(-np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=1))


Drawn = Callable[[Floats], Floats]
"""Counts of items (b, n) -> values (b,), or (b, m) for m statistics of the same items."""
Kind = Literal["percentile", "expanded", "bca"]
Range = tuple[float, float]
SHARE, CORRELATION, DISTANCE = (0.0, 1.0), (-1.0, 1.0), (0.0, float("inf"))
"""The least and greatest value of accuracies and MAPs, of correlations and kappas, and of distances."""
# Counts of a block, resamples by items: half a megabyte of them at a time.
_DRAWS = 1 << 16
_MOST_UNDEFINED = 0.05
_ROUNDING = 1e-12
ALIKE = "the value is the same in every resample, so its variation cannot be estimated"
"""Perfect agreement on 20 items is common at a true kappa of 0.9: an interval without width would be wrong."""
_LEAST = 3


@dataclass(frozen=True)
class ResamplingSettings:
    """How resamples are drawn and read: so many, for an interval that holds so often, from the stream of a seed.

    Without a `kind` every statistic has the one that held best in simulation: `bca`, for differences `expanded`.
    """

    n_resamples: int = 2000
    confidence: float = 0.95
    seed: int = DEFAULT_SEED
    kind: Kind | None = None


DRAWS = ResamplingSettings()


@dataclass(frozen=True, kw_only=True)
class BootstrapEstimateWithTest(Estimate):
    """An estimate with its bootstrap interval and the two-sided `p` that it is 0, NaN where there is none. In
    `undefined` of `resamples` resamples the statistic has no value; over 5% of them there is no interval, nor is there
    one where all resamples give the same: `reason` says so."""

    p: float
    undefined: int
    resamples: int


def resample_statistics(
    statistic: Drawn, n: int, draws: ResamplingSettings = DRAWS, *, within: Sequence[Range] = (CORRELATION,)
) -> tuple[BootstrapEstimateWithTest, ...]:
    """The value of each statistic over all `n` items, with its interval over resamples of items.

    All statistics see the same resamples. The kind is how an interval is read off the replicates: `percentile`;
    `expanded`, the same after they were moved away from the estimate by what a t has over a normal, as few items
    spread too little; or `bca`, which also mends bias and skew (Efron 1987) by leaving out one item at a time.
    `within` are the least and greatest values of each statistic, or of all: an interval that was widened ends there.
    Source: Efron and Tibshirani 1993, chapter 14; Hesterberg 2015 for `expanded`. Raises UsageError for no items.
    """
    check_confidence(draws.confidence)
    draws = replace(draws, kind=draws.kind or "bca")
    if n < 1:
        raise UsageError("There are no items to resample.", mend="Pass answers to at least one item.")
    # Every item once: the value goes the way of its resamples, so that no second formula can differ from them.
    estimates = _reshape_to_columns(statistic(np.ones((1, n))))[0]
    if n < _LEAST:
        return tuple(
            make_value_without_interval(value, n, f"fewer than {_LEAST} items") for value in estimates.tolist()
        )
    replicates = np.concatenate(
        [
            _reshape_to_columns(statistic(count_draws_of_each_row(rows).astype(np.float64)))
            for rows in iterate_resample_row_blocks(
                n, draws.n_resamples, make_resampling_generator(draws.seed, None), most=_DRAWS // n
            )
        ]
    )
    # Only BCa's acceleration needs the jackknife, which is another n evaluations.
    left_out = _jackknife_values(statistic, n) if draws.kind == "bca" else np.empty((0, len(estimates)))
    ranges = within if len(within) > 1 else tuple(within) * len(estimates)
    intervals = (
        _bca_interval(float(estimate), replicates[:, i], left_out[:, i], n, draws)
        for i, estimate in enumerate(estimates)
    )
    return tuple(
        replace(value, low=float(low), high=float(high))
        for value, limits in zip(intervals, ranges, strict=True)
        for low, high in [np.clip(value.ends, *limits)]
    )


def make_value_without_interval(
    value: float, n: int, reason: str, undefined: int = 0, resamples: int = 0
) -> BootstrapEstimateWithTest:
    """A value without an interval, and why."""
    unknown = float("nan")
    return BootstrapEstimateWithTest(value, n=n, reason=reason, p=unknown, undefined=undefined, resamples=resamples)


def _jackknife_values(statistic: Drawn, n: int) -> Floats:
    step = max(1, _DRAWS // n)
    blocks = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    return np.concatenate([_reshape_to_columns(statistic(_make_leave_one_out_counts(block, n))) for block in blocks])


def _make_leave_one_out_counts(items: NDArray[np.int64], n: int) -> Floats:
    counts = np.ones((len(items), n))
    counts[np.arange(len(items)), items] = 0
    return counts


def _reshape_to_columns(values: Floats) -> Floats:
    return values.reshape(len(values), -1)


def _bca_interval(
    estimate: float, replicates: Floats, left_out: Floats, n: int, draws: ResamplingSettings
) -> BootstrapEstimateWithTest:
    confidence, kind = draws.confidence, draws.kind
    every, defined = len(replicates), replicates[~np.isnan(replicates)]
    undefined = every - len(defined)
    if np.isnan(estimate):
        return make_value_without_interval(estimate, n, "the value is undefined", undefined, every)
    if undefined > _MOST_UNDEFINED * every:
        return make_value_without_interval(
            estimate, n, f"undefined in {undefined} of {every} resamples", undefined, every
        )
    if np.ptp(defined) <= _ROUNDING * max(abs(estimate), 1.0):
        return make_value_without_interval(estimate, n, ALIKE, undefined, every)
    # BCa mends bias and skew, not that few items spread too little: it is expanded as well.
    if kind != "percentile":
        defined = estimate + (defined - estimate) * _interval_expansion(n, confidence)
    shift, skew = _compute_bca_bias_and_acceleration(estimate, defined, left_out) if kind == "bca" else (0.0, 0.0)
    ends = [
        _compute_bca_quantile(_normal_quantile(q), shift, skew) for q in ((1 - confidence) / 2, (1 + confidence) / 2)
    ]
    low, high = np.quantile(defined, ends)
    method = f"{confidence:.0%} {kind} bootstrap of items, {every} resamples"
    if undefined:
        method += f", {undefined} of them undefined"
    p = _two_sided_p(defined, shift, skew)
    return BootstrapEstimateWithTest(
        estimate, float(low), float(high), n, method, p=p, undefined=undefined, resamples=every
    )


def _interval_expansion(n: int, confidence: float) -> float:
    """How much wider than the percentile bootstrap's a t interval of a mean of n items is."""
    level = 0.5 + confidence / 2
    return float(np.sqrt(n / (n - 1)) * t_quantile(level, n - 1)) / _normal_quantile(level)


def _compute_bca_bias_and_acceleration(estimate: float, replicates: Floats, left_out: Floats) -> tuple[float, float]:
    """The normal quantile of the share of replicates below the estimate, and the acceleration by the jackknife."""
    # Replicates that differ from the estimate by rounding alone count by half.
    tie = _ROUNDING * max(abs(estimate), 1.0)
    below = ((replicates < estimate - tie).mean() + (replicates <= estimate + tie).mean()) / 2
    # The acceleration of BCa: a sixth of the skewness over the left-out values.
    moved = left_out[~np.isnan(left_out)]
    moved = moved.mean() - moved
    square = float((moved**2).sum())
    skew = float((moved**3).sum() / (6 * square**1.5)) if square > 0 else 0.0
    return _normal_quantile(_clamp_share_inside_open_unit_interval(float(below), len(replicates))), skew


def _compute_bca_quantile(z: float, shift: float, skew: float) -> float:
    """The quantile of the replicates at which the BCa interval of normal quantile `z` ends."""
    moved = shift + z
    scale = 1 - skew * moved
    # Past the pole of the correction there is no quantile: the end of the replicates stands in.
    return NormalDist().cdf(shift + moved / scale) if scale > 0 else (1.0 if moved > 0 else 0.0)


def _two_sided_p(replicates: Floats, shift: float, skew: float) -> float:
    """Twice the level at which an end of the interval is 0; one is added to both counts, so that it is never 0."""
    n = len(replicates)
    above = min((int((replicates >= -_ROUNDING).sum()) + 1) / (n + 1), 1.0)
    below = min((int((replicates <= _ROUNDING).sum()) + 1) / (n + 1), 1.0)
    at, sign = (below, 1) if below < above else (above, -1)
    if at >= 1:
        return 1.0
    # BCa's adjustment of a level, solved for the level whose end is 0.
    w = sign * _normal_quantile(at) - shift
    level = w / (1 + skew * w) - shift if 1 + skew * w > 0 else w - shift
    return min(1.0, 2 * NormalDist().cdf(sign * level))


def _clamp_share_inside_open_unit_interval(share: float, n: int) -> float:
    # The normal quantiles of 0 and 1 are infinite.
    return min(max(share, 0.5 / n), 1 - 0.5 / n)


def _normal_quantile(q: float) -> float:
    return NormalDist().inv_cdf(q)


@dataclass(frozen=True)
class PeopleAnswers:
    """The answers of people to a task, with its gold, and by which convention they make one score: see
    `PeopleScores.scores` and `average_precision_of_marks` for the names."""

    task: TaskSpec
    gold: Gold
    answers: Answers
    aggregation: Aggregation = "paper"
    human_ap_mode: ApMode = "tie_aware"

    @property
    def active_annotators(self) -> dict[str, Mapping[str, Any]]:
        """The annotators who answered anything, in the order of their ids."""
        return {name: given for name, given in sorted(self.answers.items()) if given}

    @property
    def items(self) -> tuple[str, ...]:
        """The items that anyone answered, sorted."""
        return tuple(sorted({item for given in self.answers.values() for item in given}))

    @property
    def scored_items(self) -> tuple[str, ...]:
        """The items in their score: those of anyone, or where only the first annotator counts, those of the first."""
        every = list(self.active_annotators.values())
        return tuple(sorted(every[0])) if self.aggregation == "first" and every else self.items


@dataclass(frozen=True)
class PeopleAnswerRows:
    """Answers of people by one convention. `rows` has one row of `items` per annotator, or one row of pooled answers;
    None where one is missing. For classification and reranking a row holds values of items (1 for a right label, the
    AP of a query), for STS ratings, for clustering ids of groups. `gold` is None for the first two.
    """

    items: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    gold: tuple[Any, ...] | None


def arrange_people_rows(people: PeopleAnswers, items: Sequence[str]) -> PeopleAnswerRows:
    """The answers to `items` as the convention takes them.

    Source: spec hume 4. Raises UsageError for another convention, pooled clusters, or where nobody answered.
    """
    every, gold = _select_answers_by_aggregation_rule(people), people.gold
    if people.task.family in ("sts", "clustering"):
        rows = [tuple(said.get(item) for item in items) for said in every]
        return PeopleAnswerRows(tuple(items), tuple(rows), tuple(gold[item] for item in items))
    value = (
        _score_label_match
        if people.task.family == "classification"
        else _make_average_precision_function(people.human_ap_mode)
    )
    rows = [tuple(value(gold[item], said[item]) if item in said else None for item in items) for said in every]
    return PeopleAnswerRows(tuple(items), tuple(rows), None)


def compute_mean_people_score_per_resample(task: TaskSpec, laid: PeopleAnswerRows, counts: Floats) -> Floats:
    """The main measure of people in every resample, (b,): of each row over the items it answered, then the mean."""
    every = np.stack([score_answer_row_per_resample(task, laid.gold, row, counts) for row in laid.rows])
    return np.asarray(every.mean(axis=0))


def score_answer_row_per_resample(
    task: TaskSpec, gold: Sequence[Any] | None, row: Sequence[Any], counts: Floats
) -> Floats:
    """The main measure of one row of answers in every resample, (b,); NaN where it is undefined."""
    if task.family == "clustering":
        return resampled_v_measure(counts, value_indicators(list(gold or ())), value_indicators(row))
    if task.family == "sts":
        return resampled_spearman(counts, replace_none_by_nan(gold or ()), replace_none_by_nan(row))
    return resampled_mean(counts, replace_none_by_nan(row))


def replace_none_by_nan(row: Sequence[float | None]) -> Floats:
    """A row with NaN for what is missing."""
    return np.array([math.nan if value is None else float(value) for value in row])


def _select_answers_by_aggregation_rule(people: PeopleAnswers) -> list[Mapping[str, Any]]:
    aggregation, task = people.aggregation, people.task
    if aggregation not in ("paper", "pooled", "mean", "first"):
        raise UsageError(f"The aggregation is {aggregation!r}.", mend="Use paper, pooled, mean or first.")
    every = list(people.active_annotators.values())
    if not every:
        raise UsageError(f"Nobody answered any item of {task.name}.", mend="Pass annotations of this task.")
    if aggregation == "first":
        return every[:1]
    if aggregation == "mean" or (aggregation == "paper" and task.family not in POOLED_FIRST):
        return every
    together = pool_annotator_answers(task, people.answers)
    if together is None:
        raise UsageError("Clusterings by several people cannot be pooled.", mend="Use paper or mean.")
    return [together]


def _score_label_match(gold: Any, answer: Any) -> float:
    return float(gold == answer)


def _make_average_precision_function(mode: ApMode) -> Any:
    return lambda gold, marks: average_precision_of_marks(gold, marks, human_ap_mode=mode)


COPIES = "resampling items inflates V-measure because copies of an item always share a cluster"
_WITHIN = {"percent_agreement": SHARE, "v_measure": SHARE, "absolute_difference": DISTANCE}
Rows = Sequence[tuple[Any, ...]]


def agreement_intervals(
    family: Family, answers: Answers, draws: ResamplingSettings = DRAWS, *, min_shared: int = StudyRequest.min_shared
) -> dict[str, BootstrapEstimateWithTest]:
    """Every coefficient of `people_agreement`, by the same name, with a bootstrap interval over items.

    A resample draws items with all their answers, so annotators stay who they are. `undefined` counts resamples without
    a value (all answers alike, one group). Classification: `fleiss_kappa`, `cohen_kappa`, `percent_agreement`, `alpha`;
    clustering: `ari`, over pairs of different items, and `v_measure` without an interval; reranking: `spearman`,
    `kendall` (the same on 0 and 1) and `cohen_kappa`, over queries; STS: `spearman`, `pearson`, `absolute_difference`,
    `alpha`. Empty where fewer than two annotators share an item. How often each interval holds: docs/hume_beyond.md.
    Source: spec hume 6 and 7.

    >>> answers = {"ann": dict(zip("abcdefgh", "xxyyxyxy")), "bob": dict(zip("abcdefgh", "xxyyxyyx"))}
    >>> found = agreement_intervals("classification", answers)["fleiss_kappa"]
    >>> found.value, found.low < 0.5 < found.high
    (0.5, True)
    """
    taking_part = {name: given for name, given in answers.items() if given}
    rows = align(taking_part).rows if taking_part else ()
    shared = [item for item in zip(*rows, strict=True) if sum(value is not None for value in item) > 1]
    if not shared:
        return {}
    least = choose_min_shared_items(taking_part, min_shared)
    of: Mapping[Family, Callable[[Rows, int], dict[str, Drawn]]] = {
        "classification": _make_label_agreement_statistics,
        "clustering": _make_cluster_agreement_statistics,
        "reranking": _make_mark_agreement_statistics,
        "sts": _make_rating_agreement_statistics,
    }
    statistics = of[family](list(zip(*shared, strict=True)), least)

    def compute_coefficients_per_resample(counts: Floats) -> Floats:
        return np.stack([statistic(counts) for statistic in statistics.values()], axis=1)

    within = [_WITHIN.get(name, CORRELATION) for name in statistics]
    intervals = dict(
        zip(
            statistics,
            resample_statistics(compute_coefficients_per_resample, len(shared), draws, within=within),
            strict=True,
        )
    )
    if "v_measure" in intervals:
        intervals["v_measure"] = make_value_without_interval(intervals["v_measure"].point, len(shared), COPIES)
    return intervals


def _make_label_agreement_statistics(rows: Rows, least: int) -> dict[str, Drawn]:
    labels = list(dict.fromkeys(value for row in rows for value in row if value is not None))
    inside = [np.array([[float(value == label) for label in labels] for value in row]) for row in rows]
    votes = np.sum(inside, axis=0)
    over = _AnnotatorPairs(rows, least)
    sizes = votes.sum(axis=1)
    # Fleiss' kappa takes one number of ratings per item: items with another are left out, as in `fleiss`.
    kept = sizes == _find_most_common_rating_count(sizes)

    def alpha(counts: Floats) -> Floats:
        return np.asarray(krippendorff_alpha(rows, "nominal", counts=counts))

    def make_percent_agreement_statistic(one: Floats, other: Floats) -> Drawn:
        both, same = one.sum(axis=1) * other.sum(axis=1), (one * other).sum(axis=1)
        values = np.where(both > 0, same, np.nan)
        return lambda counts: resampled_mean(counts, values)

    return {
        "fleiss_kappa": lambda counts: resampled_fleiss(counts[:, kept], votes[kept]),
        "cohen_kappa": over.mean(
            inside, lambda one, other: lambda counts: compute_resampled_cohen_kappa(counts, one, other)
        ),
        "percent_agreement": over.mean(inside, make_percent_agreement_statistic),
        "alpha": alpha,
    }


def _find_most_common_rating_count(sizes: Floats) -> float:
    """The commonest number of ratings from two on, the larger of two equally common ones: as `fleiss` has it."""
    usual, times = np.unique(sizes[sizes > 1], return_counts=True)
    return float(usual[times == times.max()].max())


def _make_cluster_agreement_statistics(rows: Rows, least: int) -> dict[str, Drawn]:
    groups, over = [value_indicators(row) for row in rows], _AnnotatorPairs(rows, least)
    return {
        "ari": over.mean(groups, lambda one, other: lambda counts: resampled_ari(counts, one, other)),
        "v_measure": over.mean(groups, lambda one, other: lambda counts: resampled_v_measure(counts, one, other)),
    }


def _make_rating_agreement_statistics(rows: Rows, least: int) -> dict[str, Drawn]:
    ratings, over = [replace_none_by_nan(row) for row in rows], _AnnotatorPairs(rows, least)

    def pearson(one: Floats, other: Floats) -> Drawn:
        both = ~np.isnan(one) & ~np.isnan(other)
        return lambda counts: resampled_pearson(counts[:, both], one[both], other[both])

    def alpha(counts: Floats) -> Floats:
        return np.asarray(krippendorff_alpha(rows, "interval", counts=counts))

    return {
        "spearman": over.mean(ratings, lambda one, other: lambda counts: resampled_spearman(counts, one, other)),
        "pearson": over.mean(ratings, pearson),
        "absolute_difference": over.mean(
            ratings, lambda one, other: lambda counts: resampled_mean(counts, np.abs(one - other))
        ),
        "alpha": alpha,
    }


def _make_mark_agreement_statistics(rows: Rows, least: int) -> dict[str, Drawn]:
    """The mean is over comparisons, each of two annotators on one query; a query brings all of its own."""
    pairs = [(rows[one], rows[other]) for one, other, _ in _AnnotatorPairs(rows, least).shared]

    def make_mean_comparison_statistic(measure: Callable[[Any, Any], Any]) -> Drawn:
        values = np.array(
            [[_compute_measure_if_both_answered(measure, a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]
        )
        defined = (~np.isnan(values)).sum(axis=0).astype(np.float64)
        sums = np.nansum(values, axis=0)
        return lambda counts: _divide_or_nan(counts @ sums, counts @ defined)

    correlation = make_mean_comparison_statistic(spearman)
    return {"spearman": correlation, "kendall": correlation, "cohen_kappa": make_mean_comparison_statistic(cohen_kappa)}


def _compute_measure_if_both_answered(measure: Callable[[Any, Any], Any], one: Any, other: Any) -> float:
    return math.nan if one is None or other is None else float(measure(one, other))


class _AnnotatorPairs:
    """Pairs of annotators (rows) who share enough items, with a mask of those: what a mean over pairs is taken of."""

    def __init__(self, rows: Rows, least: int) -> None:
        answered = np.array([[value is not None for value in row] for row in rows])
        every = [
            (one, other, (answered[one] & answered[other]).astype(np.float64))
            for one, other in combinations(range(len(rows)), 2)
        ]
        self.shared = [pair for pair in every if pair[2].sum() >= least]

    def mean(self, given: Sequence[Floats], of: Callable[[Floats, Floats], Drawn]) -> Drawn:
        """The mean of a statistic over annotator pairs, weighed by the items both answered."""
        pairs = [(of(given[one], given[other]), both) for one, other, both in self.shared]

        def mean(counts: Floats) -> Floats:
            if not pairs:
                return np.full(len(counts), np.nan)
            values = np.stack([statistic(counts) for statistic, _ in pairs])
            weights = np.where(np.isnan(values), 0.0, np.stack([counts @ both for _, both in pairs]))
            return _divide_or_nan((np.where(np.isnan(values), 0.0, values) * weights).sum(axis=0), weights.sum(axis=0))

        return mean
