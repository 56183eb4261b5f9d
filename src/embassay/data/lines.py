"""Lines of text files, and tables of lines and marks, as CSV and TSV: how one is read, and what is said of it."""

from __future__ import annotations

import csv
import gzip
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import IO

from embassay.data.rows import (
    RowOrigin,
    RowSourceFileOrigin,
    SourceRow,
    find_nearest_name,
    raise_or_collect_fault,
    skip_and_collect_faulty_rows,
)
from embassay.errors import DataError, UsageError
from embassay.limits import COLUMNS, LINE, ROWS, TIMES, is_pipe, open_gzip, read_bounded_lines

# Lines; a file of nothing else would be read to its end before anything is said.
_BLANK = 100_000
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def read_text_lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""Line number (from 1) and line, ended as in the file: by \n, \r\n or \r, mixed as they come.

    A UTF-8 byte order mark is dropped. DataError for an empty file, a gzip file that is cut, damaged or not
    one, one that unpacks to far more than text does, lines longer than LINE, bytes that are not UTF-8 and NUL bytes.
    """
    check_file_row_count(path)
    number = blank = 0
    for block in _read_blocks(path):
        # Blocks are cut after \n only; what remains inside one are lone \r, as many as it has bytes.
        for line in (match[0] for match in _LINE.finditer(block)) if b"\r" in block else (block,):
            number += 1
            blank = blank + 1 if len(line) < 3 and line.isspace() else 0
            if blank > _BLANK:
                raise DataError(
                    f"{_BLANK:,} blank lines in a row", path=path, line=number, mend="Check how the file was written."
                )
            yield number, _decode_line(path, number, line)
    if number == 0:
        raise DataError("the file is empty.", path=path, mend="Check that it was written or downloaded completely.")


_SAMPLED, _PIECE = 2**20, 2**22


def check_file_row_count(path: Path) -> None:
    """DataError for a file of more lines than ROWS, where its first lines suggest so: they are counted before any is
    read, which takes a second where reading them takes many minutes."""
    try:
        status = path.stat()
    except OSError:
        return  # opening it says why
    if stat.S_ISREG(status.st_mode) and _has_too_many_rows(path, status.st_size, status.st_mtime_ns, ROWS.most):
        raise ROWS.make_exceeded_error(path)


@lru_cache(maxsize=64)
def _has_too_many_rows(path: Path, size: int, _changed: int, most: int) -> bool:
    try:
        with open_unpacked_file(path) as stream:
            first = stream.read(_SAMPLED)
            rows, unpacked = first.count(b"\n"), size
            if path.name.lower().endswith(".gz"):
                unpacked = size * max(1, TIMES.most)
            if rows * unpacked < most * len(first) or len(first) < _SAMPLED:
                return False
            while rows <= most and (piece := stream.read(_PIECE)):
                rows += piece.count(b"\n")
            return rows > most
    except (DataError, OSError, EOFError, zlib.error):
        return False  # the reading of the rows says why


def _read_blocks(path: Path) -> Iterator[bytes]:
    try:
        with open_unpacked_file(path) as stream:
            lines = read_bounded_lines(stream, path)
            first = next(lines, b"")
            if first.startswith(_UTF16):
                mend = f"Save it as UTF-8: iconv -f UTF-16 -t UTF-8 {path.name} > utf8-{path.name}"
                raise DataError("the file is UTF-16", path=path, expected="UTF-8", mend=mend)
            if first := first.removeprefix(_BOM):
                yield first
            yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            "the gzip file is truncated or damaged", path=path, found=str(error), mend="Copy or download it again."
        ) from error


def open_unpacked_file(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz; DataError if name and content disagree on that."""
    try:
        if is_pipe(path):
            raise DataError(
                "this is a pipe, but a dataset is read more than once", path=path, expected="a file",
                mend="Save it to a file first, and pass that file."
            )  # fmt: skip
        with path.open("rb") as stream:
            magic = stream.read(len(_GZIP))
    except OSError as error:
        raise DataError(
            "the file cannot be read", path=path, found=error.strerror or str(error),
            mend="Check its name and your read permission."
        ) from error  # fmt: skip
    named = path.name.lower().endswith(".gz")
    if magic and named != (magic == _GZIP):
        found = "no gzip header" if named else "a gzip header"
        mend = "Rename it without .gz, or compress it." if named else "Add .gz to its name."
        raise DataError("the content of the file does not match its name", path=path, found=found, mend=mend)
    return open_gzip(path.open("rb"), path, path.stat().st_size) if named else path.open("rb")


