"""The frontier of a sweep: which stacks people see, as a table on a terminal, and as a plot of time against quality.

Coordinates are percent across and pixels down, so that text keeps its size. The same places are given to the script,
which chooses again when a reader gives other limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from markupsafe import Markup, escape

from embassay.document.blocks import (
    Block,
    CautionNotes,
    ParagraphBlock,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    make_number_columns,
)
from embassay.document.marks import LinearScale, LogTimeScale, fit_axis_scale, fit_log_scale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.sweep.findings.record import (
    StackSummary,
    SweepDatasetFindings,
    SweepFindings,
    SweepRulesPricesAndSeed,
)
from embassay.protocols.rag.sweep.findings.sentences import (
    format_ms_per_query,
    format_ratio_as_percent,
    format_usd_per_1000_queries,
)
from embassay.protocols.rag.tradeoffs import ROUNDING
from embassay.report.cards.findings import SystemFinding, make_finding
from embassay.report.notes import UndecidedDifference, undecided_outlook_table
from embassay.report.runs import ReportRun, read_sweep_findings
from embassay.report.terminal import say_where_report_is


@dataclass(frozen=True)
class FrontierRow:
    """A row of the frontier: the stack that stands for it, and those that equal it in all three."""

    stack: str
    equal: tuple[str, ...] = ()


def pick_frontier_rows(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> tuple[FrontierRow, ...]:
    """The rows of the main frontier, fastest first, and among them the recommended stack where a smaller prompt took it
    off the frontier. For equal ones stands the recommended one, else that of the smallest K: they differ in what these
    queries never reach."""
    chosen = part.recommendation.stack
    ids = dict.fromkeys([*part.frontiers[0].stacks, *([chosen] if chosen else [])])
    groups: list[list[StackSummary]] = []
    for stack in sorted((part.stack(id) for id in ids), key=lambda one: (one.latency, one.cost, one.id)):
        same = next((group for group in groups if _is_equal_stack(group[0], stack, asked)), None)
        if same is None:
            groups.append([stack])
        else:
            same.append(stack)
    spots = []
    for group in groups:
        first, *others = sorted(group, key=lambda stack: (stack.id != chosen, stack.axes["k"], stack.id))
        spots.append(FrontierRow(first.id, tuple(stack.id for stack in others)))
    return tuple(spots)


def _is_equal_stack(a: StackSummary, other: StackSummary, asked: SweepRulesPricesAndSeed) -> bool:
    pairs = (
        (a.cost, other.cost),
        (a.latency, other.latency),
        (a.value(asked.measure) or 0.0, other.value(asked.measure) or 0.0),
    )
    return all(abs(a - b) <= ROUNDING for a, b in pairs)


RECOMMENDED = "* is the recommended stack."
UNBEATEN = "No stack on the frontier is beaten on price, time and quality at once."
OFF = "It is not on the frontier, because the rule treats times within the jitter as equal."
FEW = 12
"""So many stacks of the frontier are shown unless all are asked for; the recommended one always is."""


def make_outlook_table_of_undecided_stacks(
    part: SweepDatasetFindings, labels: float = 0.0, price: float | None = None
) -> Table | None:
    """What more queries would achieve for the named stacks that cannot be told apart from the recommended one in
    quality; a
    query takes so many `labels`, 0 where that is not known. None where there are none."""
    opens = {
        alternative.stack: UndecidedDifference(
            alternative.stack, value, (high - low) / 2, alternative.quality.n, labels=labels
        )
        for alternative in (*part.recommendation.alternatives, *part.recommendation.undecided)
        if (value := alternative.quality.value) is not None
        and (low := alternative.quality.low) is not None
        and (high := alternative.quality.high) is not None
        and low <= 0 <= high > low
    }
    measure = part.recommendation.measure
    title = (
        f"What more queries would achieve: the chance of distinguishing a stack's {measure} from the recommended one's"
    )
    table = undecided_outlook_table(title, "Queries", [*opens.values()], price=price, chance="Chance")
    return replace(table, id="sweep-next") if opens else None


def iterate_system_strengths_in_sweep(run: ReportRun, system: str) -> Iterator[SystemFinding]:
    """Find a system's strength in a sweep: that the recommended stack is made of it."""
    findings = read_sweep_findings(run)
    if findings is None or not findings.parts[0].recommendation.stack:
        return
    part = findings.parts[0]
    stack = part.stack(part.recommendation.stack)
    if system in stack.axes.values():
        quality = _format_stack_quality(stack, findings.asked.measure)
        yield make_finding(
            run, f"is in the recommended stack, {stack.id}: {findings.asked.measure} {quality}", weight=2.5
        )


