"""What a system can hope for (one annotator against the others), and how much more data would tell it from people."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.protocols import numbers
from semblance.protocols.hume.summary.record import Bar, PairRecord, Summary
from semblance.report.hume.people import exact
from semblance.report.hume.standing import system_names
from semblance.report.hume.words import POINTS, interval, points
from semblance.report.names import labels


@dataclass(frozen=True)
class CeilingRow:
    """A pair: people, the ceiling, the best model, and what would separate it from people."""

    name: str
    people: tuple[str, str, str]
    ceiling: tuple[str, str, str]
    system: str
    items: str
    annotators: str
    smallest: str
    note: str


@dataclass(frozen=True)
class Ceilings:
    """The rows of the pairs that have a ceiling or a need."""

    rows: tuple[CeilingRow, ...]
    has_ceiling: bool
    has_need: bool


def ceilings(summary: Summary) -> Ceilings | None:
    """The table; None where no pair has either."""
    label = labels(system_names(summary))
    known = [one for one in summary.pairs if one.ceiling is not None or one.need is not None]
    if not known:
        return None
    return Ceilings(
        tuple(_row(one, label) for one in known),
        any(one.ceiling is not None for one in known),
        any(one.need is not None for one in known),
    )


def _row(pair: PairRecord, label: dict[str, str]) -> CeilingRow:
    need = pair.need
    return CeilingRow(
        name=pair.name,
        people=_cell(pair.human),
        ceiling=_cell(pair.ceiling),
        system="" if need is None else label.get(need.system, need.system),
        items=_more(None if need is None else need.items, pair.n, "item"),
        annotators=_more(None if need is None else need.annotators, len(pair.annotators), "annotator"),
        smallest=numbers.NONE if need is None or need.smallest is None else POINTS.text(need.smallest),
        note="" if need is None else need.note,
    )


def _cell(bar: Bar | None) -> tuple[str, str, str]:
    """Value, what stands under it, exact."""
    if bar is None:
        return numbers.NONE, "", ""
    return points(bar), interval(bar) or bar.reason, exact(bar)


def _more(needed: int | None, have: int, noun: str) -> str:
    """`380 items (340 more)`; that no number up to the limit does."""
    if needed is None:
        return "no number does"
    return f"{numbers.counted(needed, noun)}" + (
        f" ({numbers.count(needed - have)} more)" if needed > have else ""
    )