def _decode_line(path: Path, number: int, line: bytes) -> str:
    if b"\0" in line:
        raise DataError(
            "the file is binary", path=path, line=number, expected="text in UTF-8", found="a NUL byte",
            mend="Use a JSONL, CSV, TSV or Parquet file."
        )  # fmt: skip
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise_or_collect_fault(
            DataError(
                f"byte {error.start + 1} of the line is not UTF-8",
                path=path,
                line=number,
                found=f"0x{line[error.start]:02x}",
                mend="Save the file as UTF-8, for example with iconv -f LATIN1 -t UTF-8.",
            )
        )
    # Only where faults are collected: the rest of the line can still be checked.
    return line.decode("utf-8", errors="replace")


MARKS: Mapping[str, str] = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|"}
"""Name of a delimiter -> the delimiter."""
NONE = "none"
LOOKED_AT = 200
"""Rows under the first that are looked at, to see whether it is one of them."""
_LONG, _WORDS = 40, 4
_TOLD = 3


# Its name is in the key of a corpus that is kept on disk: see `corpus`.
@dataclass(frozen=True)
class DelimitedReadOptions:
    """How a table of lines and marks is read, as far as anybody says.

    `quoting` is `double` (RFC 4180) or `none` (quotes are characters as others); `header` is `none`, where columns are
    called 1, 2, 3, or their names; `delimiter` one of `MARKS`. What is empty is told from the file.
    """

    quoting: str = ""
    header: str | tuple[str, ...] = ""
    delimiter: str = ""

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("quoting", self.quoting, ("double", NONE)),
            ("delimiter", self.delimiter, tuple(MARKS)),
        ):
            if value and value not in allowed:
                raise UsageError(f"The {name} cannot be {value!r}.", mend=f"Use one of {', '.join(allowed)}.")
        if isinstance(self.header, str) and self.header not in ("", NONE):
            raise UsageError(
                f"The header cannot be {self.header!r}.",
                mend="Write header=none for a file without column names, or list them: header=text|label.",
            )

    def make_map_option_dict(self) -> dict[str, str]:
        """The options as `--map` has them."""
        header = self.header if isinstance(self.header, str) else "|".join(self.header)
        parts = {"quoting": self.quoting, "header": header, "delimiter": self.delimiter}
        return {name: value for name, value in parts.items() if value}


READING = ("quoting", "header", "delimiter")
"""What a mapping may say besides columns."""
USUAL = DelimitedReadOptions()


def split_reading_from_mapping(mapping: Mapping[str, str]) -> tuple[DelimitedReadOptions, dict[str, str]]:
    """How a mapping says that a table is read, and the columns that it maps.

    >>> split_reading_from_mapping({"header": "none", "text": "2"})[1]
    {'text': '2'}
    """
    parts = {name: mapping[name] for name in READING if name in mapping}
    header: str | tuple[str, ...] = parts.get("header", "")
    if "|" in header:
        header = tuple(str(header).split("|"))
    columns = {target: column for target, column in mapping.items() if target not in READING}
    return DelimitedReadOptions(parts.get("quoting", ""), header, parts.get("delimiter", "")), columns


