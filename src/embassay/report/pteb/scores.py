"""Original score, score on paraphrases and drop, side by side: over tasks (table 9) and over a task's datasets."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols.numbers import POINTS
from embassay.report.board import Row
from embassay.report.matrix import Line, Matrix, entry
from embassay.report.panels import TOP
from embassay.report.pteb.losses import DELTA, Loss, Losses


@dataclass(frozen=True)
class ScoreRow:
    """A system with its losses, one per column; `is_more` beyond the first twelve."""

    row: Row
    losses: tuple[Loss, ...]
    is_more: bool


@dataclass(frozen=True)
class ScoreTable:
    """A table; its title names what the columns are; of several the first is their mean."""

    title: str
    id: str
    columns: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    ranked: bool
    """Whether its first column is the score that the board ranks by."""


def score_tables(losses: Losses) -> tuple[ScoreTable, ...]:
    """One table over the tasks, and one for each task of several datasets."""
    tasks, record = losses.board.tasks, losses.record
    made = []
    if len(tasks) > 1:
        rows = [
            (row, [losses.overall(row), *(losses.on_task(row, task) for task in tasks)])
            for row in losses.rows
        ]
        titles = ["Mean of tasks", *(task.short for task in tasks)]
        made.append(_table("All tasks", "scores", titles, rows, losses.board.has_ranks))
    for task in tasks:
        names = record.datasets(task.name)
        if len(names) == 1 and len(tasks) > 1:
            continue
        mean = ["Mean"] if len(names) > 1 else []
        rows = [
            (
                row,
                [
                    *(losses.on_task(row, task) for _ in mean),
                    *(losses.on_dataset(row, task, one) for one in names),
                ],
            )
            for row in losses.rows
        ]
        ranked = len(tasks) == 1 and losses.board.has_ranks
        made.append(_table(task.title, f"scores-{task.name}", [*mean, *names], rows, ranked))
    return tuple(made)


def _table(
    title: str, name: str, columns: list[str], rows: list[tuple[Row, list[Loss]]], ranked: bool
) -> ScoreTable:
    contenders = sum(row.system.ranked for row, _ in rows)
    made = (
        ScoreRow(row, tuple(found), contenders > TOP and TOP <= i < contenders)
        for i, (row, found) in enumerate(rows)
    )
    return ScoreTable(title, name, tuple(columns), tuple(made), ranked)


def source_table(losses: Losses) -> Matrix | None:
    """The change at the leading level by source (paraphraser, prompt); None for one source."""
    record, board = losses.record, losses.board
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    if len(sources) < 2:
        return None
    made = []
    for row in losses.rows:
        found = [
            record.find(board.lead, row.system.name, DELTA, variant=one.get("label", "")) for one in sources
        ]
        made.append(Line(row.label, tuple(entry(one, POINTS, signed=True) for one in found), row.system.kind))
    # Where prompts alone differ, their names say all.
    titles = tuple(
        label.removeprefix("prompt=")
        if (label := one.get("label", "")).startswith("prompt=")
        else one["name"]
        for one in sources
    )
    return Matrix("by-source", "Change by source, points", "System", titles, tuple(made))
