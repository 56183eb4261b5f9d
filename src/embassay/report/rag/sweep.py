"""The page of a sweep: which stack to use, the frontier, what time and money buy, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from embassay.document.blocks import Block, LabelledTableRow, Table, TableCell, VerdictText
from embassay.document.marks import LinearScale, draw_difference_mark, fit_axis_scale
from embassay.document.marks import format_percent_position as across
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.sweep.findings.record import (
    FILE,
    AlternativeStack,
    AxisValueEffect,
    CandidateDepthStep,
    IndexMemory,
    IndexVersusFlat,
    PaperGuidanceVerdict,
    RoutingResult,
    StackSummary,
    SweepDatasetFindings,
    SweepFindings,
    SweepRulesPricesAndSeed,
    UnmeasuredStack,
    WinShare,
    read_findings,
)
from embassay.protocols.rag.sweep.findings.sentences import (
    format_ms_difference,
    format_ms_per_query,
    format_ratio_as_percent,
    format_usd_difference,
    format_usd_per_1000_queries,
)
from embassay.protocols.rag.sweep.findings.sentences import list_sweep_claims as part_claims
from embassay.report.board import SystemBoard
from embassay.report.matrix import question_matrix_blocks
from embassay.report.rag.frontier import (
    FrontierPlot,
    FrontierRow,
    frontier_plot,
    make_outlook_table_of_undecided_stacks,
    pick_frontier_rows,
)
from embassay.report.record import RunRecord
from embassay.stats import Estimate

MIB = 2**20


def stack_id_markup(id: str, place: int | None = None) -> Markup:
    """A stack by its id, which breaks between its parts only; with its number on the frontier."""
    parts = Markup("/<wbr>").join(Markup("<span>{}</span>").format(part) for part in id.split("/"))
    return parts if place is None else Markup("{} {}").format(place, parts)


def estimate_entry(value: Estimate | None, *, signed: bool = False, factor: float = 1.0, sign: str = "") -> TableCell:
    """A figure over its interval; why there is none."""
    if value is None or value.value is None:
        return TableCell("n/a", why=value.reason if value is not None and value.reason else "not measured")
    decimals = 1 if factor == 100 else 3
    text = (numbers.format_change if signed else numbers.format_score)(value.value * factor, decimals)
    ends = () if value.low is None else value.ends
    small = "no interval"
    if ends:
        small = numbers.format_interval(ends[0] * factor, ends[1] * factor, decimals) + sign
    return TableCell(text + sign, small, ",".join(f"{end * factor:.6g}" for end in (value.value, *ends)))


def milliseconds_entry(value: float | None, few: bool = False) -> TableCell:
    """A time; `few` samples stand behind it."""
    if value is None:
        return TableCell("n/a", why="not timed")
    return TableCell(format_ms_per_query(value), "few samples" if few else "", f"{value:.6g}")


def make_price_per_1000_cell(value: float) -> TableCell:
    """A price per 1,000 queries."""
    return TableCell(format_usd_per_1000_queries(value), exact=f"{value:.6g}")


def query_time_entries(stack: StackSummary) -> tuple[TableCell, TableCell]:
    """p50 and p95 of a query."""
    total = stack.time("total")
    if total is None:
        return milliseconds_entry(None), milliseconds_entry(None)
    return milliseconds_entry(total.p50), milliseconds_entry(total.p95, total.few)


def ceiling_percent_entry(stack: StackSummary, measure: str) -> TableCell:
    """%PROC of a measure."""
    quality = stack.find_measured_quality(measure)
    return estimate_entry(quality.reached if quality is not None else None, factor=100, sign="%")


def score_entry(value: float | None) -> TableCell:
    """A score without an interval."""
    if value is None:
        return TableCell("n/a", why="not measured")
    return TableCell(numbers.format_score(value), exact=f"{value:.6g}")


def percent_change_entry(value: float | None) -> TableCell:
    """A change in percent."""
    if value is None:
        return TableCell("n/a", why="flat search finds nothing")
    return TableCell(f"{numbers.format_change(value, 1)}%", exact=f"{value:.6g}")


def make_index_memory_cell(memory: IndexMemory) -> TableCell:
    """What was measured over what the formula says."""
    parts = (memory.vectors, memory.graph)
    formula = None if None in parts else sum(value or 0.0 for value in parts)
    small = "" if formula is None else f"formula {_format_bytes(formula)}"
    if memory.memory is None:
        return TableCell("n/a", small, why="not reported by the index")
    return TableCell(_format_bytes(memory.memory), small, f"{memory.memory}")


def _format_bytes(value: float) -> str:
    """Bytes, in the unit that suits them."""
    unit, name = (MIB, "MiB") if value >= MIB / 10 else (1024, "KiB")
    return f"{numbers.format_score(value / unit, 1)} {name}"


def frontier_table(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, spots: Sequence[FrontierRow], place: int
) -> Table:
    """The stacks that no other one dominates, fastest first, numbered as in the plot."""
    lines = []
    for number, spot in enumerate(spots, start=1):
        stack = part.stack(spot.stack)
        quality = stack.find_measured_quality(asked.measure)
        entries = (
            *query_time_entries(stack),
            make_price_per_1000_cell(stack.cost),
            estimate_entry(quality.value if quality is not None else None),
            ceiling_percent_entry(stack, asked.measure),
            TableCell(
                "; ".join(
                    filter(
                        None, (_describe_recommended_or_over_limit(stack, part, asked), _describe_equal_stacks(spot))
                    )
                )
            ),
        )
        lines.append(LabelledTableRow(stack_id_markup(stack.id, number), entries))
    columns = ("p50", "p95", "$ per 1,000", asked.measure, "%PROC", "In words")
    title = "The frontier, fastest first"
    return Table(f"frontier-{place}", title, "Stack", columns, tuple(lines), digits=3)


def _describe_equal_stacks(spot: FrontierRow) -> str:
    """Stacks of the same price, time and quality."""
    if not spot.equal:
        return ""
    return f"equal: {spot.equal[0]}" if len(spot.equal) == 1 else f"{len(spot.equal)} more are equal"


def _describe_recommended_or_over_limit(
    stack: StackSummary, part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed
) -> str:
    """Recommended, or which limit it does not keep."""
    over = []
    if asked.sla_ms is not None and stack.latency > asked.sla_ms:
        over.append(f"{format_ms_per_query(stack.latency - asked.sla_ms)} over")
    if asked.budget is not None and stack.cost > asked.budget:
        over.append(f"{format_usd_per_1000_queries(stack.cost - asked.budget)} over")
    if asked.target is not None and (stack.value(asked.measure) or 0.0) < asked.target - 1e-9:
        over.append(f"{numbers.format_score(asked.target - (stack.value(asked.measure) or 0.0))} short")
    if stack.id == part.recommendation.stack:
        return "recommended"
    if over:
        return ", ".join(over)
    if stack.id in part.recommendation.alike:
        return "cannot be told apart"
    return (
        "within limits" if any(limit is not None for limit in (asked.sla_ms, asked.budget, asked.target)) else "worse"
    )


def choice_scenarios_table(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Table:
    """The stacks that stand for ways to choose."""
    lines = []
    for scenario in part.scenarios:
        stack = part.stack(scenario.stack or scenario.nearest)
        quality = stack.find_measured_quality(asked.measure)
        words = (
            stack_id_markup(stack.id)
            if scenario.stack
            else Markup("none; nearest {}").format(stack_id_markup(stack.id))
        )
        entries = (
            TableCell(words), estimate_entry(quality.value if quality is not None else None),
            *query_time_entries(stack),
            make_price_per_1000_cell(stack.cost), TableCell(scenario.how)
        )  # fmt: skip
        lines.append(LabelledTableRow(scenario.name, entries))
    columns = ("Stack", asked.measure, "p50", "p95", "$ per 1,000", "How it is found")
    return Table("sweep-scenarios", "Scenarios", "Scenario", columns, tuple(lines), digits=3, is_sortable=False)


def list_selectable_families(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> frozenset[str]:
    """The families that a reader may choose: of the stacks on the frontier, and of each mode and reranker the best."""
    best: dict[tuple[str, str], StackSummary] = {}
    for stack in part.stacks:
        kind = (stack.axes["mode"], stack.axes["reranker"])
        if kind not in best or _quality_sort_key(stack, asked) > _quality_sort_key(best[kind], asked):
            best[kind] = stack
    ids = {*part.frontiers[0].stacks, *(facts.id for facts in best.values())}
    return frozenset(step.family for step in part.steps if step.less in ids or step.more in ids)


def _quality_sort_key(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> float:
    value = stack.value(asked.measure)
    return -1.0 if value is None else value


def larger_k_gain_table(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Table | None:
    """What the next larger K brings to the measure that decides, of the families on the frontier."""
    shown = list_selectable_families(part, asked)
    steps = [step for step in part.steps if step.measure == asked.measure and step.family in shown]
    deep = {(step.less, step.more): step for step in part.steps if step.measure == _switch_measure_cutoff(asked)}
    if not steps:
        return None
    lines = tuple(_make_larger_k_gain_row(step, deep.get((step.less, step.more))) for step in steps)
    columns = (asked.measure, _switch_measure_cutoff(asked), "ms more", "$ more", "In words")
    return Table("sweep-steps", "From each K to the next", "Stack", columns, lines, digits=3)


def _switch_measure_cutoff(asked: SweepRulesPricesAndSeed) -> str:
    base, _, k = asked.measure.partition("@")
    return f"{base}@{10 if k == '30' else 30}"


def _make_larger_k_gain_row(one: CandidateDepthStep, other: CandidateDepthStep | None) -> LabelledTableRow:
    return LabelledTableRow(
        Markup("{}, K {} to {}").format(stack_id_markup(one.family), one.k, one.next_k),
        (
            estimate_entry(one.gain, signed=True),
            estimate_entry(other.gain if other is not None else None, signed=True),
            TableCell(numbers.format_change(one.milliseconds, 1), exact=f"{one.milliseconds:.6g}"),
            TableCell(
                ("" if one.usd < 0 else "+") + format_usd_per_1000_queries(one.usd) if one.usd else "$0",
                exact=f"{one.usd:.6g}",
            ),
            TableCell(one.text),
        ),
    )


def make_routing_savings_table(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Table | None:
    """Routing by each signal, where it saves something: rate, price, time, and quality against both fixed K."""
    shown = list_selectable_families(part, asked)
    routes = [route for route in part.routes if route.family in shown and _can_routing_save(route, asked)]
    if not routes:
        return None
    keys = list(dict.fromkeys((against.measure, against.k) for route in routes for against in route.against))
    columns = ("Escalated", "$ per 1,000", "Mean ms", *(f"@{name.partition('@')[2]} − K {k}" for name, k in keys))
    lines = tuple(_routing_line(route, keys) for route in routes)
    return Table(
        "sweep-routes",
        f"Routing between K 50 and K 100, {asked.measure.partition('@')[0]}",
        "Family, signal",
        columns,
        lines,
        digits=3,
        note=f"Without a row: {'; '.join(part.unrouted)}." if part.unrouted else "",
    )


def _can_routing_save(route: RoutingResult, asked: SweepRulesPricesAndSeed) -> bool:
    """Whether the large K costs or takes more than the small one: else there is nothing to save by routing."""
    return route.usd_more > route.usd_less or route.milliseconds_more - route.milliseconds_less > asked.jitter_ms


def _routing_line(route: RoutingResult, keys: Sequence[tuple[str, int]]) -> LabelledTableRow:
    deltas = {(other.measure, other.k): other.difference for other in route.against}
    between = f"{format_usd_per_1000_queries(route.usd_less)}–{format_usd_per_1000_queries(route.usd_more)}"
    slow = f"{numbers.format_score(route.milliseconds_less, 1)}–{numbers.format_score(route.milliseconds_more, 1)}"
    return LabelledTableRow(
        Markup("{}, {}").format(stack_id_markup(route.family), route.signal),
        (
            estimate_entry(route.escalated, factor=100, sign="%"),
            TableCell(format_usd_per_1000_queries(route.usd), between, f"{route.usd:.6g}"),
            TableCell(numbers.format_score(route.milliseconds, 1), slow, f"{route.milliseconds:.6g}"),
            *(estimate_entry(deltas.get(key), signed=True) for key in keys),
        ),
    )


def index_comparison_table(part: SweepDatasetFindings) -> Table | None:
    """Every index against flat search with the same vectors."""
    if not part.indexes:
        return None
    cutoffs = list(dict.fromkeys(k for index in part.indexes for k in index.recall))
    measures = list(dict.fromkeys(name for index in part.indexes for name in index.changes))
    columns = (
        *(f"recall@{k}" for k in cutoffs), *measures, "Search, p50", "p95", "Memory", "≤ 2%"
    )  # fmt: skip
    lines = tuple(_make_index_versus_flat_row(index, cutoffs, measures) for index in part.indexes)
    return Table("sweep-indexes", "Indexes against flat search", "Index", columns, lines, digits=3)


def _make_index_versus_flat_row(
    quality: IndexVersusFlat, cutoffs: Sequence[str], measures: Sequence[str]
) -> LabelledTableRow:
    dims = "" if quality.dims is None else f" {quality.dims}d"
    return LabelledTableRow(
        f"{quality.encoder}{dims} {quality.index}",
        (
            *(score_entry(quality.recall.get(k)) for k in cutoffs),
            *(percent_change_entry(quality.changes.get(name)) for name in measures),
            TableCell(
                format_ms_per_query(quality.retrieve_ms),
                f"flat {format_ms_per_query(quality.retrieve_ms_flat)}",
                f"{quality.retrieve_ms:.6g}",
            ),
            milliseconds_entry(quality.retrieve_p95),
            make_index_memory_cell(quality.memory),
            TableCell("yes" if quality.within else "no"),
        ),
    )


def all_stacks_table(part: SweepDatasetFindings, findings: SweepFindings, most: int) -> Table:
    """Every stack, the best by the measure that decides first; `most` rows of them."""
    asked = findings.asked
    ordered = sorted(part.stacks, key=lambda stack: (-(stack.value(asked.measure) or -1.0), stack.latency, stack.id))
    spots = enumerate(pick_frontier_rows(part, asked), start=1)
    order = {id: i for i, spot in spots for id in (spot.stack, *spot.equal)}
    names = [asked.measure, *(name for name in findings.measures if name != asked.measure)][:4]
    columns = (*names, "%PROC", "p50", "p95", "$ per 1,000", "Per second", "On the frontier")
    lines = tuple(_make_stack_table_row(stack, asked, names, order.get(stack.id)) for stack in ordered[:most])
    return Table("sweep-stacks", "Every stack, best first", "Stack", columns, lines, digits=3)


def _make_stack_table_row(
    stack: StackSummary, asked: SweepRulesPricesAndSeed, names: Sequence[str], place: int | None
) -> LabelledTableRow:
    first, *others = names
    quality = stack.find_measured_quality(first)
    second = stack.per_second
    reached = stack.find_measured_quality(asked.measure)
    share = reached.reached.value if reached is not None and reached.reached is not None else None
    return LabelledTableRow(
        stack_id_markup(stack.id),
        (
            estimate_entry(quality.value if quality is not None else None),
            *(score_entry(stack.value(name)) for name in others),
            TableCell("n/a", why="no ceiling") if share is None else TableCell(format_ratio_as_percent(share),
                                                                       exact=f"{100 * share:.6g}"),
            *query_time_entries(stack),
            make_price_per_1000_cell(stack.cost),
            TableCell("n/a", why="needs measures at 10 and 30") if second is None else TableCell(
                numbers.format_score(second, 2), exact=f"{second:.6g}"),
            TableCell("no" if place is None else f"{place}"),
        )
    )  # fmt: skip


SHADES = {"embed": "q2", "retrieve": "q3", "fuse": "q4", "rerank": "q5"}
MOST = 12


@dataclass(frozen=True)
class StackTimeBar:
    """A stack: its number on the frontier, the bar, and its stages in words."""

    place: int
    stack: Markup
    mark: Markup
    total: str
    p95: str
    stages: str


@dataclass(frozen=True)
class StackTimeBarChart:
    """The bars of the frontier, on one scale from 0; `more` stacks have none."""

    rows: tuple[StackTimeBar, ...]
    scale: LinearScale
    more: int


def draw_stage_bars(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> StackTimeBarChart:
    """p50 by stage of the stacks on the frontier, and of the recommended one."""
    order = [spot.stack for spot in pick_frontier_rows(part, asked)]
    chosen = part.recommendation.stack
    # The recommended stack is shown however far down it stands.
    shown = [id for i, id in enumerate(order) if i < MOST or id == chosen]
    stacks = [part.stack(id) for id in shown]
    sums = [sum(time.p50 for time in stack.times if time.stage in SHADES) for stack in stacks]
    scale = fit_axis_scale([0.0, *sums], within=(0.0, float("inf")))
    rows = (_draw_stack_stage_bar(order.index(stack.id) + 1, stack, scale) for stack in stacks)
    return StackTimeBarChart(tuple(rows), scale, len(order) - len(shown))


def _draw_stack_stage_bar(place: int, stack: StackSummary, scale: LinearScale) -> StackTimeBar:
    stages = [time for time in stack.times if time.stage in SHADES]
    rects, start = [], 0.0
    for time in stages:
        width = scale.at(time.p50)
        rects.append(f'<rect class="{SHADES[time.stage]}" x="{across(start)}" width="{across(width)}" height="100%"/>')
        start += width
    total = stack.time("total")
    words = ", ".join(f"{time.stage} {format_ms_per_query(time.p50)}" for time in stages)
    mark = Markup(f'<svg class="stack" aria-hidden="true">{"".join(rects)}</svg>')
    return StackTimeBar(
        place,
        stack_id_markup(stack.id),
        mark,
        format_ms_per_query(total.p50) if total else "",
        format_ms_per_query(total.p95) if total else "",
        words,
    )


@dataclass(frozen=True)
class AxisEffectRow:
    """A value of an axis against another: the drawing, the figures, and what it takes."""

    label: str
    mark: Markup
    change: str
    interval: str
    exact: str
    takes: str
    pairs: int


@dataclass(frozen=True)
class MeasureEffectForest:
    """A forest plot of what every axis does to one measure."""

    title: str
    id: str
    scale: LinearScale
    rows: tuple[AxisEffectRow, ...]


def make_effect_forests_by_measure(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed
) -> tuple[MeasureEffectForest, ...]:
    """A forest for each measure, that which decides first."""
    measures = list(dict.fromkeys(effect.measure for effect in part.effects))
    return tuple(
        _make_measure_effect_forest(name, i, [effect for effect in part.effects if effect.measure == name], asked)
        for i, name in enumerate(measures)
    )


def _make_measure_effect_forest(
    measure: str, place: int, effects: Sequence[AxisValueEffect], asked: SweepRulesPricesAndSeed
) -> MeasureEffectForest:
    valued = [effect for effect in effects if effect.quality.value is not None]
    ends = [
        end
        for effect in valued
        for end in (effect.quality.value, effect.quality.low, effect.quality.high)
        if end is not None
    ]
    scale = fit_axis_scale([*ends, 0.0], within=None)
    return MeasureEffectForest(
        measure, f"effects-{place}", scale, tuple(_make_axis_effect_row(effect, scale, asked) for effect in valued)
    )


def _make_axis_effect_row(effect: AxisValueEffect, scale: LinearScale, asked: SweepRulesPricesAndSeed) -> AxisEffectRow:
    value, low, high = effect.quality.value or 0.0, effect.quality.low, effect.quality.high
    ends = (low, high) if low is not None and high is not None else ()
    milliseconds = effect.milliseconds.value or 0.0
    time = "within jitter" if abs(milliseconds) <= asked.jitter_ms else format_ms_difference(milliseconds)
    return AxisEffectRow(
        f"{effect.value} − {effect.other}",
        draw_difference_mark(low, value, high, "embedding", scale),
        numbers.format_change(value),
        numbers.format_interval(*ends) if ends else "no interval",
        ",".join(f"{number:.6g}" for number in (value, *ends)),
        f"{time} ({numbers.format_change(milliseconds, 1)} ms), {format_usd_difference(effect.usd)}",
        effect.pairs,
    )


STATES = {"holds": "good", "does not hold": "failed", "open": "partial"}
ALL = "All datasets"
TITLES = {"dims": "dimensions", "k": "K", "deduplicate": "copies", "chunk": "chunking", "rewrite": "rewriting"}
MOST_ROWS = 300
MOST_SKIPPED = 20


@dataclass(frozen=True)
class SweepDatasetSection:
    """The part of a sweep on one dataset, or on all: its recommendation, plot and frontier."""

    title: str
    part: SweepDatasetFindings
    plot: FrontierPlot
    table: Table
    data: str
    certainty: tuple[tuple[str, tuple[WinShare, ...]], ...]


@dataclass(frozen=True)
class SweepPage:
    """The content of the page; parts that the sweep does not have are empty or None."""

    facts: tuple[str, ...]
    verdict: VerdictText
    asked: SweepRulesPricesAndSeed
    scopes: tuple[SweepDatasetSection, ...]
    alternatives: tuple[AlternativeStack, ...]
    undecided: Table | None
    scenarios: Table
    bars: StackTimeBarChart
    steps: Table | None
    routes: Table | None
    effects: tuple[MeasureEffectForest, ...]
    indexes: Table | None
    guidance: tuple[tuple[str, PaperGuidanceVerdict], ...]
    untested: tuple[str, ...]
    stacks: Table
    total: int
    left: tuple[UnmeasuredStack, ...]
    failed: int
    skipped: tuple[UnmeasuredStack, ...]
    more_skipped: int
    notes: tuple[str, ...]
    counted: str
    how: str
    matrix: tuple[Block, ...] = ()
    """Questions by stacks."""


def read_sweep_page(record: RunRecord, _: SystemBoard) -> SweepPage | None:
    """The page of a record; None before its findings are written. DataError where they are damaged."""
    if not (record.path / FILE).exists():
        return None
    return replace(
        make_sweep_page(read_findings(record.path / FILE)), matrix=tuple(question_matrix_blocks(record.path))
    )


def sweep_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """The verdict on the sweep in a record."""
    if not (record.path / FILE).exists():
        return VerdictText(("Nothing finished yet",))
    return describe_sweep_verdict(read_findings(record.path / FILE))


def describe_sweep_verdict(findings: SweepFindings) -> VerdictText:
    """Describe a sweep's verdict, over all datasets where there are several."""
    part = findings.parts[0]
    claims = tuple(part_claims(part, findings.asked))
    return VerdictText((part.verdict,), tuple((sentence,) for sentence in part.lede), claims)


