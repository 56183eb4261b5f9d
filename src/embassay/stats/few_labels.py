"""Means from few labels of people and many of a judge: unbiased whatever the judge is worth, and narrower where it is.

The judge labels every unit, people label some drawn at random. What the judge says of all is corrected by how far it is
off where people have labelled too (prediction-powered inference), and counts as much as it helps, which the slope of
people's labels on the judge's tells: this is the regression estimator of double sampling.
Intervals are by Student's t, turned for the skewness of what they are of: grades pile up at one end, and of thirty a
plain interval held in 93 to 95%, the more so where the narrower of two is taken. Those of shares are by the normal law
with labels added in the corners, as Agresti and Coull's. Where a judge who says yes or no leaves little of them, what
it gets wrong is rare, and the normal law does not hold: there what it calls right and what it calls wrong have an
interval each, put together as their distances from the estimate.
What the judge refuses to label is a stratum of its own: there people's labels stand alone, and without them nothing is
known of it.
Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++, power tuning); Cochran 1977, section 12.6; Hall 1992 (skewness);
Agresti and Coull 1998, Agresti and Caffo 2000 (labels added); Brown, Cai and DasGupta 2001 (Jeffreys); Zou and Donner
2008 (distances put together).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import Estimate, check_confidence, t_quantile, t_tail

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]

FEWEST = 5
"""Labels of people below which there is no interval."""
FEWEST_REFUSED = 10
"""Labels of people among what the judge refused that tell what it is, unless they are all of it."""
MOST_REFUSED = 0.02
"""So large a share of refusals may stay without labels: the interval then reaches as far as they could move it."""
FEW_VALUES = 2
"""Labels with so few different values get two labels more, a half in each corner of what is possible."""
_CORNER = 0.5
"""With a quarter, judges who err to one side only held in 79 to 93% at 10 to 30 labels: where none of their few
mistakes is among the labels, too little was left for them."""
_LITTLE = 0.6
"""Up to this share of the labels' variance is little. With more the distances were too short: at kappa 0.2 and 30
labels they held in 91 to 94%; with labels in the corners alone, at kappa 0.8 and 0.9, up to 99.4%."""


@dataclass(frozen=True)
class HumanAndJudgeMean:
    """`value` is of people's labels and the judge's, `alone` of people's, `judge` what the judge says of all units.

    `slope` is how much the judge counts: 0 where it does not help. `effective` is how many labels of people alone would
    give an interval as narrow as `value` has; `n` are people's labels, `total` all units. `error` is the standard error
    of `value`, with so many degrees of `freedom`, and `lean` the skewness of what it is the error of. `arms` are how
    far the interval reaches below and above the value, where the error does not say it.
    """

    value: Estimate
    alone: Estimate
    judge: float
    slope: float
    n: int
    total: int
    effective: float
    error: float = float("nan")
    freedom: float = 0
    lean: float = 0.0
    arms: tuple[float, float] | None = None

    @property
    def p(self) -> float:
        """The two-sided p-value of a mean of 0, NaN without an error."""
        if not self.error > 0:
            return float("nan")
        return 2 * t_tail(abs(_remove_skewness_from_t(self.value.point / self.error, self.lean)), self.freedom)

    def compute_interval_ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends of the interval of `value`, whatever the bounds of a label are."""
        if self.arms is not None:
            return self.value.point - self.arms[0], self.value.point + self.arms[1]
        return _compute_skewed_interval_ends(self.value.point, self.error**2, self.freedom, self.lean, confidence)

    @property
    def is_judge_helpful(self) -> bool:
        """Whether the judge makes the interval narrower."""
        return self.slope != 0.0


@dataclass(frozen=True)
class _HumanAndJudgeLabels:
    """Labels of people `y` and the judge `x` on the same units, with a weight and the group of each."""

    y: Floats
    x: Floats
    weight: Floats
    group: Groups

    def mean(self, values: Floats) -> float:
        return float(self.weight @ values / self.weight.sum())

    def sum_weighted_product(self, a: Floats, b: Floats) -> float:
        return float((self.weight * a) @ b)


