"""The source's advice to operators (spec rag 9), judged by stacks that differ in nothing else; what an axis does.

A line is tested only where the sweep has stacks that differ in just that. It `holds` where the whole interval says so,
`does not hold` where the whole interval says the opposite, and is `open` where the interval has both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.sweep.findings.arrays import (
    AXES,
    LESS,
    MORE,
    Floats,
    Pairs,
    StackArrays,
    find_estimate_range,
    find_measure_at_cutoff,
    list_axis_values,
    list_deciding_and_averaged_measures,
    make_estimate_from_replicates,
    name_stack_family,
    pair_stacks_differing_in_axis,
)
from embassay.protocols.rag.sweep.findings.recommendation import describe_axis_value, is_difference_decided
from embassay.protocols.rag.sweep.findings.record import (
    AxisValueEffect,
    CandidateDepthStep,
    EscalationThreshold,
    PaperGuidanceVerdict,
    RoutingGainOverFixedK,
    RoutingResult,
    StackMeasureWithCeiling,
)
from embassay.protocols.rag.sweep.findings.sentences import (
    format_ms_difference,
    format_ms_per_query,
    format_ratio_as_percent,
    format_score_with_interval,
    format_usd_difference,
    format_usd_per_1000_queries,
)
from embassay.protocols.rag.sweep.stacks import NONE, SIGNALS, MeasuredStack
from embassay.protocols.rag.tradeoffs import StackCostLatencyQuality, compute_marginal_stack_gain
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate


def list_candidate_depth_steps(ground: StackArrays) -> Iterator[CandidateDepthStep]:
    """Every step from a K to the next one of its family, for the usual measures."""
    families: dict[str, list[int]] = {}
    for i, configuration in enumerate(ground.configurations):
        families.setdefault(name_stack_family(configuration), []).append(i)
    pairs = [
        (less, more)
        for places in families.values()
        for less, more in pairwise(sorted(places, key=lambda i: ground.configurations[i].k))
    ]
    if not pairs:
        return
    for measure in list_deciding_and_averaged_measures(ground):
        less, more = np.array(pairs).T
        columns = {name: column[:, more] - column[:, less] for name, column in ground.columns(measure).items()}
        for (i, j), gain in zip(pairs, ground.estimate_column_means(columns), strict=True):
            if gain.value is not None:
                yield _make_candidate_depth_step(ground, i, j, measure, gain)


def _make_candidate_depth_step(ground: StackArrays, i: int, j: int, measure: str, gain: Estimate) -> CandidateDepthStep:
    less, more = (
        StackCostLatencyQuality(
            ground.ids[at], float(ground.cost[at]), float(ground.latencies_of_stacks[at]), {measure: value}
        )
        for at, value in ((i, 0.0), (j, gain.value or 0.0))
    )
    step = compute_marginal_stack_gain(less, more, measure, jitter_ms=ground.jitter_ms)
    return CandidateDepthStep(
        family=name_stack_family(ground.configurations[i]), less=less.id, more=more.id,
        k=ground.configurations[i].k, next_k=ground.configurations[j].k, measure=measure, gain=gain,
        milliseconds=step.milliseconds, usd=step.usd, per_ms=step.per_ms, kind=step.kind,
        text=_describe_gain_and_cost_of_depth(gain, step.milliseconds, step.usd, ground.jitter_ms),
        p95=float(ground.p95_latencies_of_stacks[j] - ground.p95_latencies_of_stacks[i])
    )  # fmt: skip


def _describe_gain_and_cost_of_depth(gain: Estimate, milliseconds: float, usd: float, jitter_ms: float) -> str:
    """Describe what a step gains, for how much; what cannot be told from nothing is called so."""
    value = gain.value or 0.0
    if find_estimate_range(gain) == (0.0, 0.0):
        quality = "nothing"
    else:
        quality = numbers.format_change(value) if is_difference_decided(gain) else "not distinguishable from 0"
    time = "within jitter" if abs(milliseconds) <= jitter_ms else format_ms_difference(milliseconds)
    return f"{quality}; {time}; {format_usd_difference(usd)}"


Mask = NDArray[np.bool_]

BELOW: Mapping[str, bool] = {"margin": True, "entropy": False, "noise": True, "name": True}
"""A small margin, an even spread of scores, a query far from its clean self and one whose name margin falls under an
ablation ask for more (spec rag 3.5)."""
# Spec rag 3.5: below the quartile of the calibration queries, or above it.
QUARTER = 25.0
FIXED: Mapping[str, float] = {"name": -0.5}
"""Of a signal with a threshold of its own: a name margin that falls by more than half."""
ANY = "any"


@dataclass(frozen=True)
class ThresholdAndTestQueries:
    """Which queries set thresholds, and which judge them: places, disjoint, together all."""

    calibration: NDArray[np.int64]
    evaluation: NDArray[np.int64]


def split_queries_into_halves(n: int, seed: int, dataset: str) -> ThresholdAndTestQueries:
    """Split queries in halves drawn by seed: the smaller to calibrate, the others to judge.

    >>> parts = split_queries_into_halves(5, 1, "sea")
    >>> len(parts.calibration), len(parts.evaluation)
    (2, 3)
    """
    order = make_seeded_generator(seed, "sweep", "routing", dataset).permutation(n)
    return ThresholdAndTestQueries(np.sort(order[: n // 2]), np.sort(order[n // 2 :]))


def find_signal_threshold(dataset: str, signal: str, values: Floats) -> EscalationThreshold | None:
    """From where on a signal fires: under the lowest quarter or above the highest of the calibration queries, or where
    it is fixed; None where it is undefined for all of them."""
    valid = values[~np.isnan(values)]
    if not len(valid):
        return None
    below = BELOW[signal]
    if signal in FIXED:
        return EscalationThreshold(dataset, signal, FIXED[signal], below)
    return EscalationThreshold(dataset, signal, float(np.percentile(valid, QUARTER if below else 100 - QUARTER)), below)


def mark_queries_where_signal_fires(limit: EscalationThreshold, values: Floats) -> Mask:
    """Mark which queries ask for more; one whose signal is undefined does not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values < limit.value if limit.below else values > limit.value)


