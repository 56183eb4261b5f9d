"""The table of a PTEB run on a terminal: original, paraphrased, drop ± standard deviation, then the drop by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.report.board import Board
from embassay.report.matrix import Entry
from embassay.report.pteb.losses import Loss, Losses
from embassay.report.record import Record
from embassay.report.terminal import APART, Column, state_or_value

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
    whole = any(losses.leading(row).before_all for row in board.rows)
    columns += [Column("Orig., all items", right=True)] if whole else []
    columns += [Column(f"Δ {task.short}", right=True) for task in tasks]
    rows: list[list[str | Text]] = []
    for row in board.rows:
        total = losses.leading(row)
        cells = _leading(total, unicode)
        cells += [total.before_all or cells[0]] if whole else []
        cells += [_drop(losses.on_task(row, task), unicode) for task in tasks]
        apart = APART if row in board.apart else ""
        rows.append([f"{row.rank or numbers.NONE}{apart}", row.system.name if wide else row.label, *cells])
    return columns, rows


def _leading(loss: Loss, unicode: bool) -> list[str | Text]:
    drop = " ".join(part for part in (loss.drop_text, loss.drop_spread) if part)
    before, after = state_or_value(loss.before, unicode), state_or_value(loss.after, unicode)
    return [before, after, drop or numbers.NONE, loss.drop_interval or numbers.NONE]


def _drop(loss: Loss, unicode: bool) -> str | Text:
    return loss.drop_text if loss.drop is not None else state_or_value(loss.after, unicode)


def step_table(record: Record, board: Board) -> tuple[list[Column], list[list[str | Text]]]:
    """The table of a judge run, of a choice of paraphrasers or of a human check: a value with its interval first."""
    if record.kind == "validation":
        return _languages(record, board)
    from embassay.report.pteb.judges import judge_page
    from embassay.report.pteb.selection import selection_page

    judged = judge_page(record, board) if record.kind == "judge" else None
    chosen = selection_page(record, board) if record.kind == "paraphrasers" else None
    table = judged.scores if judged else chosen.candidates if chosen else None
    if table is None:
        return [], []
    columns = [Column(table.heading), Column(f"{table.columns[0]}, 95%", right=True)]
    columns += [Column(name, right=True) for name in table.columns[1:]]
    rows: list[list[str | Text]] = [
        [line.label, _with_interval(line.entries[0]), *(one.text for one in line.entries[1:])]
        for line in table.lines
    ]
    return columns, rows


def _languages(record: Record, board: Board) -> tuple[list[Column], list[list[str | Text]]]:
    from embassay.report.pteb.validation import validation_page

    page = validation_page(record, board)
    if page is None:
        return [], []
    columns = [Column("Language"), Column("Mean rating, 95%", right=True), Column("Verdict")]
    columns += [Column(name, right=True) for name in (*page.columns[1:], "Ratings")]
    rows: list[list[str | Text]] = [
        [row.label, _with_interval(row.entries[0]), row.verdict.lstrip("✓✕ "),
         *(one.text for one in row.entries[1:]), numbers.count(row.n)]
        for row in page.rows
    ]  # fmt: skip
    return columns, rows


def _with_interval(one: Entry) -> str:
    return f"{one.text} {one.small}" if one.exact and one.small else one.text