def compute_judge_corrected_mean(
    people: Floats,
    judge: Floats,
    every: Floats,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    groups: Groups | None = None,
    every_groups: Groups | None = None,
    confidence: float = 0.95,
) -> HumanAndJudgeMean:
    """The mean over all units of what people would say, from `people` (n,), the `judge` on the same units (n,), and the
    judge on `every` unit (N,), those with a label included.

    `bounds` are the least and the most that a label can be. Where the judge refused, `judge` and `every` are NaN: such
    units are a stratum by itself, and without enough labels of people there is no value. Units of
    one of the `groups` (n,) and `every_groups` (N,), numbers from 0 on, are not independent, such as passages of one
    query: the interval is then over groups. The judge is left out where it would make the interval wider. UsageError
    for shapes that do not fit.

    >>> people, judge = np.array([0.0, 1.0, 0.5, 1.0, 0.0, 0.5]), np.array([0.2, 0.9, 0.6, 1.0, 0.1, 0.5])
    >>> found = compute_judge_corrected_mean(people, judge, np.r_[judge, np.linspace(0, 1, 50)])
    >>> round(found.value.point, 3), round(found.alone.point, 3), found.is_judge_helpful
    (0.445, 0.5, True)
    """
    check_confidence(confidence)
    n, total = len(people), len(every)
    if len(judge) != n or total < n:
        raise UsageError(
            f"There are {n} labels from people, {len(judge)} judge labels for them, and {total} units in total.",
            mend="Give the judge's label for every unit.",
        )
    if (groups is None) is not (every_groups is None):
        raise UsageError("Only some units have a group.", mend="Give the groups of labels and of all units.")
    refusals = JudgeRefusals.of(judge, every)
    if n - refusals.n < FEWEST:
        mean = Estimate(float(people.mean()) if n else None)
        return HumanAndJudgeMean(mean, mean, _mean_of_known(every), 0.0, n, total, float(n))
    if refusals.total and not refusals.has_enough_refusal_labels:
        return _estimate_with_unknown_refusals(
            people, judge, every, (groups, every_groups), refusals, bounds, confidence
        )
    return _estimate_with_labels(people, judge, every, (groups, every_groups), refusals, bounds, confidence)


def _estimate_with_labels(
    people: Floats,
    judge: Floats,
    every: Floats,
    grouped: tuple[Groups | None, Groups | None],
    refusals: JudgeRefusals,
    bounds: tuple[float, float],
    confidence: float,
) -> HumanAndJudgeMean:
    """Estimate the mean where there are enough labels, among refusals as well."""
    n, total = len(people), len(every)
    groups, every_groups = grouped
    judged = _mean_of_known(every)
    judge, every, weight = refusals.fill_refusals_with_people_mean(people, judge, every)
    rows = _add_pseudo_labels_at_corners(
        people, judge, every, np.arange(n) if groups is None else groups, bounds, weight
    )
    skewed = len(rows.y) == n  # The corners do for labels of few values.
    free = _make_degrees_of_freedom_function(groups, every_groups, n, exact=skewed or groups is not None)
    own_mean, variance, off = _compute_people_mean_and_variance(rows)
    (value, better), slope, left = _compute_regression_mean_and_variance(rows, every)
    if groups is not None or refusals.total:
        variance, better = _compute_larger_of_group_variances(rows, every, every_groups, variance, better, slope)
    unseen = refusals.estimate_hidden_refusal_variance(people, bounds)
    variance, better = variance + unseen, better + unseen
    half = _half_width(variance, free(1), confidence)
    lean = _compute_influence_skewness(off, rows.group) if skewed or groups is not None else 0.0
    # What a good judge leaves is mostly 0, and its own skewness is chance: it leans as people's labels do, by as much
    # as is left of them.
    leans = [lean, lean * left**1.5]
    alone = _make_bounded_interval(
        own_mean, _compute_skewed_interval_ends(own_mean, variance, free(1), leans[0], confidence), bounds
    )
    ends, arms = _compute_skewed_interval_ends(value, better, free(2), leans[1], confidence), None
    half_corrected = _half_width(better, free(2), confidence)
    is_plain = groups is None and not refusals.total and left <= _LITTLE
    if is_plain and (by_shares := _combine_intervals_by_judge_answer(people, judge, every, bounds, confidence)):
        ends, half_corrected = by_shares, (by_shares[1] - by_shares[0]) / 2
        arms = value - by_shares[0], by_shares[1] - value
    if slope != 0.0 and half_corrected < half:
        narrowed = _make_bounded_interval(value, ends, bounds)
        # Cut off at a bound, the interval of people alone may be the narrower one.
        if narrowed.width <= alone.width:
            # No judge is worth more than labels of all units.
            more = min((half / half_corrected) ** 2 if half_corrected else np.inf, total / n)
            return HumanAndJudgeMean(
                narrowed, alone, judged, slope, n, total, n * more, better**0.5, free(2), leans[1], arms
            )
    return HumanAndJudgeMean(alone, alone, judged, 0.0, n, total, float(n), variance**0.5, free(1), leans[0])


