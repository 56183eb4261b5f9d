"""The stacks of one dataset, or of several together, as arrays: values, times, prices, resamples; families of them.

Every resample draws the queries of each dataset with replacement, the same ones for all stacks and measures, and the
timed queries beside them. Over several datasets each weighs the same, whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from itertools import combinations, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.rag.sweep.findings.record import StageTimePercentiles
from embassay.protocols.rag.sweep.stacks import (
    NONE,
    SIGNALS,
    SPARSE,
    WORDS,
    MeasuredStack,
    StackConfiguration,
    SweepMeasurements,
)
from embassay.protocols.rag.tradeoffs import JITTER_MS, StackCostLatencyQuality
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate, percentile_interval
from embassay.stats.resampling import are_replicates_constant, draw_all_resample_rows, resample_defined_means

Floats = NDArray[np.float64]

FEW = 20
"""Under so many samples a 95th percentile is hardly more than the largest."""
MEDIAN = 50.0


def compute_time_percentile(samples: Floats, percentile: float) -> float:
    """Compute a percentile of times (sessions, queries), linear between samples.

    The 50th is the median over sessions per query, then over queries: a slow session does not move it. Any other is
    over all samples, for a slow session is what it is to show.

    >>> compute_time_percentile(np.array([[1.0, 5.0], [9.0, 5.0], [3.0, 5.0]]), 50)
    4.0
    """
    if percentile == MEDIAN:
        return float(np.median(np.median(samples, axis=0)))
    return float(np.percentile(samples, percentile))


def resample_time_percentile(samples: Floats, percentile: float, drawn: NDArray[np.int64]) -> Floats:
    """Resample a percentile of times over queries, `drawn` (B, queries): (B,)."""
    if percentile == MEDIAN:
        return np.asarray(np.median(np.median(samples, axis=0)[drawn], axis=1))
    whole = samples[:, drawn].transpose(1, 0, 2).reshape(len(drawn), -1)
    return np.asarray(np.percentile(whole, percentile, axis=1))


def estimate_session_jitter(samples: Sequence[Floats], percentile: float) -> float | None:
    """By how much times of one stack differ from session to session: the 95th percentile of the differences of two
    sessions, over stacks, each (sessions, queries) in ms. None where no stack has two sessions.

    >>> estimate_session_jitter([np.array([[1.0, 3.0], [2.0, 5.0]]), np.array([[4.0], [4.0]])], 50)
    1.4249999999999998
    """
    apart: list[float] = []
    for sample in samples:
        levels = np.percentile(sample, percentile, axis=1)
        apart += [abs(a - b) for a, b in combinations(levels.tolist(), 2)]
    return float(np.percentile(apart, 95)) if apart else None


def summarise_stage_time(stage: str, samples: Floats) -> StageTimePercentiles:
    """Summarise a stage's time, from (sessions, queries)."""
    p50, p95 = compute_time_percentile(samples, MEDIAN), compute_time_percentile(samples, 95.0)
    return StageTimePercentiles(stage, p50, p95, samples.size, samples.shape[1], samples.size < FEW)


def average_stage_times_over_datasets(times: list[StageTimePercentiles]) -> StageTimePercentiles:
    """Average the times of stages over datasets; samples are counted together."""
    samples = sum(time.samples for time in times)
    return StageTimePercentiles(
        times[0].stage, float(np.mean([time.p50 for time in times])), float(np.mean([time.p95 for time in times])),
        samples, sum(time.queries for time in times), any(time.few for time in times)
    )  # fmt: skip


ROUNDING = 1e-12
"""Two orders of summation differ by no more."""


