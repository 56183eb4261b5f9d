"""Every system over all runs of a report: one row per system, one column per run that ranks or places it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.contracts import Kind
from embassay.report.gathered import Run, systems_of
from embassay.report.leading import Leader, Leading, leading_of, shared
from embassay.report.scale import Scale

MOST_ROWS = 300


@dataclass(frozen=True)
class Column:
    """A run: its title over the scale of its figures."""

    title: str
    scale: Scale


@dataclass(frozen=True)
class Line:
    """A system by its label and number; a leader per column, None where the run has not got it."""

    label: str
    index: int
    kind: Kind
    leaders: tuple[Leader | None, ...]


@dataclass(frozen=True)
class Together:
    """The table, and a sentence on the people of each study."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    people: tuple[str, ...]

    @property
    def apart(self) -> bool:
        """Whether some ranks are of systems that another method scored."""
        return any(one is not None and one.apart for line in self.lines for one in line.leaders)


def together(runs: Sequence[Run]) -> Together | None:
    """The table; None where fewer than two runs have a figure of a system."""
    found = list(leading_of(runs))
    if len(found) < 2:
        return None
    kinds = shared(found)
    known = {system.name: (label, system.index) for system, label in systems_of(runs)}
    names = list(kinds)[:MOST_ROWS]
    columns = [one for one in found if any(name in one.leaders for name in names)]
    return Together(
        tuple(Column(_title(one), one.scale) for one in columns),
        tuple(
            Line(*known[name], kinds[name], tuple(one.leaders.get(name) for one in columns)) for name in names
        ),
        tuple(f"{one.run}: {one.people}." for one in columns if one.people),
    )


def _title(one: Leading) -> str:
    return f"{one.run}, {one.measure}{', points' if one.has_points else ''}"
