"""Texts as tokens and as bags of terms, the inverted index over bags, and sums over the terms that texts share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.machine import count_cores
from embassay.search.exact import cut_range_into_blocks, run_in_threads
from embassay.search.sparse import SparseMatrix, Summed

Rows = NDArray[np.int64]

_TEXTS_PER_CALL = 1024


class TokenIdNumbering(dict[int, int]):
    """A number for every token id, 0, 1, 2 ... in the order of first sight."""

    def __missing__(self, token: int) -> int:
        number = self[token] = len(self)
        return number

    def copy(self) -> TokenIdNumbering:
        """A copy of the numbering with the same numbers, to go on from."""
        return TokenIdNumbering(self)


@dataclass(frozen=True)
class TokenIdRows:
    """Row i holds `ids[starts[i]:starts[i + 1]]`, numbers below `vocabulary`, in the order of the text."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    vocabulary: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """Tokens per row."""
        return np.diff(self.starts)

    def take_rows(self, rows: Rows) -> TokenIdRows:
        """The given rows, repeated and reordered as asked."""
        places, starts = locate_ragged_rows(self.starts, rows)
        return TokenIdRows(self.ids[places], starts, self.vocabulary)


def tokenise_distinct_texts(
    tokenizer: Tokenizer, *collections: Iterable[str], numbers: TokenIdNumbering | None = None
) -> tuple[TokenIdRows, list[Rows]]:
    """The tokens of every distinct text, and for each collection the row of each of its texts.

    Tokens are numbered by first appearance, so that sums of floats do not depend on a tokenizer's own ids. `numbers`
    are those that have one already; new ones are added.
    """
    row_of: dict[str, int] = {}
    rows = [np.fromiter((row_of.setdefault(text, len(row_of)) for text in texts), np.int64) for texts in collections]
    numbers = TokenIdNumbering() if numbers is None else numbers
    texts, ids, lengths = list(row_of), [np.empty(0, dtype=np.int32)], [0]
    # A batch at a time: Python's integers take nine times the memory of the array.
    for batch in cut_range_into_blocks(len(texts), _TEXTS_PER_CALL):
        for encoded in tokenizer.encode_batch(texts[batch]):
            ids.append(np.fromiter(map(numbers.__getitem__, encoded), np.int32, len(encoded)))
            lengths.append(len(encoded))
    return TokenIdRows(np.concatenate(ids), np.cumsum(lengths), len(numbers)), rows


def locate_ragged_rows(starts: NDArray[np.int64], rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of `rows` lie in a ragged array with these `starts`, and the starts of what is taken.

    >>> locate_ragged_rows(np.array([0, 2, 5]), np.array([1, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    lengths = starts[rows + 1] - starts[rows]
    ends = np.cumsum(lengths)
    new_starts = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    return np.repeat(starts[rows] - new_starts[:-1], lengths) + np.arange(new_starts[-1]), new_starts


def check_equal_text_counts(a: Sequence[str], b: Sequence[str]) -> None:
    """Raise UsageError unless there are as many texts on both sides."""
    if len(a) != len(b):
        raise UsageError(
            f"Cannot pair {len(a)} texts with {len(b)}.", mend="Pass the same number of candidates and references."
        )


_ROWS_PER_SORT = 8192


@dataclass(frozen=True)
class TermBags:
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

    def take_rows(self, rows: Rows) -> TermBags:
        """The given rows, repeated and reordered as asked."""
        places, starts = locate_ragged_rows(self.starts, rows)
        return TermBags(starts, self.terms[places], self.counts[places], self.sizes[rows])


def count_unigrams(tokens: TokenIdRows) -> TermBags:
    """Tokens with their counts."""
    return _count_terms(tokens.ids.astype(np.int64), tokens.starts)


def count_bigrams(tokens: TokenIdRows) -> TermBags:
    """Pairs of neighbouring tokens with their counts; none in a text of fewer than two tokens."""
    lengths = np.maximum(tokens.row_lengths - 1, 0)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    first = np.repeat(tokens.starts[:-1] - starts[:-1], lengths) + np.arange(starts[-1])
    first_of, second_of = tokens.ids[first].astype(np.int64), tokens.ids[first + 1]
    # A pair of ids as one number.
    return _count_terms(first_of * tokens.vocabulary + second_of, starts)


def collect_token_sets(tokens: TokenIdRows) -> TermBags:
    """Distinct tokens, each counted once."""
    bags = count_unigrams(tokens)
    return TermBags(bags.starts, bags.terms, np.ones_like(bags.counts), np.diff(bags.starts))


def _count_terms(terms: NDArray[np.int64], starts: NDArray[np.int64]) -> TermBags:
    """Ragged rows of terms as bags: one sort of (row, term) packed into one integer."""
    radix = int(terms.max(initial=0)) + 1
    # (row, term) as one number has to stay below 2^63.
    rows_per_sort = max(1, min(_ROWS_PER_SORT, 2**62 // radix))
    parts, counts, lengths = ([np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)], [np.zeros(1, np.int64)])
    for part in cut_range_into_blocks(len(starts) - 1, rows_per_sort):
        ends = starts[part.start : part.stop + 1]
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        packed = np.sort(rows * radix + terms[ends[0] : ends[-1]])
        first = np.flatnonzero(np.diff(packed, prepend=-1))
        row, term = np.divmod(packed[first], radix)
        parts.append(term)
        counts.append(np.diff(first, append=len(packed)).astype(np.int32))
        lengths.append(np.bincount(row, minlength=len(ends) - 1))
    return TermBags(np.cumsum(np.concatenate(lengths)), np.concatenate(parts), np.concatenate(counts), np.diff(starts))


_PAIRS_PER_TASK = 4096
SECONDS_PER_TOKEN = 4e-7
"""What a token of a pair takes at most, to read and to compare; about half of it on a processor of 2024."""


def make_weighted_term_matrix(bags: TermBags, weights: NDArray[Any]) -> tuple[SparseMatrix, NDArray[np.int64]]:
    """`bags` as rows over their own terms, a weight per entry, and the terms, ascending."""
    vocabulary, places = np.unique(bags.terms, return_inverse=True)
    return SparseMatrix(bags.starts, places, weights, len(vocabulary)), vocabulary


def invert_bags(bags: TermBags, weights: NDArray[Any], vocabulary: NDArray[np.int64]) -> SparseMatrix:
    """A row per term of `vocabulary` (ascending) over the rows of `bags`; other terms are left out."""
    from scipy.sparse import csr_array

    columns = np.searchsorted(vocabulary, bags.terms)
    known = np.zeros(len(columns), dtype=bool)
    # searchsorted gives len(vocabulary) for terms beyond the last.
    inside = columns < len(vocabulary)
    known[inside] = vocabulary[columns[inside]] == bags.terms[inside]
    # How many known terms come before each row: the row pointers of the kept ones.
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(known)))[bags.starts]
    table = csr_array((weights[known], columns[known], ends), shape=(len(bags), len(vocabulary))).tocsc()
    return SparseMatrix(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data, len(bags))


def sum_shared_term_weights_of_pairs(
    what: Summed, bags: TermBags, weights: tuple[NDArray[Any], NDArray[Any]], a: Rows, b: Rows
) -> NDArray[Any]:
    """Sums for the rows a[i] and b[i] of `bags`, weighted per entry, shape (n,)."""
    from embassay.search.kernels import add_pair_term_overlaps, add_sparse_dot_products_of_pairs

    out = np.zeros(len(a), dtype=weights[0].dtype)
    left, right = weights

    def accumulate_pair_sums_of_part(part: slice) -> None:
        rows = bags.starts, bags.terms
        if what == "overlaps":
            add_pair_term_overlaps(*rows, left, right, a[part], b[part], out[part])
        else:
            add_sparse_dot_products_of_pairs(*rows, left, *rows, right, a[part], b[part], out[part])

    run_in_threads(accumulate_pair_sums_of_part, list(cut_range_into_blocks(len(a), _PAIRS_PER_TASK)), count_cores())
    return out
