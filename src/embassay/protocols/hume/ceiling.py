"""What a system can hope for, where it stands among people, and its paired differences from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.measures import align, mean_pairwise, spearman
from embassay.protocols.hume.resampling import (
    CORRELATION,
    DRAWS,
    SHARE,
    BootstrapEstimateWithTest,
    Floats,
    PeopleAnswerRows,
    PeopleAnswers,
    Range,
    ResamplingSettings,
    arrange_people_rows,
    compute_mean_people_score_per_resample,
    make_value_without_interval,
    replace_none_by_nan,
    resample_statistics,
    resampled_mean,
    resampled_spearman,
    resampled_v_measure,
    score_answer_row_per_resample,
    value_indicators,
)
from embassay.protocols.hume.scoring import average_precision_of_marks
from embassay.protocols.hume.study import Answers, Family, Label, Marks, TaskSpec
from embassay.stats import mixed_mean
from embassay.stats.intervals import Estimate, check_confidence, convert_to_finite_sample_array

MANY_DRAWS = ResamplingSettings(n_resamples=10_000)
SystemValues = Mapping[str, Any]
"""What a system has of every item, by item id; items it failed on are absent. Classification: 1 for a right label and 0
for a wrong one, or the share of repeats that were right. Reranking: the AP of the query. STS: the similarity of the two
texts. Clustering: the id of the item's group."""
_RANGE: Mapping[Family, Range] = {
    "classification": (-1.0, 1.0),
    "clustering": (-1.0, 1.0),
    "reranking": (-1.0, 1.0),
    "sts": (-2.0, 2.0),
}
NO_CLUSTERS = "this is one partition of one set of items, so resampling cannot show how other items would score"


@dataclass(frozen=True)
class SystemMinusPeople:
    """The score of a system minus that of people, over the items that both have.

    `system` and `people` are their scores on these items, `difference` the one minus the other with interval and `p`.
    The interval is NaN, and `reason` says why, where none can be had.
    """

    system: float
    people: float
    difference: BootstrapEstimateWithTest

    @property
    def reason(self) -> str:
        """Why there is no interval; empty where there is one."""
        return self.difference.reason


def compare_with_people(
    people: PeopleAnswers, systems: Mapping[str, SystemValues], draws: ResamplingSettings = MANY_DRAWS
) -> dict[str, SystemMinusPeople]:
    """Every system's score minus people's, with a bootstrap interval over items and a two-sided p that they are equal.

    A resample draws items, each with gold, the answers of people and those of the system; both are scored on it by the
    family's main measure and the convention of `people`. Systems with the same items see the same resamples. So it
    asks what other items like these would give, with these annotators: their own spread has no part in it.
    Clustering has a difference and no interval: see `NO_CLUSTERS` and docs/hume_beyond.md.
    Source: spec hume 7 and ambiguity 13. Raises DataError for a system without an item that people answered.

    >>> answers = {"ann": dict(a=1, b=1, c=1, d=0, e=1, f=1)}
    >>> people = PeopleAnswers(TaskSpec("colours", "classification", "eng"),
    ... dict.fromkeys("abcdef", 1), answers)
    >>> found = compare_with_people(people, {"m": dict(a=0, b=1, c=0, d=0, e=0, f=0.5)})["m"]
    >>> round(found.difference.value, 4), found.difference.high < 0
    (-0.5833, True)
    """
    answered = set(people.scored_items)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, values in systems.items():
        items = tuple(sorted(answered & values.keys()))
        if not items:
            raise DataError(
                f"{name} has no value for any item of {people.task.name} that people answered.",
                mend="Pass values keyed by item id.",
            )
        groups.setdefault(items, []).append(name)
    by_system: dict[str, SystemMinusPeople] = {}
    for items, names in groups.items():
        rows = [[systems[name][item] for item in items] for name in names]
        by_system |= dict(
            zip(
                names,
                _compare_systems_with_people(people.task, arrange_people_rows(people, items), rows, draws),
                strict=True,
            )
        )
    return {name: by_system[name] for name in systems}


