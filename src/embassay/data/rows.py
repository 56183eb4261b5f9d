"""Rows on their way from a file to a record: their cells, and the faults that are found in them."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from embassay.errors import DataError

# No argument: between who collects and who reads a row lie views that know nothing of it.
_collect: ContextVar[Callable[[DataError], None] | None] = ContextVar("collect", default=None)


def raise_or_collect_fault(error: DataError) -> None:
    """Raise `error`; inside `skip_and_collect_faulty_rows` hand it over, and the caller goes on with the next row."""
    collect = _collect.get()
    if collect is None:
        raise error
    collect(error)


@contextmanager
def skip_and_collect_faulty_rows(collect: Callable[[DataError], None]) -> Iterator[None]:
    """Within this block readers give the faults of rows to `collect` and leave those rows out.

    What is wrong with a whole file (cut, binary, without a column) is raised as ever.
    """
    token = _collect.set(collect)
    try:
        yield
    finally:
        _collect.reset(token)


def is_collecting_faults() -> bool:
    """Whether faults are collected, so that rows may be left out."""
    return _collect.get() is not None


_LARGE = 2**24
"""Bytes from which on a file is not read again for its digest while its size, times and inode stay."""


class SourceRow(NamedTuple):
    """One row: the file and line it came from (row number for Parquet), and its cells by column."""

    path: Path
    line: int
    cells: Mapping[str, Any]


class RowOrigin(Protocol):
    """Where rows come from: a file, or a table of a hub."""

    @property
    def origin_address(self) -> str:
        """What tells it from other origins."""
        ...

    def compute_content_digest(self) -> bytes:
        """A SHA-256 of what it holds."""
        ...


@dataclass(frozen=True)
class RowSourceFileOrigin:
    """A file as an origin; what it is called doesn't enter its digest. `how` it is read, where that was told from the
    file and is not the usual way, does; `notes` are to be said of it."""

    path: Path
    how: str = ""
    notes: tuple[str, ...] = ()

    @property
    def origin_address(self) -> str:
        """Its path."""
        return str(self.path)

    def compute_content_digest(self) -> bytes:
        """SHA-256 of its bytes; a large file that has not been touched is read once in a process."""
        of_bytes = self._compute_file_content_digest()
        return hashlib.sha256(of_bytes + self.how.encode()).digest() if self.how else of_bytes

    def _compute_file_content_digest(self) -> bytes:
        status = self.path.stat()
        if status.st_size < _LARGE:
            return _compute_file_digest(self.path)
        # The times alone may be coarse, and a tool may set them back; the inode tells a file that was replaced.
        stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
        return _compute_file_digest_cached(self.path.absolute(), stamp)


def _compute_file_digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


@lru_cache(maxsize=64)
def _compute_file_digest_cached(path: Path, _stamp: tuple[int, ...]) -> bytes:
    return _compute_file_digest(path)


class RowSource(Protocol):
    """Something that gives rows. A column that a row does not have reads as None."""

    @property
    def path(self) -> Path:
        """The file that errors name."""
        ...

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """All that is read."""
        ...

    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked for, in file order."""
        ...

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """All rows with at least these columns, in file order."""
        ...


_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def make_missing_column_error(source: RowSource, column: str, *, target: str = "") -> DataError:
    """The error for a `column` that `source` lacks: what it has, and the --map that would mend it.

    `target` is the canonical name when `column` is what a mapping reads it from.
    """
    # Here, since `shapes` imports this module.
    from embassay.data.shapes import CALLED

    names = source.columns()
    lower = {name.lower(): name for name in names if name not in CALLED or name == "summary"}
    called = [lower[name] for name in CALLED.get(target or column, ()) if name in lower]
    likely = called[0] if len(called) == 1 else "" if called else find_nearest_name(column, names, LIKE)
    pair = target or column, likely or "COLUMN"
    mend = (
        f"Map it with --map {pair[0]}={pair[1]} (in Python, mapping={{{pair[0]!r}: {pair[1]!r}}}; in a "
        f"description, map: {{{pair[0]}: {pair[1]}}})."
    )
    if pair[1] == pair[0] and column != pair[0]:
        mend = f"The column {pair[0]!r} exists, so leave {pair[0]}={column} out of --map."
    elif " " in column and "=" in column:
        mend = f"Separate pairs with commas: --map '{target}={','.join(column.split())}'."
    elif len(called) > 1:
        mend += f" It could be {' or '.join(called)}: `embassay data check` shows what they contain."
    if len(names) == 1 and (marks := [name for mark, name in _DELIMITERS.items() if mark in names[0]]):
        mend = f"The fields seem to be separated by {marks[0]}: add --map delimiter={marks[0].removesuffix('s')}."
    elif offer := _advise_on_missing_header(source):
        mend = offer
    return DataError(
        f"there is no column {column!r}" + (f" to read {target!r} from" if target else ""),
        path=source.path,
        found="columns " + ", ".join(names),
        mend=mend,
    )