@dataclass(frozen=True)
class DelimitedTable:
    """CSV, TSV and their like: a header line, and double quotes around fields that hold delimiters or line breaks;
    otherwise where `reading` says so, or, for tabs, where the quotes of the file can quote nothing."""

    path: Path
    delimiter: str
    reading: DelimitedReadOptions = field(default_factory=DelimitedReadOptions)

    def __post_init__(self) -> None:
        if self.reading.delimiter:
            object.__setattr__(self, "delimiter", MARKS[self.reading.delimiter])

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """The file, with what is to be said of how it is read."""
        quotes = self._detected_csv_quoting
        # What was told is in the settings; what was told from the file would be read otherwise by an older version.
        how = f"quoting={quotes.quoting}" if quotes.quoting == NONE and not self.reading.quoting else ""
        return (RowSourceFileOrigin(self.path, how, quotes.notes),)

    def columns(self) -> tuple[str, ...]:
        """The header, or the numbers of the fields."""
        return self._column_names

    @cached_property
    def _column_names(self) -> tuple[str, ...]:
        _, first = next(self.records(), (1, []))
        if len(first) > COLUMNS.most:
            raise COLUMNS.make_exceeded_error(self.path, 1)
        if self.reading.header == NONE:
            return tuple(str(i) for i in range(1, len(first) + 1))
        if self.reading.header:
            return self._get_stated_column_names(first)
        if not first:
            raise DataError(
                "the file has no header", path=self.path, line=1,
                expected="a first line with the column names", mend="Add a header line."
            )  # fmt: skip
        for name, often in Counter(first).items():
            if often > 1:
                offer = f" {self.missing_header_advice}" if self.missing_header_advice else ""
                raise DataError(
                    f"the header names the column {name!r} twice.", path=self.path, line=1,
                    mend=f"Give every column a unique name.{offer}"
                )  # fmt: skip
        bare = [name.strip() for name in first]
        # `text, label`: a blank after the mark is of no name, unless it tells two of them apart.
        return tuple(bare if len(set(bare)) == len(bare) and all(bare) else first)

    def _get_stated_column_names(self, first: Sequence[str]) -> tuple[str, ...]:
        names = tuple(self.reading.header)
        if len(names) != len(first) or len(set(names)) < len(names):
            raise DataError(
                "the column names do not match the file", path=self.path, line=1,
                expected=f"{len(first)} unique names", found=", ".join(names), mend="Name every column."
            )  # fmt: skip
        return names

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """All rows with these columns."""
        header = self.columns()
        places = [(column, header.index(column)) for column in columns if column in header]
        for number, fields in islice(self.records(), 0 if self.reading.header else 1, None):
            if len(fields) != len(header):
                raise_or_collect_fault(DataError(
                    "the row does not match the header", path=self.path, line=number,
                    expected=f"{len(header)} fields", found=str(len(fields)),
                    mend="Put double quotes around fields that contain the delimiter"
                    + (", or, if quotes do not enclose fields, add --map quoting=none."
                       if self._has_quoted_fields else ".")
                ))  # fmt: skip
                continue
            yield SourceRow(self.path, number, {column: fields[i] for column, i in places})

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of every line or quoted run of lines that holds anything, the header included."""
        if self._detected_csv_quoting.quoting == NONE:
            for number, line in read_text_lines(self.path):
                if bare := line.rstrip("\r\n"):
                    yield number, bare.split(self.delimiter)
            return
        yield from (row for row in _read_quoted_rows(self.path, self.delimiter) if row[1])

    @cached_property
    def _detected_csv_quoting(self) -> QuotingChoice:
        return choose_csv_quoting(self.path, self.delimiter, self.reading.quoting)

    @property
    def _has_quoted_fields(self) -> bool:
        return self._detected_csv_quoting.quoting != NONE and self._detected_csv_quoting.marked

    @cached_property
    def missing_header_advice(self) -> str:
        """What to try where the first line is no header but a row; empty where it may be one."""
        if self.reading.header:
            return ""
        with skip_and_collect_faulty_rows(lambda _error: None):
            try:
                first, *rest = [fields for _, fields in islice(self.records(), LOOKED_AT + 1)] or [[]]
            except DataError:
                return ""
        if not is_first_line_data_row(first, rest):
            return ""
        return (
            "The first line looks like data, not column names. With --map header=none, the columns are "
            "called 1, 2, 3; `embassay data check` suggests what each contains."
        )


def is_first_line_data_row(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a table is a row like those below rather than names.

    Names are short, and not the numbers, long texts or values that stand below them.

    >>> is_first_line_data_row(["A man walks.", "A man is walking.", "4.5"], [["It rains", "The sun shines", "0.2"]])
    True
    >>> is_first_line_data_row(["text", "label"], [["It rains", "a"]])
    False
    """
    if not first or not rest:
        return False
    for i, name in enumerate(first):
        below = [fields[i] for fields in rest if len(fields) > i]
        if not below:
            continue
        if is_number(name) and all(is_number(value) or not value.strip() for value in below):
            return True
        if name.strip() and (len(name) > _LONG or len(name.split()) > _WORDS):
            return True
        # A label stands again further down; the empty name of an index does not count.
        if name.strip() and below.count(name) > 1 and len(first) > 1:
            return True
    return False


