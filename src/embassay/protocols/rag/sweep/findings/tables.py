"""The tables of a sweep: those that the source numbers (spec rag 9), by its numbers, and ours by words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, starmap
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    interval_columns,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
)
from embassay.protocols.rag.sweep.findings.record import (
    IndexVersusFlat,
    StackSummary,
    SweepDatasetFindings,
    SweepFindings,
    WinShare,
)
from embassay.protocols.rag.sweep.stacks import GENERATE, NONE, SPARSE, WHOLE
from embassay.stats import Estimate


class SweepTableRow(NamedTuple):
    """A stack of a part, or something else that was found there (`of`); `place` is its rank."""

    part: SweepDatasetFindings
    stack: StackSummary | None = None
    of: Any = None
    place: int = 0


Pick = Callable[[StackSummary], bool]
ENDS = ("95% low", "95% high")
DATASET = text("Dataset", lambda row: row.part.dataset or "all")
AXES = (
    text("Encoder", "stack.axes.encoder"), whole_number_column("Dimensions", "stack.axes.dims"),
    text("Index", "stack.axes.index"),
    whole_number_column("K", "stack.axes.k"), text("Reranker", "stack.axes.reranker"),
    text("Mode", "stack.axes.mode")
)  # fmt: skip
STACK = (DATASET, text("Stack", "stack.id"), *AXES)
MEMORY = (
    whole_number_column("Vector bytes, formula", "stack.memory.vectors"),
    whole_number_column("Graph bytes, formula", "stack.memory.graph"),
    whole_number_column("Disk bytes", "stack.memory.disk"),
    whole_number_column("Memory bytes", "stack.memory.memory")
)  # fmt: skip


def _make_stage_time_column(stage: str, title: str, figure: str = "p50", decimals: int = 1) -> ComputedColumn:
    """Make a column of a figure of the time of a stage."""
    return number_column(title, figure, decimals).within(lambda row: row.stack and row.stack.time(stage))


def _make_stage_percentile_columns(stage: str, title: str) -> tuple[ComputedColumn, ComputedColumn]:
    """Make the columns of p50 of a stage, under its title, and p95."""
    return _make_stage_time_column(stage, f"{title} ms"), _make_stage_time_column(stage, f"{title} p95 ms", "p95")


def _make_measure_columns(
    findings: SweepFindings, find: str = "value.value", prefix: str = ""
) -> Iterator[ComputedColumn]:
    """A column for each measure."""
    for measure in findings.measures:
        yield number_column(prefix + measure, find, 3).within(_make_quality_getter(measure))


def _make_quality_getter(measure: str) -> Callable[[SweepTableRow], Any]:
    return lambda row: row.stack and row.stack.find_measured_quality(measure)


def _make_price_time_and_measure_columns(findings: SweepFindings) -> tuple[ComputedColumn, ...]:
    """Make the fields of price, times and every measure."""
    return (
        number_column("USD per 1,000", "stack.cost"), _make_stage_time_column("total", "p50 ms"),
        _make_stage_time_column("total", "p95 ms", "p95"),
        _make_stage_time_column("total", "n", "samples", 0), *_make_measure_columns(findings)
    )  # fmt: skip


def _make_difference_columns(find: str, title: str) -> tuple[ComputedColumn, ...]:
    return interval_columns(find, (title, *ENDS), "signed", 3, 1)


def _is_reranked(stack: StackSummary) -> bool:
    """Say whether a reranker orders the stack's candidates."""
    return bool(stack.axes["reranker"] != NONE)


def _make_axis_filter(**axes: Any) -> Pick:
    """Make a filter of stacks that have these values of axes."""
    return lambda stack: all(stack.axes[axis] == value for axis, value in axes.items())


def _list_stack_rows(findings: SweepFindings, pick: Pick) -> list[SweepTableRow]:
    return [SweepTableRow(part, stack) for part in findings.parts for stack in part.stacks if pick(stack)]


def _list_rows_of_sweep_parts(
    findings: SweepFindings, list_items: Callable[[SweepDatasetFindings], Iterable[Any]]
) -> Iterator[SweepTableRow]:
    for part in findings.parts:
        yield from (SweepTableRow(part, of=item) for item in list_items(part))