class StackArrays:
    """Arrays of all stacks that analyses of a dataset (or of all) look at, in the sweep's order.

    `rows[dataset][i]` is stack i there. Columns are per query, (queries, stacks), NaN where they are undefined.
    """

    def __init__(
        self, sweep: SweepMeasurements, datasets: Sequence[str], resamples: int, *, measured_jitter_ms: float = 0.0
    ) -> None:
        # A jitter that was not measured decides ties and marks, never dominance (spec rag 7).
        self.measured_jitter_ms = measured_jitter_ms
        by_dataset = {name: {m.configuration.id: m for m in sweep.measured if m.dataset == name} for name in datasets}
        first, *others = by_dataset.values()
        self.ids = tuple(id for id in first if all(id in other for other in others))
        self.rows: dict[str, tuple[MeasuredStack, ...]] = {
            name: tuple(by_id[id] for id in self.ids) for name, by_id in by_dataset.items()
        }
        self.datasets = tuple(datasets)
        self.queries = {name: len(sweep.queries[name]) for name in datasets}
        self.groups = sweep.groups
        self.rules, self.seed, self.resamples = sweep.rules, sweep.seed, resamples
        self._replicates: dict[str, Floats] = {}

    @property
    def jitter_ms(self) -> float:
        """The jitter in milliseconds: times that differ by no more are equal."""
        return JITTER_MS if self.rules.jitter_ms is None else self.rules.jitter_ms

    @property
    def equal(self) -> dict[str, float]:
        """The tolerances within which times and costs are equal by the rules."""
        return {"jitter_ms": self.jitter_ms, "cost_share": self.rules.cost_share}

    @property
    def first(self) -> tuple[MeasuredStack, ...]:
        """The stacks on the first dataset, for what is the same on all."""
        return self.rows[self.datasets[0]]

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place where a stack stands, by its id."""
        return {id: i for i, id in enumerate(self.ids)}

    @cached_property
    def configurations(self) -> tuple[StackConfiguration, ...]:
        return tuple(row.configuration for row in self.first)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures that all stacks have."""
        every = [row.quality for rows in self.rows.values() for row in rows]
        return tuple(name for name in every[0] if all(name in quality for quality in every)) if every else ()

    def mean(self, of: Callable[[MeasuredStack], float]) -> Floats:
        """Average a number of each stack over datasets: (stacks,)."""
        return np.asarray(np.mean([[of(row) for row in rows] for rows in self.rows.values()], axis=0))

    @cached_property
    def cost(self) -> Floats:
        return self.mean(lambda row: row.cost)

    @cached_property
    def latencies_of_stacks(self) -> Floats:
        """The latencies of stacks in milliseconds, at the percentile of the rules."""
        return self.mean(lambda row: compute_time_percentile(row.times.total, self.rules.percentile))

    @cached_property
    def p95_latencies_of_stacks(self) -> Floats:
        """The p95 latencies: milliseconds that one of twenty queries exceeds, (stacks,)."""
        return self.mean(lambda row: compute_time_percentile(row.times.total, 95.0))

    @cached_property
    def mean_passage_tokens(self) -> Floats:
        """Mean tokens of a passage, (stacks,).

        The same for all stacks of one chunking: what their candidates happen to measure in the mean is no reason to
        prefer one of two equal stacks.
        """
        chunks = [configuration.chunk for configuration in self.configurations]
        means = []
        for rows in self.rows.values():
            sizes: dict[str, list[float]] = {}
            for chunk, row in zip(chunks, rows, strict=True):
                sizes.setdefault(chunk, []).append(row.passage_tokens)
            means.append([float(np.mean(sizes[chunk])) for chunk in chunks])
        return np.asarray(np.mean(means, axis=0))

    @cached_property
    def candidate_tokens_for_ties(self) -> Floats:
        """The tokens of a stack's K candidates, (stacks,), that ties go by first (spec rag 3.5)."""
        return self.mean_passage_tokens * [configuration.k for configuration in self.configurations]

    @cached_property
    def latency_replicates(self) -> Floats:
        """Replicates of latencies (B, stacks): timed queries resampled, per dataset."""
        return np.asarray(np.mean([self._resample_latencies(name) for name in self.datasets], axis=0))

    def _resample_latencies(self, dataset: str) -> Floats:
        drawn: dict[int, NDArray[np.int64]] = {}
        columns = []
        for row in self.rows[dataset]:
            n = row.times.total.shape[1]
            if n not in drawn:
                # By the number of queries, so that stacks timed on as many are resampled alike, whatever the order.
                rng = make_seeded_generator(self.seed, "sweep", "times", dataset, str(n))
                drawn[n] = draw_all_resample_rows(n, self.resamples, rng)
            columns.append(resample_time_percentile(row.times.total, self.rules.percentile, drawn[n]))
        return np.column_stack(columns)

    def columns(self, measure: str, *, ceiling: bool = False) -> dict[str, Floats]:
        """Collect a measure (or its ceiling) by dataset, each (queries, stacks); NaN where there is none."""
        return {
            name: np.column_stack([
                _find_measure_column(row.ceiling if ceiling else row.quality, measure, self.queries[name])
                for row in rows
            ])
            for name, rows in self.rows.items()
        }  # fmt: skip

    def values(self, columns: Mapping[str, Floats]) -> Floats:
        """Average columns over their defined queries, then over datasets: (columns,), NaN for nowhere."""
        return np.asarray(np.mean([average_columns_ignoring_nan(column) for column in columns.values()], axis=0))

    def replicates(self, columns: Mapping[str, Floats]) -> Floats:
        """Resample the mean of each column: (B, columns)."""
        drawn = [
            resample_defined_means(
                column,
                n_resamples=self.resamples,
                rng=make_seeded_generator(self.seed, "sweep", "queries", name),
                groups=self.groups.get(name),
            )
            for name, column in columns.items()
        ]
        return np.asarray(np.mean(drawn, axis=0))

    def quality(self, measure: str) -> Floats:
        """Average a measure over queries and datasets, by stack: (stacks,)."""
        return self.values(self.columns(measure))

    def resample_measure_of_stacks(self, measure: str) -> Floats:
        """(B, stacks), kept: several analyses look at the measure that decides."""
        if measure not in self._replicates:
            self._replicates[measure] = self.replicates(self.columns(measure))
        return self._replicates[measure]

    def estimate_column_means(self, columns: Mapping[str, Floats]) -> list[Estimate]:
        """Estimate each column's mean with its 95% interval, over the queries where it is defined."""
        values, replicates = self.values(columns), self.replicates(columns)
        counts = np.sum([(~np.isnan(column)).sum(axis=0) for column in columns.values()], axis=0)
        return list(starmap(make_estimate_from_replicates, zip(values, replicates.T, counts.tolist(), strict=True)))

    def estimate_ratios_to_ceiling(self, measure: str) -> list[Estimate]:
        """Estimate %PROC of each stack: mean of a measure over the mean of its ceiling."""
        above, below = self.columns(measure), self.columns(measure, ceiling=True)
        both = {name: ~np.isnan(above[name]) & ~np.isnan(below[name]) for name in above}
        masked = [{name: np.where(both[name], one[name], np.nan) for name in one} for one in (above, below)]
        counts = np.sum([mask.sum(axis=0) for mask in both.values()], axis=0)
        (top, bottom), (tops, bottoms) = (
            [self.values(one) for one in masked], [self.replicates(one) for one in masked]
        )  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(bottom > 0, top / bottom, np.nan)
            ratios = np.where(bottoms > 0, tops / bottoms, np.nan)
        return list(starmap(make_estimate_from_replicates, zip(values, ratios.T, counts.tolist(), strict=True)))

    def list_stacks_with_measures(self, measures: Sequence[str]) -> list[StackCostLatencyQuality]:
        """List the stacks as rules and frontiers see them, without those where a measure is undefined."""
        means = {name: self.quality(name) for name in measures}
        return [
            StackCostLatencyQuality(id, float(self.cost[i]), float(self.latencies_of_stacks[i]),
                {name: float(means[name][i]) for name in measures},
                  float(self.candidate_tokens_for_ties[i]))
            for i, id in enumerate(self.ids)
            if not any(np.isnan(means[name][i]) for name in measures)
        ]  # fmt: skip


