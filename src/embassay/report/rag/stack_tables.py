"""The tables of a sweep's page: the frontier, steps to a larger K, routing, indexes, every stack."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.sweep.findings.record import (
    Asked,
    Findings,
    IndexQuality,
    Part,
    Route,
    StackFacts,
    Step,
)
from embassay.protocols.rag.sweep.findings.words import ms, percent, usd
from embassay.report.matrix import Entry, Line, Matrix
from embassay.report.rag.shown_frontier import Spot, shown_frontier
from embassay.report.rag.stack_entries import (
    change_entry,
    figure_entry,
    memory_entry,
    named,
    reached_entry,
    score_entry,
    time_entries,
    usd_entry,
)


def frontier_table(part: Part, asked: Asked, spots: Sequence[Spot], place: int) -> Matrix:
    """The stacks that no other one dominates, fastest first, numbered as in the plot."""
    lines = []
    for number, spot in enumerate(spots, start=1):
        one = part.stack(spot.stack)
        found = one.measured(asked.measure)
        entries = (
            *time_entries(one), usd_entry(one.cost), figure_entry(found.value if found is not None else None),
            reached_entry(one, asked.measure), Entry("; ".join(filter(None, (_said(one, part, asked), _equal(spot))))),
        )  # fmt: skip
        lines.append(Line(named(one.id, number), entries))
    columns = ("p50", "p95", "$ per 1,000", asked.measure, "%PROC", "In words")
    title = "The frontier, fastest first"
    return Matrix(f"frontier-{place}", title, "Stack", columns, tuple(lines), digits=3)


def _equal(spot: Spot) -> str:
    """Stacks of the same price, time and quality."""
    if not spot.equal:
        return ""
    return f"equal: {spot.equal[0]}" if len(spot.equal) == 1 else f"{len(spot.equal)} more are equal"


def _said(one: StackFacts, part: Part, asked: Asked) -> str:
    """Recommended, or which limit it does not keep."""
    over = []
    if asked.sla_ms is not None and one.latency > asked.sla_ms:
        over.append(f"{ms(one.latency - asked.sla_ms)} over")
    if asked.budget is not None and one.cost > asked.budget:
        over.append(f"{usd(one.cost - asked.budget)} over")
    if asked.target is not None and (one.value(asked.measure) or 0.0) < asked.target - 1e-9:
        over.append(f"{numbers.score(asked.target - (one.value(asked.measure) or 0.0))} short")
    if one.id == part.recommendation.stack:
        return "recommended"
    if over:
        return ", ".join(over)
    if one.id in part.recommendation.alike:
        return "cannot be told apart"
    return (
        "kept" if any(limit is not None for limit in (asked.sla_ms, asked.budget, asked.target)) else "worse"
    )


def scenario_table(part: Part, asked: Asked) -> Matrix:
    """The stacks that stand for ways to choose."""
    lines = []
    for one in part.scenarios:
        stack = part.stack(one.stack or one.nearest)
        found = stack.measured(asked.measure)
        words = named(stack.id) if one.stack else Markup("none; nearest {}").format(named(stack.id))
        entries = (
            Entry(words), figure_entry(found.value if found is not None else None), time_entries(stack)[0],
            usd_entry(stack.cost), Entry(one.how),
        )  # fmt: skip
        lines.append(Line(one.name, entries))
    columns = ("Stack", asked.measure, "p50", "$ per 1,000", "How it is found")
    return Matrix("sweep-scenarios", "Scenarios", "Scenario", columns, tuple(lines), digits=3, is_sorted=True)


def families(part: Part, asked: Asked) -> frozenset[str]:
    """The families that a reader may choose: of the stacks on the frontier, and of each mode and reranker the best."""
    best: dict[tuple[str, str], StackFacts] = {}
    for one in part.stacks:
        kind = (one.axes["mode"], one.axes["reranker"])
        if kind not in best or _quality(one, asked) > _quality(best[kind], asked):
            best[kind] = one
    ids = {*part.frontiers[0].stacks, *(one.id for one in best.values())}
    return frozenset(one.family for one in part.steps if one.less in ids or one.more in ids)


def _quality(one: StackFacts, asked: Asked) -> float:
    value = one.value(asked.measure)
    return -1.0 if value is None else value


def step_table(part: Part, asked: Asked) -> Matrix | None:
    """What the next larger K brings to the measure that decides, of the families on the frontier."""
    shown = families(part, asked)
    found = [one for one in part.steps if one.measure == asked.measure and one.family in shown]
    deep = {(one.less, one.more): one for one in part.steps if one.measure == _at_30(asked)}
    if not found:
        return None
    lines = tuple(_step(one, deep.get((one.less, one.more))) for one in found)
    columns = (asked.measure, _at_30(asked), "ms more", "$ more", "In words")
    return Matrix("sweep-steps", "From one K to the next", "Stack", columns, lines, digits=3)


def _at_30(asked: Asked) -> str:
    base, _, k = asked.measure.partition("@")
    return f"{base}@{10 if k == '30' else 30}"


def _step(one: Step, other: Step | None) -> Line:
    return Line(
        Markup("{}, K {} to {}").format(named(one.family), one.k, one.next_k),
        (
            figure_entry(one.gain, signed=True),
            figure_entry(other.gain if other is not None else None, signed=True),
            Entry(numbers.change(one.milliseconds, 1), exact=f"{one.milliseconds:.6g}"),
            Entry(("" if one.usd < 0 else "+") + usd(one.usd) if one.usd else "$0", exact=f"{one.usd:.6g}"),
            Entry(one.text),
        ),
    )


def route_table(part: Part, asked: Asked) -> Matrix | None:
    """Routing by each signal, where it saves something: rate, price, time, and quality against both fixed K."""
    shown = families(part, asked)
    routes = [one for one in part.routes if one.family in shown and _saves(one, asked)]
    if not routes:
        return None
    keys = list(dict.fromkeys((one.measure, one.k) for route in routes for one in route.against))
    columns = (
        "Escalated",
        "$ per 1,000",
        "Mean ms",
        *(f"@{name.partition('@')[2]} − K {k}" for name, k in keys),
    )
    lines = tuple(_route(one, keys) for one in routes)
    return Matrix(
        "sweep-routes",
        f"Routing between K 50 and K 100, {asked.measure.partition('@')[0]}",
        "Family, signal",
        columns,
        lines,
        digits=3,
    )


def _saves(one: Route, asked: Asked) -> bool:
    """Whether the large K costs or takes more than the small one: else there is nothing to save by routing."""
    return one.usd_more > one.usd_less or one.milliseconds_more - one.milliseconds_less > asked.jitter_ms


def _route(one: Route, keys: Sequence[tuple[str, int]]) -> Line:
    found = {(other.measure, other.k): other.difference for other in one.against}
    between = f"{usd(one.usd_less)}–{usd(one.usd_more)}"
    slow = f"{numbers.score(one.milliseconds_less, 1)}–{numbers.score(one.milliseconds_more, 1)}"
    return Line(
        Markup("{}, {}").format(named(one.family), one.signal),
        (
            figure_entry(one.escalated, factor=100, sign="%"),
            Entry(usd(one.usd), between, f"{one.usd:.6g}"),
            Entry(numbers.score(one.milliseconds, 1), slow, f"{one.milliseconds:.6g}"),
            *(figure_entry(found.get(key), signed=True) for key in keys),
        ),
    )


def index_table(part: Part) -> Matrix | None:
    """Every index against flat search with the same vectors."""
    if not part.indexes:
        return None
    cutoffs = list(dict.fromkeys(k for one in part.indexes for k in one.recall))
    measures = list(dict.fromkeys(name for one in part.indexes for name in one.changes))
    columns = (
        *(f"recall@{k}" for k in cutoffs), *measures, "Search", "Memory",
        "≤ 2%",
    )  # fmt: skip
    lines = tuple(_index(one, cutoffs, measures) for one in part.indexes)
    return Matrix("sweep-indexes", "Indexes against flat search", "Index", columns, lines, digits=3)


def _index(one: IndexQuality, cutoffs: Sequence[str], measures: Sequence[str]) -> Line:
    dims = "" if one.dims is None else f" {one.dims}d"
    return Line(
        f"{one.encoder}{dims} {one.index}",
        (
            *(score_entry(one.recall.get(k)) for k in cutoffs),
            *(change_entry(one.changes.get(name)) for name in measures),
            Entry(ms(one.retrieve_ms), f"flat {ms(one.retrieve_ms_flat)}", f"{one.retrieve_ms:.6g}"),
            memory_entry(one.memory),
            Entry("yes" if one.within else "no"),
        ),
    )


def every_stack(part: Part, findings: Findings, most: int) -> Matrix:
    """Every stack, the best by the measure that decides first; `most` rows of them."""
    asked = findings.asked
    ordered = sorted(part.stacks, key=lambda one: (-(one.value(asked.measure) or -1.0), one.latency, one.id))
    spots = enumerate(shown_frontier(part, asked), start=1)
    order = {id: i for i, spot in spots for id in (spot.stack, *spot.equal)}
    names = [asked.measure, *(name for name in findings.measures if name != asked.measure)][:4]
    columns = (*names, "%PROC", "p50", "p95", "$ per 1,000", "Per second", "On the frontier")
    lines = tuple(_stack(one, asked, names, order.get(one.id)) for one in ordered[:most])
    return Matrix("sweep-stacks", "Every stack, best first", "Stack", columns, lines, digits=3)


def _stack(one: StackFacts, asked: Asked, names: Sequence[str], place: int | None) -> Line:
    first, *others = names
    found = one.measured(first)
    second = one.per_second
    reached = one.measured(asked.measure)
    share = reached.reached.value if reached is not None and reached.reached is not None else None
    return Line(
        named(one.id),
        (
            figure_entry(found.value if found is not None else None),
            *(score_entry(one.value(name)) for name in others),
            Entry("n/a", why="no ceiling") if share is None else Entry(percent(share), exact=f"{100 * share:.6g}"),
            *time_entries(one),
            usd_entry(one.cost),
            Entry("n/a", why="needs measures at 10 and 30") if second is None else Entry(
                numbers.score(second, 2), exact=f"{second:.6g}"),
            Entry("no" if place is None else f"{place}"),
        ),
    )  # fmt: skip
