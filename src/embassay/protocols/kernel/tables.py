"""Tables of values: exact in CSV, rounded for people in Markdown and LaTeX, and safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.data.rows import escape_spreadsheet_formula
from embassay.runs.folder import write_file_atomically

MINUS = "−"
NONE = "–"
"""Printed where a value does not exist (a parameter count of bm25); a missing one has a word and a reason."""

_NUMBERS_IN_WORDS = """
    no one two three four five six seven eight nine ten eleven twelve
"""
_WORDS = tuple(_NUMBERS_IN_WORDS.split())
_MONTHS_IN_WORDS = """
    Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
"""
_MONTHS = tuple(_MONTHS_IN_WORDS.split())


def format_score(value: float, decimals: int = 3) -> str:
    """A value with fixed decimals and a true minus sign; what rounds to zero has no sign.

    >>> format_score(0.5234), format_score(-0.0041), format_score(-0.0001)
    ('0.523', '−0.004', '0.000')
    """
    text = f"{value:.{decimals}f}"
    if not text.startswith("-"):
        return text
    return text[1:] if float(text) == 0 else MINUS + text[1:]


def format_change(value: float, decimals: int = 3) -> str:
    """A difference, always signed unless it rounds to zero.

    >>> format_change(0.0112), format_change(-0.1)
    ('+0.011', '−0.100')
    """
    text = format_score(value, decimals)
    return text if text.startswith(MINUS) or float(text) == 0 else f"+{text}"


def format_interval(low: float, high: float, decimals: int = 3) -> str:
    """An interval; with `to` when an end is negative, where a dash would read as a minus.

    >>> format_interval(0.5101, 0.5362), format_interval(-0.004, 0.026)
    ('0.510–0.536', '−0.004 to 0.026')
    """
    ends = format_score(low, decimals), format_score(high, decimals)
    return (" to " if MINUS in "".join(ends) else "–").join(ends)


def format_percent(value: float, decimals: int = 0) -> str:
    """A share as percent; a share that is not 0 or 1 never prints as 0% or 100%.

    >>> format_percent(0.3), format_percent(0.0714, 1), format_percent(0.999), format_percent(0.001)
    ('30%', '7.1%', '>99%', '<1%')
    """
    text = f"{100 * value:.{decimals}f}"
    # 0% and 100% would say none and all.
    step = f"{10**-decimals:.{decimals}f}"
    if value > 0 and float(text) == 0:
        return f"<{step}%"
    if value < 1 and float(text) == 100:
        return f">{100 - 10**-decimals:.{decimals}f}%"
    return f"{text}%"


def format_share_with_count(value: float, n: int) -> str:
    """A share of n items: counts first while n is under 100.

    >>> format_share_with_count(0.3, 40), format_share_with_count(214 / 3000, 3000)
    ('12 of 40 (30%)', '7.1% (214 of 3,000)')
    """
    part = f"{round(value * n):,} of {n:,}"
    return f"{part} ({format_percent(value)})" if n < 100 else f"{format_percent(value, 1)} ({part})"


def format_p_value(p: float) -> str:
    """A p-value to three decimals.

    >>> format_p_value(0.0123), format_p_value(0.0002), format_p_value(1.0)
    ('0.012', '<0.001', '1.000')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_rank_range(low: int, high: int) -> str:
    """Format the range of places that the tests allow.

    >>> format_rank_range(1, 2), format_rank_range(3, 3)
    ('1–2', '3')
    """
    return str(low) if low == high else f"{low}–{high}"


def format_count(n: int) -> str:
    """A whole number with thousands separated."""
    return f"{n:,}"