def _compare_systems_with_people(
    task: TaskSpec, laid: PeopleAnswerRows, rows: Sequence[Sequence[Any]], draws: ResamplingSettings
) -> list[SystemMinusPeople]:
    n, once = len(laid.items), np.ones((1, len(laid.items)))
    people = float(compute_mean_people_score_per_resample(task, laid, once)[0])
    scores = _score_systems_per_resample(task, laid, rows, once)[0].tolist()

    def difference(counts: Floats) -> Floats:
        return (
            _score_systems_per_resample(task, laid, rows, counts)
            - compute_mean_people_score_per_resample(task, laid, counts)[:, None]
        )

    if task.family == "clustering":
        differences = [make_value_without_interval(score - people, n, NO_CLUSTERS) for score in scores]
    else:
        # Differences are nearly symmetric: mending bias and skew only adds noise to them (docs/hume_beyond.md).
        differences = list(
            resample_statistics(
                difference, n, replace(draws, kind=draws.kind or "expanded"), within=(_RANGE[task.family],)
            )
        )
    return [SystemMinusPeople(score, people, gap) for score, gap in zip(scores, differences, strict=True)]


def _score_systems_per_resample(
    task: TaskSpec, laid: PeopleAnswerRows, rows: Sequence[Sequence[Any]], counts: Floats
) -> Floats:
    """(b, systems)."""
    if task.family in ("classification", "reranking"):
        return resampled_mean(counts, np.stack([replace_none_by_nan(row) for row in rows], axis=1))
    return np.stack([score_answer_row_per_resample(task, laid.gold, row, counts) for row in rows], axis=1)


# Fisher's z of a correlation of 1 is infinite.
_MOST = 0.9999


@dataclass(frozen=True)
class PeopleSystemCorrelations:
    """Spearman's correlations of `people` with gold, of the `system` with gold, and of the two with each other
    (`shared`); `between` is that of two annotators, None for one and where ratings are not pooled; `k` are pooled."""

    people: float
    system: float
    shared: float
    between: float | None
    k: int

    @property
    def gap(self) -> float:
        """System minus people, in Fisher's z."""
        return math.atanh(self.system) - math.atanh(self.people)

    @property
    def spread(self) -> float:
        """The standard error of `gap` times sqrt(n - 3): variances of ranks by Bonett and Wright (2000), covariance of
        two correlations with one common variable by Steiger (1980)."""
        p, s, c = self.people, self.system, self.shared
        joint = c * (1 - p * p - s * s) - p * s * (1 - p * p - s * s - c * c) / 2
        together = joint / ((1 - p * p) * (1 - s * s))
        of_people, of_system = 1 + p * p / 2, 1 + s * s / 2
        # Where the two hardly differ, rounding can make the variance negative.
        return math.sqrt(max(of_people + of_system - 2 * together * math.sqrt(of_people * of_system), 1e-6))

    def convert_z_to_correlation_gap(self, by: float) -> float:
        """The size of a difference in correlation that lies `by` in z from people, on the system's side."""
        sign = 1.0 if self.gap >= 0 else -1.0
        return abs(math.tanh(math.atanh(self.people) + sign * by) - self.people)

    def adjust_to_annotator_count(self, k: int) -> PeopleSystemCorrelations:
        """Adjust the correlations to `k` annotators, whose mean is more reliable.

        Source: Spearman 1910, Brown 1910. Needs `between` above 0.
        """
        r = self.between or 0.0
        factor = math.sqrt(_compute_reliability_of_mean(k, r) / _compute_reliability_of_mean(self.k, r))
        return PeopleSystemCorrelations(
            _clamp_correlation_below_one(self.people * factor),
            self.system,
            _clamp_correlation_below_one(self.shared * factor),
            r,
            k,
        )


