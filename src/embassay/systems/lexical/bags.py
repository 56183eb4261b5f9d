"""Texts as bags of terms: tokens, or pairs of neighbouring tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.search.blockwise import blocks
from embassay.systems.lexical.tokens import Rows, Tokens, ragged_take

_ROWS_PER_SORT = 8192


@dataclass(frozen=True)
class Bags:
    """Row i holds the distinct `terms[starts[i]:starts[i + 1]]`, ascending, with their `counts`.

    `sizes` (rows,) is the number of terms in each row, repetitions included.
    """

    starts: NDArray[np.int64]
    terms: NDArray[np.int64]
    counts: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> Rows:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: Rows) -> Bags:
        """The given rows, repeated and reordered as asked."""
        places, starts = ragged_take(self.starts, rows)
        return Bags(starts, self.terms[places], self.counts[places], self.sizes[rows])


def unigrams(tokens: Tokens) -> Bags:
    """Tokens with their counts."""
    return _counted(tokens.ids.astype(np.int64), tokens.starts)


def bigrams(tokens: Tokens) -> Bags:
    """Pairs of neighbouring tokens with their counts; none in a text of fewer than two tokens."""
    lengths = np.maximum(tokens.lengths - 1, 0)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    first = np.repeat(tokens.starts[:-1] - starts[:-1], lengths) + np.arange(starts[-1])
    left, right = tokens.ids[first].astype(np.int64), tokens.ids[first + 1]
    return _counted(left * tokens.vocabulary + right, starts)


def token_sets(tokens: Tokens) -> Bags:
    """Distinct tokens, each counted once."""
    bags = unigrams(tokens)
    return Bags(bags.starts, bags.terms, np.ones_like(bags.counts), np.diff(bags.starts))


def _counted(terms: NDArray[np.int64], starts: NDArray[np.int64]) -> Bags:
    """Ragged rows of terms as bags: one sort of (row, term) packed into one integer."""
    radix = int(terms.max(initial=0)) + 1
    rows_per_sort = max(1, min(_ROWS_PER_SORT, 2**62 // radix))
    parts, counts, lengths = (
        [np.empty(0, dtype=np.int64)],
        [np.empty(0, dtype=np.int32)],
        [np.zeros(1, np.int64)],
    )
    for part in blocks(len(starts) - 1, rows_per_sort):
        ends = starts[part.start : part.stop + 1]
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        packed = np.sort(rows * radix + terms[ends[0] : ends[-1]])
        first = np.flatnonzero(np.diff(packed, prepend=-1))
        row, term = np.divmod(packed[first], radix)
        parts.append(term)
        counts.append(np.diff(first, append=len(packed)).astype(np.int32))
        lengths.append(np.bincount(row, minlength=len(ends) - 1))
    return Bags(
        np.cumsum(np.concatenate(lengths)), np.concatenate(parts), np.concatenate(counts), np.diff(starts)
    )
