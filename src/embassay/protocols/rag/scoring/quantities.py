"""Values of runs over one set of resamples: quantities with their replicates, the differences of two runs, and their
intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures import MEASURES
from embassay.protocols.kernel.estimates import DEFINED, TOO_FEW, UNVARIED
from embassay.protocols.kernel.tables import format_noun_count
from embassay.protocols.rag.scoring.score import ANSWERS, PERCENT, MeasuredRun, RequestedMeasure, RunMeasureValue
from embassay.randomness import make_seeded_generator
from embassay.stats import Freedom, corrected_interval, freedom_of_units, wilson
from embassay.stats.resampling import Groups, are_replicates_constant, count_effective_groups, resample_defined_means

Floats = NDArray[np.float64]
SAME = 1e-12
"""Two orders of summation differ by no more."""


@dataclass(frozen=True)
class ResampledQuantity:
    """A mean over queries, or a ratio of two: its value, replicates (B,) and the `n` queries it is of. NaN where it is
    undefined. `units` are what was drawn, queries or as many groups of one size as tell as much, and `groups` how many
    groups there were (0: queries). `bounds` are what it can be."""

    value: float
    replicates: Floats
    n: int
    units: int
    groups: int = 0
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def standard_error_freedom(self) -> Freedom:
        """The degrees of freedom of the standard error that its replicates have."""
        return freedom_of_units(self.units)

    @property
    def standard_error(self) -> float | None:
        """The standard error; None from one unit, and where too many resamples have no value."""
        defined = self.replicates[np.isfinite(self.replicates)]
        if self.units < 2 or len(defined) < DEFINED * len(self.replicates):
            return None
        return self.standard_error_freedom.error(defined)


class ResampledRunQuantities:
    """Quantities of runs, and differences of two runs, over one set of resamples.

    Each is over the queries where it is defined, a difference over those where it is on both sides. Columns are
    gathered first (`want`), resampled together, and then read.
    """

    def __init__(
        self, measured: Sequence[MeasuredRun], *, n_resamples: int, seed: int, groups: Groups | None = None
    ) -> None:
        self._measured = {run.run: run for run in measured}
        self._groups = groups
        self._n_resamples, self._seed = n_resamples, seed
        self._places: dict[tuple[str, str, int, bytes], int] = {}
        self._columns: list[Floats] = []
        self._means = np.empty((0, 0))

    def add_run_quantity_to_resampling(self, measure: str, run: str, other: str = "") -> None:
        """Make ready a run's quantity, and with `other` the difference of the two."""
        for side in (run, other) if other else (run,):
            mask = self._mask_defined_queries(measure, run, other)
            for part, column in enumerate(self._measured[side].columns[measure].parts):
                # One column for all pairs that share a mask: with many runs most do.
                key = (side, measure, part, mask.tobytes())
                if key not in self._places:
                    self._places[key] = len(self._columns)
                    self._columns.append(np.where(mask, column, np.nan))

    def resample_requested_quantities(self) -> None:
        """Draw the resamples for all that is wanted."""
        rng = make_seeded_generator(self._seed, "resample")
        table = np.column_stack(self._columns)
        self._means = resample_defined_means(table, n_resamples=self._n_resamples, rng=rng, groups=self._groups)

    def make_resampled_run_quantity(self, measure: str, run: str, other: str = "") -> ResampledQuantity:
        """A run's quantity, over the queries where it is defined for `other` too."""
        mask = self._mask_defined_queries(measure, run, other)
        parts = range(len(self._measured[run].columns[measure].parts))
        places = [self._places[run, measure, part, mask.tobytes()] for part in parts]
        values = [float(self._columns[i][mask].mean()) if mask.any() else np.nan for i in places]
        replicates = [self._means[:, i] for i in places]
        of = int(mask.sum()), *self._count_query_units_and_groups(mask), find_measure_bounds(measure)
        if len(places) == 1:
            return ResampledQuantity(values[0], replicates[0], *of)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = values[0] / values[1] if values[1] > 0 else np.nan
            return ResampledQuantity(ratio, np.where(replicates[1] > 0, replicates[0] / replicates[1], np.nan), *of)

    def difference(self, measure: str, a: str, b: str) -> ResampledQuantity:
        """Compute run `a` less run `b` by a measure; what differs by rounding alone is 0."""
        first, second = (
            self.make_resampled_run_quantity(measure, a, b),
            self.make_resampled_run_quantity(measure, b, a),
        )
        value, replicates = first.value - second.value, first.replicates - second.replicates
        # A replicate that is 0 but for rounding would count on one side of 0 in the test.
        replicates = np.where(np.abs(replicates) <= SAME, 0.0, replicates)
        reach = first.bounds[1] - first.bounds[0]
        value = 0.0 if abs(value) <= SAME else value
        return ResampledQuantity(value, replicates, first.n, first.units, first.groups, (-reach, reach))

    def _count_query_units_and_groups(self, mask: NDArray[np.bool_]) -> tuple[int, int]:
        """Count the units of the queries of a mask, and how many groups these are in."""
        if self._groups is None or not mask.any():
            return int(mask.sum()), 0
        inside = self._groups[mask]
        return count_effective_groups(inside), len(np.unique(inside))

    def _mask_defined_queries(self, measure: str, run: str, other: str) -> NDArray[np.bool_]:
        mask = ~np.isnan(self._measured[run].columns[measure].parts[0])
        if other:
            mask = mask & ~np.isnan(self._measured[other].columns[measure].parts[0])
        return mask