def sweep_view(
    findings: SweepFindings, run: Path, wide: bool = False, labels: float = 0.0, price: float | None = None
) -> Iterator[Block]:
    """A sweep: verdict, frontier, what more queries would buy (of so many `labels` each, at a `price`), notes and
    paths."""
    part = findings.parts[0]
    yield VerdictText((part.verdict,), tuple((sentence,) for sentence in part.lede))
    spots = pick_frontier_rows(part, findings.asked)
    shown = _pick_shown_stacks(part, [spot.stack for spot in spots], wide)
    titles = (f"{findings.asked.measure}, 95%", "p50", "$/1,000", "p95", "%PROC")
    rows = (_frontier_table_row(part, findings, id, place) for place, id in shown)
    yield Table.of("frontier", ("Frontier, fastest first", *make_number_columns(*titles)), rows)
    if (table := make_outlook_table_of_undecided_stacks(part, labels, price)) is not None:
        yield ParagraphBlock(f"{table.title}:")
        yield table
    equal = sum(len(spot.equal) for spot in spots)
    signs = tuple(_explain_frontier_signs(part))
    yield CautionNotes(tuple(_frontier_notes(findings, len(spots) - len(shown), equal, wide)), more=signs)
    yield from say_where_report_is(run, "tables")


def _explain_frontier_signs(part: SweepDatasetFindings) -> Iterator[str]:
    """What the star means, and what it is to be on the frontier."""
    chosen = part.recommendation.stack
    if not chosen:
        return
    off = "" if chosen in part.frontiers[0].stacks else f" {OFF}"
    yield f"{RECOMMENDED}{off} {UNBEATEN}"


def _pick_shown_stacks(part: SweepDatasetFindings, order: Sequence[str], wide: bool) -> list[tuple[int, str]]:
    """The stacks with their places: all, or the best of them, which wait longest, and the recommended one."""
    placed = list(enumerate(order, start=1))
    if wide or len(placed) <= FEW:
        return placed
    best = {id for _, id in placed[-FEW:]} | {part.recommendation.stack}
    return [spot for spot in placed if spot[1] in best]


def _frontier_table_row(part: SweepDatasetFindings, findings: SweepFindings, id: str, place: int) -> list[TableCell]:
    stack, chosen = part.stack(id), id == part.recommendation.stack
    total, mark = stack.time("total"), "*" if chosen else ""
    times = ("n/a", "n/a") if total is None else (format_ms_per_query(total.p50), format_ms_per_query(total.p95))
    cells = (
        f"{place}{mark} {id}", _format_stack_quality(stack, findings.asked.measure), times[0],
        format_usd_per_1000_queries(stack.cost), times[1],
        _format_quality_share_reached(stack, findings.asked.measure)
    )  # fmt: skip
    return [TableCell((StyledWords(cell, "b"),) if chosen else cell) for cell in cells]


def _format_stack_quality(stack: StackSummary, measure: str) -> str:
    quality = stack.find_measured_quality(measure)
    if quality is None or quality.value.value is None:
        return "n/a"
    value, text = quality.value, numbers.format_score(quality.value.value)
    return text if value.low is None else f"{text} {numbers.format_interval(*value.ends)}"


def _format_quality_share_reached(stack: StackSummary, measure: str) -> str:
    quality = stack.find_measured_quality(measure)
    share = quality.reached.value if quality is not None and quality.reached is not None else None
    return "n/a" if share is None else format_ratio_as_percent(share)


