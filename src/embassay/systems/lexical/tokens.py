"""Texts as tokens: each distinct text cut once, all in one ragged array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.search.blockwise import blocks

Rows = NDArray[np.int64]

_TEXTS_PER_CALL = 1024


class Numbers(dict[int, int]):
    """A number for every token id, 0, 1, 2 ... in the order of first sight."""

    def __missing__(self, token: int) -> int:
        found = self[token] = len(self)
        return found

    def copy(self) -> Numbers:
        """The same numbers, to go on from."""
        return Numbers(self)


@dataclass(frozen=True)
class Tokens:
    """Row i holds `ids[starts[i]:starts[i + 1]]`, numbers below `vocabulary`, in the order of the text."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    vocabulary: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens per row."""
        return np.diff(self.starts)

    def take(self, rows: Rows) -> Tokens:
        """The given rows, repeated and reordered as asked."""
        places, starts = ragged_take(self.starts, rows)
        return Tokens(self.ids[places], starts, self.vocabulary)


def tokenise(
    tokenizer: Tokenizer, *collections: Iterable[str], numbers: Numbers | None = None
) -> tuple[Tokens, list[Rows]]:
    """The tokens of every distinct text, and for each collection the row of each of its texts.

    Tokens are numbered by first appearance, so that sums of floats do not depend on a tokenizer's own ids. `numbers`
    are those that have one already; new ones are added.
    """
    places: dict[str, int] = {}
    rows = [
        np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64)
        for texts in collections
    ]
    numbers = Numbers() if numbers is None else numbers
    texts, ids, lengths = list(places), [np.empty(0, dtype=np.int32)], [0]
    # A batch at a time: Python's integers take nine times the memory of the array.
    for batch in blocks(len(texts), _TEXTS_PER_CALL):
        for encoded in tokenizer.encode_batch(texts[batch]):
            ids.append(np.fromiter(map(numbers.__getitem__, encoded), np.int32, len(encoded)))
            lengths.append(len(encoded))
    return Tokens(np.concatenate(ids), np.cumsum(lengths), len(numbers)), rows


def ragged_take(starts: NDArray[np.int64], rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of `rows` lie in a ragged array with these `starts`, and the starts of what is taken.

    >>> ragged_take(np.array([0, 2, 5]), np.array([1, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    lengths = starts[rows + 1] - starts[rows]
    ends = np.cumsum(lengths)
    taken = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    return np.repeat(starts[rows] - taken[:-1], lengths) + np.arange(taken[-1]), taken


def check_pairs(a: Sequence[str], b: Sequence[str]) -> None:
    """Raise UsageError unless there are as many texts on both sides."""
    if len(a) != len(b):
        raise UsageError(
            f"Cannot pair {len(a)} texts with {len(b)}.", mend="Give as many candidates as references."
        )
