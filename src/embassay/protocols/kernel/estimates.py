"""Values with their bootstrap replicates, and the rows and per-item columns that tasks make of them.

They are left out on both sides of every comparison and counted with their reason, and nothing stands in for them.
Over 5% of the items, there is no score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures.clusters import compute_v_measure_from_counts
from embassay.protocols.kernel.inputs import Columns, EvaluationContext, mask_rows_with_nan
from embassay.records import HeadlineComponent, LabelledTexts, ResultRow, Score, SkippedItems, TaskOutcome
from embassay.runs.folder import CellRecord
from embassay.stats import NORMAL, Freedom, corrected_interval, freedom_of_units, percentile_interval, wilson
from embassay.stats.resampling import UNVARIED as UNVARIED
from embassay.stats.resampling import are_replicates_constant, count_effective_groups, iterate_resample_row_blocks

ONE_SET = "texts of the only set"
"""What a clustering of one set is resampled over, in its method."""
DEFINED = 0.95
"""Share of resamples that must have a value for there to be an interval."""

Statistic = Callable[[Columns], NDArray[np.float64]]


@dataclass(frozen=True)
class Estimate:
    """A value with its bootstrap replicates (empty: no interval) and the number of items behind it; `units` are what
    was resampled, if not the items.

    A share of items has Wilson's interval in its row, which holds the truth near 0 and 1 where the bootstrap's does
    not; its replicates are what differences and means over several are made of.
    """

    value: float
    n: int
    replicates: NDArray[np.float64]
    method: str
    is_share: bool = False
    units: int | None = None

    @property
    def reason(self) -> str:
        """The reason why there is no value; empty where there is one."""
        if math.isfinite(self.value):
            return ""
        return "the value is not a number" if self.n else "no item can be scored"

    def score(
        self, measure: str, *, variant: str = "", subset: str = "", bounds: tuple[float, float] = (-math.inf, math.inf)
    ) -> Score:
        """As a row of results; one without a value says why. Student's t, which few units have, knows no end of a
        scale: the interval is cut to `bounds`, what the measure can be, where the value lies between them."""
        if self.reason:
            return make_undefined_score(
                measure, self.n, self.reason, variant=variant, subset=subset, method=self.method
            )
        units = self.n if self.units is None else self.units
        ends = bootstrap_interval(self.replicates, self.value, freedom_of_units(units))
        low, high = clip_interval_to_bounds(ends, self.value, bounds)
        method, same = self.method, are_replicates_constant(self.replicates)
        if self.is_share and (low is not None or same):
            share = wilson(self.value, self.n)
            low, high, method = share.low, share.high, method.replace("bootstrap", "Wilson")
        elif same:
            method = f"{method}; {UNVARIED}"
        return Score(measure, self.value, self.n, low, high, variant=variant, subset=subset, method=method)

    def component(self) -> HeadlineComponent:
        """As a part of the task's headline."""
        if self.reason:
            return HeadlineComponent(None, self.n, reason=self.reason, units=self.units)
        return HeadlineComponent(self.value, self.n, self.replicates, units=self.units)


def estimate(
    columns: Columns,
    statistic: Statistic,
    context: EvaluationContext,
    purpose: str,
    method: str = "bootstrap over documents",
    *,
    share: bool = False,
    groups: NDArray[np.int64] | None = None,
) -> Estimate:
    """`statistic` of the column means of `columns` (n, m), with replicates where there are two rows or more; `share`
    says that it is a share of the rows, each 0 or 1. `groups` (n,) are the rows that are drawn together, by number.

    The statistic maps column means (..., m) to values (...), so one vectorised call serves all resamples. A row with
    NaN is a lost item: it does not count.
    """
    of = {"": statistic}
    return bootstrap_column_statistics(columns, of, context, purpose, method, share=share, groups=groups)[""]


