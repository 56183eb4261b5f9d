"""A file as it lies there: format, encoding, line ends, and what its columns hold."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.data.check.findings import Column, File
from embassay.data.delimited import MARKS, USUAL, Delimited, Reading, chosen, is_number, opened, told_apart
from embassay.data.rows import collecting
from embassay.data.shapes import CALLED
from embassay.data.tables import known_suffix, table_of
from embassay.errors import DataError, UsageError
from embassay.limits import bounded_lines

COUNTED = 1000
"""Different values of a column are counted up to here."""
_BLOCK = 1 << 20
_SHOWN = 200
_WANTED = {*CALLED, *(name for names in CALLED.values() for name in names)}
_BOM = b"\xef\xbb\xbf"


def describe(
    path: Path, found: Callable[[DataError], None], read: Callable[[int], None], reading: Reading = USUAL
) -> File:
    """The facts of the file at `path`, as far as it can be read, by `reading` if it is of lines and marks; what cannot
    be read goes to `found`.

    `read` is told how many rows have been read.
    """
    columns: dict[str, _Cells] = {}
    rows, blank, over = 0, 0, 0
    try:
        source = table_of(path, reading)
        if isinstance(source, Delimited):
            own = chosen(path, source.delimiter, source.reading.quoting)
            blank, over = own.blank, 0 if own.quoting == "none" else len(own.over)
        with collecting(lambda _error: None):  # the reading below meets the same rows again
            names = source.columns()
        columns = {name: _Cells(text_only=isinstance(source, Delimited)) for name in names}
        with collecting(found):
            for rows, row in enumerate(source.rows(names), 1):
                for name, cells in columns.items():
                    cells.add(row.cells.get(name))
                if rows % 1000 == 0:
                    read(rows)
    except DataError as error:
        found(error)
    suffix = known_suffix(path.name)
    text = bool(suffix) and suffix != ".parquet"
    encoding, ends = _encoding(path) if text else ("", "")
    facts = tuple(cells.column(name) for name, cells in columns.items())
    return File(str(path), _format(suffix), encoding, ends, path.stat().st_size, rows, facts, blank, over)


def advice(path: Path, reading: Reading) -> tuple[Reading, tuple[str, ...]]:
    """How a table of lines and marks is better read than by `reading`, and why; what is given stays as it is."""
    said: list[str] = []
    try:
        source = table_of(path, reading)
    except (DataError, UsageError):
        mark = "" if known_suffix(path.name) else told_apart(path)
        return (replace(reading, delimiter=mark), ()) if mark else (reading, ())
    if not isinstance(source, Delimited):
        return reading, ()
    mark = told_apart(path)
    if not reading.delimiter and mark and MARKS[mark] != source.delimiter and _is_other(path, source, mark):
        own = next(name for name, one in MARKS.items() if one == source.delimiter)
        said.append(f"{path.name}: its fields are separated by {mark}s, not by {own}s.")
        reading = replace(reading, delimiter=mark)
        source = Delimited(path, MARKS[mark], reading)
    quotes = chosen(path, source.delimiter, reading.quoting)
    if not reading.quoting and quotes.quoting != "none" and quotes.plain and (quotes.broken or quotes.both):
        said.append(
            f"{path.name}: its quotes seem to quote nothing: every line by itself has as many fields as the first."
        )
        reading = replace(reading, quoting="none")
        source = Delimited(path, source.delimiter, reading)
    if source.offer:
        said.append(
            f"{path.name}: its first line looks like a row, not like names; so read it would be lost as a header."
        )
        reading = replace(reading, header="none")
    return reading, tuple(said)


def _is_other(path: Path, source: Delimited, mark: str) -> bool:
    """Whether the first line is one field as it is read, or the lines agree on another mark and not on this one."""
    with collecting(lambda _error: None):
        try:
            _, first = next(source.records(), (1, [""]))
        except DataError:
            return False
    if len(first) == 1:
        return MARKS[mark] in first[0]
    # A text has commas; hardly any has tabs, and as many in every line.
    return mark == "tab" and chosen(path, "\t").plain


def remarks(file: File) -> Iterator[str]:
    """What is odd about a file and how to mend it, beyond what a run would say."""
    path = Path(file.path)
    if not file.format:
        yield from _unknown(path)
    if file.over:
        yield f"{path.name}: {file.over:,} row{'s go' if file.over > 1 else ' goes'} over several lines."
    for column in file.columns:
        inside = {*column.example.removeprefix("keys ").split(", ")}
        if (objects := column.kinds.get("object")) and inside & _WANTED:
            yield (
                f"{path.name}: {column.name!r} holds objects in {objects:,} rows ({column.example}). Columns are "
                f"read from the top of a row only: write what is inside under names of its own."
            )
    if "not UTF-8" in file.encoding:
        yield (
            f"{path.name}: {file.encoding}. If all of it is, "
            f"`iconv -f WINDOWS-1252 -t UTF-8 {path.name} > new` mends it; else mend the lines."
        )


@dataclass
class _Cells:
    """What has been seen of a column; the cells of a `text_only` file are numbers where they read as such."""

    text_only: bool
    kinds: Counter[str] = field(default_factory=Counter)
    values: set[str] = field(default_factory=set)
    example: str = ""
    words: int = 0

    def add(self, value: Any) -> None:
        kind = _kind(value, self.text_only)
        self.kinds[kind] += 1
        if kind != "empty":
            self.words += _words(value) if isinstance(value, str) else 1
            if len(self.values) <= COUNTED:
                self.values.add(value if isinstance(value, str) else repr(value))
            self.example = self.example or _example(value)

    def column(self, name: str) -> Column:
        """The record of it."""
        distinct = len(self.values) if len(self.values) <= COUNTED else None
        filled = self.kinds.total() - self.kinds["empty"]
        # Whole numbers in text may be spelled 1, 1.0.
        binary = 0 < len(self.values) <= 4 and {value.removesuffix(".0") for value in self.values} == {
            "0",
            "1",
        }
        words = self.words / filled if filled else 0.0
        return Column(name, dict(self.kinds.most_common()), distinct, self.example, round(words, 2), binary)


def _words(text: str) -> int:
    """Words between blanks; two characters of writing without blanks (Chinese, Japanese) are one too."""
    return len(text.split()) + (0 if text.isascii() else sum(one >= "\u2e80" for one in text) // 2)


def _kind(value: Any, text_only: bool) -> str:
    if isinstance(value, str):
        if not value.strip():
            return "empty"
        return "number" if text_only and is_number(value) else "text"
    if value is None or value != value:  # NaN is the one value that is not itself
        return "empty"
    named = {bool: "truth value", int: "number", float: "number", list: "list", dict: "object"}
    return named.get(type(value), type(value).__name__)


def _example(value: Any) -> str:
    if isinstance(value, dict):
        return f"keys {', '.join(map(str, value))}"[:_SHOWN]
    return " ".join(str(value).split())[:_SHOWN]


def _format(suffix: str) -> str:
    names = {
        "jsonl": "JSON Lines", "csv": "CSV", "tsv": "TSV", "txt": "text", "parquet": "Parquet", "": "",
    }  # fmt: skip
    kind, _, packed = suffix.removeprefix(".").partition(".")
    return names[kind] + (" in gzip" if packed else "")


def _encoding(path: Path) -> tuple[str, str]:
    """Encoding and line ends in words, of as much as can be read."""
    ends: Counter[str] = Counter()
    first, wrong, place, line = b"", 0, 0, b""
    try:
        with opened(path) as stream:
            for number, raw in enumerate(bounded_lines(stream, path), 1):
                first = first or raw[:4]
                ends["CRLF" if raw.endswith(b"\r\n") else "LF" if raw.endswith(b"\n") else "none"] += 1
                if not _is_utf8(raw):
                    wrong += 1
                    place, line = (place, line) if place else (number, raw)
    except (DataError, EOFError, zlib.error, gzip.BadGzipFile):
        pass  # said already by the reading of the rows
    named = " and ".join(end for end in ("LF", "CRLF") if ends[end])
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16", named
    if wrong:
        text = " ".join(line.decode("windows-1252", errors="replace").split())[:60]
        return (
            f"not UTF-8 in {wrong:,} of {ends.total():,} lines, line {place} as Windows-1252: {text}",
            named,
        )
    return "UTF-8 with a byte order mark" if first.startswith(_BOM) else "UTF-8", named


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unknown(path: Path) -> Iterator[str]:
    with path.open("rb") as stream:
        start = stream.read(_BLOCK).removeprefix(_BOM).lstrip()
    packed = "JSON Lines holds one object per line"
    if start.startswith(b"["):
        yield f"{path.name}: it holds one JSON list. {packed}: `jq -c '.[]' {path.name} > {path.stem}.jsonl`."
    elif start.startswith(b"{") and b"}\n{" in start:
        yield f"{path.name}: it holds one JSON object per line. Rename it to {path.stem}.jsonl."
    elif start.startswith(b"{"):
        yield f"{path.name}: it holds one JSON object. {packed}: write the rows inside it so."
    elif start.startswith(b"PK\x03\x04"):
        yield f"{path.name}: it is a spreadsheet or a zip file. Save the sheet as CSV in UTF-8."