def _compute_larger_of_group_variances(
    rows: _HumanAndJudgeLabels, every: Floats, every_groups: Groups | None, variance: float, better: float, slope: float
) -> tuple[float, float]:
    """The variances of both means, where units are not independent: those over groups if they are larger."""
    # Units of no group are independent of the labels, for want of better.
    all_units = len(rows.y) + np.arange(len(every)) if every_groups is None else every_groups
    variance = max(variance, _compute_jackknife_variance(rows, every, all_units, _compute_mean_human_label))
    if slope:
        better = max(better, _compute_jackknife_variance(rows, every, all_units, _judge_corrected_mean_of_sums))
    return variance, better


@dataclass(frozen=True)
class JudgeRefusals:
    """Units that the judge refused to label, of `labelled` ones (n,) and of `every` one (N,)."""

    labelled: NDArray[np.bool_]
    every: NDArray[np.bool_]

    @classmethod
    def of(cls, judge: Floats, every: Floats) -> JudgeRefusals:
        """The refusals of a judge: the units whose label is NaN."""
        return cls(np.isnan(judge), np.isnan(every))

    @property
    def n(self) -> int:
        """How many of the refused units people have labelled."""
        return int(self.labelled.sum())

    @property
    def total(self) -> int:
        """How many units the judge refused."""
        return int(self.every.sum())

    @property
    def share(self) -> float:
        """The share of all units that the judge refused."""
        return self.total / len(self.every)

    @property
    def has_enough_refusal_labels(self) -> bool:
        """Whether people's labels among them tell what they are."""
        return self.n >= min(FEWEST_REFUSED, self.total)

    def fill_refusals_with_people_mean(
        self, people: Floats, judge: Floats, every: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The judge's labels with people's mean in place of refusals, and the weight of each label: both strata count
        as much as they have units, however many of each were labelled."""
        weight = np.ones(len(people))
        if not self.total:
            return judge, every, weight
        mean = float(people[self.labelled].mean())
        counts = {True: (self.total, self.n), False: (len(every) - self.total, len(people) - self.n)}
        for is_refused, (units, labels) in counts.items():
            if labels:
                weight[self.labelled == is_refused] = units / len(every) * len(people) / labels
        return np.where(self.labelled, mean, judge), np.where(self.every, mean, every), weight

    def estimate_hidden_refusal_variance(self, people: Floats, bounds: tuple[float, float]) -> float:
        """The variance that few labels of refusals do not show, where they are alike: that of a share with a label more
        on either side, less their own."""
        if self.n == self.total:
            return 0.0
        own, n, width = people[self.labelled], self.n, bounds[1] - bounds[0]
        share = (float((own - bounds[0]).sum()) / width + 1) / (n + 2)
        missing = share * (1 - share) * width**2 / (n + 2) - float(own.var()) / n
        return self.share**2 * max(missing, 0.0)


def _mean_of_known(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _estimate_with_unknown_refusals(
    people: Floats,
    judge: Floats,
    every: Floats,
    grouped: tuple[Groups | None, Groups | None],
    refusals: JudgeRefusals,
    bounds: tuple[float, float],
    confidence: float,
) -> HumanAndJudgeMean:
    """With refusals that people's labels don't tell: few of them move the ends by all that they could be; more leave
    nothing that is known."""
    answered, labelled = ~refusals.every, ~refusals.labelled
    groups, every_groups = grouped
    judged = compute_judge_corrected_mean(
        people[labelled], judge[labelled], every[answered], bounds=bounds,
        groups=None if groups is None else groups[labelled],
        every_groups=None if every_groups is None else every_groups[answered], confidence=confidence
    )  # fmt: skip
    n, total, share = len(people), len(every), refusals.share
    if share > MOST_REFUSED:
        unknown = Estimate(None)
        return HumanAndJudgeMean(unknown, unknown, judged.judge, 0.0, n, total, float(n))
    # Taken to be as the others are, for want of better.
    value, error = judged.value.point, (1 - share) * judged.error
    low, high = judged.compute_interval_ends(confidence)
    ends = low - share * (low - bounds[0]), high + share * (bounds[1] - high)
    least, most = judged.alone.ends
    widened = Estimate(judged.alone.value, least - share * (least - bounds[0]), most + share * (bounds[1] - most))
    return replace(
        judged, value=_make_bounded_interval(value, ends, bounds), alone=widened, n=n, total=total, error=error,
        arms=(value - ends[0], ends[1] - value)
    )  # fmt: skip


def _combine_intervals_by_judge_answer(
    people: Floats, judge: Floats, every: Floats, bounds: tuple[float, float], confidence: float
) -> tuple[float, float] | None:
    """The ends of an interval from the shares of people's labels where the judge says the one thing and where it says
    the other; None unless people and judge say one of two things each."""
    low, high = bounds
    answers = np.unique(every)
    if len(answers) != 2 or not np.isin(people, bounds).all():
        return None
    tail, second = (1 - confidence) / 2, float((every == answers[1]).mean())
    shares, below, above = [], 0.0, 0.0
    for answer, weight in zip(answers, (1 - second, second), strict=True):
        there = people[judge == answer] == high
        n, k = len(there), int(there.sum())
        share = k / n if n else 0.5
        below += (weight * (share - (_compute_jeffreys_quantile(tail, k, n) if k else 0.0))) ** 2
        above += (weight * ((_compute_jeffreys_quantile(1 - tail, k, n) if k < n else 1.0) - share)) ** 2
        shares.append(share)
    # How often the judge says either is of a sample, too.
    drawn = _half_width((shares[1] - shares[0]) ** 2 * second * (1 - second) / len(every), np.inf, confidence) ** 2
    middle = shares[0] + second * (shares[1] - shares[0])
    ends = middle - (below + drawn) ** 0.5, middle + (above + drawn) ** 0.5
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def _compute_jeffreys_quantile(quantile: float, hits: int, n: int) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(hits + 0.5, n - hits + 0.5, quantile))


def _add_pseudo_labels_at_corners(
    people: Floats, judge: Floats, every: Floats, group: Groups, bounds: tuple[float, float], weight: Floats
) -> _HumanAndJudgeLabels:
    """The labels, with two more in the corners where they have few values: a share of 0 of 30 is not surely 0."""
    if len(np.unique(people)) > FEW_VALUES:
        return _HumanAndJudgeLabels(people, judge, weight, group)
    low, high = float(every.min()), float(every.max())
    # Groups of their own: those of units are 0 and more.
    more = -1 - np.arange(4)
    return _HumanAndJudgeLabels(
        np.r_[people, bounds[0], bounds[1], bounds[0], bounds[1]], np.r_[judge, low, high, high, low],
        np.r_[weight, np.full(4, _CORNER)], np.r_[group, more]
    )  # fmt: skip


def _make_degrees_of_freedom_function(
    groups: Groups | None, every_groups: Groups | None, n: int, *, exact: bool
) -> Callable[[int], float]:
    """Degrees of freedom, less what was fitted. A share alone tells how far its labels spread: there are as many as you
    like, unless units are in groups, which are few; groups of unequal size count as so many equal ones as have the same
    sum of squares (Kish)."""
    count = float(n)
    if groups is not None and every_groups is not None:
        sizes = np.unique(every_groups, return_counts=True)[1]
        count = min(float(len(np.unique(groups))), float(sizes.sum()) ** 2 / float((sizes**2).sum()))
    return lambda fitted: max(count - fitted, 1.0) if exact else np.inf


def _compute_people_mean_and_variance(rows: _HumanAndJudgeLabels) -> tuple[float, float, Floats]:
    """The mean of people's labels, its variance, and what each label adds to its error."""
    count, mean = rows.weight.sum(), rows.mean(rows.y)
    off = rows.y - mean
    variance = rows.sum_weighted_product(off, off) / (count - 1) / count
    return mean, variance, rows.weight * off / count


def _compute_regression_mean_and_variance(
    rows: _HumanAndJudgeLabels, every: Floats
) -> tuple[tuple[float, float], float, float]:
    """The mean corrected by the judge and its variance; the slope, 0 where the judge tells nothing; and the share of
    the labels' variance that it leaves."""
    count, center, mean = rows.weight.sum(), rows.mean(rows.x), rows.mean(rows.y)
    x, y = rows.x - center, rows.y - mean
    spread, whole = rows.sum_weighted_product(x, x), rows.sum_weighted_product(y, y)
    # A judge who says one thing has no slope, and three labels leave the residual one degree.
    if spread <= 1e-12 or count <= 3:
        return (mean, np.inf), 0.0, 1.0
    slope = rows.sum_weighted_product(x, y) / spread
    residual = y - slope * x
    unexplained = rows.sum_weighted_product(residual, residual)
    noise = unexplained / (count - 2)
    shift = float(every.mean()) - center
    explained = max(whole / (count - 1) - noise, 0.0)
    variance = noise * (1 / count + shift**2 / spread) + explained / len(every)
    return (mean + slope * shift, variance), slope, min(unexplained / whole, 1.0) if whole > 0 else 1.0


Sums = dict[str, Floats]
"""Of people's labels y and the judge's x with their weights w, and of the judge's labels of all units: by name, of each
group or of all but each."""


def _compute_jackknife_variance(
    rows: _HumanAndJudgeLabels, every: Floats, every_groups: Groups, estimate: Callable[[Sums], Floats]
) -> float:
    """The variance of an estimate over groups, by leaving out each in turn (the jackknife). Of few groups the root of
    the mean square of what they add is too small, for each of them has drawn the mean and the slope to itself."""
    numbers, place = np.unique(np.r_[every_groups, rows.group], return_inverse=True)
    units, labels = place[: len(every)], place[len(every) :]
    w, x, y = rows.weight, rows.x, rows.y
    products = {"w": w, "x": w * x, "y": w * y, "xx": w * x * x, "xy": w * x * y}
    groups = len(numbers)
    sums = {name: np.bincount(labels, weights=values, minlength=groups) for name, values in products.items()}
    sums["every"] = np.bincount(units, weights=every, minlength=groups)
    sums["units"] = np.bincount(units, minlength=groups).astype(np.float64)
    # Nobody drew the corners, so they are never left out.
    without = {name: (values.sum() - values)[numbers >= 0] for name, values in sums.items()}
    estimates = estimate(without)
    off = estimates - estimates.mean()
    return float(off @ off) * (len(off) - 1) / len(off)


def _compute_mean_human_label(sums: Sums) -> Floats:
    return np.asarray(sums["y"] / sums["w"].clip(1e-12))


def _judge_corrected_mean_of_sums(sums: Sums) -> Floats:
    """The mean corrected by the judge."""
    count = sums["w"].clip(1e-12)
    mean, center = sums["y"] / count, sums["x"] / count
    spread = sums["xx"] - count * center**2
    # Where what is left of the judge's labels is all alike, it has no slope.
    slope = np.where(spread > 1e-12, (sums["xy"] - count * center * mean) / spread.clip(1e-12), 0.0)
    judge = sums["every"] / sums["units"].clip(1e-12)
    return np.asarray(mean + slope * (judge - center))


def _half_width(variance: float, freedom: float, confidence: float) -> float:
    return float(t_quantile((1 + confidence) / 2, freedom) * np.sqrt(variance))


def _compute_influence_skewness(influence: Floats, group: Groups) -> float:
    """The skewness of a sum of influences that are independent between groups: of a mean, that of one over the root of
    their number."""
    _, place = np.unique(group, return_inverse=True)
    sums = np.bincount(place, weights=influence)
    size = float(sums @ sums)
    # A variance that is rounding alone has no skewness.
    return float((sums**3).sum()) / size**1.5 if size > 1e-24 else 0.0


_STRAIGHT = 1e-6
"""So little skewness is none."""


def _remove_skewness_from_t(t: float, lean: float) -> float:
    """What a mean over its error would be without the skewness."""
    return t + lean * t**2 / 3 + lean**2 * t**3 / 27 + lean / 6


def _restore_skewness_of_t(q: float, lean: float) -> float:
    """The reverse."""
    return q if abs(lean) < _STRAIGHT else 3 / lean * (float(np.cbrt(1 + lean * (q - lean / 6))) - 1)


def _compute_skewed_interval_ends(
    value: float, variance: float, freedom: float, lean: float, confidence: float
) -> tuple[float, float]:
    """Of an interval by Student's t, turned for skewness."""
    q, error = t_quantile((1 + confidence) / 2, freedom), variance**0.5
    return value - _restore_skewness_of_t(q, lean) * error, value - _restore_skewness_of_t(-q, lean) * error


def _make_bounded_interval(value: float, ends: tuple[float, float], bounds: tuple[float, float]) -> Estimate:
    inside = min(max(value, bounds[0]), bounds[1])
    return Estimate(inside, max(ends[0], bounds[0]), min(ends[1], bounds[1]))


@dataclass(frozen=True)
class MoreLabelsOutlook:
    """What `more` labels would buy: an interval of about `half` to both sides, and a decision with this `chance`."""

    more: int
    half: float
    chance: float


NEARER = 1.15
"""Of chances that said 80%, among two, three and five systems, 60, 64 and 71% came true with the distance as it is, and
89, 95 and 100% so many standard errors nearer."""


def forecast_extra_labels(
    distance: float,
    half: float,
    n: int,
    total: int,
    *,
    steps: Sequence[int],
    reach: float = 1.96,
    finite: bool = True,
    nearer: float = NEARER,
) -> tuple[MoreLabelsOutlook, ...]:
    """Forecast what more labels would bring, as many as each of the `steps`, up to all `total`.

    `distance` is how far the estimate lies from what it is compared with, `half` is half of its interval now, after `n`
    labels, and `reach` how many standard errors that is. Where the truth lies nobody knows: it is taken to be so many
    standard errors `nearer`, since what is asked about was chosen by the same data, with what is open around it. Errors
    fall as the root of labels; to nothing where the `total` is `finite`, all that the truth is about, and not a sample
    of it.

    >>> ahead = forecast_extra_labels(0.03, 0.05, 100, 400, steps=(50, 300))
    >>> [(one.more, round(one.half, 3), round(one.chance, 2)) for one in ahead]
    [(50, 0.037, 0.03), (300, 0.0, 1.0)]
    """
    from scipy.special import ndtr

    if n < 1 or not np.isfinite(half):
        return ()
    outlooks = []
    whole = 1 / total if finite else 0.0
    unit = half / reach / max(1 / n - whole, 1e-12) ** 0.5 if n < total else 0.0
    believed = max(distance - nearer * half / reach, 0.0)
    for more in dict.fromkeys(min(step, total - n) for step in steps if total > n):
        error = unit * max(1 / (n + more) - whole, 0.0) ** 0.5
        # What the estimate still moves by is what is gone of its variance.
        moved = max((half / reach) ** 2 - error**2, 1e-24) ** 0.5
        end = reach * error
        chance = float(ndtr((-end - believed) / moved) + ndtr((believed - end) / moved))
        outlooks.append(MoreLabelsOutlook(more, end, min(chance, 1.0)))
    return tuple(outlooks)