def is_number(text: str) -> bool:
    """Whether the text reads as one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class QuotingChoice:
    """How a file's quotes are read, and what is to be said of it; `marked`: it has any. `over` are the lines on which
    rows begin that go over several lines, `both` those of fields that hold the delimiter and a line break; `broken`:
    rows that do not fit the first, or quotes that do not close; `plain`: every line by itself has as many fields as
    the first. `blank` lines are passed over."""

    quoting: str = "double"
    notes: tuple[str, ...] = ()
    marked: bool = False
    over: tuple[int, ...] = ()
    both: tuple[int, ...] = ()
    plain: bool = False
    broken: bool = False
    blank: int = 0


def choose_csv_quoting(path: Path, delimiter: str, asked: str = "") -> QuotingChoice:
    """Choose how the quotes of a file are read: as asked for, else from the file.

    Quotes around fields are those of RFC 4180. A file of tabs is taken to have none where its quotes do not balance, or
    make one field of whole lines, and every line by itself has as many fields as the first.
    """
    try:
        status = path.stat()
        return _decide_quoting(path, delimiter, asked, (status.st_size, status.st_mtime_ns, status.st_ino))
    except OSError:
        return QuotingChoice(asked or "double")


@lru_cache(maxsize=64)
# The stamp is there for the cache: a file that was changed is looked at again.
def _decide_quoting(path: Path, delimiter: str, asked: str, _stamp: tuple[int, ...]) -> QuotingChoice:
    try:
        marked, plain, blank = _check_quotes_and_even_delimiters(path, delimiter)
    except DataError:  # the reading of the rows says what is wrong
        return QuotingChoice(asked or "double")
    if asked == NONE or not marked:
        return QuotingChoice(asked or "double", marked=marked, plain=plain, blank=blank)
    spans = replace(_choose_quoting_by_rows(path, delimiter), plain=plain)
    if not asked and delimiter == "\t" and plain and (spans.broken or spans.both):
        why = "do not balance" if spans.broken else f"would join whole lines ({_format_line_numbers(spans.both)})"
        return replace(
            spans,
            quoting=NONE,
            blank=blank,
            notes=(
                f"{path.name}: its quotes {why}, and every line has as many fields as the first, so they "
                "are read as ordinary characters (to read them as quotes: --map quoting=double)",
            ),
        )
    if spans.both:
        name = next(word for word, mark in MARKS.items() if mark == delimiter)
        note = (
            f"{path.name}: fields that contain both a {name} and a line break ({_format_line_numbers(spans.both)}): "
            "if these quotes do not enclose fields, rows are merged (to prevent this: --map quoting=none)"
        )
        return replace(spans, notes=(note,))
    return spans


def _format_line_numbers(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_TOLD]))}{more}"


def _check_quotes_and_even_delimiters(path: Path, delimiter: str) -> tuple[bool, bool, int]:
    """Whether there are quotes, whether every line has as many delimiters as the first, at least one, and how many
    lines are blank."""
    marked, even, first, blank = False, True, None, 0
    for _, line in read_text_lines(path):
        marked = marked or '"' in line
        if not line.rstrip("\r\n"):
            blank += 1
        elif even:
            count = line.count(delimiter)
            first = count if first is None else first
            even = count == first
    return marked, even and bool(first), blank


def _choose_quoting_by_rows(path: Path, delimiter: str) -> QuotingChoice:
    """Examine what the rows of a file are where quotes are those of RFC 4180."""
    over: list[int] = []
    both: list[int] = []
    broken: list[DataError] = []
    width, last, blank = None, 0, 0
    with skip_and_collect_faulty_rows(broken.append):
        for number, fields in _read_quoted_rows(path, delimiter):
            if not fields:
                blank += 1
                continue
            width = len(fields) if width is None else width
            if len(fields) != width:
                broken.append(DataError(""))
            if last and any("\n" in cell or "\r" in cell for cell in fields):
                over.append(number)
                if any(delimiter in cell and ("\n" in cell or "\r" in cell) for cell in fields):
                    both.append(number)
            last = number
    return QuotingChoice(marked=True, over=tuple(over), both=tuple(both), broken=bool(broken), blank=blank)


def _read_quoted_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Read line number and fields of every row by RFC 4180; a blank line has none."""
    # The module's own limit is 131,072 characters a field; documents are longer.
    csv.field_size_limit(LINE.most)
    rows = _RowLengthLimitedLines(path)
    reader = csv.reader(rows, delimiter=delimiter, strict=True)
    start = 1
    while True:
        rows.start_row_at_line(start)
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise_or_collect_fault(DataError(
                "a quoted field is not closed, or text follows its closing quote",
                path=path, line=start, found=str(error),
                mend=('Write quotes inside a quoted field twice: "". If quotes do not enclose fields, add '
                    "--map quoting=none.")
            ))  # fmt: skip
        else:
            yield start, fields
        start = reader.line_num + 1