def mark_queries_escalated_by_any_signal(masks: Iterable[Mask]) -> Mask:
    """Which queries at least one signal asks for."""
    return np.asarray(np.logical_or.reduce(list(masks)))


CUTOFFS = (10, 30)


@dataclass(frozen=True)
class _EscalationBetweenStacks:
    """Which evaluation queries of each dataset are escalated, between which stacks, by which thresholds."""

    less: int
    more: int
    signal: str
    thresholds: tuple[EscalationThreshold, ...]
    escalated: Mapping[str, Mask]


def evaluate_escalation_routes(ground: StackArrays) -> Iterator[RoutingResult]:
    """Evaluate every family with K = 50 and K = 100, by each of its signals and by all together."""
    split = {name: split_queries_into_halves(n, ground.seed, name) for name, n in ground.queries.items()}
    if any(not len(half.calibration) for half in split.values()):
        return
    pairs = [(j, i) for i, j in pair_stacks_differing_in_axis(ground, "k", MORE, LESS)]
    found_routes = [route for less, more in pairs for route in _list_escalation_routes(ground, split, less, more)]
    base = ground.rules.measure
    measures = [name for k in CUTOFFS if (name := find_measure_at_cutoff(ground.measures, base, k))] or [base]
    if found_routes:
        yield from _measure_escalation_routes(ground, split, found_routes, measures)


def _list_escalation_routes(
    ground: StackArrays, split: Mapping[str, ThresholdAndTestQueries], less: int, more: int
) -> Iterator[_EscalationBetweenStacks]:
    alone = [
        route
        for name in SIGNALS
        if (route := _make_escalation_route_by_signal(ground, split, less, more, name)) is not None
    ]
    yield from alone
    if len(alone) > 1:
        together = {
            name: mark_queries_escalated_by_any_signal([route.escalated[name] for route in alone])
            for name in ground.datasets
        }
        yield _EscalationBetweenStacks(less, more, ANY, tuple(t for route in alone for t in route.thresholds), together)


def _make_escalation_route_by_signal(
    ground: StackArrays, split: Mapping[str, ThresholdAndTestQueries], less: int, more: int, signal: str
) -> _EscalationBetweenStacks | None:
    """Make a route by one signal; None where the signal is missing on a dataset."""
    limits, masks = [], {}
    for name, half in split.items():
        values = ground.rows[name][less].signals.get(signal)
        limit = None if values is None else find_signal_threshold(name, signal, values[half.calibration])
        if values is None or limit is None:
            return None
        limits.append(limit)
        masks[name] = mark_queries_where_signal_fires(limit, values[half.evaluation])
    return _EscalationBetweenStacks(less, more, signal, tuple(limits), masks)