def correlate_people_and_system(
    people: PeopleAnswers, laid: PeopleAnswerRows, system: Floats
) -> PeopleSystemCorrelations | None:
    """Those of a system's similarities (n,) and of people's ratings, laid out over the same items. None where one is
    undefined."""
    gold = replace_none_by_nan(laid.gold or ())
    pooled = people.aggregation in ("paper", "pooled")
    k = len(people.active_annotators) if pooled else 1
    pairs = [_correlate_ratings_with_gold_and_system(gold, replace_none_by_nan(row), system) for row in laid.rows]
    of_people, shared = (float(np.mean(values)) for values in zip(*pairs, strict=True))
    of_system = _spearman_or_nan(gold, system)
    if any(math.isnan(value) for value in (of_people, of_system, shared)):
        return None
    return PeopleSystemCorrelations(
        _clamp_correlation_below_one(of_people),
        _clamp_correlation_below_one(of_system),
        _clamp_correlation_below_one(shared),
        _compute_mean_annotator_correlation(people) if pooled else None,
        k,
    )


def _correlate_ratings_with_gold_and_system(gold: Floats, ratings: Floats, system: Floats) -> tuple[float, float]:
    there = ~np.isnan(ratings)
    return _spearman_or_nan(gold[there], ratings[there]), _spearman_or_nan(ratings[there], system[there])


def _compute_mean_annotator_correlation(people: PeopleAnswers) -> float | None:
    if len(people.active_annotators) < 2:
        return None
    mean = mean_pairwise(align(people.active_annotators).rows, spearman).value
    return None if math.isnan(mean) else mean


def _spearman_or_nan(x: Floats, y: Floats) -> float:
    return float(spearman(x, y))


def _compute_reliability_of_mean(k: int, r: float) -> float:
    return k * r / (1 + (k - 1) * r)


def _clamp_correlation_below_one(r: float) -> float:
    return min(max(r, -_MOST), _MOST)


_MOST_WITH_GAPS = 600
"""Values of a table with gaps; its quadratic forms take their square in memory."""


@dataclass(frozen=True)
class VarianceComponents:
    """The mean of a table of annotators by items, and the variances between items, between annotators, and of what is
    left. A negative estimate is 0."""

    mean: float
    items: float
    annotators: float
    residual: float


def estimate_variance_components(table: Floats) -> VarianceComponents | None:
    """Variance components of a table (annotators, items), both drawn at random, NaN where one did not answer.

    From the mean squares of the two-way analysis of variance without replication (Searle, Casella and McCulloch 1992),
    with gaps by Henderson's method 3 (`mixed_mean`), and of more than 600 values over the items that all answered.
    None for one annotator, or where items and annotators cannot be told apart.

    >>> estimate_variance_components(np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    VarianceComponents(mean=1.5, items=1.0, annotators=0.5, residual=0.0)
    """
    answered = ~np.isnan(table)
    if len(table) > 1 and not answered.all() and 1 < answered.sum() <= _MOST_WITH_GAPS:
        return _estimate_components_with_gaps(table, answered)
    whole = table[:, answered.all(axis=0)]
    return _estimate_balanced_components(whole) if min(whole.shape) > 1 else None


def _estimate_balanced_components(whole: Floats) -> VarianceComponents:
    k, n = whole.shape
    mean = whole.mean()
    of_annotators, of_items = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - of_annotators[:, None] - of_items + mean
    residual = float((rest**2).sum() / ((k - 1) * (n - 1)))
    # The mean squares less what is left over in them; an estimate below 0 counts as 0.
    between_items, between_annotators = k * of_items.var(ddof=1), n * of_annotators.var(ddof=1)
    return VarianceComponents(
        float(mean),
        max(0.0, float(between_items - residual) / k),
        max(0.0, float(between_annotators - residual) / n),
        residual,
    )


def _estimate_components_with_gaps(table: Floats, answered: NDArray[np.bool_]) -> VarianceComponents | None:
    annotators, items = np.nonzero(answered)
    mean = mixed_mean(table[answered], items.tolist(), annotators.tolist())
    spreads = mean.sd_rows, mean.sd_columns, mean.sd_residual
    if any(math.isnan(spread) for spread in spreads):
        return None
    return VarianceComponents(mean.point, *(spread**2 for spread in spreads))


