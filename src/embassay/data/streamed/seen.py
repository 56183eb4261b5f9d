"""The ids of a table's rows, and whether one is there twice: exactly, and without holding millions of them."""

from __future__ import annotations

from array import array

from embassay.data.cells import key_of
from embassay.data.faults import collecting
from embassay.data.rows import Row, Source
from embassay.data.streamed.oddities import groups
from embassay.data.views import repeated
from embassay.errors import DataError


class SeenIds:
    """The ids seen so far. While they are few each stands with its line; `condense` leaves 8 bytes of each."""

    def __init__(self) -> None:
        self._lines: dict[str, int] | None = {}
        self._hashes = array("q")
        self._told = 0
        self.count = 0

    def add(self, number: int, key: str, row: Row) -> None:
        """Note the id of row `number`, from 1. DataError where it is there twice, unless the ids are condensed."""
        self.count += 1
        if self._lines is not None:
            if key in self._lines:
                raise repeated(row, "id", key, self._lines[key])
            self._lines[key] = row.line
        # Rows whose id cannot be read have no hash of their own; what is read again for them is no id either.
        self._hashes.extend(0 for _ in range(number - 1 - len(self._hashes)))
        self._hashes.append(hash(key))

    def condense(self) -> None:
        """Hold hashes only; `repeats` then tells what `add` did not."""
        self._lines, self._told = None, len(self._hashes)

    def repeats(self, source: Source) -> list[DataError]:
        """What `add` would have raised, in file order, after `condense`.

        The rows are read again where two ids have one hash: then nearly always one is there twice.
        """
        if self._lines is not None:
            return []
        wanted = {number + 1 for group in groups(self._hashes) for number in group.tolist()}
        if not wanted:
            return []
        first: dict[str, Row] = {}
        found: list[DataError] = []
        with collecting(lambda _error: None):  # the first reading has met them
            for number, row in enumerate(source.rows(["id"]), 1):
                if number in wanted and (key := _key(row)) is not None:
                    if key not in first:
                        first[key] = row
                    elif number > self._told:
                        found.append(repeated(row, "id", key, first[key].line))
        return found


def _key(row: Row) -> str | None:
    try:
        return key_of(row, "id")
    except DataError:
        return None
