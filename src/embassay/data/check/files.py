"""A file as it lies there (format, encoding, line ends, what its columns hold), and what a check finds, as records."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from embassay.data.lines import (
    MARKS,
    USUAL,
    DelimitedReadOptions,
    DelimitedTable,
    check_file_row_count,
    choose_csv_quoting,
    detect_delimiter,
    is_number,
    open_unpacked_file,
)
from embassay.data.rows import skip_and_collect_faulty_rows
from embassay.data.shapes import CALLED
from embassay.data.tables import find_known_suffix, open_table_ignoring_unused_options
from embassay.errors import DataError, UsageError
from embassay.limits import is_pipe, read_bounded_lines
from embassay.records import SkippedItems


@dataclass(frozen=True)
class ColumnProfile:
    """A column of a file: what its cells are (kind -> cells), different values (None: over a thousand), one of them,
    and the mean words of a text in it."""

    name: str
    kinds: Mapping[str, int]
    distinct: int | None
    example: str
    words: float = 0.0
    binary: bool = False
    """Whether all values are 0 and 1."""


@dataclass(frozen=True)
class CheckedFileProfile:
    """A file as it lies there; `rows` are those that could be read, `encoding` and `line_ends` empty for Parquet. In a
    table of lines and marks `blank` lines are passed over, and `over` rows go over several lines."""

    path: str
    format: str
    encoding: str
    line_ends: str
    bytes: int
    rows: int
    columns: tuple[ColumnProfile, ...]
    blank: int = 0
    over: int = 0


@dataclass(frozen=True)
class DocumentFolderCounts:
    """A folder of documents: how many were read of each kind, in which encodings, and what was left out and why.
    `suffixes` counts all files, `stated` the languages that documents say they are in ("" for none), `told` those they
    seem to be in (None: nothing here can tell), of the first `looked_at` documents."""

    documents: Mapping[str, int]
    characters: int
    chunk: int
    overlap: int
    skipped: tuple[SkippedItems, ...]
    encodings: Mapping[str, int]
    suffixes: Mapping[str, int]
    stated: Mapping[str, int]
    told: Mapping[str, int] | None
    looked_at: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """Something that stops a run, in `count` places; `lines` are the first of them, `example` what a run says there."""

    what: str
    count: int
    path: str
    lines: tuple[int, ...]
    example: str
    mend: str
    shapes: tuple[str, ...]


@dataclass(frozen=True)
class NumberSpread:
    """How numbers are spread."""

    n: int
    least: float
    median: float
    p95: float
    most: float
    mean: float


@dataclass(frozen=True)
class ValueCounts:
    """How often each value is there, the most frequent first."""

    counts: Mapping[str, int]

    @property
    def n(self) -> int:
        """All of them."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class DatasetShapeCheck:
    """A shape whose columns are there: the `tasks` it serves, how many items a run would get, and what it is like.

    It is `ready` when nothing stops a run.
    """

    shape: str
    tasks: tuple[str, ...]
    ready: bool
    items: int
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: Mapping[str, NumberSpread | ValueCounts] = field(default_factory=dict)


@dataclass(frozen=True)
class ShapeReachableByMapping:
    """A shape that a `--map` would give."""

    shape: str
    tasks: tuple[str, ...]
    missing: tuple[str, ...]
    mend: str


@dataclass(frozen=True)
class TextLengthSummary:
    """How long the texts of a column are; `tokens` are those of `counted_in`."""

    table: str
    column: str
    characters: NumberSpread
    tokens: NumberSpread
    counted_in: str


@dataclass(frozen=True)
class SimilarRowPair:
    """Two rows, by id, whose texts are the same (`jaccard` 1 and `exact`) or nearly."""

    first: str
    second: str
    jaccard: float
    exact: bool
    first_text: str
    second_text: str


@dataclass(frozen=True)
class RepeatedRowCounts:
    """Rows of one table that repeat an earlier row: exactly, or nearly (None: not looked for).

    `conflicting` are exact repeats with another label or score than the first.
    """

    table: str
    texts: int
    exact: int
    near: int | None
    conflicting: int
    examples: tuple[SimilarRowPair, ...]


@dataclass(frozen=True)
class SplitTextOverlap:
    """Rows of one side (`of`) whose text is also, or nearly, in the other (`within`)."""

    table: str
    of: str
    within: str
    texts: int
    exact: int
    near: int | None
    examples: tuple[SimilarRowPair, ...]


