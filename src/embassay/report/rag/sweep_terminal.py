"""A sweep on a terminal: which stack to use, the frontier as one table, other choices and notes, where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.protocols.rag.sweep.findings.record import Findings, Part, StackFacts
from embassay.protocols.rag.sweep.findings.words import ms, percent, usd
from embassay.report.rag.shown_frontier import shown_frontier
from embassay.report.textual import Column, folded, notes_below, render_table

if TYPE_CHECKING:
    from rich.text import Text

Cells = list["str | Text"]
RECOMMENDED = (
    "* is the recommended stack. No stack on the frontier is beaten on price, time and quality at once."
)
FEW = 12
"""So many stacks of the frontier are shown unless all are asked for; the recommended one always is."""


def render_sweep(
    findings: Findings, run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True
) -> Text:
    """A sweep as text: verdict, frontier, notes and paths, within `width` columns unless `wide`."""
    from rich.text import Text

    part = findings.parts[0]
    parts = [Text("\n").join(folded(part.verdict, width, unicode, "bold"))]
    parts.append(Text("\n").join(folded(" ".join(part.lede), width, unicode)))
    spots = shown_frontier(part, findings.asked)
    shown = _shown(part, [one.stack for one in spots], wide)
    rows = [_row(part, findings, id, place) for place, id in shown]
    parts.append(render_table(_columns(findings), rows, width=width, wide=wide, unicode=unicode))
    hidden = len(spots) - len(shown)
    equal = sum(len(one.equal) for one in spots)
    signs = [RECOMMENDED] if part.recommendation.stack else []
    notes = _notes(findings, hidden, equal, wide)
    parts += notes_below(notes, width=width, wide=wide, unicode=unicode, signs=signs)
    report = run / "report.html"
    parts.append(Text(f"Report: {report}" if report.exists() else f"Tables: {run / 'tables'}"))
    return Text("\n\n").join(parts)


def _columns(findings: Findings) -> list[Column]:
    right = (f"{findings.asked.measure}, 95%", "p50", "$/1,000", "p95", "%PROC")
    return [Column("Frontier, fastest first"), *(Column(title, right=True) for title in right)]


def _shown(part: Part, order: Sequence[str], wide: bool) -> list[tuple[int, str]]:
    """The stacks with their places: all, or the best of them, which wait longest, and the recommended one."""
    placed = list(enumerate(order, start=1))
    if wide or len(placed) <= FEW:
        return placed
    best = {id for _, id in placed[-FEW:]} | {part.recommendation.stack}
    return [one for one in placed if one[1] in best]


def _row(part: Part, findings: Findings, id: str, place: int) -> Cells:
    from rich.text import Text

    one, chosen = part.stack(id), id == part.recommendation.stack
    total, mark = one.time("total"), "*" if chosen else ""
    times = ("n/a", "n/a") if total is None else (ms(total.p50), ms(total.p95))
    cells = (
        f"{place}{mark} {id}", _quality(one, findings.asked.measure), times[0], usd(one.cost), times[1],
        _reached(one, findings.asked.measure),
    )  # fmt: skip
    return [Text(cell, style="bold" if chosen else "") for cell in cells]


def _quality(one: StackFacts, measure: str) -> str:
    found = one.measured(measure)
    if found is None or found.value.value is None:
        return "n/a"
    value = found.value
    if value.low is None or value.high is None:
        return numbers.score(value.value or 0.0)
    return f"{numbers.score(value.value or 0.0)} {numbers.interval(value.low, value.high)}"


def _reached(one: StackFacts, measure: str) -> str:
    found = one.measured(measure)
    share = found.reached.value if found is not None and found.reached is not None else None
    return "n/a" if share is None else percent(share)


def _notes(findings: Findings, hidden: int, equal: int, wide: bool) -> Iterator[str]:
    part = findings.parts[0]
    if hidden:
        yield f"{numbers.counted(hidden, 'faster stack')} on the frontier: --wide shows them."
    if equal:
        more = numbers.counted(equal, "more stack")
        yield f"{more} on the frontier: of the same price, time and quality as one of these."
    yield from (one.text for one in part.recommendation.alternatives if one.text)
    for other in findings.parts[1:]:
        found = other.recommendation
        share = "" if found.share is None else f", in {numbers.percent(found.share)} of the resamples"
        yield f"On {other.dataset} alone: {other.verdict}{share}."
    yield from part.notes
    tested = [one for one in part.guidance if one.status != "not tested"]
    if wide:
        yield from (f"{one.line}: {one.text}" for one in tested)
    elif tested:
        states = ("holds", "does not hold", "open", "not tested")
        counts = {state: sum(one.status == state for one in part.guidance) for state in states}
        words = ", ".join(f"{state} {n}" for state, n in counts.items() if n)
        yield f"The source's advice, {len(part.guidance)} lines: {words}."
    asked = findings.asked
    how = f"{numbers.count(asked.resamples)} resamples, seed {asked.seed}"
    yield f"Intervals: percentile bootstrap over queries, {how}."