class _RowLengthLimitedLines:
    """The lines of a file of rows; a row may go on over many, which together are no longer than a line may be."""

    def __init__(self, path: Path) -> None:
        self._path, self._lines = path, read_text_lines(path)
        self._most = LINE.most
        self.start_row_at_line(1)

    def start_row_at_line(self, number: int) -> None:
        """Begin a row with the next line, of this number."""
        self._start, self._left = number, self._most

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._lines)
        self._left -= len(line)
        if self._left < 0:
            raise LINE.make_exceeded_error(self._path, self._start)
        return line


def detect_delimiter(path: Path) -> str:
    """What separates the fields of a text file that does not say so by its name: the mark that makes equally many
    fields of its first lines, with quotes around fields or without, tabs before others. Else tabs where the first line
    has any; empty where there is none, or it cannot be read."""
    try:
        lines = [line for _, line in islice(read_text_lines(path), 20) if line.rstrip("\r\n")]
    except DataError:
        return ""
    marks = [name for name in ("tab", "bar", "semicolon", "comma") if lines and MARKS[name] in lines[0]]
    for name in marks:
        if len({line.count(MARKS[name]) for line in lines}) == 1 or _have_equal_field_counts(lines, MARKS[name]):
            return name
    return "tab" if "tab" in marks else ""


def _have_equal_field_counts(lines: Sequence[str], mark: str) -> bool:
    # Of its own, csv takes no field of more than 131,072 characters.
    csv.field_size_limit(LINE.most)
    try:
        return len({len(fields) for fields in csv.reader(lines, delimiter=mark)}) == 1
    except csv.Error:
        return False


def find_nearest_suffix(name: str, known: Sequence[str]) -> str:
    """The known suffix that the end of a name is most like."""
    return find_nearest_name("." + name.rpartition(".")[2], known) if "." in name else ""
