"""From what a sweep has measured to what it says: which stacks no other one beats, those that stand for ways to choose,
what to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import IndexFacts
from embassay.errors import DataError
from embassay.measures import MEASURES
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.rag.sweep.findings.advice import (
    estimate_axis_effects,
    evaluate_escalation_routes,
    list_all_advice,
    list_candidate_depth_steps,
)
from embassay.protocols.rag.sweep.findings.arrays import (
    Pairs,
    StackArrays,
    average_columns_ignoring_nan,
    average_stage_times_over_datasets,
    compute_time_percentile,
    estimate_session_jitter,
    explain_unrouted_signals,
    find_measure_at_cutoff,
    list_axis_values,
    list_deciding_and_averaged_measures,
    list_other_cutoffs_of_deciding_measure,
    pair_stacks_differing_in_axis,
    summarise_stage_time,
)
from embassay.protocols.rag.sweep.findings.recommendation import recommend_stack, select_stacks_with_measures
from embassay.protocols.rag.sweep.findings.record import (
    FILE,
    GenerationSpeed,
    IndexMemory,
    IndexVersusFlat,
    ScenarioStack,
    StackMeasureWithCeiling,
    StackParetoFrontier,
    StackSummary,
    StageTimePercentiles,
    SweepDatasetFindings,
    SweepFindings,
    SweepRulesPricesAndSeed,
    UnmeasuredStack,
    write_findings,
)
from embassay.protocols.rag.sweep.findings.sentences import (
    add_texts_to_alternatives,
    list_sweep_lede_sentences,
    list_sweep_notes,
    make_recommended_stack_heading,
)
from embassay.protocols.rag.sweep.findings.tables import build_sweep_tables
from embassay.protocols.rag.sweep.findings.tuning import iterate_cross_validated_fusion_choices
from embassay.protocols.rag.sweep.stacks import (
    FIRST_TOKENS,
    FIRST_WORD,
    GENERATE,
    NONE,
    SPARSE,
    STAGES,
    TOTAL,
    WHOLE,
    WRITTEN,
    MeasuredStack,
    SweepMeasurements,
    SweepRules,
)
from embassay.protocols.rag.tradeoffs import (
    JITTER_MS,
    Axis,
    Dominance,
    StackCostLatencyQuality,
    StackLimits,
    average_weighted_measures,
    choose_stack,
    compute_hnsw_graph_bytes,
    compute_performance_per_second,
    compute_stored_vector_bytes,
    estimate_product_quantized_bytes,
    find_undominated_stacks,
)
from embassay.records import ResultRow
from embassay.search.indexes.faiss_index import find_nearest_divisor
from embassay.spec import CALL, QUERY
from embassay.systems import RAGGED

MAIN = "cost, latency"
AXES: tuple[tuple[str, tuple[Axis, ...]], ...] = (
    (MAIN, ("cost", "latency")), ("latency", ("latency",)), ("cost", ("cost",))
)  # fmt: skip
STRICT = ", strict"


def find_tradeoff_frontiers(ground: StackArrays) -> Iterator[StackParetoFrontier]:
    """Every frontier by the measure that decides; the main one also under each time limit of the rules, and by the
    same measure at the other cutoffs, one by one and each as an objective of its own."""
    measure, axes_of = ground.rules.measure, AXES[0][1]
    for name, axes in AXES:
        yield _make_frontier(ground, name, [measure], axes, "pareto")
        yield _make_frontier(ground, name + STRICT, [measure], axes, "strict")
    for slo in ground.rules.slos_ms:
        yield _make_frontier(ground, f"{MAIN}, at most {slo:g} ms", [measure], axes_of, "pareto", slo)
    others = list_other_cutoffs_of_deciding_measure(ground)
    for other in others:
        yield _make_frontier(ground, f"{MAIN}, {other}", [other], axes_of, "pareto")
        yield _make_frontier(ground, f"{MAIN}, {other}{STRICT}", [other], axes_of, "strict")
    if others:
        yield _make_frontier(ground, f"{MAIN}, every cutoff", [measure, *others], axes_of, "pareto")
    if ground.rules.quality_axes:
        wanted = list(ground.rules.quality_axes)
        yield _make_frontier(ground, f"{MAIN}, {' and '.join(wanted)}", wanted, axes_of, "pareto")


def _make_frontier(
    ground: StackArrays,
    name: str,
    measures: Sequence[str],
    axes: Sequence[Axis],
    dominance: Dominance,
    slo_ms: float | None = None,
) -> StackParetoFrontier:
    members = find_undominated_stacks(
        [_negate_lower_better_measures_of_stack(stack) for stack in select_stacks_with_measures(ground, *measures)],
        measures,
        axes=axes,
        dominance=dominance,
        slo_ms=slo_ms,
        cost_share=ground.rules.cost_share,
        jitter_ms=ground.measured_jitter_ms,
    )
    ordered = sorted(members, key=lambda stack: (stack.latency, stack.cost, stack.id))
    return StackParetoFrontier(
        name, " and ".join(measures), tuple(axes), dominance, tuple(stack.id for stack in ordered), slo_ms
    )


def _negate_lower_better_measures_of_stack(stack: StackCostLatencyQuality) -> StackCostLatencyQuality:
    """Turn measures round of which less is better: a frontier takes more for better."""
    lower = {name for name in stack.quality if dict(MEASURES.get(CALL.parse(name).name).facts)["direction"] == "lower"}
    if not lower:
        return stack
    quality = {name: -value if name in lower else value for name, value in stack.quality.items()}
    return replace(stack, quality=quality)


DEEP = 30


def list_best_stacks_by_scenario(ground: StackArrays) -> Iterator[ScenarioStack]:
    """List stacks of named scenarios first, then the best under each limit of the rules."""
    measure = ground.rules.measure
    stacks = select_stacks_with_measures(ground, measure)
    yield from _iterate_best_stacks_by_scenario(ground, stacks)
    words = _select_stacks_by_axis_value(ground, stacks, "mode", SPARSE)
    if words and len(words) < len(stacks):
        yield _choose_stack_for_scenario(
            "words",
            f"highest {measure} of lexical search",
            [word for word in words if _has_no_reranker(ground, word)] or words,
            measure,
        )
    yield _choose_stack_for_scenario(
        "cheapest", "lowest price, then the best quality", _find_cheapest_stacks(stacks), measure
    )
    yield ScenarioStack("fastest", "lowest time, then price", min(stacks, key=lambda s: (s.latency, s.cost, s.id)).id)
    yield _choose_stack_for_scenario("best", f"highest {measure}", stacks, measure)
    for slo in ground.rules.slos_ms:
        yield _make_scenario_under_limits(ground, stacks, f"at most {slo:g} ms", StackLimits(sla_ms=slo))
    rules = ground.rules
    if rules.sla_ms is not None and rules.sla_ms not in rules.slos_ms:
        yield _make_scenario_under_limits(
            ground, stacks, f"at most {rules.sla_ms:g} ms", StackLimits(sla_ms=rules.sla_ms)
        )
    if rules.budget is not None:
        yield _make_scenario_under_limits(
            ground, stacks, f"at most ${rules.budget:g}", StackLimits(budget=rules.budget)
        )
    if rules.target is not None:
        yield _make_scenario_under_limits(
            ground, stacks, f"at least {rules.target:g}", StackLimits(target=rules.target)
        )


def _iterate_best_stacks_by_scenario(
    ground: StackArrays, stacks: Sequence[StackCostLatencyQuality]
) -> Iterator[ScenarioStack]:
    measure = ground.rules.measure
    shallow, deep = list_axis_values(ground, "k")[0], list_axis_values(ground, "k")[-1]
    least = list_axis_values(ground, "dims")[0]
    at_30 = find_measure_at_cutoff(ground.measures, measure, DEEP) or measure
    thorough = select_stacks_with_measures(ground, at_30)
    yield _choose_stack_for_scenario(
        "base",
        f"highest {measure} with K {shallow}",
        _select_stacks_by_axis_value(ground, stacks, "k", shallow),
        measure,
    )
    yield _choose_stack_for_scenario(
        "saver", f"lowest price, then the highest {measure}", _find_cheapest_stacks(stacks), measure
    )
    yield _choose_stack_for_scenario("push", f"highest {at_30}", thorough, at_30)
    if len(list_axis_values(ground, "dims")) > 1:
        few = _select_stacks_by_axis_value(ground, thorough, "dims", least)
        yield _choose_stack_for_scenario("small", f"highest {at_30} with {least or 'all'} dimensions", few, at_30)
    if deep != shallow:
        yield _choose_stack_for_scenario(
            "highK",
            f"highest {measure} with K {deep}",
            _select_stacks_by_axis_value(ground, stacks, "k", deep),
            measure,
        )


def _select_stacks_by_axis_value(
    ground: StackArrays, stacks: Sequence[StackCostLatencyQuality], axis: str, value: object
) -> list[StackCostLatencyQuality]:
    return [stack for stack in stacks if getattr(ground.configurations[ground.place[stack.id]], axis) == value]


def _has_no_reranker(ground: StackArrays, stack: StackCostLatencyQuality) -> bool:
    return ground.configurations[ground.place[stack.id]].reranker == NONE


def _find_cheapest_stacks(stacks: Sequence[StackCostLatencyQuality]) -> list[StackCostLatencyQuality]:
    least = min(stack.cost for stack in stacks)
    # Sums of prices in another order differ by rounding.
    return [stack for stack in stacks if stack.cost <= least + 1e-9]


def _choose_stack_for_scenario(
    name: str, how: str, stacks: Sequence[StackCostLatencyQuality], measure: str
) -> ScenarioStack:
    return ScenarioStack(name, how, choose_stack(stacks, measure).nearest.id if stacks else "")


def _make_scenario_under_limits(
    ground: StackArrays, stacks: Sequence[StackCostLatencyQuality], name: str, limits: StackLimits
) -> ScenarioStack:
    """Make the scenario of what the rule takes under these limits alone."""
    choice = choose_stack(stacks, ground.rules.measure, limits, **ground.equal)
    what = "the fastest, then the cheapest" if limits.target is not None else f"highest {ground.rules.measure}"
    return ScenarioStack(name, what, choice.stack.id if choice.stack else "", choice.nearest.id)


LINKS, PART = 16, 8
"""Links of a node, and values of a part of a product code, where the name of an index does not say."""


def list_stack_summaries(ground: StackArrays) -> tuple[StackSummary, ...]:
    """List the facts of every stack, in the order of the sweep."""
    qualities = _list_qualities_of_all_stacks(ground)
    low, high = np.quantile(ground.latency_replicates, [0.025, 0.975], axis=0)
    return tuple(
        _make_stack_summary(ground, i, qualities[i], (float(low[i]), float(high[i]))) for i in range(len(ground.ids))
    )


def _list_qualities_of_all_stacks(ground: StackArrays) -> list[tuple[StackMeasureWithCeiling, ...]]:
    """List the measures of each stack, with ceilings where they were measured."""
    by_measure = []
    for measure in ground.measures:
        values = ground.estimate_column_means(ground.columns(measure))
        bounded = all(measure in row.ceiling for rows in ground.rows.values() for row in rows)
        if not bounded:
            by_measure.append([StackMeasureWithCeiling(measure, value) for value in values])
            continue
        ceilings = ground.values(ground.columns(measure, ceiling=True))
        by_measure.append([
            StackMeasureWithCeiling(measure, value, None if np.isnan(ceiling) else float(ceiling), reached)
            for value, ceiling,
            reached in zip(values, ceilings, ground.estimate_ratios_to_ceiling(measure), strict=True)
        ])  # fmt: skip
    return [tuple(qualities[i] for qualities in by_measure) for i in range(len(ground.ids))]


def _make_stack_summary(
    ground: StackArrays, i: int, quality: tuple[StackMeasureWithCeiling, ...], latency: tuple[float, float]
) -> StackSummary:
    rows = [ground.rows[name][i] for name in ground.datasets]
    times = _list_average_stage_times(rows)
    average = _average_stack_quality_over_measures(quality, ground.rules.efficiency)
    rerank = next((time.p50 for time in times if time.stage == "rerank"), 0.0)
    total = next(time.p50 for stage in (WHOLE, TOTAL) for time in times if time.stage == stage)
    parts = sorted({part for row in rows for part in row.usd})
    usd = {part: float(np.mean([row.usd.get(part, 0.0) for row in rows])) for part in parts}
    tokens, spread = (float(np.mean([row.tokens[place] for row in rows])) for place in (0, 1))
    recall = {str(k): float(np.mean([row.recall[k] for row in rows])) for k in _list_recall_cutoffs_of_all_stacks(rows)}
    return StackSummary(
        id=ground.ids[i],
        axes=asdict(ground.configurations[i]),
        cost=float(ground.cost[i]),
        latency=float(ground.latencies_of_stacks[i]),
        latency_low=latency[0],
        latency_high=latency[1],
        prompt_tokens=float(ground.rules.passages * ground.mean_passage_tokens[i]),
        tie_tokens=float(ground.candidate_tokens_for_ties[i]),
        times=tuple(times),
        together=_summarise_time_under_load(rows),
        concurrency=rows[0].times.concurrency,
        quality=quality,
        usd=usd,
        tokens=tokens,
        tokens_sd=spread,
        memory=sum_index_memory(rows),
        recall=recall,
        average=average,
        per_rerank_second=_compute_performance_per_second_or_none(average, rerank),
        per_second=_compute_performance_per_second_or_none(average, total),
        ef=_find_largest_search_width(rows)
    )  # fmt: skip


def _compute_performance_per_second_or_none(average: float | None, milliseconds: float) -> float | None:
    return compute_performance_per_second(average, milliseconds) if average is not None and milliseconds > 0 else None


def _list_average_stage_times(rows: Sequence[MeasuredStack]) -> list[StageTimePercentiles]:
    stages = [stage for stage in (*STAGES, TOTAL, GENERATE, WHOLE) if all(stage in row.times.stages for row in rows)]
    return [
        average_stage_times_over_datasets([summarise_stage_time(stage, row.times.stages[stage]) for row in rows])
        for stage in stages
    ]


def _find_largest_search_width(rows: Sequence[MeasuredStack]) -> int | None:
    """The largest search width that was found for the index over the datasets."""
    return max((row.ef for row in rows if row.ef is not None), default=None)


def _summarise_time_under_load(rows: Sequence[MeasuredStack]) -> StageTimePercentiles | None:
    """Summarise the total times with several queries in flight, where they were timed."""
    if not all(row.times.together.size for row in rows):
        return None
    return average_stage_times_over_datasets(
        [summarise_stage_time("together", row.times.together[None, :]) for row in rows]
    )


def _average_stack_quality_over_measures(
    quality: Sequence[StackMeasureWithCeiling], weights: Mapping[str, float]
) -> float | None:
    values = {q.measure: q.value.value for q in quality if q.value.value is not None}
    return average_weighted_measures(values, weights) if set(weights) <= set(values) else None


def _list_recall_cutoffs_of_all_stacks(rows: Sequence[MeasuredStack]) -> list[int]:
    return [k for k in sorted(rows[0].recall) if all(k in row.recall for row in rows)]


def sum_index_memory(rows: Sequence[MeasuredStack]) -> IndexMemory:
    """Bytes over all datasets together: by formula from the name of the index and its size, and as measured. The
    formulas are of one vector a text, so there is none for weights of terms and vectors of tokens."""
    estimates = [
        (None, None) if row.configuration.encoder.partition("?")[0].partition(":")[0] in RAGGED
        else estimate_vector_and_graph_bytes(row.configuration.index, row.index)
        for row in rows
    ]  # fmt: skip
    disks, memories = [row.index.disk_bytes for row in rows], [row.index.memory_bytes for row in rows]
    vectors, graphs = [pair[0] for pair in estimates], [pair[1] for pair in estimates]
    return IndexMemory(
        _sum_or_none(vectors),
        _sum_or_none(graphs),
        _convert_to_int_or_none(_sum_or_none(disks)),
        _convert_to_int_or_none(_sum_or_none(memories)),
    )


def estimate_vector_and_graph_bytes(index: str, facts: IndexFacts) -> tuple[float | None, float | None]:
    """Bytes of vectors (or codes with their books) and of the graph that the formulas of spec rag 3.6 give; None where
    there is none for the kind of index.

    >>> vectors, graph = estimate_vector_and_graph_bytes("hnsw-int8?m=32", IndexFacts(1000, 64, 0.0, None, None))
    >>> vectors, round(graph or 0)
    (64000, 284129)
    """
    spec = QUERY.parse(index)
    m = spec.params.get("m")
    links = m if isinstance(m, int) and not isinstance(m, bool) else None
    if spec.name in ("pq", "opq"):
        parts = links or find_nearest_divisor(facts.dim, max(1, facts.dim // PART))
        if facts.dim % parts or spec.params.get("nbits", 8) != 8:
            return None, 0.0
        return estimate_product_quantized_bytes(facts.n, facts.dim, m=parts, rotated=spec.name == "opq"), 0.0
    whole, is_small = (
        compute_stored_vector_bytes(facts.n, facts.dim),
        compute_stored_vector_bytes(facts.n, facts.dim, bytes_per_value=1),
    )
    formulas = {
        "flat": (whole, 0.0), "int8": (is_small, 0.0), "hnsw": (whole, None), "hnsw-f32": (whole, None),
        "hnsw-int8": (is_small, None)
    }  # fmt: skip
    if spec.name not in formulas:
        return None, None
    vectors, graph = formulas[spec.name]
    return vectors, compute_hnsw_graph_bytes(facts.n, m=links or LINKS) if graph is None else graph


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    parts = [value for value in values if value is not None]
    return sum(parts) if len(parts) == len(values) else None


def _convert_to_int_or_none(value: float | None) -> int | None:
    return None if value is None else int(value)


NEAR = -2.0
"""Percent that an index may lose against flat search at most."""


def measure_index_qualities(ground: StackArrays) -> Iterator[IndexVersusFlat]:
    """Measure every index but the flat one, for each encoder and number of dimensions.

    Where stacks by vectors alone were measured (dense, no reranker) it is judged on them, for other steps hide what
    it loses; else on all.
    """
    flat = next((index for index in list_axis_values(ground, "index") if index.partition("?")[0] == "flat"), None)
    if flat is None:
        return
    for encoder in list_axis_values(ground, "encoder"):
        for dims in list_axis_values(ground, "dims"):
            for index in list_axis_values(ground, "index"):
                pairs = [
                    pair for pair in pair_stacks_differing_in_axis(ground, "index", index, flat)
                    if (ground.configurations[pair[0]].encoder, ground.configurations[pair[0]].dims) == (encoder, dims)
                ]  # fmt: skip
                if index != flat and pairs:
                    yield _measure_index_quality(
                        ground, index, _keep_pairs_of_dense_only_stacks(ground, pairs) or pairs
                    )


def _keep_pairs_of_dense_only_stacks(ground: StackArrays, pairs: Pairs) -> Pairs:
    stacks = [(pair, ground.configurations[pair[0]]) for pair in pairs]
    return [pair for pair, configuration in stacks if configuration.mode == "dense" and configuration.reranker == NONE]


def _measure_index_quality(ground: StackArrays, index: str, pairs: Pairs) -> IndexVersusFlat:
    changes = {
        name: change
        for name in list_deciding_and_averaged_measures(ground)
        if (change := _compute_percent_change_of_stack_means(ground, name, pairs)) is not None
    }
    first, second = pairs[0]
    rows = [ground.rows[name][first] for name in ground.datasets]
    flat = [ground.rows[name][second] for name in ground.datasets]
    # Each index is compared with flat search of the same vectors.
    p50, p95 = _average_retrieval_p50_and_p95(ground, [i for i, _ in pairs])
    flat_p50, flat_p95 = _average_retrieval_p50_and_p95(ground, [j for _, j in pairs])
    return IndexVersusFlat(
        encoder=rows[0].configuration.encoder,
        dims=rows[0].configuration.dims,
        index=index,
        pairs=len(pairs),
        recall={str(k): float(np.mean([row.recall[k] for row in rows])) for k in rows[0].recall},
        changes=changes,
        retrieve_ms=p50,
        retrieve_ms_flat=flat_p50,
        memory=sum_index_memory(rows),
        flat_memory=sum_index_memory(flat),
        build_seconds=sum(row.index.build_seconds for row in rows),
        within=all(change >= NEAR for change in changes.values()),
        ef=_find_largest_search_width(rows),
        retrieve_p95=p95,
        retrieve_p95_flat=flat_p95,
    )


def _compute_percent_change_of_stack_means(ground: StackArrays, measure: str, pairs: Pairs) -> float | None:
    """Compute the percent by which the mean over stacks changes; None if flat has nothing to lose."""
    means = np.mean([average_columns_ignoring_nan(column) for column in ground.columns(measure).values()], axis=0)
    now, before = (float(np.mean(means[[pair[side] for pair in pairs]])) for side in (0, 1))
    return 100 * (now / before - 1) if before > 0 else None


def _average_retrieval_p50_and_p95(ground: StackArrays, places: list[int]) -> tuple[float, float]:
    """Average p50 and p95 of retrieval in ms over stacks; 0 where nothing was timed."""
    rows: list[MeasuredStack] = [ground.rows[name][i] for name in ground.datasets for i in places]
    samples = [row.times.stages["retrieve"] for row in rows if "retrieve" in row.times.stages]
    if not samples:
        return 0.0, 0.0
    # Of each stack first: pooled, a stack that was timed more often would weigh more.
    p50, p95 = (float(np.mean([compute_time_percentile(taken, at) for taken in samples])) for at in (50.0, 95.0))
    return p50, p95


RESAMPLES = 2000
PROTOCOL, TASK = "rag", "sweep"


def compute_and_write_findings(sweep: SweepMeasurements, folder: Path) -> SweepFindings:
    """Compute what the sweep says, write `sweep.json` and `tables/` into `folder`, and return it.

    The same sweep gives the same bytes. Errors as for `compute_sweep_findings`.
    """
    findings = compute_sweep_findings(sweep)
    write_tables(folder, build_sweep_tables(findings))
    write_findings(folder / FILE, findings)
    return findings


def compute_sweep_findings(sweep: SweepMeasurements, *, resamples: int = RESAMPLES) -> SweepFindings:
    """Everything the sweep says. DataError where nothing was measured; UsageError where the measure that decides is not
    among those measured."""
    measured = list(dict.fromkeys(row.dataset for row in sweep.measured))
    if not measured:
        raise DataError(
            "the sweep measured nothing", found=f"{len(sweep.skipped)} combinations, all skipped or failed",
            mend="Check why they were skipped, then run the sweep again."
        )  # fmt: skip
    blank = [name for name in measured if not _is_deciding_measure_defined(sweep, name)]
    decided = [name for name in measured if name not in blank] or measured
    scopes = [[name] for name in decided]
    if len(decided) > 1 and _has_stack_on_all_datasets(sweep, decided):
        scopes.insert(0, decided)
    jitter, measures_jitter = sweep.rules.jitter_ms, sweep.rules.jitter_ms is None
    if jitter is None:
        jitter = estimate_session_jitter([row.times.total for row in sweep.measured], sweep.rules.percentile)
    counted = jitter or 0.0 if measures_jitter else 0.0
    sweep = replace(sweep, rules=replace(sweep.rules, jitter_ms=JITTER_MS if jitter is None else jitter))
    grounds = [StackArrays(sweep, names, resamples, measured_jitter_ms=counted) for names in scopes]
    rules = {field.name: getattr(sweep.rules, field.name) for field in fields(SweepRules)}
    asked = SweepRulesPricesAndSeed(
        **rules, priced_on=sweep.priced_on, prices=dict(sweep.prices), seed=sweep.seed, resamples=resamples,
        jitter_measured=measures_jitter and jitter is not None, load=sweep.load, cores=sweep.cores
    )  # fmt: skip
    left = tuple(UnmeasuredStack(row.configuration.id, row.dataset, row.reason, row.failed) for row in sweep.skipped)
    first, *others = (
        _make_sweep_dataset_findings(ground, asked, left, summarise_generation_speed(ground, sweep.generator))
        for ground in grounds
    )
    gone = (f"{sweep.rules.measure} is undefined for every query of {name}, which is left out." for name in blank)
    if blank != measured:
        first = replace(first, notes=(*first.notes, *gone))
    return SweepFindings(
        asked, grounds[0].measures, (first, *others), left, dict(sweep.generator), asdict(sweep.counts)
    )


def summarise_generation_speed(ground: StackArrays, said: Mapping[str, Any]) -> GenerationSpeed | None:
    """How fast the generator answers, as it was timed or is assumed; None where there is none. Tokens per second are
    those of an answer beyond its first word, over the time beyond that of a first word."""
    if not said:
        return None
    if not said["model"]:
        first, rate, tokens = said["ttft_ms"], said["tokens_per_second"], said["output_tokens"]
        answer = first + 1000 * max(0, tokens - 1) / rate
        text = f"Assumed: {first:g} ms to the first token, {rate:g} tokens per second, answers of {tokens} tokens."
        return GenerationSpeed(first, rate, answer, 0, text)
    rows = [rows[0].times.stages for rows in ground.rows.values() if GENERATE in rows[0].times.stages]
    if not rows:
        return None
    whole, first, long, short = (
        np.concatenate([row[name][0] for row in rows]) for name in (GENERATE, FIRST_WORD, WRITTEN, FIRST_TOKENS)
    )
    seconds = float((whole - first).sum()) / 1000
    rate = float((long - short).sum()) / seconds if seconds > 0 and (long - short).sum() > 0 else None
    speed = "unknown tokens per second" if rate is None else f"{rate:.3g} tokens per second"
    text = (
        f"Timed with {said['model']} on {len(whole)} queries: {np.median(first):.0f} ms to the first word, {speed}, "
        f"{np.median(whole):.0f} ms per answer (medians)."
    )
    return GenerationSpeed(float(np.median(first)), rate, float(np.median(whole)), len(whole), text)


def make_findings_result_rows(findings: SweepFindings) -> list[ResultRow]:
    """Make rows of every measure, the price and the times of each stack on each dataset."""
    return [
        row for part in findings.parts for stack in part.stacks for row in _list_stack_results(findings, part, stack)
    ]


def _is_deciding_measure_defined(sweep: SweepMeasurements, dataset: str) -> bool:
    """Whether the measure that decides has a value there; where it was not measured that is said elsewhere."""
    columns = [row.quality.get(sweep.rules.measure) for row in sweep.measured if row.dataset == dataset]
    return any(values is None or not np.isnan(values).all() for values in columns)


def _has_stack_on_all_datasets(sweep: SweepMeasurements, datasets: Sequence[str]) -> bool:
    """Whether some stack is on all datasets."""
    counts = Counter(row.configuration.id for row in sweep.measured)
    return any(n == len(datasets) for n in counts.values())


def _make_sweep_dataset_findings(
    ground: StackArrays,
    asked: SweepRulesPricesAndSeed,
    left: Sequence[UnmeasuredStack],
    answers: GenerationSpeed | None,
) -> SweepDatasetFindings:
    tunings = tuple(iterate_cross_validated_fusion_choices(ground))
    recommendation = recommend_stack(ground, tunings)
    # Found once: each stack is told which frontiers it is on.
    drawn = tuple(find_tradeoff_frontiers(ground))
    shapes = [rows[0].times.total.shape for rows in ground.rows.values()]
    part = SweepDatasetFindings(
        dataset=ground.datasets[0] if len(ground.datasets) == 1 else "",
        datasets=ground.datasets,
        queries=sum(ground.queries.values()),
        timed=sum(shape[1] for shape in shapes),
        sessions=max(shape[0] for shape in shapes),
        stacks=tuple(_add_names_of_frontiers_to_stack(fact, drawn) for fact in list_stack_summaries(ground)),
        frontiers=drawn,
        recommendation=replace(recommendation, alternatives=add_texts_to_alternatives(recommendation, asked)),
        steps=tuple(list_candidate_depth_steps(ground)),
        effects=tuple(estimate_axis_effects(ground)),
        scenarios=tuple(list_best_stacks_by_scenario(ground)),
        routes=tuple(evaluate_escalation_routes(ground)),
        indexes=tuple(measure_index_qualities(ground)),
        guidance=list_all_advice(ground),
        generation=answers,
        tunings=tunings,
        unrouted=tuple(explain_unrouted_signals(ground)),
    )
    notes = tuple(list_sweep_notes(part, asked, left))
    return replace(
        part,
        verdict=make_recommended_stack_heading(part),
        lede=tuple(list_sweep_lede_sentences(part, asked)),
        notes=notes,
    )


def _add_names_of_frontiers_to_stack(stack: StackSummary, drawn: Sequence[StackParetoFrontier]) -> StackSummary:
    """Add to a stack the names of the frontiers that it is on."""
    return replace(stack, on=tuple(frontier.name for frontier in drawn if stack.id in frontier.stacks))


def _list_stack_results(findings: SweepFindings, part: SweepDatasetFindings, stack: StackSummary) -> list[ResultRow]:
    def make_stack_result(measure: str, value: float | None, n: int, low: float | None = None,
        high: float | None = None,
            method: str = "", reason: str = "") -> ResultRow:  # fmt: skip
        return ResultRow(
            PROTOCOL, TASK, part.dataset, "", "", "", stack.id, measure, value, n, low, high, method,
            findings.asked.seed, reason
        )  # fmt: skip

    method = f"95% percentile bootstrap over queries, {findings.asked.resamples} resamples"
    rows = []
    for quality in stack.quality:
        value = quality.value
        rows.append(
            make_stack_result(quality.measure, value.value, value.n, value.low, value.high, method, value.reason)
        )
        if quality.reached is not None:
            share = quality.reached
            rows.extend(
                (
                    make_stack_result(
                        f"PROC {quality.measure}",
                        quality.ceiling,
                        value.n,
                        reason="" if quality.ceiling is not None else "undefined",
                    ),
                    make_stack_result(
                        f"%PROC {quality.measure}", share.value, share.n, share.low, share.high, method, share.reason
                    ),
                )
            )
    rows.append(make_stack_result("usd_per_1000", stack.cost, part.queries))
    for time in stack.times:
        rows += [
            make_stack_result(f"{time.stage}_p50_ms", time.p50, time.samples),
            make_stack_result(f"{time.stage}_p95_ms", time.p95, time.samples),
        ]
    return rows
