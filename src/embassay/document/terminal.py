"""Blocks on a terminal: folded text, tables with a rule under their header and no box, notes. Nothing is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embassay.document.blocks import (
    BulletList,
    CautionNotes,
    Column,
    CommandInSentence,
    Heading,
    Said,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    convert_sentence_to_text,
)
from embassay.document.blocks import ParagraphBlock as Paragraph
from embassay.document.marks import LinearScale
from embassay.protocols.kernel import tables as numbers

if TYPE_CHECKING:
    from rich.text import Text

    from embassay.document.blocks import Block

GAP = 2
MOST_NOTES = 5
"""Notes below a table, unless all are asked for."""
STRIP_FROM, STRIP = 100, 21
"""The width from which a column with a scale has a strip beside it, and that strip's own."""
STYLES = {"b": "bold", "state failed": "red", "state running": "yellow", "state partial": "yellow"}
SIGNS = "✕✓◔◐ "
"""What stands before the word of a state where more than ASCII can be printed."""


@dataclass(frozen=True)
class TerminalPrintLimits:
    """Columns there are, whether tables may be wider, and whether more than ASCII can be printed."""

    width: int = 80
    wide: bool = False
    unicode: bool = True


def draw_terminal_blocks(blocks: Iterable[Block], *, width: int = 80, wide: bool = False, unicode: bool = True) -> Text:
    """Verdicts, texts, tables, lists and notes one below the other, a line between; print it with a rich console.

    Columns that do not fit `width` are dropped from the right, never cut, and counted; `wide` keeps all of them, and
    all notes. KeyError for a block that a terminal does not draw.
    """
    from rich.text import Text

    room = TerminalPrintLimits(width, wide, unicode)
    parts = (Text("\n").join(_DRAWN[type(block)](block, room)) for block in blocks)
    return Text("\n\n").join(part for part in parts if part)