def _advise_on_missing_header(source: object) -> str:
    """What the file under all views of it has to offer where its first line is no header."""
    while (below := getattr(source, "source", None)) is not None:  # views lie on views
        source = below
    return str(getattr(source, "missing_header_advice", ""))


LIKE = 0.6
"""How like a column must be to the one that is wanted to be named in its place: `meta` is no `text`."""


def find_nearest_name(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The known name most like `name`, empty if none is near."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), "")


def read_text_cell(row: SourceRow, column: str) -> str | None:
    """The text, or None if it is missing or blank. DataError if it is not a text."""
    value = row.cells.get(column)
    if value is None:
        return None
    if not isinstance(value, str):
        raise make_cell_error(row, column, "a text")
    return None if is_blank(value) else value


_UNSEEN = "".join(
    map(chr, (*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xAD, 0x180E, 0xFEFF))
)
"""Signs that nobody sees."""
_BLANK = _UNSEEN + "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())


def is_blank(text: str) -> bool:
    """Whether a text has nothing that anybody sees: white space, and signs without width.

    >>> is_blank(" \u200b\ufeff"), is_blank("\u200bx")
    (True, False)
    """
    return not text.strip(_BLANK)


def read_row_id(row: SourceRow, column: str) -> str:
    """An identifier: a text or an integer, as text. DataError if there is none."""
    value = row.cells.get(column)
    if isinstance(value, int) and not isinstance(value, bool):  # True is an int to Python
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise make_cell_error(row, column, "an identifier (text or integer)")
    return value


def clean_id(value: Any) -> str:
    """An id as text, without the blanks around it: what pandas made a decimal of is the integer again. Empty for what
    is none.

    >>> clean_id(" d1"), clean_id(7), clean_id(11.0), clean_id(True), clean_id(None)
    ('d1', '7', '11', '', '')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


def parse_plain_number(value: str | int | float | Decimal) -> float:
    """A number, or the one that a text spells in ASCII digits: Python reads `1_0` as 10 and Arabic digits too, and no
    file that other programs write or read means that. ValueError or OverflowError for what is none.

    >>> parse_plain_number(" 2.5 ")
    2.5
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):
        raise ValueError(value)
    return float(value)


MISSING = frozenset({"", "nan", "na", "n/a", "<na>", "#n/a", "null", "none"})
"""What other programs write where there is no value, in small letters."""


def read_number_cell(row: SourceRow, column: str) -> float | None:
    """A finite number, from a number or its text; None if it is missing: empty, NaN, NA or null."""
    value = row.cells.get(column)
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return None
    # To Python a truth value is an int, but a cell with one holds no number.
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise make_cell_error(row, column, "a number")
    try:
        number = parse_plain_number(value)
    except (ValueError, OverflowError):
        raise make_cell_error(row, column, "a number", _suggest_number_spelling(str(value).strip())) from None
    if math.isinf(number):
        raise make_cell_error(row, column, "a finite number")
    return None if math.isnan(number) else number


def _suggest_number_spelling(text: str) -> str:
    """Suggest how a number that a spreadsheet wrote is to be written; empty for what is none."""
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"In the whole column, write decimals with a point: {text.replace(',', '.')}."
    if re.fullmatch(r"[+-]?[\d.]+ ?%", text):
        return f"In the whole column, write numbers without %: {text.rstrip(' %')}."
    return ""


_CHOICES: Mapping[str, int | None] = {
    "tie": None, **dict.fromkeys(("a", "first", "summary1", "summary_1", "summary_a", "response_a", "model_a"), 0),
    **dict.fromkeys(("b", "second", "summary2", "summary_2", "summary_b", "response_b", "model_b"), 1)
}  # fmt: skip
"""Words that say which of two summaries is better, in any case; None: neither."""


def read_pairwise_choice(row: SourceRow, column: str) -> int | None:
    """0 or 1, or a word that says it; None for a tie (missing, empty, NaN, or the word `tie`)."""
    value = row.cells.get(column)
    if isinstance(value, str) and (word := value.strip().lower()) in _CHOICES:
        return _CHOICES[word]
    try:
        number = read_number_cell(row, column)
    except DataError:
        # Infinity is no choice, so the error below names the choices instead of any number.
        number = math.inf
    if number is None:
        return None
    if number not in (0, 1):
        mend = "If yours are 1 and 2, write 0 and 1, because 1 alone is ambiguous." if number == 2 else ""
        raise make_cell_error(row, column, "0 (the first summary) or 1 (the second)", mend)
    return int(number)