def _list_ranked_stack_rows(
    findings: SweepFindings, pick: Pick, order: Callable[[StackSummary], Any], measure: str = ""
) -> Iterator[SweepTableRow]:
    """List the stacks of each part in an order, with their places and quality by the measure."""
    for part in findings.parts:
        ranked = sorted(filter(pick, part.stacks), key=order)
        yield from (
            SweepTableRow(part, stack, stack.find_measured_quality(measure), place)
            for place, stack in enumerate(ranked, 1)
        )


def _build_unnumbered_tables(findings: SweepFindings) -> Iterator[ColumnTable]:
    """`rag_stacks`, `rag_frontier`, `rag_alternatives`, `rag_shares`, `rag_steps`, `rag_effects`, `rag_routing`,
    `rag_guidance` and `rag_left_out`."""
    yield _build_stacks_table(findings)
    yield _build_frontiers_table(findings)
    yield _build_alternatives_table(findings)
    yield _build_win_shares_table(findings)
    yield _build_larger_k_gain_table(findings)
    yield _build_axis_effects_table(findings)
    if any(part.tunings for part in findings.parts):
        yield _build_table_of_chosen_fusions(findings)
    yield _make_routing_findings_table(findings)
    yield _build_guidance_table(findings)
    yield _build_left_out_stacks_table(findings)


def _build_stacks_table(findings: SweepFindings) -> ColumnTable:
    parts = sorted({name for part in findings.parts for stack in part.stacks for name in stack.usd})
    return ColumnTable.of(
        "rag_stacks", "Every stack", _list_stack_rows(findings, _make_axis_filter()), *STACK,
        *_make_price_time_and_measure_columns(findings),
        *(number_column(f"USD {name}", ("stack", "usd", name), 4) for name in parts),
        number_column("AvgPerf", "stack.average", 3),
        whole_number_column("At once", lambda row: row.stack.together and row.stack.concurrency),
        number_column("p50 ms at once", "stack.together.p50", 1),
        number_column("p95 ms at once", "stack.together.p95", 1),
        *MEMORY, text("Frontiers", lambda row: "; ".join(row.stack.on)),
        note=("USD per 1,000 queries, by part; the generator's cost does not affect the choice. Bytes cover "
            "all datasets.")
    )  # fmt: skip


def _build_frontiers_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_frontier", "Frontiers", _list_frontier_rows(findings), text("Frontier", "of.name"),
        text("Measure", "of.measure"), *STACK, *_make_price_time_and_measure_columns(findings)
    )  # fmt: skip


def _list_frontier_rows(findings: SweepFindings) -> Iterator[SweepTableRow]:
    for part in findings.parts:
        for frontier in part.frontiers:
            yield from (SweepTableRow(part, part.stack(id), frontier) for id in frontier.stacks)


def _build_alternatives_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_alternatives", "Other choices minus the recommended stack",
        _list_rows_of_sweep_parts(findings, attrgetter("recommendation.alternatives")),
        DATASET, text("Recommended", "part.recommendation.stack"), text("Other", "of.kind"), text("Stack", "of.stack"),
        *_make_difference_columns("of.quality", "Quality"), number_column("ms", "of.milliseconds", 1, "signed"),
        number_column("USD per 1,000", "of.usd", 4, "signed")
    )  # fmt: skip


def _build_win_shares_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_shares", "How often each stack wins", _list_rows_of_sweep_parts(findings, _list_win_shares), DATASET,
        text("Axis", lambda row: row.of.axis or "stack"), text("Winner", "of.name"),
        number_column("Share", "of.share", 3),
        note=f"Share of {findings.asked.resamples} resamples of queries and timed queries."
    )  # fmt: skip


def _list_win_shares(part: SweepDatasetFindings) -> Iterator[WinShare]:
    """List the win shares, that of the recommended stack first."""
    recommendation = part.recommendation
    if recommendation.share is not None:
        yield WinShare(recommendation.stack, recommendation.share)
    yield from (*recommendation.runners, *recommendation.by_axis)


