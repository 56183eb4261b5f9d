"""Sparse vectors, the inverted index over them, and exact search by inner product.

A learned sparse model (SPLADE) gives a text a few hundred weights among tens of thousands of terms. Search goes term by
term through the lists of documents that have it, so what two texts do not share costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.machine import count_cores
from embassay.search.exact import (
    CANDIDATE_BLOCK,
    SCORE_DECIMALS,
    RowScores,
    cut_range_into_blocks,
    rank_scores_in_blocks,
)

Summed = Literal["overlaps", "products"]
"""What the terms that two texts share add up to: repetitions clipped, or products of weights."""


@dataclass(frozen=True)
class SparseMatrix:
    """A sparse matrix: row i holds `weights` in the columns `places[starts[i]:starts[i + 1]]`, ascending."""

    starts: NDArray[np.int64]
    places: NDArray[np.integer[Any]]
    weights: NDArray[Any]
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, rows: Sequence[NDArray[np.float32]], width: int) -> SparseMatrix:
        """Of texts with (term, weight) in each row, (terms, 2). UsageError for a term that is not below `width`."""
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        whole = np.concatenate([np.empty((0, 2), dtype=np.float32), *rows])
        places = whole[:, 0].astype(np.int64)
        if len(places) and not 0 <= places.min() <= places.max() < width:
            raise UsageError(f"A sparse vector has term {places.max()}, but there are only {width} terms.")
        texts = np.repeat(np.arange(len(rows)), np.diff(starts))
        order = np.lexsort((places, texts))
        return cls(starts, places[order], whole[order, 1].astype(np.float64), width)

    @property
    def row_lengths(self) -> NDArray[np.float64]:
        """The Euclidean length of each row, (rows,)."""
        texts = np.repeat(np.arange(len(self)), np.diff(self.starts))
        return np.sqrt(np.bincount(texts, weights=self.weights**2, minlength=len(self)))

    def divide_rows_by_scale(self, scales: NDArray[np.float64]) -> SparseMatrix:
        """Each row over its scale (rows,); one with the scale 0 stays as it is."""
        divisors = np.repeat(np.where(scales == 0, 1.0, scales), np.diff(self.starts))
        return SparseMatrix(self.starts, self.places, self.weights / divisors, self.width)

    def transpose(self) -> SparseMatrix:
        """A row per column, over the rows."""
        from scipy.sparse import csr_array

        table = csr_array((self.weights, self.places, self.starts), shape=(len(self), self.width)).tocsc()
        return SparseMatrix(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data, len(self))

    def take_rows(self, rows: slice) -> SparseMatrix:
        """Consecutive rows."""
        starts = self.starts[rows.start : rows.stop + 1]
        part = slice(starts[0], starts[-1])
        return SparseMatrix(starts - starts[0], self.places[part], self.weights[part], self.width)


def sum_overlaps_of_rows_with_index(
    what: Summed, queries: SparseMatrix, index: SparseMatrix, rows: slice, *, above_diagonal: bool = False
) -> NDArray[Any]:
    """Sums for the given rows and every row of the indexed texts, shape (rows, index.width).

    With `above_diagonal` both sides are the same texts, and columns up to a row's own number stay 0.
    """
    # Machine code takes .3 s to load; a plan, and what only opens a system, do without.
    from embassay.search.kernels import add_sparse_dot_products, add_term_overlaps

    kernel = add_term_overlaps if what == "overlaps" else add_sparse_dot_products
    out = np.zeros((rows.stop - rows.start, index.width), dtype=index.weights.dtype)
    lowest = np.arange(rows.start, rows.stop) if above_diagonal else np.full(len(out), -1)
    starts = queries.starts[rows.start : rows.stop + 1]
    kernel(starts, queries.places, queries.weights, lowest, index.starts, index.places, index.weights, out)
    return out


def compute_row_pair_products(
    left: SparseMatrix, right: SparseMatrix, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The inner product of row `a[i]` of one and row `b[i]` of the other, (n,)."""
    from embassay.search.kernels import add_sparse_dot_products_of_pairs

    out = np.zeros(len(a))
    add_sparse_dot_products_of_pairs(
        left.starts, left.places, left.weights, right.starts, right.places, right.weights, a, b, out
    )
    return out


@dataclass(frozen=True)
class InvertedIndex:
    """Sparse vectors of n texts laid out by term, some texts at a time, for exact search by inner product."""

    parts: tuple[SparseMatrix, ...]
    n: int
    terms: int

    @classmethod
    def of(cls, corpus: SparseMatrix) -> InvertedIndex:
        """The inverted index of a corpus; ModelError for weights that are not finite."""
        if not np.isfinite(corpus.weights).all():
            raise ModelError("The sparse vectors to search contain weights that are not finite.")
        parts = tuple(
            corpus.take_rows(part).transpose() for part in cut_range_into_blocks(len(corpus), CANDIDATE_BLOCK)
        )
        return cls(parts, len(corpus), corpus.width)

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(part.starts.nbytes + part.places.nbytes + part.weights.nbytes for part in self.parts)

    def search(self, queries: SparseMatrix, k: int) -> RankedCandidates:
        """The k texts with the highest inner product for each query: in float64, rounded to 1e-6, ties to the lower
        index. UsageError for k < 1 and queries over other terms, ModelError for weights that are not finite."""
        if k < 1:
            raise UsageError(f"Cannot search for the best {k}.", mend="Use k of at least 1.")
        if self.terms != queries.width:
            raise UsageError(f"Queries have {queries.width} terms, but documents have {self.terms}.")
        if not np.isfinite(queries.weights).all():
            raise ModelError("The sparse query vectors contain weights that are not finite.")

        def prepare_scores(candidates: slice) -> RowScores:
            if not self.parts:
                return lambda rows: np.empty((rows.stop - rows.start, 0))
            index = self.parts[candidates.start // CANDIDATE_BLOCK]
            return lambda rows: np.round(
                sum_overlaps_of_rows_with_index("products", queries, index, rows), SCORE_DECIMALS
            )

        return rank_scores_in_blocks(prepare_scores, (len(queries), self.n), k, threads=count_cores())