@dataclass(frozen=True)
class DataCheckReport:
    """All that a check of `path` finds. It is `usable` when at least one shape is ready. `command` is the next one to
    try, where another `--map` would read it better."""

    path: str
    usable: bool
    langs: tuple[str, ...]
    files: tuple[CheckedFileProfile, ...]
    shapes: tuple[DatasetShapeCheck, ...]
    near_misses: tuple[ShapeReachableByMapping, ...]
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]
    lengths: tuple[TextLengthSummary, ...]
    repeats: tuple[RepeatedRowCounts, ...]
    overlaps: tuple[SplitTextOverlap, ...]
    threshold: float | None
    command: str = ""
    documents: DocumentFolderCounts | None = None

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON takes it."""
        return asdict(self)


SHOWN_LINES = 10


@dataclass
class _FaultPlaces:
    first: DataError
    places: dict[tuple[int | None, str], None] = field(default_factory=dict)
    shapes: dict[str, None] = field(default_factory=dict)


class DataFaultCollector:
    """Collects faults; one that comes up again, for another shape or in another reading, counts once."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], _FaultPlaces] = {}

    def add(self, error: DataError, shape: str = "") -> None:
        """Take a fault, found while reading `shape` (empty: the file itself)."""
        key = (str(error.path), _strip_values_from_fault(error.what), error.expected)
        # A traceback holds the frames, and those the rows, of every fault.
        entry = self._entries.setdefault(key, _FaultPlaces(error.with_traceback(None)))
        entry.places[error.line, error.what] = None
        if shape:
            entry.shapes[shape] = None

    def of(self, shape: str) -> bool:
        """Whether anything stops a run with this shape."""
        return any(shape in entry.shapes for entry in self._entries.values())

    def list_faults(self) -> tuple[Fault, ...]:
        """List one record per kind of fault, in the order they came up."""
        return tuple(_make_data_fault_from_places(entry) for entry in self._entries.values())


def _make_data_fault_from_places(entry: _FaultPlaces) -> Fault:
    error = entry.first
    lines = sorted(line for line, _ in entry.places if line is not None)
    return Fault(
        error.what,
        len(entry.places),
        "" if error.path is None else str(error.path),
        tuple(lines[:SHOWN_LINES]),
        error.message,
        error.mend,
        tuple(entry.shapes),
    )


def _strip_values_from_fault(what: str) -> str:
    """Strip the ids, values and numbers of one row from a fault; a column's name stays.

    >>> (_strip_values_from_fault("id '7' appears twice, first on line 2."),
    ... _strip_values_from_fault("the value of 'label' cannot be used"))
    ('id _ appears twice, first on line _.', "the value of 'label' cannot be used")
    """
    return what if what.startswith("the value of") else re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", what)


COUNTED = 1000
"""Different values of a column are counted up to here."""
_BLOCK = 1 << 20
_SHOWN = 200
_WANTED = {*CALLED, *(name for names in CALLED.values() for name in names)}
_BOM = b"\xef\xbb\xbf"


def profile_data_file(
    path: Path, found: Callable[[DataError], None], read: Callable[[int], None], reading: DelimitedReadOptions = USUAL
) -> CheckedFileProfile:
    """The facts of the file at `path`, as far as it can be read, by `reading` if it is of lines and marks; what cannot
    be read goes to `found`.

    `read` is told how many rows have been read.
    """
    columns: dict[str, _ColumnProfiler] = {}
    rows, blank, over = 0, 0, 0
    try:
        source = open_table_ignoring_unused_options(path, reading)
        if isinstance(source, DelimitedTable):
            quotes = choose_csv_quoting(path, source.delimiter, source.reading.quoting)
            blank, over = quotes.blank, 0 if quotes.quoting == "none" else len(quotes.over)
        with skip_and_collect_faulty_rows(lambda _error: None):  # the reading below meets the same rows again
            names = source.columns()
        columns = {name: _ColumnProfiler(text_only=isinstance(source, DelimitedTable)) for name in names}
        with skip_and_collect_faulty_rows(found):
            for rows, row in enumerate(source.rows(names), 1):
                for name, cells in columns.items():
                    cells.add(row.cells.get(name))
                if rows % 1000 == 0:
                    read(rows)
    except DataError as error:
        found(error)
    suffix = find_known_suffix(path.name)
    text = bool(suffix) and suffix != ".parquet"
    encoding, ends = _name_encoding_and_line_ends(path) if text else ("", "")
    facts = tuple(cells.column(name) for name, cells in columns.items())
    return CheckedFileProfile(
        str(path), _name_file_format(suffix), encoding, ends, path.stat().st_size, rows, facts, blank, over
    )


