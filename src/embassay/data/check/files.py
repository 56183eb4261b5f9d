"""A file as it lies there: format, encoding, line ends, and what its columns hold."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.bounded import bounded_lines
from embassay.data.check.report import Column, File
from embassay.data.check.shapes import CALLED
from embassay.data.faults import collecting
from embassay.data.lines import opened
from embassay.data.tables import Delimited, known_suffix, table
from embassay.errors import DataError

COUNTED = 1000
"""Different values of a column are counted up to here."""
_BLOCK = 1 << 20
_SHOWN = 200
_WANTED = {*CALLED, *(name for names in CALLED.values() for name in names)}
_BOM = b"\xef\xbb\xbf"


def describe(path: Path, found: Callable[[DataError], None], read: Callable[[int], None]) -> File:
    """The facts of the file at `path`, as far as it can be read; what cannot goes to `found`.

    `read` is told how many rows have been read.
    """
    columns: dict[str, _Cells] = {}
    rows = 0
    try:
        source = table(path)
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
    return File(str(path), _format(suffix), encoding, ends, path.stat().st_size, rows, facts)


def remarks(file: File) -> Iterator[str]:
    """What is odd about a file and how to mend it, beyond what a run would say."""
    path = Path(file.path)
    if not file.format:
        yield from _unknown(path)
    if file.format.startswith("CSV") or file.format.startswith("TSV"):
        yield from _delimiter(path, [column.name for column in file.columns])
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

    def add(self, value: Any) -> None:
        kind = _kind(value, self.text_only)
        self.kinds[kind] += 1
        if kind != "empty":
            if len(self.values) <= COUNTED:
                self.values.add(value if isinstance(value, str) else repr(value))
            self.example = self.example or _example(value)

    def column(self, name: str) -> Column:
        """The record of it."""
        distinct = len(self.values) if len(self.values) <= COUNTED else None
        return Column(name, dict(self.kinds.most_common()), distinct, self.example)


def _kind(value: Any, text_only: bool) -> str:
    if isinstance(value, str):
        if not value.strip():
            return "empty"
        return "number" if text_only and _is_number(value) else "text"
    if value is None or value != value:  # NaN is the one value that is not itself
        return "empty"
    named = {bool: "truth value", int: "number", float: "number", list: "list", dict: "object"}
    return named.get(type(value), type(value).__name__)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _example(value: Any) -> str:
    if isinstance(value, dict):
        return f"keys {', '.join(map(str, value))}"[:_SHOWN]
    return " ".join(str(value).split())[:_SHOWN]


def _format(suffix: str) -> str:
    names = {"jsonl": "JSON Lines", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "": ""}
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


def _delimiter(path: Path, names: list[str]) -> Iterator[str]:
    expected = {"CSV": ",", "TSV": "\t"}[_format(known_suffix(path.name))[:3]]
    others = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
    if len(names) == 1 and (found := [mark for mark in others if mark != expected and mark in names[0]]):
        rename = {"\t": " Rename it to .tsv.", ",": " Rename it to .csv."}.get(found[0], "")
        yield (
            f"{path.name}: its one column is called {names[0]!r}: the file is separated by {others[found[0]]}, "
            f"not by {others[expected]}.{rename or f' Save it with {others[expected]}.'}"
        )


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