def _frontier_notes(findings: SweepFindings, hidden: int, equal: int, wide: bool) -> Iterator[str]:
    part = findings.parts[0]
    if hidden:
        yield f"{numbers.format_noun_count(hidden, 'faster stack')} on the frontier: --wide shows them."
    if equal:
        more = numbers.format_noun_count(equal, "more stack")
        yield f"{more} on the frontier, with the same price, time and quality as one of these."
    yield from (alternative.text for alternative in part.recommendation.alternatives if alternative.text)
    for other in findings.parts[1:]:
        recommendation = other.recommendation
        share = (
            ""
            if recommendation.share is None
            else f", in {numbers.format_percent(recommendation.share)} of the resamples"
        )
        yield f"On {other.dataset} alone: {other.verdict}{share}."
    yield from part.notes
    tested = [advice for advice in part.guidance if advice.status != "not tested"]
    if wide:
        yield from (f"{advice.line}: {advice.text}" for advice in tested)
    elif tested:
        yield say_paper_recommendations_held(part)
    asked = findings.asked
    how = f"{numbers.format_count(asked.resamples)} resamples, seed {asked.seed}"
    yield f"Intervals: percentile bootstrap over queries, {how}."


STATES = {
    "holds": ("holds here", "hold here"),
    "does not hold": ("fails here", "fail here"),
    "open": ("is undecided", "are undecided"),
    "not tested": ("is untested", "are untested")
}  # fmt: skip
"""What became of one recommendation of the paper, and of several."""


def say_paper_recommendations_held(part: SweepDatasetFindings) -> str:
    """How many of the paper's recommendations hold here."""
    counts = {state: sum(advice.status == state for advice in part.guidance) for state in STATES}
    words = [f"{n} {STATES[state][n > 1]}" for state, n in counts.items() if n]
    return f"Of the paper's {numbers.format_noun_count(len(part.guidance), 'recommendation')}, {', '.join(words)}."


HEIGHT, TOP = 280, 20
LEFT, WIDE = 7.0, 90.0
"""Percent of the figure: where the plot begins, and how wide it is."""
PIXELS = 7.0
"""Pixels of a percent across, about: to see which numbers would stand on each other."""
NEAR, CLEAR = 15.0, 17.0
"""Pixels between the middles of two numbers, and of a number and the ring."""
MOVES = ((0, -9), (0, 20), (12, 5), (-12, 5))
"""Where a number may stand beside its point: pixels across and down."""


RINGED = ((0, -14), (0, 25), (17, 5), (-17, 5))
"""The same where that would be in the ring of the recommended one."""


@dataclass(frozen=True)
class FrontierPlot:
    """The drawing, what it says, and what the script needs: of each stack (as ties are decided) its id, price, time,
    quality, place, number among the points and prompt; the scale."""

    svg: Markup
    summary: str
    rows: tuple[tuple[str, float, float, float, float, float, int, float], ...]
    scale: tuple[float, float, float, float]


def frontier_plot(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, order: Sequence[str]) -> FrontierPlot:
    """The plot of a part; `order` are the stacks of its table, numbered from 1."""
    valued = [stack for stack in part.stacks if stack.value(asked.measure) is not None]
    shown = [stack for stack in valued if stack.id in order]
    x = fit_log_scale([end for stack in valued for end in (stack.latency, _stack_p95_latency(stack))])
    y = fit_axis_scale(
        [_stack_quality(stack, asked) for stack in valued]
        + [end for stack in shown for end in _collect_quality_ends(stack, asked)]
    )
    ties = sorted(valued, key=lambda stack: (stack.tie_tokens, stack.cost, stack.latency, stack.id))
    # What is on a frontier is drawn last, over the rings.
    drawn = sorted(ties, key=lambda stack: ("latency" in stack.on, part.frontiers[0].name in stack.on))
    parts = [
        _draw_time_limits(part, asked, x), _draw_chart_gridlines(x, y, asked), _draw_frontier_steps(part, asked, x, y),
        _draw_interval_whiskers(shown, asked, x, y),
        *(_draw_stack_point(stack, part, asked, x, y) for stack in drawn),
        _draw_point_numbers_as_svg(part, asked, order, x, y),
        _draw_recommended_ring(part, asked, x, y)
    ]  # fmt: skip
    rows = tuple((*_list_plot_values_of_stack(ty, asked, x, y), drawn.index(ty), ty.tie_tokens) for ty in ties)
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 64}">{"".join(parts)}</svg>')
    return FrontierPlot(svg, _summarize_frontier_plot(part, asked), rows, (x.low, x.high, LEFT, WIDE))


