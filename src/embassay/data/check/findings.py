"""What a check finds, as records; the same fault in a thousand lines is one entry with a count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from embassay.errors import DataError
from embassay.records import Skipped


@dataclass(frozen=True)
class Column:
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
class File:
    """A file as it lies there; `rows` are those that could be read, `encoding` and `line_ends` empty for Parquet. In a
    table of lines and marks `blank` lines are passed over, and `over` rows go over several lines."""

    path: str
    format: str
    encoding: str
    line_ends: str
    bytes: int
    rows: int
    columns: tuple[Column, ...]
    blank: int = 0
    over: int = 0


@dataclass(frozen=True)
class DocumentFiles:
    """A folder of documents: how many were read of each kind, in which encodings, and what was left out and why.
    `suffixes` counts all files, `stated` the languages that documents say they are in ("" for none), `told` those they
    seem to be in (None: nothing here can tell), of the first `looked_at` documents."""

    documents: Mapping[str, int]
    characters: int
    chunk: int
    overlap: int
    skipped: tuple[Skipped, ...]
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
class Spread:
    """How numbers are spread."""

    n: int
    least: float
    median: float
    p95: float
    most: float
    mean: float


@dataclass(frozen=True)
class Balance:
    """How often each value is there, the most frequent first."""

    counts: Mapping[str, int]

    @property
    def n(self) -> int:
        """All of them."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Shape:
    """A shape whose columns are there: the `tasks` it serves, how many items a run would get, and what it is like.

    It is `ready` when nothing stops a run.
    """

    shape: str
    tasks: tuple[str, ...]
    ready: bool
    items: int
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: Mapping[str, Spread | Balance] = field(default_factory=dict)


@dataclass(frozen=True)
class NearMiss:
    """A shape that a `--map` would give."""

    shape: str
    tasks: tuple[str, ...]
    missing: tuple[str, ...]
    mend: str


@dataclass(frozen=True)
class Lengths:
    """How long the texts of a column are; `tokens` are those of `counted_in`."""

    table: str
    column: str
    characters: Spread
    tokens: Spread
    counted_in: str


@dataclass(frozen=True)
class Alike:
    """Two rows, by id, whose texts are the same (`jaccard` 1 and `exact`) or nearly."""

    first: str
    second: str
    jaccard: float
    exact: bool
    first_text: str
    second_text: str


@dataclass(frozen=True)
class Repeats:
    """Rows of one table that repeat an earlier row: exactly, or nearly (None: not looked for).

    `conflicting` are exact repeats with another label or score than the first.
    """

    table: str
    texts: int
    exact: int
    near: int | None
    conflicting: int
    examples: tuple[Alike, ...]


@dataclass(frozen=True)
class Overlap:
    """Rows of one side (`of`) whose text is also, or nearly, in the other (`within`)."""

    table: str
    of: str
    within: str
    texts: int
    exact: int
    near: int | None
    examples: tuple[Alike, ...]


@dataclass(frozen=True)
class Report:
    """All that a check of `path` finds. It is `usable` when at least one shape is ready. `command` is the next one to
    try, where another `--map` would read it better."""

    path: str
    usable: bool
    langs: tuple[str, ...]
    files: tuple[File, ...]
    shapes: tuple[Shape, ...]
    near_misses: tuple[NearMiss, ...]
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]
    lengths: tuple[Lengths, ...]
    repeats: tuple[Repeats, ...]
    overlaps: tuple[Overlap, ...]
    threshold: float | None
    command: str = ""
    documents: DocumentFiles | None = None

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON takes it."""
        return asdict(self)


SHOWN_LINES = 10


@dataclass
class _Entry:
    first: DataError
    places: dict[tuple[int | None, str], None] = field(default_factory=dict)
    shapes: dict[str, None] = field(default_factory=dict)


class Stops:
    """Collects faults; one that comes up again, for another shape or in another reading, counts once."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], _Entry] = {}

    def add(self, error: DataError, shape: str = "") -> None:
        """Take a fault, found while reading `shape` (empty: the file itself)."""
        key = (str(error.path), _generic(error.what), error.expected)
        # A traceback holds the frames, and those the rows, of every fault.
        entry = self._entries.setdefault(key, _Entry(error.with_traceback(None)))
        entry.places[error.line, error.what] = None
        if shape:
            entry.shapes[shape] = None

    def of(self, shape: str) -> bool:
        """Whether anything stops a run with this shape."""
        return any(shape in entry.shapes for entry in self._entries.values())

    def faults(self) -> tuple[Fault, ...]:
        """One record per kind of fault, in the order they came up."""
        return tuple(_fault(entry) for entry in self._entries.values())


def _fault(entry: _Entry) -> Fault:
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


def _generic(what: str) -> str:
    """What is wrong without the ids, values and numbers of one row; a column's name stays.

    >>> _generic("id '7' is there twice, first on line 2."), _generic("the value of 'label' cannot be used")
    ('id _ is there twice, first on line _.', "the value of 'label' cannot be used")
    """
    return what if what.startswith("the value of") else re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", what)
