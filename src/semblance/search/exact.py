"""Exact search by inner product: every vector of the corpus is scored, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Ranked
from semblance.errors import ModelError, UsageError
from semblance.search.blockwise import blocks, stack
from semblance.search.ranking import top_k

SCORE_DECIMALS = 6
_QUERY_BLOCK = 512
_RESCORED_CELLS = 2**19
_TABLE_CELLS = 2**23


def exact_search(
    queries: NDArray[np.float32], corpus: NDArray[np.float32], k: int, *, block: int = 16_384
) -> Ranked:
    """The k corpus rows (n, d) with the highest inner product for each query (q, d); cosine for unit vectors.

    Scores are rounded to 1e-6 before ranking, so that float noise never decides (SAGE spec, section 12);
    ties go to the lower index. `block` corpus rows at a time are multiplied in float32; whatever could be
    among the best k under the rounding error of that product is scored again in float64, each pair by
    itself. The result therefore depends on neither `block` nor the position of a row, and equal rows always
    tie. Rows that are only nearly equal (one text encoded in two batches) tie unless their scores lie on
    both sides of a rounding edge: at a difference of 1e-7, one time in 10. Raises UsageError for shapes that
    do not fit and k < 1, ModelError for values that are not finite.
    """
    _check(queries, corpus, k)
    queries = np.asarray(queries, dtype=np.float32)
    error = _product_error(queries, corpus, block)
    return stack(
        [_search(queries[rows], corpus, k, block, error[rows]) for rows in blocks(len(queries), _QUERY_BLOCK)]
        or [top_k(np.empty((0, len(corpus))), k)]
    )


@dataclass(frozen=True)
class _Candidates:
    """Cells that may be among the best, flat, in no particular order: query, corpus row, score."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]

    def joined(self, other: _Candidates) -> _Candidates:
        return _Candidates(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.columns, other.columns)),
            np.concatenate((self.scores, other.scores)),
        )

    def kept(self, which: NDArray[np.bool_]) -> _Candidates:
        return _Candidates(self.rows[which], self.columns[which], self.scores[which])

    def kth_best(self, queries: int, k: int) -> NDArray[np.float64]:
        """The k-th best score of each query, -inf where it has fewer."""
        counts = np.bincount(self.rows, minlength=queries)
        order = np.argsort(self.rows.astype(np.uint16), kind="stable")
        rows = self.rows[order]
        places = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        table = np.full((queries, max(k, counts.max(initial=0))), -np.inf)
        table[rows, places] = self.scores[order]
        return np.asarray(np.partition(table, -k, axis=1)[:, -k])

    def ranked(self, queries: int, k: int) -> Ranked:
        """The best k of each query by (score, column)."""
        order = np.lexsort((self.columns, -self.scores, self.rows))
        rows = self.rows[order]
        places = np.arange(len(rows)) - np.searchsorted(rows, rows)
        best = places < k
        indices = np.full((queries, k), -1, dtype=np.int64)
        scores = np.full((queries, k), -np.inf)
        indices[rows[best], places[best]] = self.columns[order][best]
        scores[rows[best], places[best]] = self.scores[order][best]
        return Ranked(indices, scores)


def _search(
    queries: NDArray[np.float32], corpus: NDArray[np.float32], k: int, block: int, error: NDArray[np.float64]
) -> Ranked:
    """One block of queries against the whole corpus: filtered in float32, decided in float64."""
    # Two true scores that round to one value differ by at most one unit; a score in `found` is off by at most
    # `error`, or by half a unit once decided.
    margin = 2 * 10.0**-SCORE_DECIMALS + 2 * error
    found = _Candidates(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    bar = np.full(len(queries), -np.inf)
    for columns in blocks(len(corpus), block):
        products = queries @ _rows(corpus, columns).T
        if bar.size and bar.min() == -np.inf:
            bar = np.maximum(bar, _kth_best(products, k) - margin)
        cells = np.flatnonzero(products >= _rounded_down(bar)[:, None])
        rows, places = np.divmod(cells, products.shape[1])
        scores = products.ravel()[cells].astype(np.float64)
        found = found.joined(_Candidates(rows, places + columns.start, scores))
        if np.bincount(found.rows, minlength=1).max() * len(queries) > _TABLE_CELLS:
            # A query that scores thousands of rows alike (an empty text's zero vector) would make the table
            # of candidates as large as the corpus.
            found = _decided(queries, corpus, found, k)
        bar = np.maximum(bar, found.kth_best(len(queries), k) - margin)
        found = found.kept(found.scores >= bar[found.rows])
    return _decided(queries, corpus, found, k).ranked(len(queries), k)


def _decided(
    queries: NDArray[np.float32], corpus: NDArray[np.float32], found: _Candidates, k: int
) -> _Candidates:
    """The best k of each query among `found` by float64 scores, rounded."""
    scores = np.empty(len(found.rows))
    for part in blocks(len(scores), max(1, _RESCORED_CELLS // max(1, queries.shape[1]))):
        a = queries[found.rows[part]].astype(np.float64)
        b = _rows(corpus, found.columns[part]).astype(np.float64)
        # One sum per pair over contiguous memory: its order of additions, hence its value, never varies.
        scores[part] = np.multiply(a, b, out=a).sum(axis=1)
    decided = _Candidates(found.rows, found.columns, np.round(scores, SCORE_DECIMALS) + 0.0)
    ranked = decided.ranked(len(queries), k)
    rows, places = np.nonzero(ranked.indices >= 0)
    return _Candidates(rows, ranked.indices[rows, places], ranked.scores[rows, places])


def _product_error(
    queries: NDArray[np.float32], corpus: NDArray[np.float32], block: int
) -> NDArray[np.float64]:
    """A bound on the rounding error of each query's float32 products, whatever the order of additions:
    d u |q| |c| / (1 - d u), with u the unit roundoff (Higham, Accuracy and Stability, section 3.1)."""
    longest = max((_norms(_rows(corpus, part)).max() for part in blocks(len(corpus), block)), default=0.0)
    lengths = _norms(queries)
    if not (np.isfinite(longest) and np.isfinite(lengths).all()):
        raise ModelError("The vectors to search hold values that are not finite.")
    roundoff = queries.shape[1] * float(np.finfo(np.float32).eps) / 2
    return np.asarray(lengths * (longest * roundoff / (1 - roundoff)))


def _norms(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)))


def _kth_best(products: NDArray[np.float32], k: int) -> NDArray[np.float64]:
    n = products.shape[1]
    if n < k:
        return np.full(len(products), -np.inf)
    return np.partition(products, n - k, axis=1)[:, n - k].astype(np.float64)


def _rounded_down(bar: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.nextafter(bar.astype(np.float32), np.float32(-np.inf))


def _rows(corpus: NDArray[np.float32], rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
    return np.asarray(corpus[rows], dtype=np.float32)


def _check(queries: NDArray[np.float32], corpus: NDArray[np.float32], k: int) -> None:
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1] or k < 1:
        raise UsageError(
            f"Cannot search the best {k} of vectors {corpus.shape} for queries {queries.shape}.",
            mend="Both have two axes (items, dimensions), as many dimensions, and k is at least 1.",
        )
