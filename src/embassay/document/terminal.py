"""A table on a terminal: a rule under its header and no box, columns dropped from the right, nothing cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embassay.protocols.kernel import tables as numbers

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
MOST_NOTES = 5
"""Notes below a table, unless all are asked for."""


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
    pieces = folded(row[last].plain, widths[last], True)
    blank = [Text("")] * last
    return [
        _line([*(row[:last] if i == 0 else blank), piece], columns, widths) for i, piece in enumerate(pieces)
    ]


def folded(text: str, width: int, unicode: bool, style: str = "") -> list[Text]:
    """`text` in lines of at most `width` characters, broken at spaces only: names and numbers stay whole."""
    import textwrap

    from rich.text import Text

    lines = textwrap.wrap(
        _text(text, unicode).plain, width, break_long_words=False, break_on_hyphens=False,
        subsequent_indent="  " if text.startswith("- ") else "",
    )  # fmt: skip
    return [Text(line, style=style) for line in lines] or [Text("")]


def notes_below(
    notes: Iterable[str],
    *,
    width: int = 80,
    wide: bool = False,
    unicode: bool = True,
    signs: Sequence[str] = (),
) -> list[Text]:
    """The notes below a table as one part of a text, the first `MOST_NOTES` unless `wide`; none for no notes.

    How many more there are is said. What the `signs` of the table mean is one note, the last, and always there.
    """
    from rich.text import Text

    every, legend = list(notes), [" ".join(signs)] if signs else []
    shown = every if wide else every[: MOST_NOTES - len(legend)]
    more = len(every) - len(shown)
    lines = [line for note in (*shown, *legend) for line in folded(f"- {note}", width, unicode)]
    if more:
        them = "it" if more == 1 else "them"
        lines.append(Text(f"{numbers.counted(more, 'more note')}: --wide and the report show {them}"))
    return [Text("\n").join(lines)] if lines else []
