"""A board as it is drawn: its columns with their scales, its groups of rows."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.report.board import Board, Row, ends
from embassay.report.record import OVERALL
from embassay.report.scale import Scale, scale_of
from embassay.report.tasks import Task


@dataclass(frozen=True)
class Shown:
    """`columns` are the tasks beside the leading score, with their place; `groups` the rows under their headings."""

    columns: tuple[tuple[int, Task, Scale], ...]
    lead_scale: Scale
    groups: tuple[tuple[str, tuple[Row, ...]], ...]


def shown(board: Board) -> Shown:
    """What the board's table shows."""
    factor = board.unit.factor
    within = (0.0, 1.0) if factor == 1 else (-1.0, 1.0)
    columns = tuple(
        (i, task, scale_of(ends(row.tasks[i] for row in board.rows), within=within, factor=factor))
        for i, task in enumerate(board.tasks)
        if task.name != board.lead
    )
    missing = "Not ranked: a task is missing" if board.lead == OVERALL else "No value"
    groups = (
        ("", board.ranked),
        (
            "Classical metrics, ranked by themselves: another method stands behind some of their scores",
            board.apart,
        ),
        (missing, board.unranked),
        ("References, not ranked", board.references),
    )
    return Shown(
        columns,
        scale_of(ends(row.lead for row in board.rows), within=within, factor=factor),
        tuple((title, rows) for title, rows in groups if rows),
    )