def _build_larger_k_gain_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_steps", "What a larger K gains", _list_rows_of_sweep_parts(findings, attrgetter("steps")), DATASET,
        text("Family", "of.family"), whole_number_column("K", "of.k"),
        whole_number_column("Next K", "of.next_k"), text("Measure", "of.measure"),
        *_make_difference_columns("of.gain", "Gain"), number_column("ms more", "of.milliseconds", 1, "signed"),
        number_column("p95 ms more", "of.p95", 1, "signed"),
        number_column("USD more", "of.usd", 4, "signed"),
        number_column("Per ms", "of.per_ms", 7, "signed"), text("Kind", "of.kind")
    )  # fmt: skip


def _build_table_of_chosen_fusions(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_fusions", "Fusions chosen on some questions and tested on others",
        _list_rows_of_sweep_parts(findings, attrgetter("tunings")), DATASET, text("Stack", "of.stack"),
        whole_number_column("Fusions", lambda row: len(row.of.fusions)), text("Best", "of.chosen"),
        number_column("On the questions used to choose it", "of.best", 3),
        number_column("On others", "of.honest", 3),
        number_column("Optimism", "of.tuning_optimism", 3), *_make_difference_columns("of.gain", "Gain over the first"),
        make_percentage_point_column("% of folds", "of.picked"), whole_number_column("n", "of.questions"),
        text("Verdict", "of.verdict")
    )  # fmt: skip


def _build_axis_effects_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_effects", "What each axis changes, all else equal",
        _list_rows_of_sweep_parts(findings, attrgetter("effects")), DATASET,
        text("Axis", "of.axis"), text("Value", "of.value"), text("Less", "of.other"),
        whole_number_column("Pairs", "of.pairs"),
        text("Measure", "of.measure"), *_make_difference_columns("of.quality", "Difference"),
        number_column("ms", "of.milliseconds.value", 1, "signed"),
        number_column("p95 ms", "of.p95", 1, "signed"),
        number_column("USD", "of.usd", 4, "signed")
    )  # fmt: skip


def _make_routing_findings_table(findings: SweepFindings) -> ColumnTable:
    rows = list(_list_rows_of_sweep_parts(findings, attrgetter("routes")))
    lacking = dict.fromkeys(reason for part in findings.parts for reason in part.unrouted)
    note = f"Without a row: {'; '.join(lacking)}." if lacking else ""
    depths = dict.fromkeys((against.measure, against.k) for row in rows for against in row.of.against)
    return ColumnTable.of(
        "rag_routing", "Routing between K 50 and K 100", rows, DATASET, text("Family", "of.family"),
        text("Signal", "of.signal"), whole_number_column("Queries", "of.evaluated"),
        number_column("Escalated", "of.escalated.value", 3),
        number_column("USD", "of.usd"), number_column("USD at 50", "of.usd_less"),
        number_column("USD at 100", "of.usd_more"),
        number_column("Mean ms", "of.milliseconds", 1), number_column("ms at 50", "of.milliseconds_less", 1),
        number_column("ms at 100", "of.milliseconds_more", 1),
        *chain.from_iterable(starmap(_make_routing_contrast_fields, depths)),
        note=note
    )  # fmt: skip


def _make_routing_contrast_fields(measure: str, k: int) -> Iterator[ComputedColumn]:
    """Make the fields of the quality of routing less that of a fixed K."""

    def difference(row: SweepTableRow) -> Estimate:
        differences: dict[tuple[str, int], Estimate] = {
            (against.measure, against.k): against.difference for against in row.of.against
        }
        return differences[measure, k]

    titles = {f"{measure} minus K {k}": "value", f"low ({measure}, {k})": "low", f"high ({measure}, {k})": "high"}
    for title, end in titles.items():
        yield number_column(title, end, 3, "signed").within(difference)


def _build_guidance_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_guidance", "The paper's advice", _list_rows_of_sweep_parts(findings, attrgetter("guidance")), DATASET,
        text("Advice", "of.line"), text("On this data", "of.status"), text("Why", "of.text")
    )  # fmt: skip


