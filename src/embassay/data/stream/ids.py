"""Ids that are there twice, and what else is odd about a corpus, found in one pass without holding it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from embassay.data.rows import Row, Source, collecting, key_of
from embassay.data.views import repeated
from embassay.errors import DataError
from embassay.records import Skipped


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


EXAMPLES = 3
LONG_TEXT = 1_000_000
"""Characters over which a text gets a warning."""


def oddities(ids: Sequence[str], texts: Sequence[str]) -> tuple[Skipped, ...]:
    """Empty texts, very long ones, and repeats of an earlier one: each with its count and the ids of the first.

    >>> [one.reason for one in oddities(["1", "2", "3"], ["a", "", "a"])]
    ['empty documents in the corpus', 'repeats of an earlier text']
    """
    empty, long, hashes = array("q"), array("q"), array("q")
    for place, text in enumerate(texts):
        hashes.append(hash(text))
        if not text:
            empty.append(place)
        if len(text) > LONG_TEXT:
            long.append(place)
    repeated = [place for place in repeats(hashes, texts.__getitem__) if texts[place]] if len(texts) else []
    found = (
        ("empty documents in the corpus", empty),
        (f"texts longer than {LONG_TEXT:,} characters", long),
        ("repeats of an earlier text", repeated),
    )
    # Empty ones are told of first, the others in the order in which they come up.
    told = [found[0], *sorted(found[1:], key=lambda one: one[1][0] if one[1] else 0)]
    return tuple(
        Skipped(reason, len(places), tuple(ids[place] for place in islice(places, EXAMPLES)))
        for reason, places in told
        if places
    )


def repeats(hashes: array[int], text: Callable[[int], str]) -> list[int]:
    """The places, ascending, whose text was at an earlier place already.

    `hashes` are those of all texts by one function, (n,); `text(place)` is only asked where two of them are equal.
    """
    return sorted(place for _, place in equal_to_earlier(hashes, text))


def equal_to_earlier(hashes: array[int], text: Callable[[int], str]) -> Iterator[tuple[int, int]]:
    """(place of the first of its kind, place) for each text that was there before, in no particular order."""
    for group in groups(hashes):
        firsts: dict[str, int] = {}
        for place in group.tolist():
            first = firsts.setdefault(text(place), place)
            if first != place:
                yield first, place


def groups(hashes: array[int]) -> Iterator[NDArray[np.int64]]:
    """The places of every hash that is there more than once, ascending."""
    values = np.frombuffer(hashes, np.int64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return
    # A run of equal hashes is a run of neighbours in `same`.
    breaks = np.flatnonzero(np.diff(same) > 1)
    starts, stops = same[np.r_[0, breaks + 1]], same[np.r_[breaks, len(same) - 1]] + 2
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield order[start:stop]