def make_sweep_page(findings: SweepFindings) -> SweepPage:
    """The page of a record of findings."""
    part, asked = findings.parts[0], findings.asked
    skipped = [left for left in findings.left if not left.failed]
    return SweepPage(
        facts=_sweep_facts(findings),
        verdict=describe_sweep_verdict(findings),
        asked=asked,
        scopes=tuple(_make_sweep_dataset_section(part, asked, i) for i, part in enumerate(findings.parts)),
        alternatives=part.recommendation.alternatives,
        undecided=make_outlook_table_of_undecided_stacks(part),
        scenarios=choice_scenarios_table(part, asked),
        bars=draw_stage_bars(part, asked),
        steps=larger_k_gain_table(part, asked),
        routes=make_routing_savings_table(part, asked),
        effects=make_effect_forests_by_measure(part, asked),
        indexes=index_comparison_table(part),
        guidance=tuple(
            (STATES.get(advice.status, ""), advice) for advice in part.guidance if advice.status != "not tested"
        ),
        untested=tuple(advice.line for advice in part.guidance if advice.status == "not tested"),
        stacks=all_stacks_table(part, findings, MOST_ROWS),
        total=len(part.stacks),
        left=findings.left,
        failed=sum(left.failed for left in findings.left),
        skipped=tuple(skipped[:MOST_SKIPPED]),
        more_skipped=max(0, len(skipped) - MOST_SKIPPED),
        notes=part.notes,
        counted=_describe_computed_and_reused_counts(findings),
        how=(
            f"95%, percentile bootstrap over queries, {numbers.format_count(asked.resamples)} resamples, seed "
            f"{asked.seed}"
        ),
    )