def _measure_escalation_routes(
    ground: StackArrays,
    split: Mapping[str, ThresholdAndTestQueries],
    routes_: Sequence[_EscalationBetweenStacks],
    measures: Sequence[str],
) -> Iterator[RoutingResult]:
    """Measure all routes, resampled together: rates, then of each measure value and differences."""
    rates = ground.estimate_column_means({
        name: np.column_stack([route.escalated[name] for route in routes_]).astype(np.float64) for name in split
    })  # fmt: skip
    figures = {measure: _estimate_quality_of_routes(ground, split, routes_, measure) for measure in measures}
    for i, route in enumerate(routes_):
        quality = [StackMeasureWithCeiling(measure, figures[measure][0][i]) for measure in measures]
        against = [
            RoutingGainOverFixedK(k, measure, figures[measure][side][i])
            for measure in measures
            for side, k in ((1, LESS), (2, MORE))
        ]
        yield _make_escalation_routing_result(ground, split, route, rates[i], quality, against)


def _estimate_quality_of_routes(
    ground: StackArrays,
    split: Mapping[str, ThresholdAndTestQueries],
    routes_: Sequence[_EscalationBetweenStacks],
    measure: str,
) -> list[list[Estimate]]:
    """Of each route: the measure when routed, less that of the small K, less that of the large one."""
    routed, from_less, from_more = {}, {}, {}
    for name, columns in ground.columns(measure).items():
        half = columns[split[name].evaluation]
        less, more = half[:, [route.less for route in routes_]], half[:, [route.more for route in routes_]]
        routed[name] = np.where(np.column_stack([route.escalated[name] for route in routes_]), more, less)
        from_less[name], from_more[name] = routed[name] - less, routed[name] - more
    return [ground.estimate_column_means(columns) for columns in (routed, from_less, from_more)]


def _make_escalation_routing_result(
    ground: StackArrays,
    split: Mapping[str, ThresholdAndTestQueries],
    route: _EscalationBetweenStacks,
    rate: Estimate,
    quality: Sequence[StackMeasureWithCeiling],
    against: Sequence[RoutingGainOverFixedK],
) -> RoutingResult:
    shares = np.array([route.escalated[name].mean() for name in ground.datasets])
    costs, times = (
        _compute_stack_pair_values_by_dataset(ground, route, lambda stack: stack.cost),
        _compute_stack_pair_values_by_dataset(ground, route, _average_query_median_ms),
    )
    # Each query pays for the stack that it is routed to.
    usd_routed, ms_routed = (float(compute_routing_cost_by_share(part, shares).mean()) for part in (costs, times))
    return RoutingResult(
        family=name_stack_family(ground.configurations[route.less]),
        less=ground.ids[route.less],
        more=ground.ids[route.more],
        signal=route.signal,
        calibrated=sum(len(half.calibration) for half in split.values()),
        evaluated=sum(len(half.evaluation) for half in split.values()),
        thresholds=route.thresholds,
        escalated=rate,
        usd=usd_routed,
        usd_less=float(costs[0].mean()),
        usd_more=float(costs[1].mean()),
        milliseconds=ms_routed,
        milliseconds_less=float(times[0].mean()),
        milliseconds_more=float(times[1].mean()),
        quality=tuple(quality),
        against=tuple(against),
        text=_describe_depth_routing(rate, usd_routed, ms_routed, quality, against),
    )


def compute_routing_cost_by_share(each: Floats, shares: Floats) -> Floats:
    """Compute what routing costs if a share of queries is escalated, from `each` (2, n) of both K.

    >>> compute_routing_cost_by_share(np.array([[1.0], [2.0]]), np.array([0.25])).tolist()
    [1.25]
    """
    return np.asarray((1 - shares) * each[0] + shares * each[1])


def _compute_stack_pair_values_by_dataset(
    ground: StackArrays, route: _EscalationBetweenStacks, of: Callable[[MeasuredStack], float]
) -> Floats:
    """List a number of the two stacks on each dataset: (2, datasets)."""
    return np.array([[of(ground.rows[name][i]) for name in ground.datasets] for i in (route.less, route.more)])


