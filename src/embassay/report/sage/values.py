"""Tables of values with intervals: a value over a small interval mark, each column on its own scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.records import Result
from embassay.report.board import Board, Row, Value, ends, missing_value
from embassay.report.matrix import step_of
from embassay.report.panels import TOP
from embassay.report.record import Record
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class Wanted:
    """A column to look up: a measure and variant on one dataset."""

    heading: str
    measure: str
    dataset: str
    variant: str = ""


@dataclass(frozen=True)
class ValueRow:
    """The values of a system; `is_more` beyond the first twelve."""

    row: Row
    values: tuple[Value, ...]
    is_more: bool


@dataclass(frozen=True)
class ValueTable:
    """A table; `title` names what its columns share (a dataset, a task), `id` the table in the page."""

    id: str
    title: str
    columns: tuple[tuple[str, Scale], ...]
    rows: tuple[ValueRow, ...]

    def step(self, column: int, value: Value) -> int:
        """Which fifth of the column's scale a value lies in, 1 to 5; 0 where it is missing."""
        return 0 if value.value is None else step_of(self.columns[column][1].at(value.value) / 100)


def value_table(
    record: Record, board: Board, task: str, wanted: Sequence[Wanted], *, title: str, name: str
) -> ValueTable | None:
    """The columns that at least one system has a row for; None if there is none."""
    rows = board.by_task(task)
    columns = [one for one in wanted if any(_find(record, task, row, one) is not None for row in rows)]
    if not columns:
        return None
    contenders = sum(row.system.ranked for row in rows)
    made = tuple(
        ValueRow(
            row,
            tuple(_value(record, task, row, one) for one in columns),
            contenders > TOP and TOP <= i < contenders,
        )
        for i, row in enumerate(rows)
    )
    scales = [scale_of(ends(one.values[i] for one in made)) for i in range(len(columns))]
    headings = tuple((one.heading, scale) for one, scale in zip(columns, scales, strict=True))
    return ValueTable(name, title, headings, made)


def _find(record: Record, task: str, row: Row, one: Wanted) -> Result | None:
    return record.find(task, row.system.name, one.measure, dataset=one.dataset, variant=one.variant)


def _value(record: Record, task: str, row: Row, one: Wanted) -> Value:
    result = _find(record, task, row, one)
    if result is not None and result.value is not None:
        return Value("value", result)
    cells = [cell for cell in record.cells_of(task, row.system.name) if cell.dataset == one.dataset]
    return missing_value(record, cells, result)