def suggest_delimited_read_options(
    path: Path, reading: DelimitedReadOptions
) -> tuple[DelimitedReadOptions, tuple[str, ...]]:
    """How a table of lines and marks is better read than by `reading`, and why; what is given stays as it is."""
    notes: list[str] = []
    try:
        source = open_table_ignoring_unused_options(path, reading)
    except (DataError, UsageError):
        mark = "" if find_known_suffix(path.name) or path.suffix.lower() == ".json" else detect_delimiter(path)
        return (replace(reading, delimiter=mark), ()) if mark else (reading, ())
    if not isinstance(source, DelimitedTable):
        return reading, ()
    # The mark first, then the quotes, then the header: each is read with what was found before it.
    mark = detect_delimiter(path)
    if (
        not reading.delimiter
        and mark
        and MARKS[mark] != source.delimiter
        and _is_split_by_other_delimiter(path, source, mark)
    ):
        current = next(name for name, sign in MARKS.items() if sign == source.delimiter)
        notes.append(f"{path.name}: its fields are separated by {mark}s, not {current}s.")
        reading = replace(reading, delimiter=mark)
        source = DelimitedTable(path, MARKS[mark], reading)
    quotes = choose_csv_quoting(path, source.delimiter, reading.quoting)
    if not reading.quoting and quotes.quoting != "none" and quotes.plain and (quotes.broken or quotes.both):
        notes.append(
            f"{path.name}: its quotation marks do not seem to enclose fields: if they are read as ordinary "
            "characters, every line has as many fields as the first."
        )
        reading = replace(reading, quoting="none")
        source = DelimitedTable(path, source.delimiter, reading)
    if source.missing_header_advice:
        notes.append(f"{path.name}: its first line looks like data, not column names, and would be lost as a header.")
        reading = replace(reading, header="none")
    return reading, tuple(notes)


def _is_split_by_other_delimiter(path: Path, source: DelimitedTable, mark: str) -> bool:
    """Whether the first line is one field as it is read, or the lines agree on another mark and not on this one."""
    with skip_and_collect_faulty_rows(lambda _error: None):
        try:
            _, first = next(source.records(), (1, [""]))
        except DataError:
            return False
    if len(first) == 1:
        return MARKS[mark] in first[0]
    # A text has commas; hardly any has tabs, and as many in every line.
    return mark == "tab" and choose_csv_quoting(path, "\t").plain


def list_file_oddities(file: CheckedFileProfile) -> Iterator[str]:
    """List what is odd about a file and how to mend it, beyond what a run would say."""
    path = Path(file.path)
    if not file.format:
        yield from _list_advice_on_unknown_file(path)
    if file.over:
        yield f"{path.name}: {file.over:,} row{'s span' if file.over > 1 else ' spans'} several lines."
    for column in file.columns:
        inside = {*column.example.removeprefix("keys ").split(", ")}
        if (objects := column.kinds.get("object")) and inside & _WANTED:
            yield (
                f"{path.name}: {column.name!r} contains objects in {objects:,} rows ({column.example}). "
                "Only top-level columns are read, so move the inner fields to their own columns."
            )
    if "not UTF-8" in file.encoding:
        yield (
            f"{path.name}: {file.encoding}. If the whole file is in Windows-1252, run `iconv -f WINDOWS-1252 "
            f"-t UTF-8 {path.name} > new`; otherwise fix these lines."
        )