def select_blocks_for_terminal(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a page that a terminal draws: not its figures, nor what stands one click away."""
    return (block for block in blocks if type(block) in _DRAWN)


def is_table_within_width(table: Table, width: int) -> bool:
    """Whether every column of the table fits."""
    return (
        len(_keep_column_widths_that_fit(_PrintableTable.of(table, TerminalPrintLimits()).column_widths, width))
        == len(table.columns) + 1
    )


def fold_text_to_width(text: str, width: int, unicode: bool, style: str = "") -> list[Text]:
    """`text` in lines of at most `width` characters, broken at spaces only: names and numbers stay whole."""
    import textwrap

    from rich.text import Text

    lines = textwrap.wrap(
        _replace_unprintable(text, unicode), width, break_long_words=False, break_on_hyphens=False,
        subsequent_indent="  " if text.startswith("- ") else ""
    )  # fmt: skip
    return [Text(line, style=style) for line in lines] or [Text("")]


def _draw_verdict(block: VerdictText, room: TerminalPrintLimits) -> list[Text]:
    lede = " ".join(map(convert_sentence_to_text, block.lede))
    return [
        *fold_text_to_width(convert_sentence_to_text(block.heading), room.width, room.unicode, "bold"),
        *(fold_text_to_width(lede, room.width, room.unicode) if lede else ()),
    ]


def _format_terminal_heading(block: Heading, room: TerminalPrintLimits) -> list[Text]:
    text = block.said if isinstance(block.said, str) else convert_sentence_to_text(block.said)
    return fold_text_to_width(text, room.width, room.unicode, "bold")


def _render_terminal_paragraph(block: Paragraph, room: TerminalPrintLimits) -> list[Text]:
    """Draw a paragraph; one that names a file or a command stays whole, so that it can be copied."""
    from rich.text import Text

    parts = (block.said,) if isinstance(block.said, str) else block.said
    if any(isinstance(part, CommandInSentence) for part in parts):
        return [Text(convert_sentence_to_text(parts))]
    return fold_text_to_width(
        convert_sentence_to_text(parts), room.width, room.unicode, _find_style_of_first_words(parts)
    )


def _draw_bullets(block: BulletList, room: TerminalPrintLimits) -> list[Text]:
    items = (item if isinstance(item, str) else convert_sentence_to_text(item) for item in block.items)
    return [line for item in items for line in fold_text_to_width(f"- {item}", room.width, room.unicode)]


def _draw_caution_notes(block: CautionNotes, room: TerminalPrintLimits) -> list[Text]:
    """The first notes unless all are asked for, and how many more there are; `more`, what the signs of the table mean,
    is one note, the last, and always there."""
    from rich.text import Text

    legend = (" ".join(map(_convert_words_to_plain_text, block.more)),) if block.more else ()
    shown = block.notes if room.wide else block.notes[: MOST_NOTES - len(legend)]
    lines = _draw_bullets(BulletList((*shown, *legend)), room)
    if more := len(block.notes) - len(shown):
        them = "it" if more == 1 else "them"
        lines.append(Text(f"{numbers.format_noun_count(more, 'more note')}: --wide and the report show {them}"))
    return lines


@dataclass(frozen=True)
class _PrintableTable:
    """A table as cells that can be printed, its label in its place."""

    columns: tuple[Column, ...]
    cells: tuple[tuple[Text, ...], ...]

    @classmethod
    def of(cls, table: Table, room: TerminalPrintLimits) -> _PrintableTable:
        """Make the printable grid of a table, its titles the first row."""
        columns, at = [*table.heads], table.at
        columns.insert(at, Column(table.heading, style=""))
        rows = [[*line.entries[:at], TableCell(line.label), *line.entries[at:]] for line in table.lines]
        titles = tuple(_format_cell_as_styled_text(TableCell(column.title), room) for column in columns)
        return cls(
            tuple(columns),
            (titles, *(tuple(_format_cell_as_styled_text(entry, room) for entry in row) for row in rows)),
        )

    @property
    def column_widths(self) -> list[int]:
        """The widest cell of each column."""
        return [max(cell.cell_len for cell in column) for column in zip(*self.cells, strict=True)]

    def insert_column_after(self, place: int, title: str, cells: Sequence[str]) -> _PrintableTable:
        """The grid with one more column after a place."""
        from rich.text import Text

        more = (Text(title), *map(Text, cells))
        return _PrintableTable(
            (*self.columns[: place + 1], Column(title, style=""), *self.columns[place + 1 :]),
            tuple((*row[: place + 1], new, *row[place + 1 :]) for row, new in zip(self.cells, more, strict=True)),
        )


def _draw_table_as_terminal_lines(table: Table, room: TerminalPrintLimits) -> list[Text]:
    """A rule under the header and no box. The first two columns always stay; one that `wrap`s, the last, takes the room
    that is left."""
    from rich.text import Text

    if not table.lines:
        return []
    grid = _add_interval_column_to_table(_PrintableTable.of(table, room), table, room)
    widths, count = grid.column_widths, len(grid.columns)
    if grid.columns[-1].style == "wrap" and not room.wide:
        widths[-1] = min(widths[-1], max(20, room.width - sum(widths[:-1]) - GAP * (count - 1)))
    shown = widths if room.wide else _keep_column_widths_that_fit(widths, room.width)
    titles, *rows = grid.cells
    head = _join_row_cells_into_line(titles, grid.columns, shown)
    head.stylize("bold")
    rule = ("─" if room.unicode else "-") * (sum(shown) + GAP * (len(shown) - 1))
    lines = [head, Text(rule), *(line for row in rows for line in _wrap_table_row(row, grid.columns, shown))]
    if hidden := count - len(shown):
        them = "it" if hidden == 1 else "them"
        lines.append(Text(f"{numbers.format_noun_count(hidden, 'column')} hidden, --wide shows {them}"))
    return lines


def _keep_column_widths_that_fit(widths: Sequence[int], width: int) -> Sequence[int]:
    shown = len(widths)
    # From the right: the first columns say what a row is of.
    while shown > 2 and sum(widths[:shown]) + GAP * (shown - 1) > width:
        shown -= 1
    return widths[:shown]


def _add_interval_column_to_table(grid: _PrintableTable, table: Table, room: TerminalPrintLimits) -> _PrintableTable:
    """Strips of intervals after the column that has a scale: on a broad terminal, and only where no number has to go
    for them."""
    place, scale = next(((i, column.scale) for i, column in enumerate(grid.columns) if column.scale), (0, None))
    if scale is None or not room.unicode or room.width < STRIP_FROM:
        return grid
    left = room.width - sum(width + GAP for width in grid.column_widths)
    width = STRIP if room.wide else min(STRIP, left)
    if width < 9:
        return grid
    spans = [_list_value_and_interval_ends(line.entries[place - (place > table.at)]) for line in table.lines]
    return grid.insert_column_after(place, "", [_draw_interval_as_text_strip(ends, scale, width) for ends in spans])


def _list_value_and_interval_ends(entry: TableCell) -> list[float]:
    """The value of a cell and the ends of its interval."""
    return [float(number) for number in entry.exact.split(",") if number]


def _draw_interval_as_text_strip(ends: Sequence[float], scale: LinearScale, width: int) -> str:
    """Draw an interval as a strip of characters, such as `··━━┃━━··`."""
    if not ends:
        return ""
    value, *interval = (min(width - 1, int(scale.at(end) / 100 * width)) for end in ends)
    marks = ["·"] * width
    if interval:
        # The tick is drawn last, over its bar.
        low, high = interval
        marks[low : high + 1] = "━" * (high + 1 - low)
    marks[value] = "┃"
    return "".join(marks)


def _format_cell_as_styled_text(entry: TableCell, room: TerminalPrintLimits) -> Text:
    """A cell on one line without control characters: its text, and the interval of its value; coloured by its state."""
    from rich.text import Text

    said = _convert_words_to_plain_text(entry.text) + (f" {entry.small}" if entry.small and entry.exact else "")
    style = "bold" if entry.bold else STYLES.get(entry.style) or _find_style_of_first_words(entry.text)
    text = _replace_unprintable(said, room.unicode)
    if not room.unicode and style == STYLES["state failed"]:
        text = text.upper()
    return Text(text, style=style)


def _replace_unprintable(text: str, unicode: bool) -> str:
    """A text without control characters, in ASCII when that is all there is."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    if unicode:
        return clean
    return (
        numbers.convert_text_to_ascii(clean.lstrip(SIGNS) if clean[:1] in SIGNS[:-1] else clean)
        .encode("ascii", "replace")
        .decode()
    )


def _find_style_of_first_words(said: Said) -> str:
    """Choose the style of words that stand apart."""
    words = said[0] if said and not isinstance(said, str) else None
    return STYLES.get(words.style, "") if isinstance(words, StyledWords) else ""


def _convert_words_to_plain_text(said: Said) -> str:
    return said if isinstance(said, str) else convert_sentence_to_text(said)


def _join_row_cells_into_line(cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int]) -> Text:
    from rich.text import Text

    line = Text()
    for column, cell, width in zip(columns, cells, widths, strict=False):
        # cell_len counts columns of the terminal, of which a Chinese sign takes two.
        space = " " * (width - cell.cell_len)
        line.append(space if column.style == "num" else "")
        line.append(cell.plain, style=cell.style)
        line.append("" if column.style == "num" else space)
        line.append(" " * GAP)
    line.rstrip()
    return line


def _wrap_table_row(row: Sequence[Text], columns: Sequence[Column], widths: Sequence[int]) -> Iterator[Text]:
    """The lines of a row: one, or more when its wrapping cell is longer than its column."""
    from rich.text import Text

    last = len(widths) - 1
    if columns[last].style != "wrap" or row[last].cell_len <= widths[last]:
        yield _join_row_cells_into_line(row, columns, widths)
        return
    for i, piece in enumerate(fold_text_to_width(row[last].plain, widths[last], True)):
        yield _join_row_cells_into_line([*(row[:last] if i == 0 else [Text("")] * last), piece], columns, widths)


_DRAWN: dict[type, Callable[[Any, TerminalPrintLimits], list[Text]]] = {
    VerdictText: _draw_verdict,
    Heading: _format_terminal_heading,
    Paragraph: _render_terminal_paragraph,
    BulletList: _draw_bullets,
    CautionNotes: _draw_caution_notes,
    Table: _draw_table_as_terminal_lines,
}
