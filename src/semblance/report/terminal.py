"""Results on a terminal: the verdict, one table, notes, the report's path. Plain text when it is not one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.report import numbers

if TYPE_CHECKING:
    from rich.text import Text

    from semblance.report.board import Board, Row, Value
    from semblance.report.record import Record

GAP = 2
STRIP_FROM = 100
STATE_STYLES = {"failed": "red", "running": "yellow", "partial": "yellow"}


@dataclass(frozen=True)
class Column:
    """A column of a table; a `wraps` column (at most one, the last) takes the room that is left."""

    title: str
    right: bool = False
    wraps: bool = False


def render_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str | Text]],
    *,
    width: int = 80,
    wide: bool = False,
    unicode: bool = True,
) -> Text:
    """A table with a rule under its header and no box.

    Columns that do not fit `width` are dropped from the right, never cut, and counted below; `wide` keeps
    all. The first two columns always stay.
    """
    from rich.text import Text

    cells = [[_text(cell, unicode) for cell in row] for row in rows]
    titles = [_text(column.title, unicode) for column in columns]
    wraps = [i for i, column in enumerate(columns) if column.wraps]
    widths = [
        max(one.cell_len for one in (title, *(row[i] for row in cells))) for i, title in enumerate(titles)
    ]
    if wraps and not wide:
        taken = sum(widths) - widths[wraps[0]] + GAP * (len(widths) - 1)
        widths[wraps[0]] = min(widths[wraps[0]], max(20, width - taken))
    shown = len(widths) if wide else _fitting(widths, width)
    lines = [_line(titles, columns, widths[:shown], bold=True)]
    lines.append(Text(("─" if unicode else "-") * (sum(widths[:shown]) + GAP * (shown - 1))))
    for row in cells:
        lines += _wrapped(row, columns, widths[:shown])
    if shown < len(widths):
        hidden = len(widths) - shown
        lines.append(
            Text(
                f"{numbers.counted(hidden, 'column')} hidden, --wide shows {'it' if hidden == 1 else 'them'}"
            )
        )
    return Text("\n").join(lines)


def render_run(run: Path, *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """A run as text: verdict, table, notes, report. Only states carry colour; print it with a rich console.

    Raises DataError when the folder holds no run.
    """
    from rich.text import Text

    from semblance.report.gathered import gathered
    from semblance.report.notes import notes_of
    from semblance.report.overview import run_verdict
    from semblance.report.record import read_record
    from semblance.report.verdict import plain

    shown = gathered((read_record(Path(run)),))[0]
    record, board = shown.record, shown.board
    verdict = run_verdict(shown)
    parts = [Text("\n").join(_folded(plain(verdict.heading), width, unicode, "bold"))]
    parts += (
        [Text("\n").join(_folded(" ".join(map(plain, verdict.lede)), width, unicode))] if verdict.lede else []
    )
    parts += _main_table(record, board, width, wide, unicode)
    remarks = [
        *(f"{row.label}: {row.note}." for row in board.unranked if row.note and board.tasks),
        *_references(board),
    ]
    remarks += [note.plain for note in notes_of(record)]
    notes = [line for remark in remarks for line in _folded(f"- {remark}", width, unicode)]
    parts += [Text("\n").join(notes)] if notes else []
    report = Path(run) / "report.html"
    if report.exists():
        parts.append(Text(f"Report: {report}"))
    return Text("\n\n").join(parts)


def _main_table(record: Record, board: Board, width: int, wide: bool, unicode: bool) -> list[Text]:
    """The one table of a run: SAGE's board, PTEB's drops, or the first that another command wrote."""
    if record.kind == "pteb":
        from semblance.report.pteb.columns import drop_table

        columns, rows = drop_table(record, board, wide=wide, unicode=unicode)
        return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)] if rows else []
    if board.tasks:
        return [_board(board, width, wide, unicode)] if board.rows else []
    from semblance.report.tablefiles import file_tables

    for table in file_tables(record.path)[:1]:
        columns = [Column(table.heading), *(Column(name, right=True) for name in table.columns)]
        rows = [[label, *(text for text, _ in cells)] for label, cells in table.rows]
        return [render_table(columns, rows, width=width, wide=wide, unicode=unicode)]
    return []


def _references(board: Board) -> list[str]:
    from semblance.report.verdict import listed, plain

    names = " and ".join(row.label for row in board.references)
    apart = plain(listed([row.label for row in board.apart]))
    told = [f"{apart} are ranked by themselves: another method stands behind some scores."] if apart else []
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
    from semblance.report.board import ends
    from semblance.report.scale import scale_of

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


def _text(cell: str | Text, unicode: bool) -> Text:
    """A cell on one line without control characters, in ASCII when that is all there is."""
    from rich.text import Text

    style = "" if isinstance(cell, str) else cell.style
    plain = "".join(c if c.isprintable() else " " for c in str(cell))
    return Text(plain if unicode else numbers.plain(plain).encode("ascii", "replace").decode(), style=style)


def _fitting(widths: Sequence[int], width: int) -> int:
    shown = len(widths)
    while shown > 2 and sum(widths[:shown]) + GAP * (shown - 1) > width:
        shown -= 1
    return shown


def _line(
    cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int], *, bold: bool = False
) -> Text:
    from rich.text import Text

    line = Text()
    for i, width in enumerate(widths):
        space = " " * (width - cells[i].cell_len)
        line.append(space if columns[i].right else "")
        line.append(cells[i].plain, style="bold" if bold else cells[i].style)
        line.append("" if columns[i].right else space)
        line.append(" " * GAP)
    line.rstrip()
    return line


def _wrapped(row: Sequence[Text], columns: Sequence[Column], widths: Sequence[int]) -> list[Text]:
    """The lines of a row: one, or more when its wrapping cell is longer than its column."""
    from rich.text import Text

    last = len(widths) - 1
    if not columns[last].wraps or row[last].cell_len <= widths[last]:
        return [_line(row, columns, widths)]
    pieces = _folded(row[last].plain, widths[last], True)
    blank = [Text("")] * last
    return [
        _line([*(row[:last] if i == 0 else blank), piece], columns, widths) for i, piece in enumerate(pieces)
    ]


def _folded(text: str, width: int, unicode: bool, style: str = "") -> list[Text]:
    """`text` in lines of at most `width` characters, broken at spaces only: names and numbers stay whole."""
    import textwrap

    from rich.text import Text

    lines = textwrap.wrap(
        _text(text, unicode).plain, width, break_long_words=False, break_on_hyphens=False,
        subsequent_indent="  " if text.startswith("- ") else "",
    )  # fmt: skip
    return [Text(line, style=style) for line in lines] or [Text("")]