def bootstrap_column_statistics(
    columns: Columns,
    statistics: Mapping[str, Statistic],
    context: EvaluationContext,
    purpose: str,
    method: str = "bootstrap over documents",
    *,
    share: bool = False,
    groups: NDArray[np.int64] | None = None,
) -> dict[str, Estimate]:
    """Several statistics of the same columns, as `estimate` would give each by itself, from the same draws:
    these are what takes long where there are many rows."""
    lost = mask_rows_with_nan(columns)
    kept = columns[~lost] if lost.any() else columns
    n = len(kept)
    units = None if groups is None else count_effective_groups(groups[~lost]) if n else 0
    # All rows are drawn, lost ones too: the same draws for every system keep differences paired.
    drawn = context.bootstrap(columns, purpose, groups) if (n if units is None else units) > 1 else None
    by_name = {}
    for name, statistic in statistics.items():
        value = float(statistic(kept.mean(axis=0))) if n else math.nan
        replicates = np.empty(0) if drawn is None else np.asarray(statistic(drawn), dtype=np.float64)
        by_name[name] = Estimate(value, n, replicates, method, share and groups is None, units=units)
    return by_name


def average_scores_over_sets(scores: Sequence[Score], context: EvaluationContext) -> Estimate | None:
    """The mean over the sets of a dataset, resampled over them; None of no set."""
    if not scores:
        return None
    values = np.array([[score.value] for score in scores], dtype=np.float64)
    method = f"bootstrap over {len(scores)} sets"
    return estimate(values, lambda means: means[..., 0], context, "sets", method)