ONE = "only one annotator, so there are no others to compare with"
GROUPS = "resampling items inflates V-measure because copies of an item always share a cluster"
Held = Sequence[Mapping[str, Any]]
"""The answers of the other annotators, by item id."""


@dataclass(frozen=True)
class HumanCeiling:
    """`value` is the mean over `annotators` of what each scores against the others, with an interval over items; NaN,
    with its `reason`, for one annotator. `items` are those two or more answered; on `dropped` of the scored answers of
    reranking the others found nothing relevant, and there is no average precision."""

    value: BootstrapEstimateWithTest
    annotators: Mapping[str, float]
    items: int
    dropped: int = 0


def leave_one_out_human_ceiling(people: PeopleAnswers, draws: ResamplingSettings = DRAWS) -> HumanCeiling:
    """Leave one annotator out, take the others' answers put together as gold, score the one; the mean over annotators.

    Classification: the others' vote; where it is tied, the share of the tied labels that the answer has (one of two:
    a half), as an order of labels must not decide what people can reach. STS: Spearman's with the others' mean rating.
    Reranking: AP, where a document is relevant that at least half of the others marked; AP knows no grades, and people
    miss more than they add, so a tie counts as relevant. Clustering: the mean V-measure against each other annotator.
    Not the score against the dataset's gold: a system compares with it by `score_system_against_all_but_one`.
    Raises UsageError where nobody answered.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y", c="x"), "bob": dict(a="x", b="y", c="y"), "cat": dict(a="x", b="x", c="z")}
    >>> found = leave_one_out_human_ceiling(PeopleAnswers(TaskSpec("t", "classification", "eng"), {}, votes))
    >>> {name: round(value, 3) for name, value in found.annotators.items()}
    {'ann': 0.5, 'bob': 0.5, 'cat': 0.333}
    """
    taking_part = people.active_annotators
    if not taking_part:
        raise UsageError(f"Nobody answered {people.task.name}.", mend="Pass annotations of this task.")
    # An item that one person answered has no others to be compared with.
    items = [item for item in people.items if sum(item in answers for answers in taking_part.values()) > 1]
    if len(taking_part) < 2 or not items:
        reason = ONE if len(taking_part) < 2 else "no item was answered by two annotators"
        return HumanCeiling(make_value_without_interval(float("nan"), len(items), reason), {}, len(items))
    parts: dict[str, Callable[[Floats], Floats]] = {}
    dropped = 0
    for name, answers in taking_part.items():
        others = [other for key, other in taking_part.items() if key != name]
        parts[name] = make_annotator_scorer(people, answers, others, items)
        dropped += _count_items_without_relevant(people, answers, others, items)
    # Every item once gives the value itself, not one of a resample.
    once = np.ones((1, len(items)))
    scores = {name: float(part(once)[0]) for name, part in parts.items()}

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([part(counts) for part in parts.values()], axis=0))

    if people.task.family == "clustering":
        value = make_value_without_interval(float(mean(once)[0]), len(items), GROUPS)
    else:
        value = resample_statistics(
            mean, len(items), draws, within=(look_up_family_measure_range(people.task.family),)
        )[0]
    return HumanCeiling(value, scores, len(items), dropped)


def look_up_family_measure_range(family: Family) -> Range:
    """The least and greatest main measure of a family."""
    return CORRELATION if family == "sts" else SHARE