def _list_plot_values_of_stack(
    stack: StackSummary, asked: SweepRulesPricesAndSeed, x: LogTimeScale, y: LinearScale
) -> tuple[str, float, float, float, float, float]:
    quality = _stack_quality(stack, asked)
    return (
        stack.id,
        round(stack.cost, 6),
        round(stack.latency, 4),
        round(quality, 9),
        _stack_x_position(stack, x),
        _chart_y_position(y, quality),
    )


def _stack_quality(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> float:
    return stack.value(asked.measure) or 0.0


def _stack_p95_latency(stack: StackSummary) -> float:
    total = stack.time("total")
    return stack.latency if total is None else max(total.p95, stack.latency)


def _collect_quality_ends(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> list[float]:
    quality = stack.find_measured_quality(asked.measure)
    ends = () if quality is None else (quality.value.low, quality.value.high)
    return [end for end in ends if end is not None]


def _stack_x_position(stack: StackSummary, x: LogTimeScale) -> float:
    return round(_chart_x_position(x, stack.latency), 2)


def _chart_x_position(x: LogTimeScale, value: float) -> float:
    return LEFT + WIDE * x.at(value) / 100


def _chart_y_position(y: LinearScale, value: float) -> float:
    return round(TOP + (100 - y.at(value)) / 100 * HEIGHT, 1)


def _draw_chart_gridlines(x: LogTimeScale, y: LinearScale, asked: SweepRulesPricesAndSeed) -> str:
    right, bottom = LEFT + WIDE, TOP + HEIGHT
    rows = "".join(
        f'<line class="g" x1="{LEFT:g}%" x2="{right:g}%" '
        f'y1="{_chart_y_position(y, tick)}" y2="{_chart_y_position(y, tick)}"/>'
        f'<text x="{LEFT - 1:g}%" y="{_chart_y_position(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.tick_values
    )
    columns = "".join(
        f'<text x="{_chart_x_position(x, tick):.2f}%" y="{bottom + 20}" text-anchor="middle">{tick:,.10g}</text>'
        for tick in x.tick_values
    )
    name = f"p{asked.percentile:g} of a query, ms (log)"
    return (
        f'{rows}{columns}<text x="{LEFT + WIDE / 2:g}%" y="{bottom + 40}" text-anchor="middle">{name}</text>'
        f'<text x="0" y="11">{escape(asked.measure)}</text>'
    )


def _draw_time_limits(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, x: LogTimeScale) -> str:
    """The times over the limit as ground, and what is within jitter of the recommended point."""
    right, recommendation = LEFT + WIDE, part.recommendation
    start = right if asked.sla_ms is None else _chart_x_position(x, asked.sla_ms)
    shade = f'<rect class="shade" x="{start:.2f}%" width="{right - start:.2f}%" y="{TOP}" height="{HEIGHT}"/>'
    if not recommendation.stack:
        return shade
    middle = part.stack(recommendation.stack).latency
    low, high = (_chart_x_position(x, middle + step) for step in (-asked.jitter_ms, asked.jitter_ms))
    band = f'<rect class="band" x="{low:.2f}%" width="{high - low:.2f}%" y="{TOP}" height="{HEIGHT}"/>'
    return band + shade


def _draw_frontier_steps(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, x: LogTimeScale, y: LinearScale
) -> str:
    """The frontier by time: level until the next point, then up."""
    frontier = part.find_frontier_by_name("latency")
    stacks = [part.stack(id) for id in frontier.stacks] if frontier is not None else []
    spots = [(_stack_x_position(stack, x), _chart_y_position(y, _stack_quality(stack, asked))) for stack in stacks]
    if not spots:
        return ""
    lines = [(*a, b[0], a[1]) for a, b in pairwise(spots)] + [(b[0], a[1], *b) for a, b in pairwise(spots)]
    lines.append((*spots[-1], LEFT + WIDE, spots[-1][1]))
    return "".join(f'<line class="s1" x1="{a}%" y1="{b}" x2="{c}%" y2="{d}"/>' for a, b, c, d in lines)


def _draw_interval_whiskers(
    shown: Sequence[StackSummary], asked: SweepRulesPricesAndSeed, x: LogTimeScale, y: LinearScale
) -> str:
    """Draw the intervals of the numbered points, and the way from the drawn percentile to p95."""
    parts = []
    for stack in shown:
        at, down = _stack_x_position(stack, x), _chart_y_position(y, _stack_quality(stack, asked))
        parts.append(
            f'<line class="o" x1="{at}%" x2="{_chart_x_position(x, _stack_p95_latency(stack)):.2f}%" '
            f'y1="{down}" y2="{down}"/>'
        )
        if ends := _collect_quality_ends(stack, asked):
            low, high = (_chart_y_position(y, end) for end in ends)
            parts.append(f'<line class="o" x1="{at}%" x2="{at}%" y1="{low}" y2="{high}"/>')
    return "".join(parts)


def _draw_stack_point(
    stack: StackSummary, part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, x: LogTimeScale, y: LinearScale
) -> str:
    """Draw a stack's point: filled on the frontier by time, hollow for its price, else a grey ring."""
    on = "e" if "latency" in stack.on else "w" if part.frontiers[0].name in stack.on else "ring"
    over = " over" if (asked.budget is not None and stack.cost > asked.budget) else ""
    quality = numbers.format_score(_stack_quality(stack, asked))
    title = f"{stack.id}: {quality}, {format_ms_per_query(stack.latency)}, {format_usd_per_1000_queries(stack.cost)}"
    at, down = _stack_x_position(stack, x), _chart_y_position(y, _stack_quality(stack, asked))
    place = f'cx="{at}%" cy="{down}" r="{4 if on == "ring" else 5}"'
    return f'<circle class="pt {on}{over}" {place}><title>{escape(title)}</title></circle>'


def _draw_point_numbers_as_svg(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, order: Sequence[str], x: LogTimeScale, y: LinearScale
) -> str:
    """Draw beside each point its place in the table, where there is room."""
    spots = [
        (_stack_x_position(stack, x), _chart_y_position(y, _stack_quality(stack, asked)))
        for stack in (part.stack(id) for id in order)
    ]
    picked = part.stack(part.recommendation.stack or part.recommendation.nearest)
    ring = (_stack_x_position(picked, x) * PIXELS, _chart_y_position(y, _stack_quality(picked, asked)))
    taken: list[tuple[float, float]] = []
    parts = []
    for place, (across, down) in enumerate(spots, start=1):
        for right, under in (*MOVES, *RINGED):
            spot = (across * PIXELS + right, down + under - 5)
            if math.dist(spot, ring) >= CLEAR and all(math.dist(spot, other) >= NEAR for other in taken):
                taken.append(spot)
                place_at = f'x="{across}%" dx="{right}" y="{down + under:g}"'
                parts.append(f'<text class="name" {place_at} text-anchor="middle">{place}</text>')
                break
    return "".join(parts)


def _draw_recommended_ring(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, x: LogTimeScale, y: LinearScale
) -> str:
    """A ring around the recommended point, or the nearest where none keeps the limits."""
    stack = part.stack(part.recommendation.stack or part.recommendation.nearest)
    at, down = _stack_x_position(stack, x), _chart_y_position(y, _stack_quality(stack, asked))
    return f'<circle class="pick" cx="{at}%" cy="{down}" r="10"/>'


def _summarize_frontier_plot(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> str:
    """What the plot shows: the ends of the frontier, and how many stacks lie below it."""
    on = sorted((part.stack(id) for id in part.frontiers[0].stacks), key=lambda stack: (stack.latency, stack.id))
    first, last = on[0], on[-1]
    dominated = len(part.stacks) - len(on)
    return (
        f"{numbers.format_noun_count(len(on), 'stack')} on the frontier, from {format_ms_per_query(first.latency)} "
        f"with {asked.measure} {numbers.format_score(_stack_quality(first, asked))} to "
        f"{format_ms_per_query(last.latency)} with {numbers.format_score(_stack_quality(last, asked))}; "
        f"{numbers.format_noun_count(dominated, 'stack')} dominated."
    )
