"""What every run says of every system, in one table: its headline with interval, and the ranks it may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.protocols import numbers
from semblance.protocols.compare import Entrant, fields, read_values
from semblance.protocols.standings import OVERALL
from semblance.records import Result
from semblance.report.textual import GAP, Column, folded, render_table
from semblance.runs.folder import RunFolder

if TYPE_CHECKING:
    from rich.text import Text

_APART = "*"


@dataclass(frozen=True)
class Headlines:
    """The headline of one run: `title` names protocol and measure, `entrants` are by system, `apart` those among them
    that another method scored."""

    title: str
    unit: numbers.Unit
    entrants: Mapping[str, Entrant]
    apart: frozenset[str] = frozenset()

    def cells(self, system: str) -> tuple[str, str]:
        """Value with interval, and rank range; a dash for a system that the run has not."""
        found = self.entrants.get(system)
        if found is None:
            return numbers.NONE, numbers.NONE
        value = self.unit.text(found.value)
        if found.low is not None and found.high is not None:
            value += f" {self.unit.interval(found.low, found.high)}"
        if found.rank_low is None or found.rank_high is None:
            return value, numbers.NONE
        return value, numbers.rank(found.rank_low, found.rank_high) + _APART * (system in self.apart)


def read_headlines(run: Path) -> Headlines:
    """The headline of a run of any protocol. DataError where there is none to read."""
    values = read_values(run)
    # The first place is overall where there is one, and what scored runs are told by.
    task, _, measure = values.places[0]
    found = list(fields(values, [task], measures=[measure]))
    # Over datasets where there is such a place, else on the only one.
    at = [field for field in found if not field.dataset] or found[:1]
    printed = {
        row.system: row
        for row in RunFolder(run).read_results()
        if (row.task, row.dataset, row.measure) == (task, at[0].dataset, measure)
        and not (row.variant or row.subset)
    }
    name = values.protocol.upper()
    return Headlines(
        f"{name}, 95%" if task == OVERALL else f"{name} {measure if task == 'score' else task}, 95%",
        numbers.unit_of(values.protocol),
        {one.system: _as_printed(one, printed.get(one.system)) for field in at for one in field.entrants},
        frozenset(one.system for field in at if field.group for one in field.entrants),
    )


def _as_printed(one: Entrant, row: Result | None) -> Entrant:
    """With the interval that the run itself prints, where it does: scored runs have their protocol's own."""
    return one if row is None or row.ci_low is None else replace(one, low=row.ci_low, high=row.ci_high)


def render_headlines(found: Sequence[Headlines], *, width: int = 80, unicode: bool = True) -> Text:
    """A row per system, two columns per run; side by side as far as `width` allows, then in tables below one another,
    so that nothing is hidden."""
    from rich.text import Text

    systems = list(dict.fromkeys(name for run in found for name in run.entrants))
    tables = [
        render_table(*_table(part, systems), width=width, wide=True, unicode=unicode)
        for part in _parts(found, systems, width)
    ]
    notes = [line for note in _notes(found) for line in folded(f"- {note}", width, unicode)]
    return Text("\n\n").join([*tables, Text("\n").join(notes)])


def _table(found: Sequence[Headlines], systems: Sequence[str]) -> tuple[list[Column], list[list[str | Text]]]:
    columns = [Column("System")]
    for run in found:
        columns += [Column(run.title, right=True), Column("Rank")]
    rows: list[list[str | Text]] = [
        [name, *(cell for run in found for cell in run.cells(name))]
        for name in systems
        if any(name in run.entrants for run in found)
    ]
    return columns, rows


def _parts(found: Sequence[Headlines], systems: Sequence[str], width: int) -> Iterator[Sequence[Headlines]]:
    """The runs in as few equal parts as fit."""
    for count in range(1, len(found) + 1):
        size = ceil(len(found) / count)
        parts = [found[i : i + size] for i in range(0, len(found), size)]
        if count == len(found) or all(_width(part, systems) <= width for part in parts):
            yield from parts
            return


def _width(found: Sequence[Headlines], systems: Sequence[str]) -> int:
    columns, rows = _table(found, systems)
    lines = [[column.title for column in columns], *rows]
    return sum(max(map(len, map(str, column))) + GAP for column in zip(*lines, strict=True)) - GAP


def _notes(found: Sequence[Headlines]) -> Iterator[str]:
    points = " and ".join(one.title.split(",")[0] for one in found if one.unit is numbers.POINTS)
    yield "Higher is better. " + (f"{points}: points, a hundred times the measure." if points else "")
    yield (
        "Rank: the places that paired tests allow, each run by itself. Intervals that overlap are no test."
        if any(one.rank_low is not None for run in found for one in run.entrants.values())
        else "No ranks: there is nothing to test."
    )
    if any(run.apart for run in found):
        yield f"{_APART} ranked by themselves: another method stands behind their scores."
