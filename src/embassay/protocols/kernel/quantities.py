"""Quantities that a judge says of everything and people of a part: corrected, with what more of people would buy.

A mean or a share over units (passages, pairs) is corrected as `stats.few_labels` says; the judge's bias is told by its
own answer, since that is what one knows of a unit that no person has seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column
from embassay.stats import Estimate
from embassay.stats.few_labels import (
    FEWEST,
    FEWEST_REFUSED,
    HumanAndJudgeMean,
    MoreLabelsOutlook,
    compute_judge_corrected_mean,
    forecast_extra_labels,
)
from embassay.stats.intervals import t_quantile

STEPS = (50, 100, 200, 400)
"""Labels more that an outlook is for."""
REACH = 1.96
"""Standard errors in half of a 95% interval."""

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JudgeAssistedMean(Estimate):
    """A mean by people and judge with its 95% interval, by people alone, and by the judge alone. People labelled `n` of
    `total`; `worth` is how many labels of people alone would tell as much, `n` where the judge is of no use. Ends are
    None below 5 labels. Nothing has a value where the judge refused too much."""

    name: str
    alone: float | None
    alone_low: float | None
    alone_high: float | None
    judge: float
    total: int
    worth: float

    @property
    def is_narrowed_by_judge(self) -> bool:
        """Whether the judge makes the interval narrower."""
        return self.worth > self.n

    @property
    def use(self) -> str:
        """What the judge is worth, in words."""
        if self.value is None:
            return (
                "the judge left many units without a label, and people labelled too few of these: "
                f"they must label all of them, or {FEWEST_REFUSED} drawn at random"
            )
        if self.low is None:
            return f"people gave {self.n} labels, but at least {FEWEST} are needed"
        if not self.is_narrowed_by_judge:
            return "the judge does not help here: people's labels alone are as informative"
        return f"with the judge, {self.n:,} labels from people are worth {self.worth:,.0f}"


@dataclass(frozen=True)
class JudgeBias:
    """How far the judge lies above people where it says `said`, or in the stratum of that name, on `n` units, with its
    95% interval if it has one."""

    said: str
    n: int
    mean: float
    low: float | None
    high: float | None


def estimate_judge_assisted_mean(
    name: str,
    people: Floats,
    judge: Floats,
    every: Floats,
    *,
    bounds: tuple[float, float],
    groups: Groups | None = None,
    every_groups: Groups | None = None,
) -> JudgeAssistedMean:
    """Of `people` (n,) and the `judge` on the same units (n,) and on `every` one (N,), NaN where it refused; units of
    one of the `groups`
    (n,) and `every_groups` (N,) are not independent. UsageError for shapes that do not fit."""
    both: HumanAndJudgeMean = compute_judge_corrected_mean(
        people, judge, every, bounds=bounds, groups=groups, every_groups=every_groups
    )
    value, alone = both.value, both.alone
    return JudgeAssistedMean(
        value.value,
        value.low,
        value.high,
        both.n,
        name=name,
        alone=alone.value,
        alone_low=alone.low,
        alone_high=alone.high,
        judge=both.judge,
        total=both.total,
        worth=both.effective,
    )


def measure_judge_bias_by_score(people: Floats, judge: Floats, strata: Sequence[str] = ()) -> tuple[JudgeBias, ...]:
    """By what the judge says, at its nearest whole number; by the `strata` (n,) where they name two or more; of all."""
    if not len(people):
        return ()
    # Halves go up: np.rint would take 2.5 and 1.5 both to 2.
    says, off = np.floor(judge + 0.5).astype(int), judge - people
    parts = [(str(score), off[says == score]) for score in np.unique(says).tolist()]
    kinds = dict.fromkeys(strata)
    if len(kinds) > 1:
        names = np.array(strata)
        parts += [(kind, off[names == kind]) for kind in kinds]
    return tuple(starmap(estimate_judge_bias, [*parts, ("all", off)]))


def estimate_judge_bias(says: str, off: Floats) -> JudgeBias:
    """Of judge minus people (n,): the mean, and its interval from FEWEST on."""
    n, mean = len(off), float(off.mean())
    if n < FEWEST:
        return JudgeBias(says, n, mean, None, None)
    half = t_quantile(0.975, n - 1) * float(off.std(ddof=1)) / n**0.5
    return JudgeBias(says, n, mean, mean - half, mean + half)


def forecast_gain_of_more_labels(one: JudgeAssistedMean, bar: float | None = None) -> tuple[MoreLabelsOutlook, ...]:
    """What more labels of people would buy: the interval, and the chance that it leaves the `bar` (None: 1, for there
    is nothing to decide). Up to all units: of these, and no others, the quantity is."""
    if one.value is None or one.low is None or one.high is None:
        return ()
    distance = float("inf") if bar is None else abs(one.value - bar)
    return forecast_extra_labels(distance, (one.high - one.low) / 2, one.n, one.total, steps=STEPS)


def forecast_difference_with_more_items(
    difference: float, half: float, n: int, tests: int = 1, steps: Sequence[int] = STEPS
) -> tuple[MoreLabelsOutlook, ...]:
    """For a difference over `n` items with `half` of its 95% interval, one of so many `tests` by Holm: what more items
    like them would buy. Intervals are those of the difference alone, chances are with the correction."""
    return forecast_detection_with_more_items(abs(difference), half, n, 0.025 / max(tests, 1), steps)


def forecast_detection_with_more_items(
    distance: float, half: float, n: int, tail: float, steps: Sequence[int] = STEPS
) -> tuple[MoreLabelsOutlook, ...]:
    """What more items would achieve for a difference over `n` items, with `half` of its 95% interval, that is found
    where
    the tail beyond it is below `tail`. Intervals stay those of 95%."""
    reach = t_quantile(1 - tail, math.inf)
    rows = forecast_extra_labels(
        distance, half * reach / REACH, n, n + 2 * max(steps, default=0), steps=steps, reach=reach, finite=False
    )
    return tuple(MoreLabelsOutlook(row.more, row.half * REACH / reach, row.chance) for row in rows)


def judge_assisted_means_table(name: str, title: str, rows: Iterable[tuple[str, JudgeAssistedMean]]) -> ColumnTable:
    """`rows` are whose quantity it is, such as a judge's name, and the quantity."""
    return ColumnTable.of(
        name, title, [{"of": of, "row": row} for of, row in rows], text("of"), text("what", "row.name"),
        number_column("corrected", "row.value", 3), number_column("low", "row.low", 3),
        number_column("high", "row.high", 3),
        number_column("people", "row.alone", 3), number_column("people_low", "row.alone_low", 3),
        number_column("people_high", "row.alone_high", 3), number_column("judge", "row.judge", 3),
        whole_number_column("labels", "row.n"),
        whole_number_column("units", "row.total"), whole_number_column("worth", "row.worth"),
        text("use", "row.use"),
        note=("An estimate of people's labels for all units, from the labels of people and of the judge "
            "(docs/corrected_judges.md). It is valid if the units that people labelled are a random sample.")
    )  # fmt: skip


def judge_biases_table(name: str, rows: Sequence[tuple[str, JudgeBias]]) -> ColumnTable:
    """How far the judge lies above people, by what it says."""
    return ColumnTable.of(
        name, "Where the judge is wrong", [{"judge": judge, "row": row} for judge, row in rows], text("judge"),
        text("judge_says", "row.said"), whole_number_column("units", "row.n"),
        number_column("judge_minus_people", "row.mean", style="signed"),
        number_column("low", "row.low", style="signed"),
        number_column("high", "row.high", style="signed")
    )  # fmt: skip