def make_annotator_scorer(
    people: PeopleAnswers, own: Mapping[str, Any], others: Held, items: Sequence[str]
) -> Callable[[Floats], Floats]:
    """How one's answers score against the answers of others put together, in every resample of `items`: (b,)."""
    family = people.task.family
    if family == "clustering":
        mine = value_indicators([own.get(item) for item in items])
        theirs = [value_indicators([other.get(item) for item in items]) for other in others]
        return lambda counts: np.asarray(
            np.mean([resampled_v_measure(counts, mine, other) for other in theirs], axis=0)
        )
    votes_of = {item: [other[item] for other in others if item in other] for item in items}
    if family == "sts":
        mine = replace_none_by_nan([own.get(item) for item in items])
        mean = replace_none_by_nan([float(np.mean(votes)) if votes else None for votes in votes_of.values()])
        return lambda counts: resampled_spearman(counts, mine, mean)
    value = _credit_majority_label if family == "classification" else _make_scorer_against_majority_marks(people)
    values = replace_none_by_nan(
        [value(own[item], votes) if item in own and votes else None for item, votes in votes_of.items()]
    )
    return lambda counts: resampled_mean(counts, values)


def _credit_majority_label(answer: Any, votes: Sequence[Any]) -> float:
    best = most_voted_labels(votes)
    return 1 / len(best) if answer in best else 0.0


def _make_scorer_against_majority_marks(people: PeopleAnswers) -> Callable[[Any, Sequence[Any]], float | None]:
    def value(marks: Any, votes: Sequence[Any]) -> float | None:
        gold = majority_marks(votes)
        return average_precision_of_marks(gold, marks, human_ap_mode=people.human_ap_mode) if any(gold) else None

    return value


def _count_items_without_relevant(
    people: PeopleAnswers, answers: Mapping[str, Any], others: Held, items: Sequence[str]
) -> int:
    if people.task.family != "reranking":
        return 0
    marks = [[other[item] for other in others if item in other] for item in items if item in answers]
    return sum(not any(majority_marks(votes)) for votes in marks if votes)


def most_voted_labels(votes: Sequence[Label]) -> frozenset[Label]:
    """The labels with the most votes: several where the vote is tied.

    >>> sorted(most_voted_labels(["b", "a", "b", "a", "c"]))
    ['a', 'b']
    """
    counted = Counter(votes)
    most = max(counted.values())
    return frozenset(label for label, times in counted.items() if times == most)


def majority_marks(marks: Sequence[Marks]) -> Marks:
    """1 for every document that at least half of the people marked.

    >>> majority_marks([(1, 1, 0), (1, 0, 0)])
    (1, 1, 0)
    """
    return tuple(int(2 * sum(document) >= len(document)) for document in zip(*marks, strict=True))


SystemAnswers = Mapping[str, Any]
"""What a system answered, by item id, as a person would: a label, the id of a group, a number per pair of texts; for
reranking a score per document, in the order displayed."""


def score_system_against_all_but_one(
    people: PeopleAnswers, system: SystemAnswers, draws: ResamplingSettings = DRAWS
) -> BootstrapEstimateWithTest:
    """A system's mean score against the answers of all annotators but one, put together as in
    `leave_one_out_human_ceiling`.

    Every annotator is left out once, so the system meets the same gold as the people of the ceiling do, made by as many
    voters: it is at the ceiling where it answers as they do, even if both differ from the dataset's gold. For one
    annotator NaN with a reason; no interval for clustering. An item counts where two or more annotators have it.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y", c="x"), "bob": dict(a="x", b="y", c="y")}
    >>> people = PeopleAnswers(TaskSpec("t", "classification", "eng"), {}, votes)
    >>> found = score_system_against_all_but_one(people, dict(a="x", b="y", c="x"))
    >>> round(found.value, 4)
    0.8333
    """
    held = people.active_annotators
    others = [[said for key, said in held.items() if key != name] for name in held]
    return _mean_score_against_golds(people, system, others, draws)


