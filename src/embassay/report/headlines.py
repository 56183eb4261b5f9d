"""What every run says first of every system, on a terminal: in one table that hides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.report.leading import Leading, shared
from embassay.report.textual import GAP, Column, folded, render_table

if TYPE_CHECKING:
    from rich.text import Text

_APART = "*"


def render_headlines(found: Sequence[Leading], *, width: int = 80, unicode: bool = True) -> Text:
    """A row per system, two columns per run; side by side as far as `width` allows, then in tables below one another,
    so that nothing is hidden."""
    from rich.text import Text

    systems = tuple(shared(found))
    tables = [
        render_table(*_table(part, systems), width=width, wide=True, unicode=unicode)
        for part in _parts(found, systems, width)
    ]
    notes = [line for note in _notes(found) for line in folded(f"- {note}", width, unicode)]
    return Text("\n\n").join([*tables, Text("\n").join(notes)])


def cells(run: Leading, system: str) -> tuple[str, str]:
    """Value with interval, and rank range; a dash for a system that the run has not."""
    leader = run.leaders.get(system)
    if leader is None:
        return numbers.NONE, numbers.NONE
    value = " ".join(filter(None, (leader.value.text, leader.value.interval)))
    return value, leader.placed + _APART * leader.apart if leader.rank else numbers.NONE


def _title(run: Leading) -> str:
    """`SAGE, 95%`: what is overall goes without saying, and a study's mean stands in the notes."""
    return f"{run.run}, 95%" if run.people or run.measure == "overall" else f"{run.run} {run.measure}, 95%"


def _table(found: Sequence[Leading], systems: Sequence[str]) -> tuple[list[Column], list[list[str | Text]]]:
    columns = [Column("System")]
    for run in found:
        columns += [Column(_title(run), right=True), Column("Rank")]
    rows: list[list[str | Text]] = [
        [name, *(cell for run in found for cell in cells(run, name))]
        for name in systems
        if any(name in run.leaders for run in found)
    ]
    return columns, rows


def _parts(found: Sequence[Leading], systems: Sequence[str], width: int) -> Iterator[Sequence[Leading]]:
    """The runs in as few equal parts as fit."""
    for count in range(1, len(found) + 1):
        size = ceil(len(found) / count)
        parts = [found[i : i + size] for i in range(0, len(found), size)]
        if count == len(found) or all(_width(part, systems) <= width for part in parts):
            yield from parts
            return


def _width(found: Sequence[Leading], systems: Sequence[str]) -> int:
    columns, rows = _table(found, systems)
    lines = [[column.title for column in columns], *rows]
    return sum(max(map(len, map(str, column))) + GAP for column in zip(*lines, strict=True)) - GAP


def _notes(found: Sequence[Leading]) -> Iterator[str]:
    points = " and ".join(one.run for one in found if one.has_points)
    yield "Higher is better. " + (f"{points}: points, a hundred times the measure." if points else "")
    yield (
        "Rank: the places that paired tests allow, each run by itself. Intervals that overlap are no test."
        if any(one.rank for run in found for one in run.leaders.values())
        else "No ranks: there is nothing to test."
    )
    if any(one.apart for run in found for one in run.leaders.values()):
        yield f"{_APART} ranked by themselves: another method stands behind their scores."
    for run in found:
        if run.people:
            yield f"{run.run}: {run.measure}; {run.people}."
    alone = len({name for run in found for name in run.leaders} - set(shared(found)))
    if alone:
        yield f"{numbers.counted(alone, 'system')} of one later run alone: in the table of that run."
