"""The table of a PTEB run on a terminal: original, paraphrased, drop ± standard deviation, then the drop by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance.report import numbers
from semblance.report.board import Board
from semblance.report.pteb.losses import Loss, Losses
from semblance.report.record import Record
from semblance.report.terminal import Column, state_or_value

if TYPE_CHECKING:
    from rich.text import Text


def drop_table(
    record: Record, board: Board, *, wide: bool, unicode: bool
) -> tuple[list[Column], list[list[str | Text]]]:
    """Columns and rows, best score on paraphrases first. Scores in points."""
    losses = Losses(record, board)
    tasks = [task for task in board.tasks if task.name != board.lead]
    columns = [Column("Rank"), Column("System"), Column("Orig.", right=True), Column("PTEB", right=True)]
    columns += [Column("Change ± sd", right=True), Column("95% of it", right=True)]
    columns += [Column(f"Δ {task.short}", right=True) for task in tasks]
    rows: list[list[str | Text]] = []
    for row in board.rows:
        total = losses.leading(row)
        cells = _leading(total, unicode)
        cells += [_drop(losses.on_task(row, task), unicode) for task in tasks]
        rows.append([row.rank or numbers.NONE, row.system.name if wide else row.label, *cells])
    return columns, rows


def _leading(loss: Loss, unicode: bool) -> list[str | Text]:
    drop = " ".join(part for part in (loss.drop_text, loss.spread) if part)
    before, after = state_or_value(loss.before, unicode), state_or_value(loss.after, unicode)
    return [before, after, drop or numbers.NONE, loss.drop_interval or numbers.NONE]


def _drop(loss: Loss, unicode: bool) -> str | Text:
    return loss.drop_text if loss.drop is not None else state_or_value(loss.after, unicode)
