"""What a system can hope for (one annotator against the others), and how much more data would tell it from people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Bar, PairRecord, Summary
from embassay.report.hume.people import exact
from embassay.report.hume.standing import Standing, system_names
from embassay.report.hume.words import POINTS, interval, pair_names, points
from embassay.report.names import labels

Cell = tuple[str, str, str]
"""A value, what stands under it, and exactly."""


@dataclass(frozen=True)
class CeilingRow:
    """A pair: an annotator against the others, the best model against the same answers, what would separate it."""

    name: str
    ceiling: Cell
    model: Cell
    system: str
    items: str
    annotators: str
    smallest: str


@dataclass(frozen=True)
class Ceilings:
    """The rows of the pairs that have a ceiling or a need."""

    rows: tuple[CeilingRow, ...]
    has_ceiling: bool
    has_need: bool
    notes: tuple[str, ...]


def ceilings(summary: Summary, every: Sequence[Standing]) -> Ceilings | None:
    """The table; None where no pair has either."""
    label = labels(system_names(summary))
    known = [one for one in every if one.pair.ceiling is not None or one.pair.need is not None]
    if not known:
        return None
    return Ceilings(
        tuple(_row(one, label) for one in known),
        any(one.pair.ceiling is not None for one in known),
        any(one.pair.need is not None for one in known),
        _notes([one.pair for one in known]),
    )


def _notes(pairs: Sequence[PairRecord]) -> tuple[str, ...]:
    """Why something is missing, once for all pairs where it is."""
    where: dict[str, list[PairRecord]] = {}
    for pair in pairs:
        bar, need = pair.ceiling, pair.need
        if bar is not None and bar.low is None and bar.reason:
            where.setdefault(f"no interval of the ceiling: {bar.reason.rstrip('.')}", []).append(pair)
        if need is not None and need.note:
            where.setdefault(need.note.rstrip("."), []).append(pair)
    return tuple(f"{pair_names(own)}: {why}." for why, own in where.items())


def _row(one: Standing, label: Mapping[str, str]) -> CeilingRow:
    pair, need, best = one.pair, one.pair.need, one.best
    system = need.system if need is not None else best.system if best is not None else ""
    return CeilingRow(
        name=pair.name,
        ceiling=_cell(pair.ceiling),
        model=_cell(None if best is None else best.against_people),
        system=label.get(system, system),
        items=_more(None if need is None else need.items, pair.n, "item"),
        annotators=_more(None if need is None else need.annotators, len(pair.annotators), "annotator"),
        smallest=numbers.NONE if need is None or need.smallest is None else POINTS.text(need.smallest),
    )


def _cell(bar: Bar | None) -> Cell:
    if bar is None:
        return numbers.NONE, "", ""
    return points(bar), interval(bar) or ("no interval" if bar.value is not None else ""), exact(bar)


def _more(needed: int | None, have: int, noun: str) -> str:
    """In all, and how many more: `380 items (340 more)`.

    >>> _more(380, 40, "item"), _more(30, 40, "item"), _more(None, 40, "item")
    ('380 items (340 more)', '30 items, there are enough', 'n/a')
    """
    if needed is None:
        return "n/a"
    more = f" ({numbers.count(needed - have)} more)" if needed > have else ", there are enough"
    return numbers.counted(needed, noun) + more