_WORDS = {"1": 1, "yes": 1, "y": 1, "true": 1, "t": 1, "0": 0, "no": 0, "n": 0, "false": 0, "f": 0}
"""Words that say whether something is so, in any case."""


def read_binary_label(row: SourceRow, column: str, mend: str = "") -> int | None:
    """A label of 0 or 1, a truth value or one of `_WORDS`; None if it is missing, as in `read_number_cell`. `mend` is
    said where it is another word."""
    value = row.cells.get(column)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        number = read_number_cell(row, column)
    except DataError:
        number = math.inf
    if number in (None, 0, 1):
        return None if number is None else int(number)
    raise make_cell_error(row, column, "0 or 1, yes or no, true or false", mend)


def read_text_list_cell(row: SourceRow, column: str) -> list[str | None]:
    """A list of texts, None for the missing and the blank ones; a single text is a list of one.

    DataError if it is neither, or holds what is not a text.
    """
    value = row.cells.get(column)
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(text is None or isinstance(text, str) for text in values):
        raise make_cell_error(row, column, "texts")
    return [None if text is None or is_blank(text) else text for text in values]


def read_label_cell(row: SourceRow, column: str) -> str | None:
    """A label as text (3, "3" and 3.0 are one label, see `normalise_value_to_plain_text`); None if it is missing,
    empty or NaN."""
    value = row.cells.get(column)
    if value is not None and not isinstance(value, str | int | float):
        raise make_cell_error(row, column, "a label (text or number)")
    text = "" if value is None else normalise_value_to_plain_text(value)
    return None if not text or text.lower() == "nan" else text


_WHOLE = re.compile(r"(-?(?:0|[1-9]\d{0,15}))\.0*", re.ASCII)
"""A whole number as tables with a gap in the column write it. Not 007, which is a code, nor 1.10, a version."""


def normalise_value_to_plain_text(value: Any) -> str:
    """A value as the text it is compared as: whole numbers without a point, truth values as in JSON, without blanks at
    the ends, letters with their accents as one character.

    >>> [normalise_value_to_plain_text(value) for value in (3, "3", 3.0, " 3.0", True, "True", 0.5, "007")]
    ['3', '3', '3', '3', 'true', 'true', '0.5', '007']
    """
    text = unicodedata.normalize("NFC", str(value).strip())
    if text.lower() in ("true", "false"):
        return text.lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    whole = _WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


def make_cell_error(row: SourceRow, column: str, expected: str, mend: str = "") -> DataError:
    """The error for a cell that is not what its column needs."""
    return DataError(
        f"the value of {column!r} cannot be used",
        path=row.path,
        line=row.line,
        expected=expected,
        found=format_value_for_error(row.cells.get(column)),
        mend=mend or "Correct the value, or remove the row.",
    )


def format_value_for_error(value: Any) -> str:
    """A value as an error message shows it: its repr, cut at 60 characters.

    >>> format_value_for_error(None), format_value_for_error("x" * 3)
    ('nothing', "'xxx'")
    """
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def truncate_to_one_line(text: str, most: int = 60) -> str:
    r"""Truncate a text to one line, cut after so many characters.

    >>> truncate_to_one_line("a\nb"), truncate_to_one_line("abcdef", 4)
    ('a b', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def escape_spreadsheet_formula(cell: Any) -> Any:
    """The cell, after an apostrophe where it is a text that a spreadsheet would take for a formula.
    `unescape_spreadsheet_formula` takes it off.

    Numbers are no formulas, written as texts or not; nor is a sign alone. Source: OWASP, CSV Injection.

    >>> (escape_spreadsheet_formula('=HYPERLINK("http://x")'), escape_spreadsheet_formula("-0.5"),
    ... escape_spreadsheet_formula("-"), escape_spreadsheet_formula(None))
    ('\\'=HYPERLINK("http://x")', '-0.5', '-', None)
    """
    return f"'{cell}" if isinstance(cell, str) and _is_formula(cell.lstrip("'")) else cell


def unescape_spreadsheet_formula(text: str) -> str:
    """Undo what `escape_spreadsheet_formula` did.

    >>> (unescape_spreadsheet_formula("'=1+1"),
    ... unescape_spreadsheet_formula(escape_spreadsheet_formula("'=1+1")), unescape_spreadsheet_formula("'tis"))
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def _is_formula(text: str) -> bool:
    if len(text) < 2 or not text.startswith(_FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