def _build_left_out_stacks_table(findings: SweepFindings) -> ColumnTable:
    return ColumnTable.of(
        "rag_left_out", "Combinations that were not measured", findings.left, text("Dataset", "dataset"),
        text("Stack", "configuration"), text("State", lambda left: "failed" if left.failed else "skipped"),
        text("Reason", "reason")
    )  # fmt: skip


def _build_index_quality_table(findings: SweepFindings) -> ColumnTable:
    """Build table 7: each index against the flat one with the same vectors."""
    rows = list(_list_rows_of_sweep_parts(findings, attrgetter("indexes")))
    cutoffs = dict.fromkeys(k for row in rows for k in row.of.recall)
    measures = dict.fromkeys(name for row in rows for name in row.of.changes)
    recall = [number_column(f"recall@{k}", ("of", "recall", k), 3) for k in cutoffs]
    changes = [number_column(f"{name} %", ("of", "changes", name), 1, "signed") for name in measures]
    has_ef = any(row.of.ef is not None for row in rows)
    return ColumnTable.of(
        "rag_table7", "Approximate search and quantisation", rows, DATASET, text("Encoder", "of.encoder"),
        whole_number_column("Dimensions", "of.dims"), text("Index", "of.index"), *recall, *changes,
        number_column("Retrieve ms", "of.retrieve_ms"), number_column("Retrieve p95 ms", "of.retrieve_p95"),
        number_column("Flat ms", "of.retrieve_ms_flat"), number_column("Flat p95 ms", "of.retrieve_p95_flat"),
        number_column("Retrieve %", lambda row: _compute_index_percent_slower(row.of), 1, "signed"),
        whole_number_column("Memory bytes", "of.memory.memory"),
        whole_number_column("Estimated bytes", lambda row: _estimate_index_bytes(row.of)),
        number_column("Build s", "of.build_seconds", 1),
        text("Within 2%", lambda row: "yes" if row.of.within else "no"),
        *[whole_number_column("ef found", "of.ef")] * has_ef,
        note="Percent changes are relative to the flat index with the same vectors."
    )  # fmt: skip


def _compute_index_percent_slower(index: IndexVersusFlat) -> float | None:
    """Than the flat index."""
    flat = index.retrieve_ms_flat
    return 100 * (index.retrieve_ms / flat - 1) if flat > 0 else None


def _estimate_index_bytes(index: IndexVersusFlat) -> float | None:
    vectors, graph = index.memory.vectors, index.memory.graph
    return None if vectors is None or graph is None else vectors + graph


def _build_stack_choice_scenarios_table(findings: SweepFindings) -> ColumnTable:
    """Build table 8: the stacks that stand for ways to choose."""
    return ColumnTable.of(
        "rag_table8", "Scenarios", _list_scenario_rows(findings), text("Scenario", "of.name"), text("How", "of.how"),
        DATASET, text("Stack", lambda row: row.stack.id if row.stack else f"none; nearest: {row.of.nearest}"), *AXES,
        *_make_price_time_and_measure_columns(findings)
    )  # fmt: skip


def _list_scenario_rows(findings: SweepFindings) -> Iterator[SweepTableRow]:
    for part in findings.parts:
        for scenario in part.scenarios:
            yield SweepTableRow(part, part.stack(scenario.stack) if scenario.stack else None, scenario)


def _build_reranking_efficiency_table(findings: SweepFindings) -> ColumnTable:
    """Build table 9: AvgPerf over the seconds of reranking and of the whole query."""

    def efficiency_sort_key(stack: StackSummary) -> tuple[float, float, str]:
        return -(stack.per_rerank_second or 0.0), -(stack.per_second or 0.0), stack.id

    answered = any(stack.time(WHOLE) for part in findings.parts for stack in part.stacks)
    answer = (
        (*_make_stage_percentile_columns(GENERATE, "Answer"), *_make_stage_percentile_columns(WHOLE, "End to end"))
        if answered
        else ()
    )
    weights = ", ".join(f"{name} x {weight:g}" for name, weight in findings.asked.efficiency.items())
    return ColumnTable.of(
        "rag_table9", "Efficiency",
        _list_ranked_stack_rows(findings, lambda stack: stack.average is not None, efficiency_sort_key),
        whole_number_column("Rank", "place"), *STACK, number_column("AvgPerf", "stack.average", 3),
        number_column("Per second of reranking", "stack.per_rerank_second", 3),
        *_make_stage_percentile_columns("rerank", "Rerank"),
        number_column("Per second", "stack.per_second", 3), *_make_stage_percentile_columns("total", "Total"), *answer,
        note=(f"AvgPerf is the mean of {weights}. Use AvgPerf per second (p50) only to shortlist: it does not show how "
            "good a stack is.")
    )  # fmt: skip