def _average_query_median_ms(stack: MeasuredStack) -> float:
    """Mean over queries of each one's median over sessions: means mix by share, medians do not."""
    return float(np.median(stack.times.total, axis=0).mean())


def _describe_depth_routing(
    rate: Estimate,
    usd_routed: float,
    ms_routed: float,
    quality: Sequence[StackMeasureWithCeiling],
    against: Sequence[RoutingGainOverFixedK],
) -> str:
    parts = [
        f"{value.measure} {format_score_with_interval(value.value)}"
        for value in quality
        if value.value.value is not None
    ]
    compared = [
        f"{format_score_with_interval(pair.difference, signed=True)} compared with K {pair.k}"
        for pair in against
        if pair.measure == quality[-1].measure and pair.difference.value is not None
    ]
    deep = f" ({', '.join(compared)})" if compared else ""
    return (
        f"{format_ratio_as_percent(rate.value or 0.0)} of the queries get {MORE} candidates: "
        f"{format_usd_per_1000_queries(usd_routed)} per 1,000 queries, {format_ms_per_query(ms_routed)} on average, "
        f"{', '.join(parts)}{deep}."
    )


MOST_VALUES = 6


def estimate_axis_effects(ground: StackArrays) -> Iterator[AxisValueEffect]:
    """Estimate the effect of every two values of each axis, later less earlier, by usual measures."""
    compared = [
        (axis, value, other, pairs)
        for axis in AXES
        for other, value in combinations(list_axis_values(ground, axis)[:MOST_VALUES], 2)
        if (pairs := pair_stacks_differing_in_axis(ground, axis, value, other))
    ]
    if not compared:
        return
    for measure in list_deciding_and_averaged_measures(ground):
        columns = ground.columns(measure)
        averaged = {
            name: np.column_stack([average_stack_pair_differences_by_query(column, pairs) for *_, pairs in compared])
            for name, column in columns.items()
        }
        for (axis, value, other, pairs), quality in zip(compared, ground.estimate_column_means(averaged), strict=True):
            yield AxisValueEffect(
                axis, describe_axis_value(axis, value), describe_axis_value(axis, other), len(pairs), measure, quality,
                estimate_latency_change(ground, pairs),
                float(np.mean([ground.cost[i] - ground.cost[j] for i, j in pairs])),
                float(np.mean([ground.p95_latencies_of_stacks[i] - ground.p95_latencies_of_stacks[j] for i,
                    j in pairs]))
            )  # fmt: skip


def average_stack_pair_differences_by_query(columns: Floats, pairs: Pairs) -> Floats:
    """Of each query the mean over pairs of the first stack's value less the second's: (queries,); NaN where it is
    undefined in one of them, as it then is in all (a query without relevant passages)."""
    first, second = np.array(pairs).T
    return np.asarray((columns[:, first] - columns[:, second]).mean(axis=1))


def estimate_latency_change(ground: StackArrays, pairs: Pairs) -> Estimate:
    """Estimate the mean difference of latencies, with the interval over timed queries."""
    first, second = np.array(pairs).T
    timed = min(rows[0].times.total.shape[1] for rows in ground.rows.values())
    value = float((ground.latencies_of_stacks[first] - ground.latencies_of_stacks[second]).mean())
    replicates = (ground.latency_replicates[:, first] - ground.latency_replicates[:, second]).mean(axis=1)
    return make_estimate_from_replicates(value, replicates, timed)


MEANING = {"holds": "It holds.", "does not hold": "It does not hold.", "open": "Undecided on these queries."}


def choose_difference_status_word(value: Estimate, least: float = 0.0) -> str:
    """Judge whether a difference lies over `least` with its whole interval, under it, or on both.

    >>> choose_difference_status_word(Estimate(0.05, 0.01, 0.09)), choose_difference_status_word(Estimate(-0.05,
    ...     -0.09, -0.01))
    ('holds', 'does not hold')
    >>> choose_difference_status_word(Estimate(0.01, -0.02, 0.04))
    'open'
    """
    ends = find_estimate_range(value)
    if ends is None:
        return "open"
    return "holds" if ends[0] > least else "does not hold" if ends[1] <= least else "open"


def reverse_advice_status(found: str) -> str:
    """Reverse a status to that of a line that says the opposite."""
    return {"holds": "does not hold", "does not hold": "holds"}.get(found, found)


