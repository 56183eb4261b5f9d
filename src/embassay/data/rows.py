"""Rows on their way from a file to a record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from embassay.errors import DataError

_LARGE = 2**24
"""Bytes from which on a file is not read again for its digest while its size, times and inode stay."""


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
    """A file as an origin; what it is called doesn't enter its digest. `how` it is read, where that was told from the
    file and is not the usual way, does; `notes` are to be said of it."""

    path: Path
    how: str = ""
    notes: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Its path."""
        return str(self.path)

    def digest(self) -> bytes:
        """SHA-256 of its bytes; a large file that has not been touched is read once in a process."""
        own = self._of_bytes()
        return hashlib.sha256(own + self.how.encode()).digest() if self.how else own

    def _of_bytes(self) -> bytes:
        found = self.path.stat()
        if found.st_size < _LARGE:
            return _digest(self.path)
        stamp = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
        return _remembered_digest(self.path.absolute(), stamp)


def _digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


@lru_cache(maxsize=64)
def _remembered_digest(path: Path, _stamp: tuple[int, ...]) -> bytes:
    return _digest(path)


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
    from embassay.data.shapes import CALLED

    found = source.columns()
    lower = {name.lower(): name for name in found if name not in CALLED or name == "summary"}
    called = [lower[name] for name in CALLED.get(target or column, ()) if name in lower]
    likely = called[0] if len(called) == 1 else "" if called else nearest(column, found)
    pair = target or column, likely or "COLUMN"
    mend = f"Name it with --map {pair[0]}={pair[1]} (in a description, map: {{{pair[0]}: {pair[1]}}})."
    if len(called) > 1:
        mend += f" It may be {' or '.join(called)}: `embassay data check` looks at what they hold."
    if len(found) == 1 and (marks := [name for mark, name in _DELIMITERS.items() if mark in found[0]]):
        mend = f"The fields seem to be separated by {marks[0]}: add --map delimiter={marks[0].removesuffix('s')}."
    elif offer := _offer(source):
        mend = offer
    return DataError(
        f"there is no column {column!r}" + (f" to read {target!r} from" if target else ""),
        path=source.path,
        found="columns " + ", ".join(found),
        mend=mend,
    )


def _offer(source: object) -> str:
    """What the file under all views of it has to offer where its first line is no header."""
    while (below := getattr(source, "source", None)) is not None:
        source = below
    return str(getattr(source, "offer", ""))


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, empty if none is near."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.5)), "")