def score_system_against_random_annotator(
    people: PeopleAnswers, system: SystemAnswers, draws: ResamplingSettings = DRAWS
) -> BootstrapEstimateWithTest:
    """A system's score against one annotator drawn at random: the mean over annotators of its score with that one's
    answers as gold, 0 to 1 (STS: -1 to 1).

    Disagreement stays: for a classification it is, per item, the share of annotators who gave the system's label, where
    a vote makes one label right. No system can reach 1 where people differ. NaN, intervals and items as for
    `score_system_against_all_but_one`.
    Source: HUME 5.3, which asks to preserve disagreement.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y"), "bob": dict(a="x", b="z"), "eve": dict(a="x", b="z")}
    >>> found = score_system_against_random_annotator(PeopleAnswers(TaskSpec("t", "classification", "eng"),
    ... {}, votes),
    ... dict(a="x", b="z"))
    >>> round(found.value, 4)
    0.8333
    """
    return _mean_score_against_golds(people, system, [[said] for said in people.active_annotators.values()], draws)


def _mean_score_against_golds(
    people: PeopleAnswers, system: SystemAnswers, golds: Sequence[Held], draws: ResamplingSettings
) -> BootstrapEstimateWithTest:
    """The mean of a system's scores against each of the golds, which are annotators put together."""
    taking_part: Answers = people.active_annotators
    shared = [item for item in people.items if sum(item in said for said in taking_part.values()) > 1]
    items = [item for item in shared if item in system]
    if len(taking_part) < 2 or not items:
        reason = ONE if len(taking_part) < 2 else "no item was answered by two annotators and the system"
        return make_value_without_interval(float("nan"), len(items), reason)
    parts = [make_annotator_scorer(people, system, gold, items) for gold in golds]

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([part(counts) for part in parts], axis=0))

    if people.task.family == "clustering":
        return make_value_without_interval(float(mean(np.ones((1, len(items))))[0]), len(items), GROUPS)
    return resample_statistics(mean, len(items), draws, within=(look_up_family_measure_range(people.task.family),))[0]