def _build_tokens_per_candidate_table(findings: SweepFindings) -> ColumnTable:
    """Build table 14: tokens of one candidate: query, passage and metadata."""
    return ColumnTable.of(
        "rag_table14", "Tokens per candidate", _list_stack_rows(findings, _is_reranked), *STACK,
        number_column("Tokens per candidate", "stack.tokens", 1), number_column("SD", "stack.tokens_sd", 1)
    )  # fmt: skip


def _build_reranking_times_table(findings: SweepFindings, table: int, name: str) -> ColumnTable:
    """Build tables 15 and 16: times of one reranker, all K."""

    def is_timed_with_reranker(stack: StackSummary) -> bool:
        return bool(stack.axes["reranker"] == name) and stack.time("rerank") is not None

    return ColumnTable.of(
        f"rag_table{table}", f"Time of {name} by K", _list_stack_rows(findings, is_timed_with_reranker), *STACK,
        _make_stage_time_column("rerank", "Rerank p50 ms"), _make_stage_time_column("rerank", "Rerank p95 ms", "p95"),
        _make_stage_time_column("rerank", "n", "samples", 0)
    )  # fmt: skip


def build_sweep_tables(findings: SweepFindings) -> Iterator[ColumnTable]:
    """Build every table that has rows; numbered ones hold what the source's do, of this sweep."""
    every = [*_build_numbered_tables(findings), *_build_unnumbered_tables(findings)]
    yield from (table for table in every if table.rows)


def _build_numbered_tables(findings: SweepFindings) -> Iterator[ColumnTable]:
    yield _build_stack_quality_and_time_table(
        findings, "table1", "Dense search alone", _make_axis_filter(mode="dense", reranker=NONE)
    )
    yield _build_best_stack_by_reranker_table(findings)
    yield _build_stack_quality_and_time_table(
        findings, "sparse", "Lexical search alone", _make_axis_filter(mode=SPARSE, reranker=NONE)
    )
    yield _build_ceilings_table(findings, 3, "Ceilings (PROC) of hybrid pools", _make_axis_filter(mode="hybrid"))
    yield _build_ceiling_share_table(findings)
    for table, cutoff in ((5, 10), (6, 30)):
        yield _build_leaderboard_table(findings, table, cutoff)
    yield _build_index_quality_table(findings)
    yield _build_stack_choice_scenarios_table(findings)
    yield _build_reranking_efficiency_table(findings)
    yield _build_tokens_per_candidate_table(findings)
    strong, lite = find_dearest_and_cheapest_reranker(findings)
    for table, name in ((15, strong), (16, lite)):
        if name:
            yield _build_reranking_times_table(findings, table, name)
    for i, k in enumerate(_list_sweep_candidate_depths(findings)[:4]):
        if lite:
            yield _build_stack_quality_and_time_table(
                findings, f"table{17 + i}", f"{lite}, K {k}", _make_axis_filter(reranker=lite, k=k)
            )
        title = f"Ceilings (PROC) of dense pools, K {k}"
        yield _build_ceilings_table(findings, 21 + i, title, _make_axis_filter(mode="dense", reranker=NONE, k=k))


def _list_sweep_candidate_depths(findings: SweepFindings) -> list[int]:
    """Every K of the sweep, ascending."""
    return sorted({stack.axes["k"] for stack in findings.parts[0].stacks})


