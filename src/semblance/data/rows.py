"""Rows on their way from a file to a record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from semblance.errors import DataError


class Row(NamedTuple):
    """One row: the file and line it came from (row number for Parquet), and its cells by column."""

    path: Path
    line: int
    cells: Mapping[str, Any]


class Origin(Protocol):
    """Where rows come from: a file, or a table of a hub."""

    @property
    def address(self) -> str:
        """What tells it from other origins."""
        ...

    def digest(self) -> bytes:
        """A SHA-256 of what it holds."""
        ...


@dataclass(frozen=True)
class File:
    """A file as an origin; what it is called doesn't enter its digest."""

    path: Path

    @property
    def address(self) -> str:
        """Its path."""
        return str(self.path)

    def digest(self) -> bytes:
        """SHA-256 of its bytes."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()


class Source(Protocol):
    """Something that gives rows. A column that a row does not have reads as None."""

    @property
    def path(self) -> Path:
        """The file that errors name."""
        ...

    def origins(self) -> tuple[Origin, ...]:
        """All that is read."""
        ...

    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked for, in file order."""
        ...

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """All rows with at least these columns, in file order."""
        ...


_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def missing_column(source: Source, column: str, *, target: str = "") -> DataError:
    """The error for a `column` that `source` lacks: what it has, and the --map that would mend it.

    `target` is the canonical name when `column` is what a mapping reads it from.
    """
    found = source.columns()
    pair = target or column, nearest(column, found) or "COLUMN"
    mend = f"Name it with --map {pair[0]}={pair[1]} (in a description, map: {{{pair[0]}: {pair[1]}}})."
    if len(found) == 1 and (marks := [name for mark, name in _DELIMITERS.items() if mark in found[0]]):
        mend = (
            f"The fields seem to be separated by {marks[0]}: save the file with commas, or with tabs as .tsv."
        )
    return DataError(
        f"there is no column {column!r}" + (f" to read {target!r} from" if target else ""),
        path=source.path,
        found="columns " + ", ".join(found),
        mend=mend,
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, empty if none is near."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.5)), "")
