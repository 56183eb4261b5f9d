"""Tables of values: exact in CSV, rounded for people in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.spreadsheets import inert

Value = float | int | str | None
Style = Literal["text", "number", "signed", "p"]
NOTHING = "n/a"


@dataclass(frozen=True)
class Column:
    """A column: its name, and how its values are written for people. `p` is for p-values, three significant digits."""

    name: str
    style: Style = "number"
    decimals: int = 2

    def written(self, value: Value) -> str:
        """The value for people: rounded, a missing number as n/a.

        >>> Column("delta", "signed").written(-3.165), Column("p", "p").written(6.5e-10), Column("n").written(None)
        ('-3.17', '6.5e-10', 'n/a')
        """
        if value is None:
            return NOTHING if self.style != "text" else ""
        if isinstance(value, str):
            return value
        if self.style == "p":
            return f"{value:.3g}"
        return f"{value:+.{self.decimals}f}" if self.style == "signed" else f"{value:.{self.decimals}f}"


@dataclass(frozen=True)
class ColumnTable:
    """A table with a value, or None, for every row and column; `note` is a sentence under it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""

    def as_csv(self) -> str:
        """Full precision, empty where there is no value."""
        return csv_text([[column.name for column in self.columns], *self.rows])

    def as_markdown(self) -> str:
        """Rounded, `n/a` where there is no number."""
        body = [
            [column.written(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]
        marks = ["---" if column.style == "text" else "---:" for column in self.columns]
        return markdown_text(self.title, [column.name for column in self.columns], marks, body, self.note)


def csv_text(rows: Iterable[Sequence[Value]]) -> str:
    """Lines of values, numbers with every digit, empty for None."""
    return "".join(",".join(_exact(value) for value in row) + "\n" for row in rows)


def markdown_text(
    title: str, headings: Sequence[str], marks: Sequence[str], body: Iterable[Sequence[str]], note: str = ""
) -> str:
    """A titled table of written values; `marks` align the columns."""
    lines = [f"**{title}**", "", _line(headings), f"|{'|'.join(marks)}|", *map(_line, body)]
    return "\n".join([*lines, *(["", note] if note else [])]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _exact(value: Value) -> str:
    if value is None:
        return ""
    text = inert(value) if isinstance(value, str) else repr(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text
