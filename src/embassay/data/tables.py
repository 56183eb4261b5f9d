"""Tables on disk as sources of rows: JSON Lines, CSV, TSV and Parquet, and rows that hold lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.lines import (
    MARKS,
    USUAL,
    DelimitedReadOptions,
    DelimitedTable,
    detect_delimiter,
    find_nearest_suffix,
    open_unpacked_file,
    read_text_lines,
)
from embassay.data.rows import (
    RowOrigin,
    RowSource,
    RowSourceFileOrigin,
    SourceRow,
    make_cell_error,
    raise_or_collect_fault,
    read_label_cell,
    read_row_id,
)
from embassay.data.views import SourceView, drop_repeated_columns
from embassay.errors import DataError, UsageError
from embassay.limits import COLUMNS, parse_bounded_json
from embassay.parquet import read_parquet_column_names, read_parquet_in_batches

_PEEKED = 1000
_BATCH = 16_384
"""Rows of Parquet that are held at a time."""


@dataclass(frozen=True)
class SingleFileTable:
    """A table that is one file."""

    path: Path

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """The file."""
        return (RowSourceFileOrigin(self.path),)


@dataclass(frozen=True)
class JsonLinesTable(SingleFileTable):
    """One JSON object per line, blank lines passed over; its columns are the keys of the first 1,000 rows."""

    def columns(self) -> tuple[str, ...]:
        """The keys, in order of first appearance."""
        return self._column_names

    @cached_property
    def _column_names(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for number, cells in islice(self._read_objects(), _PEEKED):
            names.update(dict.fromkeys(cells))
            if len(names) > COLUMNS.most:
                raise COLUMNS.make_exceeded_error(self.path, number)
        # Every line was at fault or blank: read again so as to raise what is wrong with the first of them.
        if not names:
            for number, line in read_text_lines(self.path):
                if line.strip():
                    self._parse_object(number, line)
            raise DataError("all lines are blank.", path=self.path, mend="Check that the file was written.")
        return tuple(names)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """All rows with these columns."""
        for number, cells in self._read_objects():
            yield SourceRow(self.path, number, {column: cells.get(column) for column in columns})

    def _read_objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in read_text_lines(self.path):
            if not line.strip():
                continue
            try:
                cells = self._parse_object(number, line)
            except DataError as error:
                raise_or_collect_fault(error)
                continue
            yield number, cells

    def _parse_object(self, number: int, line: str) -> dict[str, Any]:
        try:
            value = parse_bounded_json(line)
        except json.JSONDecodeError as error:
            raise self._make_invalid_json_error(
                number, line, f"{error.msg.lower().removesuffix(' at')} at character {error.pos + 1}"
            ) from error
        except ValueError as error:
            raise self._make_invalid_json_error(number, line, str(error)) from error
        if isinstance(value, list):
            name = self.path.name.partition(".")[0]
            raise DataError(
                "the line is a JSON list", path=self.path, line=number, expected="one JSON object per line",
                mend=f"Split the list: jq -c '.[]' {self.path.name} > {name}-lines.jsonl"
            )  # fmt: skip
        if not isinstance(value, dict):
            raise DataError(
                "the line is not a JSON object", path=self.path, line=number,
                expected='an object like {"id": "1", "text": "..."}', found=f"a {_JSON_NAMES[type(value)]}",
                mend="Write one object per line (JSON Lines)."
            )  # fmt: skip
        return value

    def _make_invalid_json_error(self, number: int, line: str, found: str) -> DataError:
        mend = "JSONL needs one complete JSON object per line."
        if line.strip() in _OPENINGS:
            name = self.path.name.partition(".")[0]
            path = ".[]" if line.strip().startswith("[") else "."
            mend = f"It spans several lines. Run jq -c '{path}' {self.path.name} > {name}-lines.jsonl"
        return DataError(f"the line is not valid JSON ({found})", path=self.path, line=number, mend=mend)


_OPENINGS = ("[", "[{", "{")
"""The first line of JSON that is laid out for people to read."""


@dataclass(frozen=True)
class ParquetTable(SingleFileTable):
    """A Parquet file; its rows count from 1."""

    def columns(self) -> tuple[str, ...]:
        """The columns of its schema."""
        return self._column_names

    @cached_property
    def _column_names(self) -> tuple[str, ...]:
        with open_unpacked_file(self.path):
            pass  # which says why where it cannot be
        names = read_parquet_column_names(self.path)
        if len(names) > COLUMNS.most:
            raise COLUMNS.make_exceeded_error(self.path)
        return names

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """All rows with these columns; no other column is read."""
        names = [column for column in columns if column in self.columns()]
        number = 0
        for frame in read_parquet_in_batches(self.path, names, rows=_BATCH):
            for values in frame.iter_rows():
                number += 1
                yield SourceRow(self.path, number, dict(zip(names, values, strict=True)))


_READERS: dict[str, Callable[[Path, DelimitedReadOptions], RowSource]] = {
    ".jsonl": lambda path, reading: JsonLinesTable(_check_reading_unused(path, reading)),
    ".csv": lambda path, reading: DelimitedTable(path, ",", reading),
    ".tsv": lambda path, reading: DelimitedTable(path, "\t", reading),
    ".txt": lambda path, reading: _open_txt_file_as_rows(path, reading),
}
FORMATS = {f"{suffix}{packed}": read for suffix, read in _READERS.items() for packed in ("", ".gz")}
FORMATS[".parquet"] = lambda path, reading: ParquetTable(_check_reading_unused(path, reading))
"""Suffix -> how such a file is read."""


_UNREAD = {
    ".json": "Write one object per line: jq -c 'if type==\"array\" then .[] else . end' {name} > {stem}.jsonl",
    ".zip": "Unpack it: unzip {name}",
    ".tar": "Unpack it: tar xf {name}",
    ".tar.gz": "Unpack it: tar xzf {name}",
    ".tgz": "Unpack it: tar xzf {name}",
    ".zst": "Unpack it: zstd -d {name}",
    ".bz2": "Unpack it: bunzip2 {name}",
    ".xz": "Unpack it: unxz {name}",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".feather": "Convert it to Parquet.",
    ".arrow": "Convert it to Parquet.",
    ".pkl": "Convert it to Parquet or JSON Lines: pickles are never opened.",
    ".pickle": "Convert it to Parquet or JSON Lines: pickles are never opened.",
    ".npy": "Embassay reads texts, not vectors: pass JSON Lines, CSV or Parquet with a column of texts.",
    ".npz": "Embassay reads texts, not vectors: pass JSON Lines, CSV or Parquet with a column of texts.",
}
"""Suffixes of files that strangers give and that are not read, and what makes one that is."""


def open_table_file(path: Path, reading: DelimitedReadOptions = USUAL) -> RowSource:
    """The table at `path`, by the suffix of its name, `reading` saying what the file does not.

    A name of another suffix is read as `.txt` where a delimiter is given. DataError for a suffix that is not known,
    UsageError where the file has no such thing as quotes or a header.
    """
    suffix = find_known_suffix(path.name) or (".txt" if reading.delimiter else "")
    if suffix:
        return FORMATS[suffix](path, reading)
    for packed, unpack in _UNREAD.items():
        if path.name.lower().endswith(packed):
            raise DataError(
                f"cannot read {packed} files", path=path, mend=unpack.format(name=path.name, stem=path.stem)
            )
    near = find_nearest_suffix(path.name, tuple(FORMATS))
    mark = detect_delimiter(path)
    read_so = f" To read it as it is, add --map delimiter={mark}." if mark else ""
    raise DataError(
        "the file name has no known suffix", path=path, expected=", ".join(FORMATS),
        mend=f"Convert or rename it{f' (to {near}?)' if near else ''}.{read_so}"
    )  # fmt: skip


def open_table_ignoring_unused_options(path: Path, reading: DelimitedReadOptions) -> RowSource:
    """The table at `path`, one of several that are read alike: of lines and marks by `reading`, others as they are."""
    suffix = find_known_suffix(path.name)
    return open_table_file(path, reading if not suffix or suffix.startswith((".csv", ".tsv", ".txt")) else USUAL)


def find_known_suffix(name: str) -> str:
    """The suffix of `name` that says its format, empty if there is none."""
    return max((suffix for suffix in FORMATS if name.lower().endswith(suffix)), key=len, default="")


def _open_txt_file_as_rows(path: Path, reading: DelimitedReadOptions) -> RowSource:
    """Open a `.txt`, which may be lines of JSON, fields between marks, or one text per line."""
    if reading == USUAL:
        _, first = next(read_text_lines(path), (1, ""))
        if first.lstrip().startswith("{"):
            return JsonLinesTable(path)
    return DelimitedTable(path, MARKS[detect_delimiter(path) or "tab"], reading)


def _check_reading_unused(path: Path, reading: DelimitedReadOptions) -> Path:
    if settings := reading.make_map_option_dict():
        raise UsageError(
            f"{path} is not a delimited text file, so {next(iter(settings))} cannot be set.",
            mend=f"Leave {next(iter(settings))} out of --map.",
        )
    return path


_JSON_NAMES = {list: "list", str: "text", int: "number", float: "number", bool: "truth value", type(None): "null"}


def unroll_list_columns(source: RowSource, lists: tuple[str, ...]) -> RowSource:
    """`source`, unrolled if its first row holds lists in the columns `lists`."""
    # The first row decides for all: a later one that differs is told as a fault.
    first = next(iter(source.rows(lists)), None)
    if first is None or not isinstance(first.cells.get(lists[0]), list):
        return source
    return UnrolledListsSource(source, lists)


@dataclass(frozen=True)
class UnrolledListsSource(SourceView):
    """One row per place of the lists, `id` = row#place; the rows made of one row are a `set`, within its own."""

    lists: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        """Those of the source, an id and a set."""
        return drop_repeated_columns((*self.source.columns(), "id", "set"))

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows of every row."""
        keys = [name for name in ("id", "set") if name in self.source.columns()]
        for number, row in enumerate(self.source.rows(drop_repeated_columns((*columns, *self.lists, *keys))), 1):
            try:
                key = read_row_id(row, "id") if "id" in keys else str(number)
                group = f"{outer}/{key}" if "set" in keys and (outer := read_label_cell(row, "set")) else key
                values = self._unroll_row(row)
            except DataError as error:
                raise_or_collect_fault(error)
                continue
            for i, cells in enumerate(values, 1):
                added = {**cells, "id": f"{key}#{i}", "set": group}
                yield SourceRow(row.path, row.line, {**row.cells, **added})

    def _unroll_row(self, row: SourceRow) -> list[dict[str, Any]]:
        length = None
        for name in self.lists:
            cell = row.cells.get(name)
            if not isinstance(cell, list):
                raise make_cell_error(row, name, "a list, as in the first row")
            length = len(cell) if length is None else length
            if len(cell) != length:
                raise DataError(
                    f"the lists in {', '.join(self.lists)} differ in length",
                    path=row.path, line=row.line, expected=f"{length} in {name!r}", found=str(len(cell)),
                    mend="Correct the lists, or remove the row."
                )  # fmt: skip
        places = zip(*(row.cells[name] for name in self.lists), strict=True)
        return [dict(zip(self.lists, values, strict=True)) for values in places]
