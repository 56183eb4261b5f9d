"""The page of a sweep: which stack to use, the frontier, what time and money buy, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from embassay.document.blocks import Table, Verdict
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.sweep.findings.record import (
    FILE,
    Advice,
    Alternative,
    Asked,
    Findings,
    Left,
    Part,
    Share,
    read_findings,
)
from embassay.protocols.rag.sweep.findings.verdict import usd
from embassay.report.board import Board
from embassay.report.rag.frontier import FrontierPlot, frontier_plot, shown_frontier
from embassay.report.rag.stacks import (
    Bars,
    Forest,
    effect_forests,
    every_stack,
    frontier_table,
    index_table,
    route_table,
    scenario_table,
    stage_bars,
    step_table,
)
from embassay.report.record import Record

STATES = {"holds": "good", "does not hold": "failed", "open": "partial"}
ALL = "All datasets"
TITLES = {
    "dims": "dimensions",
    "k": "K",
    "deduplicate": "copies",
    "chunk": "chunking",
    "rewrite": "rewriting",
}
MOST_ROWS = 300
MOST_SKIPPED = 20


@dataclass(frozen=True)
class Scope:
    """A dataset, or all together: its recommendation, plot and frontier."""

    title: str
    part: Part
    plot: FrontierPlot
    table: Table
    data: str
    certainty: tuple[tuple[str, tuple[Share, ...]], ...]


@dataclass(frozen=True)
class SweepPage:
    """The content of the page; parts that the sweep does not have are empty or None."""

    facts: tuple[str, ...]
    verdict: Verdict
    asked: Asked
    scopes: tuple[Scope, ...]
    alternatives: tuple[Alternative, ...]
    scenarios: Table
    bars: Bars
    steps: Table | None
    routes: Table | None
    effects: tuple[Forest, ...]
    indexes: Table | None
    guidance: tuple[tuple[str, Advice], ...]
    untested: tuple[str, ...]
    stacks: Table
    total: int
    left: tuple[Left, ...]
    failed: int
    skipped: tuple[Left, ...]
    more_skipped: int
    notes: tuple[str, ...]
    counted: str
    how: str


def sweep_page(record: Record, _: Board) -> SweepPage | None:
    """The page of a record; None before its findings are written. DataError where they are damaged."""
    if not (record.path / FILE).exists():
        return None
    return page_of(read_findings(record.path / FILE))


def sweep_verdict(record: Record, _: Board) -> Verdict:
    """The finding of the run in a record."""
    if not (record.path / FILE).exists():
        return Verdict(("Nothing finished yet",))
    return verdict_of(read_findings(record.path / FILE))


def verdict_of(findings: Findings) -> Verdict:
    """The sentences of the first part: over all datasets where there are several."""
    part = findings.parts[0]
    return Verdict((part.verdict,), tuple((sentence,) for sentence in part.lede))


def page_of(findings: Findings) -> SweepPage:
    """The page of a record of findings."""
    part, asked = findings.parts[0], findings.asked
    skipped = [one for one in findings.left if not one.failed]
    return SweepPage(
        facts=_facts(findings),
        verdict=verdict_of(findings),
        asked=asked,
        scopes=tuple(_scope(one, asked, i) for i, one in enumerate(findings.parts)),
        alternatives=part.recommendation.alternatives,
        scenarios=scenario_table(part, asked),
        bars=stage_bars(part, asked),
        steps=step_table(part, asked),
        routes=route_table(part, asked),
        effects=effect_forests(part, asked),
        indexes=index_table(part),
        guidance=tuple((STATES.get(one.status, ""), one) for one in part.guidance if one.status != "not tested"),
        untested=tuple(one.line for one in part.guidance if one.status == "not tested"),
        stacks=every_stack(part, findings, MOST_ROWS),
        total=len(part.stacks),
        left=findings.left,
        failed=sum(one.failed for one in findings.left),
        skipped=tuple(skipped[:MOST_SKIPPED]),
        more_skipped=max(0, len(skipped) - MOST_SKIPPED),
        notes=part.notes,
        counted=_counted(findings),
        how=f"95%, percentile bootstrap over queries, {numbers.count(asked.resamples)} resamples, seed {asked.seed}",
    )  # fmt: skip


def _scope(part: Part, asked: Asked, place: int) -> Scope:
    spots = shown_frontier(part, asked)
    order = tuple(one.stack for one in spots)
    found = part.recommendation
    stacks = () if found.share is None else (Share(found.stack, found.share), *found.runners)
    axes = dict.fromkeys(one.axis for one in found.by_axis)
    shares = [
        ("stack", stacks),
        *((TITLES.get(axis, axis), tuple(one for one in found.by_axis if one.axis == axis)) for axis in axes),
    ]
    plot = frontier_plot(part, asked, order)
    return Scope(
        part.dataset or ALL, part, plot, frontier_table(part, asked, spots, place), _data(plot, asked),
        tuple((name, some) for name, some in shares if some),
    )  # fmt: skip


def _data(plot: FrontierPlot, asked: Asked) -> str:
    """What the script chooses from again, as JSON."""
    found = {
        "rows": plot.rows, "scale": plot.scale, "target": asked.target, "jitter": asked.jitter_ms,
        "share": asked.cost_share,
        "limits": [asked.sla_ms, asked.budget], "measure": asked.measure,
    }  # fmt: skip
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _facts(findings: Findings) -> tuple[str, ...]:
    part, asked = findings.parts[0], findings.asked
    prices = ", ".join(f"{name} {usd(price)}" for name, price in sorted(asked.prices.items()) if price)
    facts = (
        "RAG sweep",
        numbers.counted(len(part.stacks), "stack"),
        " and ".join(part.datasets),
        numbers.counted(part.queries, "query"),
        f"{part.timed} timed, {numbers.counted(part.sessions, 'session')}",
        f"prices of {numbers.date(asked.priced_on)}" + (f" per million tokens: {prices}" if prices else ""),
        f"seed {asked.seed}",
    )
    return tuple(facts)


def _counted(findings: Findings) -> str:
    """What was computed, and what was found computed."""
    names = (("embedded", "text"), ("reranked", "pair"), ("built", "index"))
    words = {"embedded": "embedded", "reranked": "reranked", "built": "built"}
    parts: Sequence[str] = [
        f"{_plural(findings.counts.get(name, 0), noun)} {words[name]}, "
        f"{numbers.count(findings.counts.get(f'{name}_before', 0))} found done"
        for name, noun in names
        if findings.counts.get(name, 0) or findings.counts.get(f"{name}_before", 0)
    ]
    return "; ".join(parts)


def _plural(n: int, noun: str) -> str:
    return f"{numbers.count(n)} indexes" if noun == "index" and n != 1 else numbers.counted(n, noun)