@dataclass
class _ColumnProfiler:
    """What has been seen of a column; the cells of a `text_only` file are numbers where they read as such."""

    text_only: bool
    kinds: Counter[str] = field(default_factory=Counter)
    values: set[str] = field(default_factory=set)
    example: str = ""
    words: int = 0

    def add(self, value: Any) -> None:
        kind = _name_value_kind(value, self.text_only)
        self.kinds[kind] += 1
        if kind != "empty":
            self.words += _count_words(value) if isinstance(value, str) else 1
            if len(self.values) <= COUNTED:
                self.values.add(value if isinstance(value, str) else repr(value))
            self.example = self.example or _format_example_value(value)

    def column(self, name: str) -> ColumnProfile:
        """Make the profile of the column from what has been seen."""
        distinct = len(self.values) if len(self.values) <= COUNTED else None
        filled = self.kinds.total() - self.kinds["empty"]
        # Whole numbers in text may be spelled 1, 1.0.
        binary = 0 < len(self.values) <= 4 and {value.removesuffix(".0") for value in self.values} == {"0", "1"}
        words = self.words / filled if filled else 0.0
        return ColumnProfile(name, dict(self.kinds.most_common()), distinct, self.example, round(words, 2), binary)


def _count_words(text: str) -> int:
    """Count the words between blanks; two characters of writing without blanks are one too."""
    return len(text.split()) + (0 if text.isascii() else sum(letter >= "\u2e80" for letter in text) // 2)


def _name_value_kind(value: Any, text_only: bool) -> str:
    if isinstance(value, str):
        if not value.strip():
            return "empty"
        return "number" if text_only and is_number(value) else "text"
    if value is None or value != value:  # NaN is the one value that is not itself
        return "empty"
    named = {
        bool: "truth value", int: "number", float: "number", Decimal: "number", list: "list", dict: "object"
    }  # fmt: skip
    return named.get(type(value), type(value).__name__)


def _format_example_value(value: Any) -> str:
    if isinstance(value, dict):
        return f"keys {', '.join(map(str, value))}"[:_SHOWN]
    return " ".join(str(value).split())[:_SHOWN]


def _name_file_format(suffix: str) -> str:
    names = {
        "jsonl": "JSON Lines", "csv": "CSV", "tsv": "TSV", "txt": "text", "parquet": "Parquet", "": ""
    }  # fmt: skip
    kind, _, packed = suffix.removeprefix(".").partition(".")
    return names[kind] + (" in gzip" if packed else "")


def _name_encoding_and_line_ends(path: Path) -> tuple[str, str]:
    """Name the encoding and line ends in words, of as much as can be read."""
    ends: Counter[str] = Counter()
    first, wrong, at, line = b"", 0, 0, b""
    try:
        check_file_row_count(path)
        with open_unpacked_file(path) as stream:
            for number, raw in enumerate(read_bounded_lines(stream, path), 1):
                first = first or raw[:4]
                ends["CRLF" if raw.endswith(b"\r\n") else "LF" if raw.endswith(b"\n") else "none"] += 1
                if not _is_utf8(raw):
                    wrong += 1
                    at, line = (at, line) if at else (number, raw)
    except (DataError, EOFError, zlib.error, gzip.BadGzipFile):
        pass  # said already by the reading of the rows
    named = " and ".join(end for end in ("LF", "CRLF") if ends[end])
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16", named
    if wrong:
        text = " ".join(line.decode("windows-1252", errors="replace").split())[:60]
        return (f"not UTF-8 in {wrong:,} of {ends.total():,} lines; line {at} in Windows-1252: {text}", named)
    return "UTF-8 with a byte order mark" if first.startswith(_BOM) else "UTF-8", named


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _list_advice_on_unknown_file(path: Path) -> Iterator[str]:
    if is_pipe(path):
        yield f"{path.name}: it is a pipe, but a dataset is read more than once. Save it to a file first."
        return
    with path.open("rb") as stream:
        start = stream.read(_BLOCK).removeprefix(_BOM).lstrip()
    packed = "JSON Lines needs one object per line"
    if start.startswith(b"["):
        yield f"{path.name}: it is one JSON list. {packed}: `jq -c '.[]' {path.name} > {path.stem}.jsonl`."
    elif start.startswith(b"{") and b"}\n{" in start:
        yield f"{path.name}: it contains one JSON object per line. Rename it to {path.stem}.jsonl."
    elif start.startswith(b"{"):
        yield f"{path.name}: it is one JSON object. {packed}: write each of its rows on its own line."
    elif start.startswith(b"PK\x03\x04"):
        yield f"{path.name}: it is a spreadsheet or a zip file. Save the sheet as CSV in UTF-8."