def format_noun_count(n: int, noun: str) -> str:
    """A count and its noun in the right number.

    >>> format_noun_count(1, "document"), format_noun_count(3000, "query")
    ('1 document', '3,000 queries')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def format_small_count_in_words(n: int) -> str:
    """A small count in words, for sentences; digits above twelve."""
    return _WORDS[n] if n < len(_WORDS) else format_count(n)


def capitalise_unless_name(text: str, names: Iterable[str] = ()) -> str:
    """The text with a capital first letter, unless it opens with one of these names: a name is spelled as it is.

    >>> (capitalise_unless_name("people lead"), capitalise_unless_name("nDCG rises", ["nDCG"]),
    ... capitalise_unless_name("bm25 leads", ["bm25"]))
    ('People lead', 'nDCG rises', 'bm25 leads')
    """
    if any(name and text.startswith(name) for name in names):
        return text
    return text[:1].upper() + text[1:]


def format_duration(seconds: float) -> str:
    """A time with the unit that suits it.

    >>> format_duration(0.338), format_duration(4.2), format_duration(41 * 60), format_duration(3 * 3600 + 12 * 60)
    ('338 ms', '4.2 s', '41 min', '3 h 12 min')
    """
    # At these limits rounding would give 1000 ms and 60.0 s.
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60:,} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def format_date(moment: str) -> str:
    """The day of an ISO time, as `20 Nov 2026`; text that is none is returned as it is."""
    try:
        day = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def format_time(text: str) -> str:
    """An ISO time with minutes and zone, as `20 Nov 2026, 14:02 UTC`; other text is returned as it is."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{format_date(text)}, {when:%H:%M} {when.tzname() or ''}".strip()


def format_significant_digits(value: float) -> str:
    """Eight significant digits, for CSV and sorting: more than a score has, and half the size of all."""
    return f"{value:.8g}"


def convert_text_to_ascii(text: str) -> str:
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
class MeasureFormat:
    """How values of a measure are printed: times `factor`, with fixed decimals; `prose` decimals in sentences.

    >>> POINTS.text(0.8142), POINTS.change(-0.0412), POINTS.interval(0.8, 0.82), POINTS.format_value_in_text(0.8142)
    ('81.42', '−4.12', '80.00–82.00', '81.4')
    """

    factor: float
    decimals: int
    prose: int

    def text(self, value: float) -> str:
        """The value as text, for a table."""
        return format_score(value * self.factor, self.decimals)

    def format_value_in_text(self, value: float) -> str:
        """The value, in a sentence or a chart."""
        return format_score(value * self.factor, self.prose)

    def change(self, value: float) -> str:
        """A difference, signed, in a table."""
        return format_change(value * self.factor, self.decimals)

    def interval(self, low: float, high: float) -> str:
        """An interval, in a table."""
        return format_interval(low * self.factor, high * self.factor, self.decimals)

    def format_interval_in_text(self, low: float, high: float) -> str:
        """An interval, in a sentence."""
        return format_interval(low * self.factor, high * self.factor, self.prose)


SCORE = MeasureFormat(1.0, 3, 3)
POINTS = MeasureFormat(100.0, 2, 1)
"""PTEB's points: a hundred times the measure."""


def choose_measure_format_of_protocol(protocol: str) -> MeasureFormat:
    """Choose how a protocol's values are printed: as points for PTEB, HTEB and HUME, else as scores."""
    return POINTS if protocol in ("pteb", "hteb", "hume") else SCORE