def _make_sweep_dataset_section(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, place: int
) -> SweepDatasetSection:
    spots = pick_frontier_rows(part, asked)
    order = tuple(spot.stack for spot in spots)
    recommendation = part.recommendation
    stacks = (
        ()
        if recommendation.share is None
        else (WinShare(recommendation.stack, recommendation.share), *recommendation.runners)
    )
    axes = dict.fromkeys(share.axis for share in recommendation.by_axis)
    shares = [
        ("stack", stacks),
        *(
            (TITLES.get(axis, axis), tuple(share for share in recommendation.by_axis if share.axis == axis))
            for axis in axes
        ),
    ]
    plot = frontier_plot(part, asked, order)
    return SweepDatasetSection(
        part.dataset or ALL, part, plot, frontier_table(part, asked, spots, place), _pack_plot_data(plot, asked),
        tuple((name, kept) for name, kept in shares if kept)
    )  # fmt: skip


def _pack_plot_data(plot: FrontierPlot, asked: SweepRulesPricesAndSeed) -> str:
    """Pack the plot's data as JSON, from which the script chooses again."""
    fields = {
        "rows": plot.rows, "scale": plot.scale, "target": asked.target, "jitter": asked.jitter_ms,
        "share": asked.cost_share,
        "limits": [asked.sla_ms, asked.budget], "measure": asked.measure
    }  # fmt: skip
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _sweep_facts(findings: SweepFindings) -> tuple[str, ...]:
    part, asked = findings.parts[0], findings.asked
    prices = ", ".join(
        f"{name} {format_usd_per_1000_queries(price)}" for name, price in sorted(asked.prices.items()) if price
    )
    facts = (
        "RAG sweep",
        numbers.format_noun_count(len(part.stacks), "stack"),
        " and ".join(part.datasets),
        numbers.format_noun_count(part.queries, "query"),
        f"{part.timed} timed, {numbers.format_noun_count(part.sessions, 'session')}",
        f"prices as of {numbers.format_date(asked.priced_on)}" + (f", per million tokens: {prices}" if prices else ""),
        f"seed {asked.seed}",
    )
    return tuple(facts)


def _describe_computed_and_reused_counts(findings: SweepFindings) -> str:
    """What was computed, and what was found computed."""
    names = (("embedded", "text"), ("reranked", "pair"), ("built", "index"))
    words = {"embedded": "embedded", "reranked": "reranked", "built": "built"}
    parts: Sequence[str] = [
        f"{_format_noun_count(findings.counts.get(name, 0), noun)} {words[name]}, "
        f"{numbers.format_count(findings.counts.get(f'{name}_before', 0))} already done"
        for name, noun in names
        if findings.counts.get(name, 0) or findings.counts.get(f"{name}_before", 0)
    ]
    return "; ".join(parts)


def _format_noun_count(n: int, noun: str) -> str:
    return f"{numbers.format_count(n)} indexes" if noun == "index" and n != 1 else numbers.format_noun_count(n, noun)
