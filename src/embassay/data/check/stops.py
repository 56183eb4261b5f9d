"""What stops a run, gathered: the same fault in a thousand lines is one entry with a count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from embassay.data.check.report import Fault
from embassay.errors import DataError

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
