"""Heat tables: a value printed in every cell, five steps of one hue behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from embassay.protocols import numbers
from embassay.records import Result
from embassay.report.board import Board, Row, Value, missing_value
from embassay.report.matrix import STEPS
from embassay.report.panels import TOP
from embassay.report.record import Record


@dataclass(frozen=True)
class HeatColumn:
    """A column: a row of results by its measure and variant, under a group heading if it has one; `below` are variants
    whose values stand under it in the same cell."""

    heading: str
    measure: str
    variant: str
    group: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeatCell:
    """A value, its text and its step from 1 to 5; step 0 where it is missing."""

    value: Value
    text: str
    step: int


@dataclass(frozen=True)
class HeatRow:
    """The cells of a system; `is_more` beyond the first twelve."""

    row: Row
    cells: tuple[HeatCell, ...]
    is_more: bool

    @property
    def missing(self) -> Value | None:
        """Why the whole row is missing, if it is."""
        return self.cells[0].value if all(cell.step == 0 for cell in self.cells) else None


@dataclass(frozen=True)
class Heat:
    """A heat table of one dataset, its title. `groups` are headings with how many columns they span."""

    title: str
    columns: tuple[HeatColumn, ...]
    groups: tuple[tuple[str, int], ...]
    rows: tuple[HeatRow, ...]
    n: str
    half_width: float | None
    in_percent: bool

    @property
    def is_stacked(self) -> bool:
        """Whether a cell has several values, one below the other."""
        return any(column.below for column in self.columns)

    @property
    def caption(self) -> str:
        """How many items, and the widest interval of a ranked system."""
        if self.half_width is None:
            return f"{self.n}; no intervals."
        width = f"{100 * self.half_width:.1f} points" if self.in_percent else numbers.score(self.half_width)
        return f"{self.n}; widest 95% half-width {width}."


Printed = Callable[[float], str]


def heats(
    record: Record, board: Board, task: str, columns: Sequence[HeatColumn], printed: Printed = numbers.percent
) -> tuple[Heat, ...]:
    """A heat table per dataset of the task; columns without any row are left out."""
    made = (_heat(record, board, task, dataset, columns, printed) for dataset in record.datasets(task))
    return tuple(heat for heat in made if heat.columns)


def two_decimals(value: float) -> str:
    """How shares of a score and similarities are printed in a heat cell."""
    return numbers.score(value, 2)


def _heat(
    record: Record, board: Board, task: str, dataset: str, columns: Sequence[HeatColumn], printed: Printed
) -> Heat:
    rows = board.by_task(task)
    found = {
        (row.system.name, column): [
            record.find(task, row.system.name, column.measure, dataset=dataset, variant=variant)
            for variant in (column.variant, *column.below)
        ]
        for row in rows
        for column in columns
    }
    shown = [c for c in columns if any(found[row.system.name, c][0] is not None for row in rows)]
    contenders = sum(row.system.ranked for row in rows)
    made = [
        HeatRow(
            row,
            tuple(
                _cell(record, task, dataset, row, found[row.system.name, column], printed) for column in shown
            ),
            contenders > TOP and TOP <= i < contenders,
        )
        for i, row in enumerate(rows)
    ]
    contending = {row.system.name for row in rows if row.system.ranked}
    results = [
        result
        for (system, _), stack in found.items()
        for result in stack
        if system in contending and result is not None and result.value is not None
    ]
    return Heat(
        dataset,
        tuple(shown),
        _groups(shown),
        tuple(made),
        _n(results),
        _widest(results),
        printed is numbers.percent,
    )


def _cell(
    record: Record, task: str, dataset: str, row: Row, stack: Sequence[Result | None], printed: Printed
) -> HeatCell:
    """The ground, and the value that is sorted by, are those of the mean where several stand in the cell."""
    result = stack[0]
    known = [one.value for one in stack if one is not None and one.value is not None]
    if result is not None and len(known) == len(stack):
        mean = sum(known) / len(known)
        shown = result if len(stack) == 1 else replace(result, value=mean, ci_low=None, ci_high=None)
        step = min(STEPS, max(1, 1 + int(mean * STEPS)))
        return HeatCell(Value("value", shown), "\n".join(map(printed, known)), step)
    cells = [cell for cell in record.cells_of(task, row.system.name) if cell.dataset == dataset]
    value = missing_value(record, cells, result)
    return HeatCell(value, value.text, 0)


def _groups(columns: Sequence[HeatColumn]) -> tuple[tuple[str, int], ...]:
    if not any(column.group for column in columns):
        return ()
    groups: list[tuple[str, int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1] = (column.group, groups[-1][1] + 1)
        else:
            groups.append((column.group, 1))
    return tuple(groups)


def _n(results: Sequence[Result]) -> str:
    counts = sorted({result.n for result in results})
    if not counts:
        return "Nothing finished yet"
    if len(counts) == 1:
        return f"n = {numbers.count(counts[0])} per row"
    return f"n from {numbers.count(counts[0])} to {numbers.count(counts[-1])} per row"


def _widest(results: Sequence[Result]) -> float | None:
    halves = [
        (result.ci_high - result.ci_low) / 2
        for result in results
        if result.ci_low is not None and result.ci_high is not None
    ]
    return max(halves, default=None)
