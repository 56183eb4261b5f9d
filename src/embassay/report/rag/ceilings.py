"""Is it the pool or the ordering? What a run reaches, what a perfect order of its pool would, and what no order can."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.numbers import Unit
from embassay.protocols.rag.scoring.record import Evidence, Reading, Score
from embassay.report.marks import percent
from embassay.report.matrix import Entry

PERCENT = Unit(100.0, 1, 1)
FINDINGS = {
    "pool": "the pool", "ordering": "the ordering", "both": "both", "little": "little is lost",
    "open": "not told", "untold": "not told",
}  # fmt: skip


@dataclass(frozen=True)
class Ceiling:
    """A run at one cutoff: the drawing, the figures under the headings of COLUMNS, which loss is larger, and why."""

    run: str
    cutoff: int
    mark: Markup
    entries: tuple[Entry, ...]
    finding: str
    text: str


COLUMNS = ("RA-nWG", "PROC", "%PROC", "Lost in the ordering", "Lost in the pool")


def ceilings(score: Score) -> tuple[Ceiling, ...]:
    """Every reading of the scoring, cutoff by cutoff."""
    ordered = sorted(score.readings, key=lambda one: one.cutoff)
    return tuple(_ceiling(one) for one in ordered)


def _ceiling(one: Reading) -> Ceiling:
    found = {evidence.what.partition("@")[0]: evidence for evidence in one.evidence}
    names = ("RA-nWG", "PROC", "%PROC", "lost in the ordering", "lost in the pool")
    entries = tuple(_entry(found.get(name), PERCENT if name == "%PROC" else numbers.SCORE) for name in names)
    text = one.text.partition(": ")[2] or one.text
    mark = _mark(found.get("RA-nWG"), found.get("PROC"))
    return Ceiling(one.run, one.cutoff, mark, entries, FINDINGS.get(one.finding, one.finding), text)


def _entry(one: Evidence | None, unit: Unit) -> Entry:
    """The figure over its interval."""
    if one is None:
        return Entry("n/a", why="undefined on these judgements")
    ends = (one.low, one.high) if one.low is not None and one.high is not None else ()
    sign = "%" if unit is PERCENT else ""
    small = unit.interval(*ends) + sign if ends else "no interval"
    exact = ",".join(f"{value:.6g}" for value in (one.value, *ends))
    return Entry(unit.text(one.value) + sign, small, exact)


def _mark(reached: Evidence | None, ceiling: Evidence | None) -> Markup:
    """From 0 to 1: reached, lost in the ordering, lost in the pool; whiskers over the intervals of the two borders."""
    if reached is None:
        return Markup("")
    actual = _inside(reached.value)
    best = max(actual, _inside(ceiling.value)) if ceiling is not None else actual
    parts = [
        f'<rect class="q4" width="{percent(100 * actual)}"/>',
        f'<rect class="q2" x="{percent(100 * actual)}" width="{percent(100 * (best - actual))}"/>',
        f'<rect class="q0" x="{percent(100 * best)}" width="{percent(100 * (1 - best))}"/>',
        *(_whisker(one) for one in (reached, ceiling) if one is not None),
    ]
    return Markup(f'<svg class="gaps" aria-hidden="true">{"".join(parts)}</svg>')


def _whisker(one: Evidence) -> str:
    if one.low is None or one.high is None:
        return ""
    low, high = percent(100 * _inside(one.low)), percent(100 * _inside(one.high))
    return f'<line class="z" x1="{low}" x2="{high}" y1="8" y2="8"/>'


def _inside(value: float) -> float:
    return min(1.0, max(0.0, value))
