"""Results on a terminal: the verdict, one table, notes, the report's path. Plain text when it is not one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.document.terminal import GAP, Column, folded, notes_below, render_table
from embassay.protocols.kernel import tables as numbers

if TYPE_CHECKING:
    from rich.text import Text

    from embassay.report.board import Board, Row, Value
    from embassay.report.record import Record
    from embassay.report.runs import Run

__all__ = ["Column", "render_answers", "render_run", "render_table"]

STRIP_FROM = 100
BRIEFLY = 2
"""Sentences that stand below the heading where a run is told of briefly."""
APART = "*"
"""Behind the rank of a system that is ranked by itself."""
STATE_STYLES = {"failed": "red", "running": "yellow", "partial": "yellow"}


def render_run(run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """A run as text: verdict, table, notes, report. Only states carry colour; print it with a rich console.

    Raises DataError when the folder holds no run.
    """
    from rich.text import Text

    from embassay.document.blocks import plain
    from embassay.report.notes import notes_of
    from embassay.report.overview import run_verdict
    from embassay.report.record import read_record
    from embassay.report.runs import gathered

    shown = gathered((read_record(Path(run)),))[0]
    if shown.record.kind == "hume":
        from embassay.report.hume.conclusions import render_hume

        return render_hume(Path(run), width=width, wide=wide, unicode=unicode)
    record, board = shown.record, shown.board
    verdict = run_verdict(shown)
    parts = [Text("\n").join(folded(plain(verdict.heading), width, unicode, "bold"))]
    parts += (
        [Text("\n").join(folded(" ".join(map(plain, verdict.lede)), width, unicode))] if verdict.lede else []
    )
    parts += _main_table(record, board, width, wide, unicode)
    notes = [f"{row.label}: {row.note}." for row in board.unranked if row.note and board.tasks]
    notes += [note.plain for note in notes_of(record)]
    parts += notes_below(notes, width=width, wide=wide, unicode=unicode, signs=_references(board))
    report = Path(run) / "report.html"
    if report.exists():
        parts.append(Text(f"Report: {report}"))
    return Text("\n\n").join(parts)


def render_verdict(run: Path, *, width: int = 80, unicode: bool = True) -> Text:
    """What a run of any kind found: the heading of its verdict and the first sentences below.

    Raises DataError when the folder holds no run.
    """
    from rich.text import Text

    from embassay.document.blocks import plain
    from embassay.report.overview import run_verdict
    from embassay.report.record import read_record
    from embassay.report.runs import gathered

    verdict = run_verdict(gathered((read_record(Path(run)),))[0])
    lede = " ".join(map(plain, verdict.lede[:BRIEFLY]))
    lines = [*folded(plain(verdict.heading), width, unicode, "bold"), *folded(lede, width, unicode)]
    return Text("\n").join(lines)


LEVELS = {"sure": ("sure", "green"), "likely": ("likely", "blue"), "open": ("cannot decide", "yellow")}
"""What a level is called, and its colour."""


MOST_NAMES = 20
"""Columns for the names of an answer; longer ones have a line of their own."""


def render_answers(runs: Sequence[Run], *, width: int = 80, unicode: bool = True) -> Text:
    """The answers that runs give, a line each, and what to use; empty where they give none."""
    from rich.text import Text

    from embassay.report.answers import answers_of, recommendation

    answers = answers_of(runs)
    if not answers:
        return Text("")
    asks = max(len(one.question.short) for one in answers) + 4
    names = min(max(len(one.answer) for one in answers), MOST_NAMES) + 2
    lines = [Text("Answers", style="bold")]
    for one in answers:
        word, colour = LEVELS.get(one.level, ("", ""))
        said = folded(f"{word}: {one.brief}" if word else one.brief, width - asks - names, unicode)
        said[0].highlight_words([f"{word}:"], colour)
        head = Text(f"  {one.question.short}".ljust(asks)).append(one.answer.ljust(names), style="bold")
        if len(head) > asks + names:
            lines.append(head)
            head = Text(" " * (asks + names))
        lines += [
            head.append_text(said[0]),
            *(Text(" " * (asks + names)).append_text(line) for line in said[1:]),
        ]
    use, rest = recommendation(answers)
    lines += [Text(""), *folded(use, width, unicode), *folded(rest, width, unicode)] if use else []
    return Text("\n").join(lines)


def _main_table(record: Record, board: Board, width: int, wide: bool, unicode: bool) -> list[Text]:
    """The one table of a run: SAGE's board, PTEB's drops, or the first that another command wrote."""
    if record.kind == "pteb":
        from embassay.report.pteb.conclusions import drop_table

        columns, rows = drop_table(record, board, wide=wide, unicode=unicode)
        return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)] if rows else []
    if board.tasks:
        return [_board(board, width, wide, unicode)] if board.rows else []
    from embassay.report.pteb.conclusions import step_table

    columns, rows = step_table(record, board)
    return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)] if rows else []


def _references(board: Board) -> list[str]:
    from embassay.document.blocks import listed, plain

    names = " and ".join(row.label for row in board.references)
    apart = plain(listed([row.label for row in board.apart]))
    told = (
        [f"{APART} {apart} are ranked by themselves: another method stands behind some scores."]
        if apart
        else []
    )
    return [*told, f"{names} are references, not ranked."] if names and board.tasks else told


def _board(board: Board, width: int, wide: bool, unicode: bool) -> Text:
    tasks = [task for task in board.tasks if task.name != board.lead]
    places = [board.tasks.index(task) for task in tasks]
    columns = [Column("Rank"), Column("System"), Column(f"{board.lead_title}, 95%", right=True)]
    columns += [Column(task.short, right=True) for task in tasks]
    rows: list[list[str | Text]] = [
        [
            row.rank or numbers.NONE,
            row.system.name if wide else row.label,
            _lead(row, unicode),
            *(state_or_value(row.tasks[i], unicode) for i in places),
        ]
        for row in board.rows
    ]
    strip = _strip_width(columns, rows, width, wide, unicode)
    if strip:
        columns.insert(3, Column(""))
        for row, cells in zip(board.rows, rows, strict=True):
            cells.insert(3, _strip(board, row, strip))
    return render_table(columns, rows, width=width, wide=wide, unicode=unicode)


def _strip_width(
    columns: Sequence[Column], rows: Sequence[Sequence[str | Text]], width: int, wide: bool, unicode: bool
) -> int:
    """Room for the interval strip: from 100 columns, and only where no number has to go for it."""
    from rich.cells import cell_len

    if not unicode or width < STRIP_FROM or not rows:
        return 0
    used = sum(
        max(cell_len(column.title), *(cell_len(str(row[i])) for row in rows)) + GAP
        for i, column in enumerate(columns)
    )
    return 21 if wide else min(21, width - used) if width - used >= 9 else 0


def _strip(board: Board, row: Row, width: int) -> str:
    """`··━━┃━━··` on the scale of all leading values."""
    from embassay.document.marks import scale_of
    from embassay.report.board import ends

    value = row.lead.row
    if value is None or value.value is None:
        return ""
    scale = scale_of(ends(one.lead for one in board.rows))

    def place(number: float) -> int:
        return min(width - 1, int(scale.at(number) / 100 * width))

    marks = ["·"] * width
    if value.ci_low is not None and value.ci_high is not None:
        for i in range(place(value.ci_low), place(value.ci_high) + 1):
            marks[i] = "━"
    marks[place(value.value)] = "┃"
    return "".join(marks)


def _lead(row: Row, unicode: bool) -> str | Text:
    """Value and interval as one pair."""
    if row.lead.interval:
        return f"{row.lead.text} {row.lead.interval}"
    return state_or_value(row.lead, unicode)


def state_or_value(value: Value, unicode: bool) -> str | Text:
    """The value, bold if it is the best, or the word of its state in its colour."""
    from rich.text import Text

    if value.value is not None:
        return Text(value.text, style="bold" if value.best else "")
    word = value.text if unicode else value.text.lstrip("✕◔◐ ")
    return Text(
        word if unicode or value.state != "failed" else "FAILED", style=STATE_STYLES.get(value.state, "")
    )