def make_untested_advice(line: str, needs: str) -> PaperGuidanceVerdict:
    """Make the verdict on a line that the sweep says nothing of, with what it needs."""
    return PaperGuidanceVerdict(line, "not tested", f"Not tested on this data: {needs}.")


def make_source_advice_verdict(line: str, found: str, text: str, *evidence: Estimate) -> PaperGuidanceVerdict:
    """A line with its status, told by its figures."""
    return PaperGuidanceVerdict(line, found, f"{text} {MEANING[found]}", evidence)


def measure_mean_difference_of_stack_pairs(
    ground: StackArrays, measure: str, pairs: Pairs, *, ceiling: bool = False
) -> Estimate:
    """Measure the mean paired difference of a measure over pairs of stacks."""
    columns = ground.columns(measure, ceiling=ceiling)
    return ground.estimate_column_means(
        {name: average_stack_pair_differences_by_query(column, pairs)[:, None] for name, column in columns.items()}
    )[0]


def find_deciding_measure_at_cutoff(ground: StackArrays, k: int) -> str | None:
    """Find the measure that decides at another cutoff; None where it was not measured."""
    return find_measure_at_cutoff(ground.measures, ground.rules.measure, k)


def estimate_relative_quality_change(ground: StackArrays, measure: str, pairs: Pairs) -> Estimate:
    """Estimate the difference as a share of the mean of the second stacks."""
    second = np.array([j for _, j in pairs])
    before = float(np.nanmean(ground.quality(measure)[second]))
    value = measure_mean_difference_of_stack_pairs(ground, measure, pairs)
    if value.value is None or before <= 0:
        return Estimate(None, n=value.n, reason="nothing to lose")
    low, high = (None if end is None else end / before for end in (value.low, value.high))
    return replace(value, value=value.value / before, low=low, high=high)


def combine_advice_statuses(found: Iterable[str]) -> str:
    """Of a line with several claims: it holds where all do, does not where one does not."""
    states = set(found)
    return "does not hold" if "does not hold" in states else "open" if "open" in states else "holds"


def find_dearest_reranker(ground: StackArrays) -> str | None:
    """The reranker that costs most, of several; the only one otherwise."""
    costs: dict[str, float] = {}
    for i, configuration in enumerate(ground.configurations):
        if configuration.reranker != NONE:
            costs[configuration.reranker] = max(
                costs.get(configuration.reranker, 0.0), float(ground.cost[i]) / max(configuration.k, 1)
            )
    return max(costs, key=lambda name: costs[name]) if costs else None