CONFIDENCE = 0.95
RANGE = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\]")


def find_measure_bounds(measure: str) -> tuple[float, float]:
    """Find the bounds of a measure's values; anything for a column of ours that is no measure.

    >>> find_measure_bounds("%PROC@10"), find_measure_bounds("nDCG@10"), find_measure_bounds("reading lost@10")
    ((0.0, 1.0), (0.0, 1.0), (-inf, inf))
    """
    name = measure.removeprefix(PERCENT).partition("@")[0]
    if name == ANSWERS:
        return 0.0, 1.0
    try:
        facts = dict(MEASURES.get(MEASURES.parse_spec(name).name).facts)
    except UsageError:
        return -math.inf, math.inf
    ends = RANGE.fullmatch(facts.get("range", ""))
    return (float(ends[1]), float(ends[2])) if ends else (-math.inf, math.inf)


def estimate_measures_of_runs(
    resampled: ResampledRunQuantities,
    runs: Iterable[MeasuredRun],
    measures: Sequence[RequestedMeasure],
    *,
    total: int,
    resamples: int,
) -> tuple[RunMeasureValue, ...]:
    """The values of each run, measures in their order."""
    return tuple(
        RunMeasureValue(None, reason=run.reason, run=run.run, measure=measure.name, total=total)
        if run.reason
        else _make_run_measure_value(
            run.run, measure, resampled.make_resampled_run_quantity(measure.name, run.run), total, resamples
        )
        for run in runs
        for measure in measures
    )


def compute_quantity_interval(
    quantity: ResampledQuantity, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """Compute a quantity's interval, within its bounds, by the recipe of every protocol.

    Where every resample gives the least or the most that a measure can be, as where ten queries all have 1, it is
    Wilson's of so many units: what never varied here may vary elsewhere. None where they give the same in between, from
    fewer than two units, where the value is undefined in many resamples, and where it would be as wide as the bounds.
    """
    if quantity.units < 2 or not np.isfinite(quantity.value):
        return None
    least, most = quantity.bounds
    if are_replicates_constant(quantity.replicates):
        return _compute_wilson_interval_at_bound(quantity, confidence)
    low, high = corrected_interval(
        quantity.replicates, quantity.value, quantity.standard_error_freedom, confidence, accelerated=True
    )
    if np.isnan(low) or (low <= least and high >= most):
        return None
    return max(low, least), min(high, most)


def _compute_wilson_interval_at_bound(quantity: ResampledQuantity, confidence: float) -> tuple[float, float] | None:
    least, most = quantity.bounds
    if quantity.value not in quantity.bounds:
        return None
    share = (quantity.value - least) / (most - least)
    low, high = wilson(share, quantity.units, confidence=confidence).ends
    return least + (most - least) * low, least + (most - least) * high


def _make_run_measure_value(
    run: str, asked: RequestedMeasure, quantity: ResampledQuantity, total: int, resamples: int
) -> RunMeasureValue:
    if not np.isfinite(quantity.value):
        reason = f"{asked.undefined} (all {total} queries)" if not quantity.n else "the ceiling is 0"
        return RunMeasureValue(None, n=quantity.n, reason=reason, run=run, measure=asked.name, total=total)
    low, high = compute_quantity_interval(quantity) or (None, None)
    what = "ratio of means" if asked.is_ratio_of_means else "mean"
    interval_method = _describe_interval_method(quantity, low is not None, resamples)
    method = f"{what} over {quantity.n} of {total} queries; {interval_method}"
    error = quantity.standard_error
    df = None if error is None else quantity.standard_error_freedom.df
    return RunMeasureValue(
        *(quantity.value, low, high, quantity.n, method), run=run, measure=asked.name, total=total, error=error, df=df
    )


def _describe_interval_method(quantity: ResampledQuantity, has_interval: bool, resamples: int) -> str:
    """Describe how the interval was made, or why there is none."""
    over = "queries"
    if 0 < quantity.groups < quantity.n:
        over = f"{format_noun_count(quantity.groups, 'group')} of queries that share a relevant document"
    same = are_replicates_constant(quantity.replicates)
    if has_interval:
        return f"95% {'Wilson' if same else 'bootstrap'} over {over}" + ("" if same else f", {resamples} resamples")
    if quantity.units < 2:
        return "no interval from one query" if quantity.n < 2 else f"no interval from {over}"
    if same:
        return UNVARIED
    return TOO_FEW if quantity.standard_error is not None else "no interval: it is undefined in many resamples"