@dataclass(frozen=True)
class FormattedReportTable:
    """A table as people read it: headings, `aligns` with `l` for a column of words and `r` for one of numbers, and rows
    of written values. A row that is a text is the heading of those that follow; `first` are the places, by row and
    column, of who may be first by the tests of the run."""

    title: str
    heads: Sequence[str]
    aligns: str
    body: Sequence[Sequence[str] | str]
    note: str = ""
    first: frozenset[tuple[int, int]] = frozenset()

    def markdown(self) -> str:
        """As Markdown; `first` is not in it."""
        marks = ["---" if align == "l" else "---:" for align in self.aligns]
        lines = [f"**{self.title}**", "", _format_markdown_row(self.heads), f"|{'|'.join(marks)}|"]
        lines.extend(
            f"| *{row}* |" + " |" * (len(self.heads) - 1) if isinstance(row, str) else _format_markdown_row(row)
            for row in self.body
        )
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"

    def render_as_latex(self, name: str) -> str:
        r"""For `\input` into a paper with booktabs and graphicx: caption, label `tab:NAME`, `first` in bold, note. The
        note names the columns that are left out, as they hold no value."""
        shown, empty = self._split_printed_and_empty_columns()
        note = f"{self.note} Left out because no system has a value: {', '.join(empty)}." if empty else self.note
        caption = escape_latex(self.title) + ". Bold: may be first according to the run's tests." * bool(self.first)
        lines = [
            r"% Made by Embassay. Needs \usepackage{booktabs,graphicx}.", r"\begin{table}", r"\centering", r"\small",
            rf"\caption{{{caption}}}", rf"\label{{tab:{name.replace('_', '-')}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{''.join(self.aligns[i] for i in shown)}}}",
            r"\toprule", " & ".join(escape_latex(self.heads[i]) for i in shown) + r" \\", r"\midrule"
        ]  # fmt: skip
        for place, row in enumerate(self.body):
            if isinstance(row, str):
                lines += [r"\addlinespace"] * (place > 0)
                lines.append(rf"\multicolumn{{{len(shown)}}}{{l}}{{\emph{{{escape_latex(row)}}}}} \\")
                continue
            cells = [
                _escape_latex_cell(row[column], (place, column) in self.first) for column in shown if column < len(row)
            ]
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}}"]
        if note:
            lines.append(r"\par\smallskip\footnotesize " + escape_latex(note.strip()))
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def _split_printed_and_empty_columns(self) -> tuple[list[int], list[str]]:
        """The places of the columns to print, and the headings of those that hold nothing but missing values; all where
        none holds more."""
        rows = [row for row in self.body if not isinstance(row, str)]
        empty = [
            i for i, align in enumerate(self.aligns)
            if align == "r" and rows and all(len(row) > i and row[i] == NOTHING for row in rows)
        ]  # fmt: skip
        # A table without any number left would be names alone.
        if len(empty) == self.aligns.count("r"):
            empty = []
        return [i for i in range(len(self.heads)) if i not in empty], [str(self.heads[i]) for i in empty]


First = Mapping[str, Collection[str]]
"""Who may be first on each task, by the tests of a run."""


class RunTable(ABC):
    """A table that a run keeps in its `tables/`, exact and as people read it. `task` and `suite` are those whose
    datasets it is of, where it is of some."""

    name: str
    task: str = ""
    suite: str = ""

    @abstractmethod
    def as_csv(self) -> str:
        """The table as CSV with full precision, empty where there is no value."""

    @abstractmethod
    def format_table_for_printing(self, first: First | None = None) -> FormattedReportTable:
        """Rounded. Who is `first` on the task of a column is marked there."""

    def format_table_as_markdown(self) -> str:
        """Rounded, as Markdown."""
        return self.format_table_for_printing().markdown()


_NAME = re.compile(r"\w[\w.-]*")


