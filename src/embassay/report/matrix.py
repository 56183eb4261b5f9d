"""A table of named rows and columns whose cells are values with intervals, or words."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.contracts import Kind
from embassay.protocols import numbers
from embassay.protocols.numbers import Unit
from embassay.records import Result

STEPS = 5
"""Of a heat."""


@dataclass(frozen=True)
class Entry:
    """A cell: its text, what stands under it, its value for sorting and CSV, its step of a heat, why it is missing."""

    text: str
    small: str = ""
    exact: str = ""
    step: int = 0
    why: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """A row by its label; `kind` gives it a sign."""

    label: str
    entries: tuple[Entry, ...]
    kind: Kind | None = None


@dataclass(frozen=True)
class Matrix:
    """The table; `heading` is what its rows are. With `is_heat` cells have a ground by their step; rows that are
    `is_sorted` by what they are cannot be sorted otherwise."""

    id: str
    title: str
    heading: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    is_heat: bool = False
    digits: int = 2
    is_sorted: bool = False

    def is_number(self, place: int) -> bool:
        """Whether a column has values, or reasons for missing ones: what stands in it is then on the right."""
        return any(line.entries[place].exact or line.entries[place].why for line in self.lines)


def entry(
    row: Result | None,
    unit: Unit,
    *,
    n: bool = False,
    heat: float = 0.0,
    bold: bool = False,
    signed: bool = False,
) -> Entry:
    """A result as a cell: its value over its interval, or with `n` over how many items stand behind it; its reason
    where it has no value. `heat` is the value of the darkest step; a `signed` value is a change."""
    if row is None:
        return Entry("n/a", why="not part of the run")
    if row.value is None:
        return Entry(
            "n/a" if row.n == 0 or not n else f"n = {row.n}", why=row.reason or "no value was recorded"
        )
    known = row.ci_low is not None and row.ci_high is not None
    interval = unit.interval(row.ci_low or 0.0, row.ci_high or 0.0) if known else "no interval"
    words = [row.value, *((row.ci_low, row.ci_high) if known else ())]
    return Entry(
        unit.change(row.value) if signed else unit.text(row.value),
        f"n = {numbers.count(row.n)}" if n else interval,
        ",".join(f"{(word or 0.0) * unit.factor:.6g}" for word in words),
        step_of(row.value / heat) if heat else 0,
        bold=bold,
    )


def step_of(share: float) -> int:
    """The step of a heat, 1 to 5, of a share of the darkest."""
    return min(STEPS, max(1, 1 + int(share * STEPS)))
