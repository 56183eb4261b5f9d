"""Tables of values: exact in CSV, rounded for people in Markdown, and safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

MINUS = "−"
NONE = "–"
"""Printed where a value does not exist (a parameter count of bm25); a missing one has a word and a reason."""

_WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def score(value: float, decimals: int = 3) -> str:
    """A value with fixed decimals and a true minus sign; what rounds to zero has no sign.

    >>> score(0.5234), score(-0.0041), score(-0.0001)
    ('0.523', '−0.004', '0.000')
    """
    text = f"{value:.{decimals}f}"
    if not text.startswith("-"):
        return text
    return text[1:] if float(text) == 0 else MINUS + text[1:]


def change(value: float, decimals: int = 3) -> str:
    """A difference, always signed unless it rounds to zero.

    >>> change(0.0112), change(-0.1)
    ('+0.011', '−0.100')
    """
    text = score(value, decimals)
    return text if text.startswith(MINUS) or float(text) == 0 else f"+{text}"


def interval(low: float, high: float, decimals: int = 3) -> str:
    """An interval; with `to` when an end is negative, where a dash would read as a minus.

    >>> interval(0.5101, 0.5362), interval(-0.004, 0.026)
    ('0.510–0.536', '−0.004 to 0.026')
    """
    ends = score(low, decimals), score(high, decimals)
    return (" to " if MINUS in "".join(ends) else "–").join(ends)


def percent(value: float, decimals: int = 0) -> str:
    """A share as percent; a share that is not 0 or 1 never prints as 0% or 100%.

    >>> percent(0.3), percent(0.0714, 1), percent(0.999), percent(0.001)
    ('30%', '7.1%', '>99%', '<1%')
    """
    text = f"{100 * value:.{decimals}f}"
    step = f"{10**-decimals:.{decimals}f}"
    if value > 0 and float(text) == 0:
        return f"<{step}%"
    if value < 1 and float(text) == 100:
        return f">{100 - 10**-decimals:.{decimals}f}%"
    return f"{text}%"


def share(value: float, n: int) -> str:
    """A share of n items: counts first while n is under 100.

    >>> share(0.3, 40), share(214 / 3000, 3000)
    ('12 of 40 (30%)', '7.1% (214 of 3,000)')
    """
    part = f"{round(value * n):,} of {n:,}"
    return f"{part} ({percent(value)})" if n < 100 else f"{percent(value, 1)} ({part})"


def p_value(p: float) -> str:
    """A p-value to three decimals.

    >>> p_value(0.0123), p_value(0.0002), p_value(1.0)
    ('0.012', '<0.001', '1.000')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def rank(low: int, high: int) -> str:
    """The places that the tests allow.

    >>> rank(1, 2), rank(3, 3)
    ('1–2', '3')
    """
    return str(low) if low == high else f"{low}–{high}"


def count(n: int) -> str:
    """A whole number with thousands separated."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """A count and its noun in the right number.

    >>> counted(1, "document"), counted(3000, "query")
    ('1 document', '3,000 queries')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def in_words(n: int) -> str:
    """A small count in words, for sentences; digits above twelve."""
    return _WORDS[n] if n < len(_WORDS) else count(n)


def duration(seconds: float) -> str:
    """A time with the unit that suits it.

    >>> duration(0.338), duration(4.2), duration(41 * 60), duration(3 * 3600 + 12 * 60)
    ('338 ms', '4.2 s', '41 min', '3 h 12 min')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60:,} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def date(moment: str) -> str:
    """The day of an ISO time, as `20 Nov 2026`; text that is none is returned as it is."""
    try:
        day = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def moment(text: str) -> str:
    """An ISO time with minutes and zone, as `20 Nov 2026, 14:02 UTC`; other text is returned as it is."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{date(text)}, {when:%H:%M} {when.tzname() or ''}".strip()


def exact(value: float) -> str:
    """Eight significant digits, for CSV and sorting: more than a score has, and half the size of all."""
    return f"{value:.8g}"


def plain(text: str) -> str:
    """The same in ASCII, for terminals that know no more: `0.510..0.536`, `-0.004`."""
    if text == NONE:
        return "-"
    for sign, instead in (
        (MINUS, "-"),
        ("–", ".."),
        ("…", "..."),
        ("·", "|"),
        ("’", "'"),
        ("×", "x"),
        ("±", "+-"),
        ("Δ", "d"),
        ("τ", "tau"),
        ("α", "alpha"),
    ):
        text = text.replace(sign, instead)
    return text


@dataclass(frozen=True)
class Unit:
    """How values of a measure are printed: times `factor`, with fixed decimals; `prose` decimals in sentences.

    >>> POINTS.text(0.8142), POINTS.change(-0.0412), POINTS.interval(0.8, 0.82), POINTS.said(0.8142)
    ('81.42', '−4.12', '80.00–82.00', '81.4')
    """

    factor: float
    decimals: int
    prose: int

    def text(self, value: float) -> str:
        """The value, in a table."""
        return score(value * self.factor, self.decimals)

    def said(self, value: float) -> str:
        """The value, in a sentence or a chart."""
        return score(value * self.factor, self.prose)

    def change(self, value: float) -> str:
        """A difference, signed, in a table."""
        return change(value * self.factor, self.decimals)

    def interval(self, low: float, high: float) -> str:
        """An interval, in a table."""
        return interval(low * self.factor, high * self.factor, self.decimals)

    def said_interval(self, low: float, high: float) -> str:
        """An interval, in a sentence."""
        return interval(low * self.factor, high * self.factor, self.prose)


SCORE = Unit(1.0, 3, 3)
POINTS = Unit(100.0, 2, 1)
"""PTEB's points: a hundred times the measure."""


def unit_of(protocol: str) -> Unit:
    """PTEB and HUME speak in points, the others in scores."""
    return POINTS if protocol in ("pteb", "hume") else SCORE


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


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: Any) -> Any:
    """The cell, after an apostrophe where it is a text that a spreadsheet would take for a formula; `meant` takes it
    off.

    Numbers are no formulas, written as texts or not; nor is a sign alone. Source: OWASP, CSV Injection.

    >>> inert('=HYPERLINK("http://x")'), inert("-0.5"), inert("-"), inert(None)
    ('\\'=HYPERLINK("http://x")', '-0.5', '-', None)
    """
    return f"'{cell}" if isinstance(cell, str) and _is_formula(cell.lstrip("'")) else cell


def meant(text: str) -> str:
    """What `inert` was given.

    >>> meant("'=1+1"), meant(inert("'=1+1")), meant("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def csv_row(cells: Iterable[Any]) -> str:
    """A line of CSV with its end, a line feed. Python's writer leaves a carriage return without quotes where lines do
    not end in one, and then no reader finds the row again.

    >>> csv_row(["a\\rb", 0.5, None])
    '"a\\rb",0.5,\\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(list(cells))
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def _is_formula(text: str) -> bool:
    if len(text) < 2 or not text.startswith(_FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