def estimate_ceiling_share_change(ground: StackArrays, measure: str, pairs: Pairs) -> Estimate:
    """Estimate the mean difference of %PROC over pairs of stacks."""
    first, second = np.array(pairs).T
    above, below = ground.columns(measure), ground.columns(measure, ceiling=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = ground.values(above) / ground.values(below)
        replicates = ground.replicates(above) / ground.replicates(below)
    n = sum(int((~np.isnan(column[:, 0])).sum()) for column in above.values())
    return make_estimate_from_replicates(
        float((values[first] - values[second]).mean()),
        (replicates[:, first] - replicates[:, second]).mean(axis=1), n
    )  # fmt: skip


def is_proc_known_of_all_stacks(ground: StackArrays, measure: str) -> bool:
    """Whether PROC of the measure is known for every stack."""
    return all(measure in row.ceiling for rows in ground.rows.values() for row in rows)


def format_percentage_points(value: float) -> str:
    """Format a difference of percentages in points."""
    return f"{numbers.format_change(100 * value, 1)} points"


def format_relative_change(value: Estimate) -> str:
    """Format a relative change with its interval."""
    if value.value is None:
        return "n/a"
    ends = "" if value.low is None else f" ({' to '.join(map(_format_signed_share, value.ends))})"
    return f"{_format_signed_share(value.value)}{ends}"


def _format_signed_share(value: float) -> str:
    """Format a share in percent with its sign; what rounds to zero has none."""
    return f"{numbers.format_change(100 * value, 1)}%"


def format_ms_change(value: Estimate) -> str:
    """Format a difference of times with its sign."""
    size = value.value or 0.0
    return f"{numbers.MINUS if size < 0 else '+'}{format_ms_per_query(abs(size))}"


TOLERANCE = 0.02
"""The share of a measure that an index may lose: the source's 1 to 2 percent."""
HARDLY = 0.01
"""A gain of a measure that is not worth twice the candidates."""
HALF_A_SECOND = 500.0


def advise_on_hnsw_loss(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether the loss of hnsw-f32 against flat search stays within 2%."""
    line = "HNSW f32 by default, tuned until within 1-2% of flat"
    pairs = _pair_stacks_by_index(ground, "hnsw-f32", "flat")
    if not pairs:
        return make_untested_advice(line, "needs hnsw-f32 and flat")
    measure = ground.rules.measure
    change = estimate_relative_quality_change(ground, measure, pairs)
    time = estimate_latency_change(ground, pairs)
    text = (
        f"Compared with flat search, hnsw-f32 changes {measure} by {format_relative_change(change)}, "
        f"and the time by {format_ms_change(time)}."
    )
    return make_source_advice_verdict(line, choose_difference_status_word(change, -TOLERANCE), text, change, time)


def advise_on_int8_loss(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether int8 loses more than 1% against f32, for which memory would speak."""
    line = "int8 only under hard memory limits and after re-checking %PROC"
    pairs = _pair_stacks_by_index(ground, "hnsw-int8", "hnsw-f32") or _pair_stacks_by_index(ground, "int8", "flat")
    if not pairs:
        return make_untested_advice(line, "needs an int8 index and the same index in f32")
    measure = ground.rules.measure
    change = estimate_relative_quality_change(ground, measure, pairs)
    time = estimate_latency_change(ground, pairs)
    text = (
        f"Compared with f32, int8 changes {measure} by {format_relative_change(change)}, "
        f"and the time by {format_ms_change(time)}."
    )
    return make_source_advice_verdict(
        line, reverse_advice_status(choose_difference_status_word(change, -HARDLY)), text, change, time
    )


def _pair_stacks_by_index(ground: StackArrays, name: str, other: str) -> Pairs:
    """Pair stacks with an index with the same with another, whatever the parameters of both."""
    values = list_axis_values(ground, "index")
    first, second = ([value for value in values if value.partition("?")[0] == kind] for kind in (name, other))
    return [pair for a in first for b in second for pair in pair_stacks_differing_in_axis(ground, "index", a, b)]


def advise_on_dimensions(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether 2048 dimensions bring something at 30 and nothing at 10."""
    line = "1024 dimensions by default, 2048 only for deep K"
    at_10, at_30 = find_deciding_measure_at_cutoff(ground, 10), find_deciding_measure_at_cutoff(ground, 30)
    pairs = pair_stacks_differing_in_axis(ground, "dims", 2048, 1024)
    if not pairs or at_10 is None or at_30 is None:
        return make_untested_advice(line, "needs 1024 and 2048 dimensions of one encoder, measured at 10 and 30")
    shallow, deep = (
        measure_mean_difference_of_stack_pairs(ground, at_10, pairs),
        measure_mean_difference_of_stack_pairs(ground, at_30, pairs),
    )
    # The advice says that nothing is gained at 10, so a gain there speaks against it.
    verdict = combine_advice_statuses(
        [reverse_advice_status(choose_difference_status_word(shallow)), choose_difference_status_word(deep)]
    )
    first, second = (format_score_with_interval(shallow, signed=True), format_score_with_interval(deep, signed=True))
    text = f"2048 minus 1024: {first} of {at_10}, {second} of {at_30}."
    return make_source_advice_verdict(line, verdict, text, shallow, deep)


def advise_on_depth_at_cutoff_10(ground: StackArrays) -> PaperGuidanceVerdict:
    """100 reranked candidates bring no more than 0.01 at 10 over 50."""
    line = "Candidate depth 50 for @10"
    return _make_candidate_depth_advice_at_cutoff(ground, line, 10, reverse_advice_status)


def advise_on_depth_at_cutoff_30(ground: StackArrays) -> PaperGuidanceVerdict:
    """100 reranked candidates bring something at 30 over 50."""
    line = "Candidate depth 100 for @30"
    return _make_candidate_depth_advice_at_cutoff(ground, line, 30, str)


def _make_candidate_depth_advice_at_cutoff(
    ground: StackArrays, line: str, cutoff: int, turn: Callable[[str], str]
) -> PaperGuidanceVerdict:
    """K = 100 less K = 50, of the stacks whose candidates a reranker or a fusion orders anew."""
    measure = find_deciding_measure_at_cutoff(ground, cutoff)
    pairs = [
        pair
        for pair in pair_stacks_differing_in_axis(ground, "k", 100, 50)
        if _are_candidates_reordered(ground, pair[0])
    ]
    if not pairs or measure is None:
        return make_untested_advice(line, f"needs K 50 and 100 with a reranker, measured at {cutoff}")
    gain = measure_mean_difference_of_stack_pairs(ground, measure, pairs)
    verdict = choose_difference_status_word(gain, HARDLY if turn is reverse_advice_status else 0.0)
    text = f"K 100 minus K 50: {format_score_with_interval(gain, signed=True)} of {measure}."
    return make_source_advice_verdict(line, turn(verdict), text, gain)


def _are_candidates_reordered(ground: StackArrays, place: int) -> bool:
    return ground.configurations[place].reranker != NONE


def advise_on_half_second_reranking(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether reranking 100 candidates takes under half a second, and more does not."""
    line = "At most 100 candidates for half a second"
    reranked = [i for i in range(len(ground.ids)) if _are_candidates_reordered(ground, i)]
    within, beyond = (
        [float(ground.latencies_of_stacks[i]) for i in reranked if (ground.configurations[i].k <= 100) is small]
        for small in (True, False)
    )
    if not within or not beyond:
        return make_untested_advice(line, "needs rerankers with at most 100 and with more than 100 candidates")
    quick, broken = max(within) <= HALF_A_SECOND, min(beyond) > HALF_A_SECOND
    verdict = "holds" if quick and broken else "does not hold"
    most, least = format_ms_per_query(max(within)), format_ms_per_query(min(beyond))
    text = f"Up to 100 candidates take at most {most}, more take at least {least}."
    return make_source_advice_verdict(line, verdict, text, Estimate(max(within)), Estimate(min(beyond)))


def advise_on_default_stack(ground: StackArrays) -> PaperGuidanceVerdict:
    """Hybrid and reranked is better than the same without one of the two, and without both."""
    line = "Hybrid plus the strong reranker as the default stack"
    strong = find_dearest_reranker(ground)
    pairs = _pair_default_stack_variants(ground, strong) if strong else {}
    if strong is None or len(pairs) < 3:
        return make_untested_advice(line, "needs dense and hybrid stacks, each with and without a reranker")
    measure = ground.rules.measure
    gains = {name: measure_mean_difference_of_stack_pairs(ground, measure, pair) for name, pair in pairs.items()}
    words = ", ".join(
        f"{format_score_with_interval(gain, signed=True)} compared with {name}" for name, gain in gains.items()
    )
    text = f"Hybrid with {strong}, {measure}: {words}."
    return make_source_advice_verdict(
        line,
        combine_advice_statuses(choose_difference_status_word(gain) for gain in gains.values()),
        text,
        *gains.values(),
    )


def _pair_default_stack_variants(ground: StackArrays, strong: str) -> Mapping[str, Pairs]:
    """Pair hybrid and reranked stacks with the same without one of the two, and without both."""
    places = {configuration: i for i, configuration in enumerate(ground.configurations)}
    by_name: dict[str, Pairs] = {}
    for configuration, i in places.items():
        if configuration.mode != "hybrid" or configuration.reranker != strong:
            continue
        for name, mode, reranker in (
            ("reranked dense", "dense", strong), ("hybrid alone", "hybrid", NONE), ("dense alone", "dense", NONE)
        ):  # fmt: skip
            other = type(configuration)(**{**vars(configuration), "mode": mode, "reranker": reranker})
            if other in places:
                by_name.setdefault(name, []).append((i, places[other]))
    return by_name


def advise_on_cheaper_reranker(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether the cheaper reranker is worse, and saves money."""
    line = "The lite reranker only for cost"
    strong = find_dearest_reranker(ground)
    names = [name for name in list_axis_values(ground, "reranker") if name not in (NONE, strong)]
    pairs = pair_stacks_differing_in_axis(ground, "reranker", names[0], strong) if names else []
    if not pairs:
        return make_untested_advice(line, "needs two rerankers")
    measure = ground.rules.measure
    loss = measure_mean_difference_of_stack_pairs(ground, measure, pairs)
    saved = float(np.mean([ground.cost[j] - ground.cost[i] for i, j in pairs]))
    minus = f"{names[0]} minus {strong}: {format_score_with_interval(loss, signed=True)} of {measure}"
    text = f"{minus}; {names[0]} saves {format_usd_per_1000_queries(saved)} per 1,000 queries."
    return make_source_advice_verdict(
        line,
        reverse_advice_status(choose_difference_status_word(loss)) if saved > 0 else "does not hold",
        text,
        loss,
        Estimate(saved),
    )


def make_query_rewriting_advice(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether rewritten queries find more."""
    return _advise_on_switching_axis_on(
        ground, "Rewriting by default", "rewrite", NONE, "needs queries with and without rewriting"
    )


def advise_on_unicode_nfc(_: StackArrays) -> PaperGuidanceVerdict:
    """Advise on nothing for Unicode NFC, as every text is normalised and nothing can be compared."""
    return make_untested_advice("Unicode NFC by default", "all texts are normalised before they are embedded")


def advise_on_deduplication(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether candidates without copies give better lists."""
    line = "Deduplicate before reranking"
    return _advise_on_switching_axis_on(
        ground, line, "deduplicate", 0.0, "needs candidates with and without their copies"
    )


def advise_on_chunking(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether documents cut into chunks give better lists."""
    line = "Trim before reranking: shorter chunks, less metadata"
    return _advise_on_switching_axis_on(ground, line, "chunk", NONE, "needs documents with and without chunking")


def _advise_on_switching_axis_on(
    ground: StackArrays, line: str, axis: str, off: object, needs: str
) -> PaperGuidanceVerdict:
    """Advise on an axis that is on against the same off."""
    values = [value for value in list_axis_values(ground, axis) if value != off]
    pairs = [pair for value in values for pair in pair_stacks_differing_in_axis(ground, axis, value, off)]
    if not pairs:
        return make_untested_advice(line, needs)
    gain = measure_mean_difference_of_stack_pairs(ground, ground.rules.measure, pairs)
    text = f"{ground.rules.measure} with minus without: {format_score_with_interval(gain, signed=True)}."
    return make_source_advice_verdict(line, choose_difference_status_word(gain), text, gain)


def advise_on_hybrid_pool_ceiling(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether a hybrid pool raises the ceiling, PROC."""
    line = "Low PROC: improve the pool"
    measure = ground.rules.measure
    pairs = pair_stacks_differing_in_axis(ground, "mode", "hybrid", "dense")
    if not pairs or not is_proc_known_of_all_stacks(ground, measure):
        return make_untested_advice(line, "needs dense and hybrid stacks, and PROC")
    gain = measure_mean_difference_of_stack_pairs(ground, measure, pairs, ceiling=True)
    text = f"A hybrid pool changes the PROC of {measure} by {format_score_with_interval(gain, signed=True)}."
    return make_source_advice_verdict(line, choose_difference_status_word(gain), text, gain)


def advise_on_improving_order_by_reranker(ground: StackArrays) -> PaperGuidanceVerdict:
    """Advise on whether a reranker, which cannot change the pool, raises %PROC."""
    line = "High PROC with low %PROC: improve the ordering"
    measure, strong = ground.rules.measure, find_dearest_reranker(ground)
    pairs = pair_stacks_differing_in_axis(ground, "reranker", strong, NONE) if strong else []
    if not pairs or not is_proc_known_of_all_stacks(ground, measure):
        return make_untested_advice(line, "needs stacks with and without a reranker, and PROC")
    gain = estimate_ceiling_share_change(ground, measure, pairs)
    ends = "" if gain.low is None else f" ({' to '.join(map(format_percentage_points, gain.ends))})"
    text = f"{strong} changes %PROC of {measure} by {format_percentage_points(gain.value or 0.0)}{ends}."
    return make_source_advice_verdict(line, choose_difference_status_word(gain), text, gain)


LINES = (
    advise_on_hnsw_loss, advise_on_int8_loss, advise_on_dimensions, advise_on_depth_at_cutoff_10,
    advise_on_depth_at_cutoff_30,
    advise_on_half_second_reranking,
    advise_on_default_stack, advise_on_cheaper_reranker, make_query_rewriting_advice, advise_on_unicode_nfc,
    advise_on_deduplication, advise_on_chunking,
    advise_on_hybrid_pool_ceiling,
    advise_on_improving_order_by_reranker
)  # fmt: skip


def list_all_advice(ground: StackArrays) -> tuple[PaperGuidanceVerdict, ...]:
    """List the advice on every line with its status and figures, in the order of the spec."""
    return tuple(line(ground) for line in LINES)