def find_dearest_and_cheapest_reranker(findings: SweepFindings) -> tuple[str, str]:
    """The dearest reranker, and the cheapest where there are several; empty where there is none."""
    prices: dict[str, float] = {}
    for stack in filter(_is_reranked, findings.parts[0].stacks):
        name, price = stack.axes["reranker"], stack.usd.get("rerank", 0.0) / max(1, stack.axes["k"])
        prices[name] = max(prices.get(name, 0.0), price)
    ordered = sorted(prices, key=lambda name: (-prices[name], name))
    return (ordered[0] if ordered else ""), (ordered[-1] if len(ordered) > 1 else "")


def _build_stack_quality_and_time_table(findings: SweepFindings, name: str, title: str, pick: Pick) -> ColumnTable:
    return ColumnTable.of(
        f"rag_{name}", title, _list_stack_rows(findings, pick), *STACK, *_make_measure_columns(findings),
        *_make_stage_percentile_columns("embed", "Embed"),
        *_make_stage_percentile_columns("retrieve", "Retrieve"), *_make_stage_percentile_columns("total", "Total"),
        note="Times in ms: p50 and p95."
    )  # fmt: skip


def _build_best_stack_by_reranker_table(findings: SweepFindings) -> ColumnTable:
    """Tabulate of each mode and reranker the best stack by the measure that decides."""
    measure = findings.asked.measure
    values: dict[Any, float] = {}
    best: dict[Any, SweepTableRow] = {}
    for part in findings.parts:
        for stack in part.stacks:
            key, value = (part.dataset, stack.axes["mode"], stack.axes["reranker"]), stack.value(measure)
            if value is not None and value > values.get(key, -inf):
                values[key], best[key] = value, SweepTableRow(part, stack)
    title = f"The best stack of each mode and reranker by {measure}"
    return ColumnTable.of("rag_table2", title, best.values(), *STACK, *_make_price_time_and_measure_columns(findings))


def _build_ceilings_table(findings: SweepFindings, table: int, title: str, pick: Pick) -> ColumnTable:
    def has_ceiling(stack: StackSummary) -> bool:
        return any(quality.ceiling is not None for quality in stack.quality)

    rows = _list_stack_rows(findings, lambda stack: pick(stack) and has_ceiling(stack))
    return ColumnTable.of(
        f"rag_table{table}", title, rows, *STACK, *_make_measure_columns(findings, "ceiling", "PROC ")
    )


def _build_ceiling_share_table(findings: SweepFindings) -> ColumnTable:
    """Build the table of actual, PROC and %PROC of frontier stacks and the recommended one."""
    return ColumnTable.of(
        "rag_table4", "Actual, PROC and %PROC on the frontier", _list_ceiling_share_rows(findings), *STACK,
        text("Measure", "of.measure"), number_column("Actual", "of.value.value", 3),
        number_column("PROC", "of.ceiling", 3),
        *interval_columns("of.reached", ("%PROC", *ENDS))
    )  # fmt: skip


def _list_ceiling_share_rows(findings: SweepFindings) -> Iterator[SweepTableRow]:
    for part in findings.parts:
        main = {*part.frontiers[0].stacks, part.recommendation.stack}
        for stack in part.stacks:
            for quality in stack.quality if stack.id in main else ():
                if quality.reached is not None:
                    yield SweepTableRow(part, stack, quality)


def _build_leaderboard_table(findings: SweepFindings, table: int, cutoff: int) -> ColumnTable:
    measure = f"{findings.asked.measure.partition('@')[0]}@{cutoff}"

    def leaderboard_sort_key(stack: StackSummary) -> tuple[float, float, str]:
        return -(stack.value(measure) or 0.0), stack.latency, stack.id

    rows = _list_ranked_stack_rows(
        findings, lambda stack: stack.value(measure) is not None, leaderboard_sort_key, measure
    )
    return ColumnTable.of(
        f"rag_table{table}", f"Leaderboard by {measure}", rows, whole_number_column("Rank", "place"), *STACK,
        *interval_columns("of.value", (measure, *ENDS), "number", 3, 1), number_column("PROC", "of.ceiling", 3),
        make_percentage_point_column("%PROC", "of.reached.value"),
        note="Rows are ordered by mean; neighbours with overlapping intervals may not differ."
    )  # fmt: skip