def check_table_name(name: str) -> None:
    """ValueError for a name that is no file's."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a table name: use only letters, digits, _, - and .")


def write_tables(run: Path, tables: Iterable[RunTable], first: First | None = None) -> None:
    """Write each table into the `tables/` of a run, as CSV, Markdown and LaTeX."""
    for table in tables:
        printed = table.format_table_for_printing(first)
        files = {"csv": table.as_csv(), "md": printed.markdown(), "tex": printed.render_as_latex(table.name)}
        for ending, text in files.items():
            write_file_atomically(run / "tables" / f"{table.name}.{ending}", text)


def _format_markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _escape_latex_cell(text: str, bold: bool) -> str:
    """A cell of LaTeX; what Markdown breaks is broken in it too."""
    lines = [escape_latex(line) for line in text.split("<br>")]
    plain = lines[0] if len(lines) == 1 else r"\shortstack[r]{" + r" \\ ".join(lines) + "}"
    return rf"\textbf{{{plain}}}" if bold else plain


Value = float | int | str | None
Style = Literal["text", "number", "signed", "p"]
NOTHING = "n/a"


@dataclass(frozen=True)
class Column:
    """A column: its name, and how its values are written for people. `p` is for p-values, three significant digits."""

    name: str
    style: Style = "number"
    decimals: int = 2

    def __post_init__(self) -> None:
        if self.style not in get_args(Style):
            raise ValueError(f"the column {self.name} has the style {self.style!r}, not {', '.join(get_args(Style))}")

    def format_value_for_people(self, value: Value) -> str:
        """The value for people: rounded, a missing number as n/a.

        >>> (Column("delta", "signed").format_value_for_people(-3.165),
        ... Column("p", "p").format_value_for_people(6.5e-10), Column("n").format_value_for_people(None))
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
class ColumnTable(RunTable):
    """A table with a value, or None, for every row and column; `note` is a sentence under it. ValueError for a row of
    more or fewer values."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of the table {self.name} has {format_noun_count(len(row), 'value')} for "
                    f"{format_noun_count(len(self.columns), 'column')}"
                )

    @classmethod
    def of(cls, name: str, title: str, items: Iterable[Any], *fields: ComputedColumn, note: str = "") -> ColumnTable:
        """Make a table with a row for each item and a column for each field.

        >>> ColumnTable.of("t", "T", ["ab", "c"], text("Word", str), whole_number_column("Letters", len)).as_csv()
        'Word,Letters\\nab,2\\nc,1\\n'
        """
        rows = tuple(tuple(field.find(item) for field in fields) for item in items)
        return cls(name, title, tuple(field.column for field in fields), rows, note)

    def as_csv(self) -> str:
        """Full precision, empty where there is no value."""
        return format_csv_rows([[column.name for column in self.columns], *self.rows])

    def format_table_for_printing(self, first: First | None = None) -> FormattedReportTable:
        """Rounded, `n/a` where there is no number."""
        del first  # its columns are measures
        body = [
            [column.format_value_for_people(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]
        aligns = "".join("l" if column.style == "text" else "r" for column in self.columns)
        return FormattedReportTable(self.title, [column.name for column in self.columns], aligns, body, self.note)


Find = str | Sequence[str] | Callable[[Any], Any]
"""How a value is found in an item: by a function, or by a path of attributes and keys, as a text (`mean.low`) or as its
steps where a key may hold a dot."""


@dataclass(frozen=True)
class ComputedColumn:
    """A column, and how its value is found in the item of a row."""

    column: Column
    find: Callable[[Any], Value]

    def within(self, step: Callable[[Any], Any]) -> ComputedColumn:
        """The same column, of what `step` finds in the item."""
        return ComputedColumn(self.column, lambda item: self.find(step(item)))


def number_column(
    name: str, find: Find = "", decimals: int = 2, style: Style = "number", factor: int = 1
) -> ComputedColumn:
    """A number times `factor`; by default the attribute that is called like the column. None where there is none."""
    path = find or (name,)
    if isinstance(path, str):
        path = path.split(".")
    value = path if callable(path) else partial(_follow_path, path)
    return ComputedColumn(Column(name, style, decimals), partial(_scale_found_value, value, factor))


def text(name: str, find: Find = "") -> ComputedColumn:
    """A column of words."""
    return number_column(name, find, style="text")


def whole_number_column(name: str, find: Find = "") -> ComputedColumn:
    """A count, a rank, or whether something is so (0 or 1)."""
    return number_column(name, find, 0)


def make_percentage_point_column(name: str, find: Find = "", style: Style = "number") -> ComputedColumn:
    """A fraction in points of 100."""
    return number_column(name, find, 1, style, 100)


def interval_columns(
    find: str, names: Sequence[str], style: Style = "number", decimals: int = 1, factor: int = 100
) -> tuple[ComputedColumn, ...]:
    """A fraction and its interval, in points of 100 unless said otherwise: columns of these three `names`."""
    ends = zip(names, ("value", "low", "high"), strict=True)
    return tuple(number_column(name, f"{find}.{end}", decimals, style, factor) for name, end in ends)


def _follow_path(path: Sequence[str], item: Any) -> Any:
    for name in path:
        if item is not None:
            item = item.get(name) if isinstance(item, Mapping) else getattr(item, name)
    return item


def _scale_found_value(find: Callable[[Any], Any], factor: int, item: Any) -> Value:
    value: Value = find(item)
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, str) or factor == 1 else factor * value


def format_csv_rows(rows: Iterable[Sequence[Value]]) -> str:
    """Lines of values, numbers with every digit, empty for None."""
    return "".join(",".join(_format_csv_value(value) for value in row) + "\n" for row in rows)


def escape_markdown_cell(text: str) -> str:
    """A text that a table of a Markdown comment shows as it is, on one line."""
    return strip_control_characters(text).replace("|", "\\|").replace("`", "'").replace("<", "&lt;").replace("\n", " ")


def strip_control_characters(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(sign if sign.isprintable() or sign in "\t\n" else " " for sign in text)


_MARKS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "−": "$-$", "–": "--", "—": "---", "…": r"\ldots{}",
    "×": r"$\times$", "[": "{[}", "]": "{]}",  # a row that begins with a bracket would be read as an option of the last
    **{mark: "\\" + mark for mark in "&%$#_{}"}
}  # fmt: skip
_PLAIN_LATIN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ"


def escape_latex(text: str) -> str:
    r"""A text that LaTeX prints as it is, and never obeys; a letter that its standard fonts lack as its number.

    >>> escape_latex("st:a_b & 100%"), escape_latex(r"\input{x}"), escape_latex("é中")
    ('st:a\\_b \\& 100\\%', '\\textbackslash{}input\\{x\\}', 'é{[}U+4E2D{]}')
    """
    return _UNSAFE.sub(_escape_latex_letter, " ".join(text.split()))


def _escape_latex_letter(match: re.Match[str]) -> str:
    letter = match[0]
    if letter == "-":
        return "{}-"
    return _MARKS.get(letter) or _MARKS["["] + f"U+{ord(letter):04X}" + _MARKS["]"]


# Two hyphens side by side would print as one dash.
_UNSAFE = re.compile(rf"(?<=-)-|[{re.escape(''.join(_MARKS))}]|[^ -~{_PLAIN_LATIN}]")


def _format_csv_value(value: Value) -> str:
    if value is None:
        return ""
    text = escape_spreadsheet_formula(value) if isinstance(value, str) else repr(_convert_numpy_to_builtin(value))
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def _convert_numpy_to_builtin(value: Any) -> Any:
    """A number of numpy as Python's own, which prints as digits alone."""
    return value.item() if hasattr(value, "item") else value


def replace_control_characters(cell: Any) -> Any:
    r"""The cell, a text with � for the characters that steer a terminal and that XML cannot hold; ends of lines and
    tabs stay.

    >>> replace_control_characters("a\x1b[2Jb\tc\n"), replace_control_characters(0.5)
    ('a�[2Jb\tc\n', 0.5)
    """
    return _STEERING.sub("\ufffd", cell) if isinstance(cell, str) else cell


_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def format_csv_row(cells: Iterable[Any]) -> str:
    """A line of CSV with its end, a line feed. Python's writer leaves a carriage return without quotes where lines do
    not end in one, and then no reader finds the row again.

    >>> format_csv_row(["a\\rb", 0.5, None])
    '"a\\rb",0.5,\\n'
    """
    return format_csv_sheet([cells]).removesuffix("\r\n") + "\n"


def format_csv_sheet(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    r"""CSV as spreadsheets write it, for files that people fill in and give back. What steers a terminal is replaced on
    the way out, in every file of ours alike.

    >>> format_csv_sheet([("id", "text"), ("1", "a\x1b[2Jb")])
    'id,text\r\n1,a�[2Jb\r\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([replace_control_characters(cell) for cell in cells] for cells in rows)
    return buffer.getvalue()
