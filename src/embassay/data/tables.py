"""Tables on disk as sources of rows: JSON Lines, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.faults import fault
from embassay.data.lines import opened, text_lines
from embassay.data.rows import File, Origin, Row, Source, nearest
from embassay.errors import DataError
from embassay.limits import COLUMNS, LINE
from embassay.parquet import parquet_batches, parquet_columns

_PEEKED = 1000
_BATCH = 16_384
"""Rows of Parquet that are held at a time."""


@dataclass(frozen=True)
class JsonLines:
    """One JSON object per line, blank lines passed over; its columns are the keys of the first 1,000 rows."""

    path: Path

    def origins(self) -> tuple[Origin, ...]:
        """The file."""
        return (File(self.path),)

    def columns(self) -> tuple[str, ...]:
        """The keys, in order of first appearance."""
        return self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for number, cells in islice(self._objects(), _PEEKED):
            names.update(dict.fromkeys(cells))
            if len(names) > COLUMNS.most:
                raise COLUMNS.exceeded(self.path, number)
        if not names:
            for number, line in text_lines(self.path):
                if line.strip():
                    self._object(number, line)
            raise DataError(
                "no line holds anything.", path=self.path, mend="Check that the file was written."
            )
        return tuple(names)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """All rows with these columns."""
        for number, cells in self._objects():
            yield Row(self.path, number, {column: cells.get(column) for column in columns})

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in text_lines(self.path):
            if not line.strip():
                continue
            try:
                cells = self._object(number, line)
            except DataError as error:
                fault(error)
                continue
            yield number, cells

    def _object(self, number: int, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
            if "\\u" in line:
                _check_surrogates(value)
        except json.JSONDecodeError as error:
            raise self._invalid(number, f"{error.msg.lower()} at character {error.pos + 1}") from error
        except UnicodeEncodeError as error:
            raise self._invalid(number, "half of a surrogate pair") from error
        except (ValueError, RecursionError) as error:
            raise self._invalid(number, str(error)) from error
        if isinstance(value, list):
            name = self.path.name.partition(".")[0]
            raise DataError(
                "the line is a JSON list", path=self.path, line=number, expected="one JSON object per line",
                mend=f"Take the list apart: jq -c '.[]' {self.path.name} > {name}-lines.jsonl",
            )  # fmt: skip
        if not isinstance(value, dict):
            raise DataError(
                "the line is not a JSON object", path=self.path, line=number,
                expected='an object like {"id": "1", "text": "..."}', found=f"a {_JSON_NAMES[type(value)]}",
                mend="Write one object per line (JSON Lines).",
            )  # fmt: skip
        return value

    def _invalid(self, number: int, found: str) -> DataError:
        mend = "JSONL holds one complete JSON object per line."
        return DataError("the line is not valid JSON", path=self.path, line=number, found=found, mend=mend)


@dataclass(frozen=True)
class Delimited:
    """CSV or TSV with a header line and double quotes around fields that hold delimiters or line breaks."""

    path: Path
    delimiter: str

    def origins(self) -> tuple[Origin, ...]:
        """The file."""
        return (File(self.path),)

    def columns(self) -> tuple[str, ...]:
        """The header."""
        return self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        _, header = next(self._records(), (1, []))
        if not header:
            raise DataError(
                "the file has no header", path=self.path, line=1,
                expected="a first line with the names of the columns", mend="Put it at the top.",
            )  # fmt: skip
        if len(header) > COLUMNS.most:
            raise COLUMNS.exceeded(self.path, 1)
        for name, often in Counter(header).items():
            if often > 1:
                raise DataError(
                    f"the header names the column {name!r} twice.", path=self.path, line=1,
                    mend="Give every column a name of its own.",
                )  # fmt: skip
        return tuple(header)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """All rows with these columns."""
        header = self.columns()
        places = [(column, header.index(column)) for column in columns if column in header]
        for number, fields in islice(self._records(), 1, None):
            if len(fields) != len(header):
                fault(DataError(
                    "the row does not fit the header", path=self.path, line=number,
                    expected=f"{len(header)} fields", found=str(len(fields)),
                    mend="Put double quotes around fields that hold the delimiter.",
                ))  # fmt: skip
                continue
            yield Row(self.path, number, {column: fields[place] for column, place in places})

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        # The module's own limit is 131,072 characters a field; documents are longer.
        csv.field_size_limit(LINE.most)
        rows = _RowLines(self.path)
        reader = csv.reader(rows, delimiter=self.delimiter, strict=True)
        start = 1
        while True:
            rows.begin(start)
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                fault(DataError(
                    "a quoted field is not closed, or text follows its closing quote",
                    path=self.path, line=start,
                    found=str(error), mend='Double the quotes inside a quoted field: "".',
                ))  # fmt: skip
                fields = []
            if fields:
                yield start, fields
            start = reader.line_num + 1


class _RowLines:
    """The lines of a file of rows; a row may go on over many, which together are no longer than a line may be."""

    def __init__(self, path: Path) -> None:
        self._path, self._lines = path, text_lines(path)
        self._most = LINE.most
        self.begin(1)

    def begin(self, number: int) -> None:
        """The next line, of this number, begins a row."""
        self._start, self._left = number, self._most

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._lines)
        self._left -= len(line)
        if self._left < 0:
            raise LINE.exceeded(self._path, self._start)
        return line


@dataclass(frozen=True)
class Parquet:
    """A Parquet file; its rows count from 1."""

    path: Path

    def origins(self) -> tuple[Origin, ...]:
        """The file."""
        return (File(self.path),)

    def columns(self) -> tuple[str, ...]:
        """The columns of its schema."""
        return self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        with opened(self.path):
            pass  # which says why where it cannot be
        names = parquet_columns(self.path)
        if len(names) > COLUMNS.most:
            raise COLUMNS.exceeded(self.path)
        return names

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """All rows with these columns; no other column is read."""
        own = [column for column in columns if column in self.columns()]
        number = 0
        for frame in parquet_batches(self.path, own, rows=_BATCH):
            for values in frame.iter_rows():
                number += 1
                yield Row(self.path, number, dict(zip(own, values, strict=True)))


FORMATS: dict[str, Callable[[Path], Source]] = {
    ".jsonl": JsonLines,
    ".jsonl.gz": JsonLines,
    ".csv": lambda path: Delimited(path, ","),
    ".csv.gz": lambda path: Delimited(path, ","),
    ".tsv": lambda path: Delimited(path, "\t"),
    ".tsv.gz": lambda path: Delimited(path, "\t"),
    ".parquet": Parquet,
}
"""Suffix -> how such a file is read."""


def table(path: Path) -> Source:
    """The table at `path`, by the suffix of its name; DataError for a suffix that is not known."""
    suffix = known_suffix(path.name)
    if suffix:
        return FORMATS[suffix](path)
    near = nearest("." + path.name.partition(".")[2], FORMATS)
    raise DataError(
        "the name does not end in a known suffix", path=path, expected=", ".join(FORMATS),
        mend=f"Convert or rename it{f' (to {near}?)' if near else ''}.",
    )  # fmt: skip


def known_suffix(name: str) -> str:
    """The suffix of `name` that says its format, empty if there is none."""
    return max((suffix for suffix in FORMATS if name.lower().endswith(suffix)), key=len, default="")


_JSON_NAMES = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "truth value",
    type(None): "null",
}


def _check_surrogates(value: Any) -> None:
    """ValueError if a text holds half of a surrogate pair, which no tokenizer or UTF-8 file can take."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")
