"""One panel per task: every system on the task's own scale, best first, with what a trivial answer gets."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.report.board import Board, Row, Value, ends
from embassay.report.record import Record
from embassay.report.scale import Scale, scale_of
from embassay.report.tasks import Task, item_count, trivial_value

TOP = 12


@dataclass(frozen=True)
class PanelRow:
    """A system in a panel."""

    row: Row
    value: Value


@dataclass(frozen=True)
class Panel:
    """A task's panel; `rest` are the systems beyond the first twelve, drawn as ticks until asked for."""

    task: Task
    subtitle: str
    scale: Scale
    rows: tuple[PanelRow, ...]
    rest: tuple[PanelRow, ...]
    trivial: float | None


@dataclass(frozen=True)
class Gap:
    """A value that is missing in a panel, with its reason."""

    row: Row
    task: Task
    value: Value


def panels(record: Record, board: Board) -> tuple[Panel, ...]:
    """A panel for each task of the run."""
    return tuple(_panel(record, board, i) for i in range(len(board.tasks)))


def gaps(board: Board) -> tuple[Gap, ...]:
    """Everything that a panel has no mark for."""
    return tuple(
        Gap(row, task, value)
        for row in (*board.ranked, *board.unranked)
        for task, value in zip(board.tasks, row.tasks, strict=True)
        if value.value is None
    )


def _panel(record: Record, board: Board, place: int) -> Panel:
    task = board.tasks[place]
    rows = [
        PanelRow(row, row.tasks[place])
        for row in board.by_task(task.name)
        if row.system.ranked and row.tasks[place].value is not None
    ]
    trivial = trivial_value(record, task)
    points = [*ends(one.value for one in rows), *([] if trivial is None else [trivial])]
    return Panel(
        task, _subtitle(record, task, rows), scale_of(points), tuple(rows[:TOP]), tuple(rows[TOP:]), trivial
    )


def _subtitle(record: Record, task: Task, rows: list[PanelRow]) -> str:
    """What the value is, on which data, and how many items stand behind it."""
    datasets = record.datasets(task.name)
    where = numbers.counted(len(datasets), "dataset") if len(datasets) > 1 else datasets[0]
    counts = {item_count(record, task, one.row.system.name) for one in rows}
    n = f", {numbers.count(counts.pop())} {task.items}" if len(counts) == 1 else ""
    return f"{task.unit}; {where}{n}"