def average_columns_ignoring_nan(columns: Floats) -> Floats:
    """Average each column over its rows that are not NaN; NaN where there are none."""
    defined = ~np.isnan(columns)
    counts = defined.sum(axis=0)
    sums = np.where(defined, columns, 0.0).sum(axis=0)
    # Not `nanmean`, which warns of a column without any value.
    means: Floats = np.full(columns.shape[1], np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def make_estimate_from_replicates(
    value: float, replicates: Floats, n: int, why: str = "it is undefined for every query"
) -> Estimate:
    """Make an estimate with the interval of its replicates; what differs from 0 by rounding is 0."""
    if np.isnan(value):
        return Estimate(None, n=n, reason=why)
    value = 0.0 if abs(value) <= ROUNDING else float(value)
    if n < 2:
        return Estimate(value, n=n, reason="no interval from one query")
    draws = np.where(np.abs(replicates) <= ROUNDING, 0.0, replicates)
    if are_replicates_constant(draws):
        return Estimate(value, n=n, reason=UNVARIED)
    low, high = percentile_interval(draws)
    if np.isnan(low):
        return Estimate(value, n=n, reason="almost no resample has a value")
    return Estimate(value, low, high, n, "bootstrap over queries")


def find_estimate_range(figure: Estimate) -> tuple[float, float] | None:
    """Find what a figure lies between; the value itself where exact; None where nobody knows."""
    if figure.reason == UNVARIED and figure.value is not None:
        return figure.value, figure.value
    return None if figure.low is None else figure.ends


def _find_measure_column(quality: Mapping[str, Floats], measure: str, n: int) -> Floats:
    return quality[measure] if measure in quality else np.full(n, np.nan)


AXES = tuple(field.name for field in fields(StackConfiguration))
Pairs = list[tuple[int, int]]


def list_axis_values(ground: StackArrays, axis: str) -> list[Any]:
    """List the values of an axis, in the sweep's order; numbers ascending, all dimensions last."""
    values = list(dict.fromkeys(getattr(configuration, axis) for configuration in ground.configurations))
    if axis == "dims":
        return sorted(values, key=lambda dims: (dims is None, dims or 0))
    return sorted(values) if axis == "k" else values


def pair_stacks_differing_in_axis(ground: StackArrays, axis: str, value: Any, other: Any) -> Pairs:
    """Places of the stacks with `value` beside those with `other` that are equal in all else; of the modes sparse has
    no vectors, and is equal in what is left."""
    if axis == "mode" and value == SPARSE:
        return [(j, i) for i, j in pair_stacks_differing_in_axis(ground, axis, other, value)]
    places = {configuration: i for i, configuration in enumerate(ground.configurations)}
    # What has vectors has one sparse counterpart, which several share.
    also = {"encoder": WORDS, "dims": None, "index": NONE} if axis == "mode" and other == SPARSE else {}
    twins = [
        (i, places.get(replace(configuration, **{axis: other, **also})))
        for configuration, i in places.items()
        if getattr(configuration, axis) == value
    ]
    return [(i, j) for i, j in twins if j is not None]


def name_stack_family(configuration: StackConfiguration) -> str:
    """Name a family by what stacks share that differ in K alone.

    >>> name_stack_family(StackConfiguration("wordllama", 64, "hnsw-f32", 100))
    'wordllama/64d/hnsw-f32/dense'
    """
    return configuration.id.replace(f"/k{configuration.k}/", "/", 1)


def list_deciding_and_averaged_measures(ground: StackArrays) -> list[str]:
    """List the measures that effects are told by: the one that decides, then those of AvgPerf."""
    first, weighed = ground.rules.measure, ground.rules.efficiency
    return [first, *(measure for measure in ground.measures if measure in weighed and measure != first)]


def list_other_cutoffs_of_deciding_measure(ground: StackArrays) -> list[str]:
    """The measure that decides at other cutoffs."""
    base = ground.rules.measure.partition("@")[0]
    return [
        measure for measure in ground.measures if measure.partition("@")[0] == base and measure != ground.rules.measure
    ]


def find_measure_at_cutoff(measures: Sequence[str], measure: str, k: int) -> str | None:
    """Find the same measure at cutoff K, where it was measured."""
    name = f"{measure.partition('@')[0]}@{k}"
    return name if name in measures else None


LESS, MORE = 50, 100
"""Candidates between which queries are routed."""


def explain_unrouted_signals(ground: StackArrays) -> Iterator[str]:
    """Explain of each signal by which no stack is routed why; nothing where no stack has both K."""
    stacks = {i for pair in pair_stacks_differing_in_axis(ground, "k", MORE, LESS) for i in pair}
    for signal in SIGNALS if stacks else ():
        every = [ground.rows[name][i].signals.get(signal) for name in ground.datasets for i in stacks]
        measured = [values for values in every if values is not None]
        if not measured:
            yield f"{signal}: {_UNMEASURED.get(signal, 'these stacks do not provide it')}"
        elif all(np.isnan(values).all() for values in measured):
            yield f"{signal}: {_UNDEFINED.get(signal, 'it is undefined for every query')}"


_UNMEASURED = {"name": "the sweep has no `names` file with the authors that its queries name"}
_UNDEFINED = {"name": "no query names an author from the `names` file and has a name margin of at least 0.02"}
"""Why a signal has no row, in the words of what would give it one."""