def bootstrap_v_measure_over_texts(
    data: LabelledTexts, name: str, clusters: Mapping[int, int], context: EvaluationContext
) -> Estimate:
    """The V-measure of the set `name`, for a dataset that has no other, resampled over its texts with their clusters
    held; `clusters` are by row, of those that were clustered.

    All texts of the set are drawn, those without a cluster not counting, so that differences between systems are
    paired. A resample has fewer distinct texts, which raises any V-measure: replicates are moved back by what they lie
    above the value on average.
    """
    rows = [row for row, of_set in enumerate(data.sets) if of_set == name]
    gold = np.unique([data.labels[row] for row in rows], return_inverse=True)[1]
    cluster = np.array([clusters.get(row, -1) for row in rows], dtype=np.int64)
    kept, k, n = cluster >= 0, int(cluster.max()) + 1, len(rows)
    # Cell 0 is for texts without a cluster; it is cut off each table below.
    cells = np.where(kept, gold * k + cluster, -1) + 1
    rng, shape = context.stream("texts of a set"), (int(gold.max()) + 1, k)
    tables = [
        np.bincount(cells[drawn], minlength=1 + shape[0] * k)[1:].reshape(shape)
        # A million rows at a time, so that a large set does not fill the memory.
        for block in iterate_resample_row_blocks(n, context.resamples, rng, most=1 + 10**6 // n)
        for drawn in block
    ]
    draws = np.array([compute_v_measure_from_counts(table) for table in tables])
    value = compute_v_measure_from_counts(np.bincount(cells, minlength=1 + shape[0] * k)[1:].reshape(shape))
    method = f"bootstrap over {int(kept.sum()):,} {ONE_SET}, clusters held fixed"
    return Estimate(value, int(kept.sum()), draws - (np.nanmean(draws) - value), method)


def average_estimates(estimates: Sequence[Estimate], method: str) -> Estimate:
    """The mean of several estimates; replicates are paired by position, missing if any is missing."""
    value = float(np.mean([part.value for part in estimates]))
    has_interval = all(len(part.replicates) for part in estimates)
    replicates = np.mean([part.replicates for part in estimates], axis=0) if has_interval else np.empty(0)
    # The part with the fewest units says how far the interval of the mean can be trusted.
    units = [part.units for part in estimates if part.units is not None]
    return Estimate(value, max(part.n for part in estimates), replicates, method, units=min(units) if units else None)


def bootstrap_interval(
    replicates: NDArray[np.float64], value: float | None = None, freedom: Freedom = NORMAL
) -> tuple[float | None, float | None]:
    """The 95% interval of a value from its replicates, or (None, None) where there is none: their percentiles,
    corrected for bias and for the `freedom` of what was resampled; as they are where no value is given.

    A resample on which the statistic is undefined (a correlation of equal ratings) is left out; when that happens to
    more than one in twenty there are too few items for an interval. Where every resample gives the same there is none
    either: what never varied here may vary elsewhere, and no resample says how much.
    """
    defined = replicates[np.isfinite(replicates)]
    if not len(replicates) or len(defined) < DEFINED * len(replicates) or are_replicates_constant(replicates):
        return None, None
    return percentile_interval(defined) if value is None else corrected_interval(defined, value, freedom)


def clip_interval_to_bounds(
    ends: tuple[float | None, float | None], value: float | None, bounds: tuple[float, float]
) -> tuple[float | None, float | None]:
    """The ends of an interval, cut to what its measure can be, where the value lies between.

    >>> clip_interval_to_bounds((-0.1, 1.1), 0.5, (0.0, 1.0)), clip_interval_to_bounds((None, None), 0.5, (0.0, 1.0))
    ((0.0, 1.0), (None, None))
    """
    low, high = ends
    if low is None or high is None or value is None:
        return ends
    return max(low, min(bounds[0], value)), min(high, max(bounds[1], value))


TOO_FEW = "no interval: with so few runs or items, it would be as wide as the whole scale"


def clip_drop_interval(
    low: float | None, high: float | None, bounds: tuple[float, float], scale: float
) -> tuple[float | None, float | None]:
    """The interval of a drop, cut to what a drop can be: the truth lies there, so it holds it as often as before.

    None where what is left is as wide as the `scale` of the scores, as of two runs, whose t has one degree of freedom:
    it would say nothing.

    >>> clip_drop_interval(-1.4, 0.3, (-1.2, 0.8), 2.0), clip_drop_interval(-1.4, 1.7, (-2.0, 2.0), 2.0)
    ((-1.2, 0.3), (None, None))
    """
    if low is None or high is None:
        return None, None
    low, high = max(low, bounds[0]), min(high, bounds[1])
    return (None, None) if high - low >= scale else (low, high)


def make_undefined_score(
    measure: str, n: int, reason: str, *, variant: str = "", subset: str = "", method: str = ""
) -> Score:
    """A row that says why there is no value."""
    return Score(measure, None, n, variant=variant, subset=subset, method=method, reason=reason)


class Items:
    """Collects per-item values as the long-form columns of an items file."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {"item_id": [], "variant": [], "measure": [], "value": []}

    def add(self, ids: Sequence[str], values: NDArray[Any], measure: str, variant: str = "") -> None:
        """One value (float; NaN is kept as missing) per id. ValueError for more or fewer of them."""
        if len(values) != len(ids):
            raise ValueError(f"{len(values)} values of {measure} for {len(ids)} items")
        self.columns["item_id"] += ids
        self.columns["variant"] += [variant] * len(ids)
        self.columns["measure"] += [measure] * len(ids)
        self.columns["value"] += [None if v != v else float(v) for v in np.asarray(values).tolist()]


def make_cell_rows(
    protocol: str, record: CellRecord, headline: str, *, lang: str, seed: int, by_language: bool = False
) -> list[ResultRow]:
    """The rows of a cell that has ended; of one that failed, its headline without a value, and the reason.

    `lang` is the dataset's language; with `by_language` subsets are languages, and their rows say so.
    """
    where = (protocol, record.task, record.dataset)
    if not record.done:
        named = (record.variant, record.system, headline)
        return [ResultRow(*where, "", lang, *named, None, 0, seed=seed, reason=record.reason)]
    return [
        ResultRow(
            *where, score.subset, (by_language and score.subset) or lang, score.variant, record.system,
            score.measure, score.value, score.n, score.ci_low, score.ci_high, score.method, seed, score.reason,
        )
        for score in record.scores
    ]  # fmt: skip


MOST_LOST = 0.05
"""Share of the items that may be lost; beyond it what is left is no fair sample."""
_EXAMPLES = 5


class Lost:
    """The lost ones among `ids`, which are `noun` (`documents`, `queries` ...)."""

    def __init__(self, system: Similarity, ids: Sequence[str], noun: str) -> None:
        self._system, self._ids, self._noun = system, ids, noun
        self._fate = "answered" if system.kind == "run" else "encoded"
        self._reasons: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def rows(self) -> list[int]:
        """The positions of the lost items, ascending."""
        return sorted(self._reasons)

    @property
    def lost_mask(self) -> NDArray[np.bool_]:
        """Whether each item is lost, (n,)."""
        mask = np.zeros(len(self._ids), dtype=bool)
        mask[self.rows] = True
        return mask

    @property
    def skipped(self) -> tuple[SkippedItems, ...]:
        """The lost items by reason; reasons that differ only in numbers count as one."""
        groups: dict[str, list[int]] = {}
        for row in self.rows:
            groups.setdefault(re.sub(r"\d+", "0", self._reasons[row]), []).append(row)
        return tuple(
            SkippedItems(
                f"{self._noun} that could not be {self._fate}: {self._reasons[rows[0]].rstrip('.')}",
                len(rows),
                tuple(self._ids[row] for row in rows[:_EXAMPLES]),
            )
            for rows in groups.values()
        )

    @property
    def too_many_lost_reason(self) -> str:
        """Why there can be no score; empty where few enough are lost."""
        if len(self._reasons) <= MOST_LOST * len(self._ids):
            return ""
        reason = self._reasons[self.rows[0]].rstrip(".")
        return (
            f"{len(self._reasons)} of {len(self._ids)} {self._noun} could not be {self._fate}: {reason} "
            f"(over {MOST_LOST:.0%}, so no score)"
        )

    def note_items_with_undefined_similarity(
        self, similarity: NDArray[np.floating[Any]], *columns: Sequence[str]
    ) -> None:
        """Note the items whose similarity is NaN, (n,); `columns` are the texts that it compares, (n,) each."""
        for row in np.flatnonzero(np.isnan(similarity)).tolist():
            texts = (column[row] for column in columns)
            self._record_reason_of_lost_item(row, texts, "the similarity is not a number")

    def note_items_with_unencoded_text(self, texts: Iterable[str], first: int = 0) -> None:
        """Note the items whose text could not be encoded; `first` is the row of the first of the texts."""
        failures = _map_texts_to_encoding_errors(self._system)
        for row, text in enumerate(texts, first) if failures else ():
            if text in failures:
                self._record_reason_of_lost_item(row, (text,), "")

    def make_task_outcome_without_score(
        self, headline: str, items: Items, skipped: Iterable[SkippedItems] = (), *, reason: str = ""
    ) -> TaskOutcome:
        """The outcome of a task that lost too many."""
        reason = reason or self.too_many_lost_reason
        row = make_undefined_score(headline, len(self._ids) - len(self._reasons), reason)
        return TaskOutcome((row,), {}, items.columns, (*skipped, *self.skipped))

    def _record_reason_of_lost_item(self, row: int, texts: Iterable[str], otherwise: str) -> None:
        failures = _map_texts_to_encoding_errors(self._system)
        reasons = (failures[text] for text in texts if text in failures)
        self._reasons.setdefault(row, next(reasons, otherwise))


def _map_texts_to_encoding_errors(system: Similarity) -> dict[str, str]:
    """What the system could not encode so far; a lexical metric has no such thing."""
    return dict(getattr(system, "failures", {}))


def sum_skipped_items_by_reason(skipped: Iterable[SkippedItems]) -> tuple[SkippedItems, ...]:
    """One entry per reason."""
    by_reason: dict[str, SkippedItems] = {}
    for skip in skipped:
        before = by_reason.get(skip.reason, SkippedItems(skip.reason, 0))
        examples = (*before.examples, *skip.examples)[:5]
        by_reason[skip.reason] = SkippedItems(skip.reason, before.count + skip.count, examples)
    return tuple(by_reason.values())