def share_of_people_below(score: float, annotators: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The share of annotators who score below a system, 0 to 1, equals counting half; `n` is how many there are.

    The interval is Clopper and Pearson's for the share among all people like these: it holds its level for any number
    of them, and so says how little two tell (both below: from .16 to 1). With ties the halves go into its quantiles.
    It takes the scores of people as they are; their own uncertainty over items is not in it.
    Source: Clopper and Pearson 1934. Raises UsageError for no annotators or scores that are not finite.

    >>> found = share_of_people_below(0.8, [0.7, 0.75])
    >>> found.value, round(found.low, 3), found.high
    (1.0, 0.158, 1.0)
    """
    people = convert_to_finite_sample_array(list(annotators), "annotators")
    if score != score:
        raise UsageError("The system's score is NaN.", mend="Leave the system out and report why.")
    below = float((people < score).sum() + (people == score).sum() / 2)
    return interval_for_share_of_people(below / len(people), len(people), confidence=confidence)


def interval_for_share_of_people(share: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """A share found among `n` annotators with the interval of `share_of_people_below`: from a record, which keeps the
    share.

    Raises UsageError for a share outside 0 to 1 or no annotators.

    >>> round(interval_for_share_of_people(0.0, 5).high, 3)
    0.522
    """
    # Imported here, because scipy.stats is slow to load and only this function needs it.
    from scipy.stats import beta

    check_confidence(confidence)
    if not 0 <= share <= 1 or n < 1:
        raise UsageError(
            f"The share is {share} of {n} annotators.", mend="Use a share from 0 to 1 and at least 1 annotator."
        )
    below, tail = share * n, (1 - confidence) / 2
    low = float(beta.ppf(tail, below, n - below + 1)) if below > 0 else 0.0
    high = float(beta.ppf(1 - tail, below + 1, n - below)) if below < n else 1.0
    return Estimate(share, low, high, n, f"{confidence:.0%} Clopper-Pearson over {n} annotators")


MOST_ITEMS, MOST_ANNOTATORS = 10_000, 100
_LEAST_ITEMS = 5


@dataclass(frozen=True)
class SampleSizeNeeded:
    """`items` in all, with these annotators, and `annotators` in all, with these items, that would separate a system
    from people if the true difference is the one observed; None, with `note`, if no number up to the limit suffices, or
    none can be computed. `smallest`: the least difference that a study of this size finds at the given power."""

    items: int | None
    annotators: int | None
    smallest: float | None
    n: int
    k: int
    note: str = ""


def items_needed(
    people: PeopleAnswers, system: SystemValues, *, power: float = 0.8, alpha: float = 0.05
) -> SampleSizeNeeded:
    """What would separate a system from people in the test of `compare_with_people`, at a `power` and level
    `alpha`.

    Classification and reranking: from the variance of the differences item by item. More annotators lower what is
    between annotators and left over in it (two-way analysis of variance), never what is between items. Where people are
    scored by their vote it is that of the mean of annotators, if both are on one side of the system. STS: Fisher's z
    of the two correlations, which share gold (Steiger 1980; Bonett and Wright 2000); more annotators raise people's
    correlation as Spearman and Brown say. Clustering: nothing, as there is not a test. An observed difference is itself
    uncertain, and so are these numbers: take them as an order of size. Raises UsageError for a power or alpha out of
    range.

    >>> gold = {f"{i:02}": 1 for i in range(40)}
    >>> answers = {"ann": {item: int(int(item) % 5 > 0) for item in gold}}
    >>> from embassay.protocols.hume.study import TaskSpec
    >>> people = PeopleAnswers(TaskSpec("t", "classification", "eng"), gold, answers)
    >>> found = items_needed(people, {item: float(int(item) % 3 > 0) for item in gold})
    >>> found.items, found.annotators, round(found.smallest, 2)
    (137, None, 0.28)
    """
    if not (0 < alpha < 1 and alpha < power < 1):
        raise UsageError(f"Power is {power}, alpha {alpha}.", mend="Use 0 < alpha < power < 1, such as 0.05 and 0.8.")
    items = sorted(set(people.scored_items) & system.keys())
    k = 1 if people.aggregation == "first" else len(people.active_annotators)
    nothing = SampleSizeNeeded(None, None, None, len(items), k)
    if people.task.family == "clustering":
        return replace(nothing, note="Clustering scores cannot be tested over items.")
    if len(items) < _LEAST_ITEMS:
        return replace(nothing, note=f"At least {_LEAST_ITEMS} items are needed for an estimate.")
    reach = compute_test_and_power_quantiles(power, alpha)
    laid = arrange_people_rows(people, items)
    values = replace_none_by_nan([system[item] for item in items])
    if people.task.family == "sts":
        return _estimate_sample_size_for_correlation(correlate_people_and_system(people, laid, values), nothing, reach)
    single = arrange_people_rows(replace(people, aggregation="mean" if k > 1 else "first"), items)
    mean = np.nanmean(np.stack([replace_none_by_nan(row) for row in laid.rows]), axis=0)
    parts = estimate_variance_components(np.stack([values - replace_none_by_nan(row) for row in single.rows]))
    return _estimate_sample_size_for_mean_gap(values - mean, parts, nothing, reach)


@dataclass(frozen=True)
class TestAndPowerQuantiles:
    """How many standard errors a difference must have for the `test`, and how many more for the `power`."""

    test: float
    power: float

    @property
    def standard_errors_for_test_and_power(self) -> float:
        """How many standard errors a difference must have for the test and the power together."""
        return self.test + self.power


def compute_test_and_power_quantiles(power: float, alpha: float) -> TestAndPowerQuantiles:
    """Normal quantiles: 1.96 and 0.84 for 80% power at 5%."""
    z = NormalDist().inv_cdf
    return TestAndPowerQuantiles(z(1 - alpha / 2), z(power))


def annotators_needed_by_variance(
    parts: VarianceComponents, n: int, least: int, reach: TestAndPowerQuantiles
) -> int | None:
    """How many annotators, from `least` on, find the mean difference with `n` items: None up to the limit.

    The test sees what varies over items. Which annotators take part moves the difference as well, and so counts for the
    power.
    """

    def is_annotator_count_enough(k: int) -> bool:
        # Guenther's correction, as in `_estimate_sample_size_for_mean_gap`.
        over_items = (parts.items + parts.residual / k) / max(n - reach.test**2 / 2, 1)
        spread = over_items + parts.annotators / k
        return abs(parts.mean) >= reach.test * math.sqrt(over_items) + reach.power * math.sqrt(spread)

    return _find_least_sufficient_annotators(is_annotator_count_enough, least)


def annotators_needed_for_sts(
    at: PeopleSystemCorrelations, n: int, least: int, reach: TestAndPowerQuantiles
) -> int | None:
    """How many annotators find the difference in STS, where their mean becomes more reliable."""
    if at.between is None or at.between <= 0:
        return None

    def is_annotator_count_enough(k: int) -> bool:
        then = at.adjust_to_annotator_count(k)
        # Fisher's z has a variance of about 1 / (n - 3).
        return abs(then.gap) >= reach.standard_errors_for_test_and_power * then.spread / math.sqrt(max(n - 3, 1))

    return _find_least_sufficient_annotators(is_annotator_count_enough, least)


def _estimate_sample_size_for_mean_gap(
    differences: Floats, parts: VarianceComponents | None, need: SampleSizeNeeded, reach: TestAndPowerQuantiles
) -> SampleSizeNeeded:
    gap, variance = float(differences.mean()), float(differences.var(ddof=1))
    if variance <= 0:
        return replace(need, note="No estimate: the difference is the same on every item.")
    # Guenther 1981: what a t test needs more than a normal one.
    extra = reach.test**2 / 2
    smallest = reach.standard_errors_for_test_and_power * math.sqrt(variance / max(need.n - extra, 1))
    items = (
        _round_up_item_count(reach.standard_errors_for_test_and_power**2 * variance / gap**2 + extra) if gap else None
    )
    known = replace(need, items=items, smallest=smallest)
    # A vote of more people gets better than their mean: where the two lie on either side of the system, nothing of
    # the mean holds for the vote.
    if parts is None or parts.mean * gap <= 0:
        return _add_note_on_missing_sample_size(known, known=False)
    return _add_note_on_missing_sample_size(
        replace(known, annotators=annotators_needed_by_variance(parts, need.n, need.k, reach))
    )


def _estimate_sample_size_for_correlation(
    at: PeopleSystemCorrelations | None, need: SampleSizeNeeded, reach: TestAndPowerQuantiles
) -> SampleSizeNeeded:
    if at is None:
        return replace(need, note="A correlation is undefined because ratings or similarities do not vary.")
    smallest = at.convert_z_to_correlation_gap(
        reach.standard_errors_for_test_and_power * at.spread / math.sqrt(max(need.n - 3, 1))
    )
    # Fisher's z has a variance of 1 / (n - 3).
    items = (
        _round_up_item_count((reach.standard_errors_for_test_and_power * at.spread / at.gap) ** 2 + 3)
        if at.gap
        else None
    )
    annotators = annotators_needed_for_sts(at, need.n, need.k, reach)
    return _add_note_on_missing_sample_size(
        replace(need, items=items, annotators=annotators, smallest=smallest),
        known=at.between is not None and at.between > 0,
    )


def _find_least_sufficient_annotators(enough: Callable[[int], bool], least: int) -> int | None:
    return next((k for k in range(least, MOST_ANNOTATORS + 1) if enough(k)), None)


def _round_up_item_count(number: float) -> int | None:
    return math.ceil(number) if number <= MOST_ITEMS else None


def _add_note_on_missing_sample_size(need: SampleSizeNeeded, *, known: bool = True) -> SampleSizeNeeded:
    """Explain in a sample size why there is no number."""
    notes = []
    if need.items is None:
        notes.append(f"Even {MOST_ITEMS:,} items would not be enough.")
    if need.k < 2:
        notes.append("One annotator does not show how annotators vary.")
    elif not known:
        notes.append("The effect of more annotators cannot be estimated from these items.")
    elif need.annotators is None:
        notes.append(f"With these items, even {MOST_ANNOTATORS} annotators would not be enough.")
    return replace(need, note=" ".join(notes))
