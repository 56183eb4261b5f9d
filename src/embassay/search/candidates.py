"""What may be among the best of each query while the vectors are read: gathered in float32, decided in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.search.blockwise import blocks, in_threads

SCORE_DECIMALS = 6
_DECIDED_CELLS = 2**18
_LEAST_WORK = 2**16
"""So many cells are worth a thread."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass
class Candidates:
    """The candidates of some queries (q, d) among one array of vectors, whose rows are numbered from `offset`.

    A row of `columns` and `scores` (q, room) has `counts` candidates, columns ascending; `best` is a score that k of a
    query's candidates reach, `margins` how far below that a score may be and its vector still be one of the best.
    Columns below `offset` are of earlier arrays, and decided. The rows are worked on by so many `threads`.
    """

    queries: Floats
    vectors: Floats
    offset: int
    k: int
    columns: Numbers
    scores: NDArray[np.float64]
    counts: Numbers
    best: NDArray[np.float64]
    margins: NDArray[np.float64]
    threads: int

    @classmethod
    def of(
        cls, queries: Floats, vectors: Floats, offset: int, before: Ranked, threads: int = 1
    ) -> Candidates:
        """Those that are the best `before` this array."""
        q, k = before.indices.shape
        columns = np.empty((q, room(k)), dtype=np.int64)
        scores = np.empty((q, room(k)))
        # Ascending, what is none (-1) behind.
        order = np.argsort(before.indices.astype(np.uint64), axis=1)
        columns[:, :k] = np.take_along_axis(before.indices, order, axis=1)
        scores[:, :k] = np.take_along_axis(before.scores, order, axis=1)
        counts = np.count_nonzero(before.indices >= 0, axis=1)
        best = np.ascontiguousarray(before.scores[:, -1])
        return cls(queries, vectors, offset, k, columns, scores, counts, best, np.zeros(q), threads)

    def add(self, products: Floats, first: int) -> None:
        """The products (q, block) with the vectors from number `first` of the array on."""
        from embassay.search.exact_kernel import scan

        places = np.zeros(len(products), dtype=np.int64)

        def work(rows: slice) -> None:
            scan(products[rows], self.offset + first, places[rows], self._of(rows), self.k)

        while True:
            self._in_parts(work, products.shape[1])
            stuck = np.flatnonzero(places < products.shape[1])
            if not len(stuck):
                return
            # A query that scores thousands of vectors alike (the zero vector of an empty text) fills its room.
            self._decide(stuck)

    def ranked(self) -> Ranked:
        """The best k of each query, decided, ties by column."""
        from embassay.search.exact_kernel import narrow_all

        self._in_parts(lambda rows: narrow_all(self._of(rows), self.k), self.columns.shape[1])
        self._decide(np.arange(len(self.queries)))
        return self._sorted(np.arange(len(self.queries)))

    def _in_parts(self, work: Callable[[slice], None], width: int) -> None:
        rows = len(self.queries)
        threads = min(self.threads, max(1, rows * width // _LEAST_WORK))
        in_threads(work, list(blocks(rows, -(-rows // threads) or 1)), threads)

    def _of(self, rows: slice) -> tuple[NDArray[Any], ...]:
        return self.columns[rows], self.scores[rows], self.counts[rows], self.best[rows], self.margins[rows]

    def _decide(self, rows: Numbers) -> None:
        """Keep the best k of these queries by float64 scores, rounded."""
        held = np.arange(self.columns.shape[1]) < self.counts[rows, None]
        undecided = held & (self.columns[rows] >= self.offset)
        at, places = np.nonzero(undecided)
        at = rows[at]
        exact = self._products(at, self.columns[at, places] - self.offset)
        self.scores[at, places] = np.round(exact, SCORE_DECIMALS) + 0.0
        found = self._sorted(rows)
        order = np.argsort(found.indices.astype(np.uint64), axis=1)
        self.columns[rows, : self.k] = np.take_along_axis(found.indices, order, axis=1)
        self.scores[rows, : self.k] = np.take_along_axis(found.scores, order, axis=1)
        self.counts[rows] = np.count_nonzero(found.indices >= 0, axis=1)
        self.best[rows] = np.maximum(self.best[rows], found.scores[:, -1])

    def _products(self, rows: Numbers, columns: Numbers) -> NDArray[np.float64]:
        """The float64 product of each pair of a query and a vector of this array."""
        from embassay.search.exact_kernel import products_of_pairs

        out = np.empty(len(rows))

        def work(part: slice) -> None:
            vectors = np.asarray(self.vectors[columns[part]], dtype=np.float32)
            products_of_pairs(self.queries, rows[part], vectors, out[part])

        parts = list(blocks(len(rows), max(1, _DECIDED_CELLS // max(1, self.queries.shape[1]))))
        in_threads(work, parts, self.threads)
        return out

    def _sorted(self, rows: Numbers) -> Ranked:
        """The first k candidates of these queries by score, ties as they stand, filled up with -1 and -inf."""
        width = max(self.k, int(self.counts[rows].max(initial=0)))
        held = np.arange(width) < self.counts[rows, None]
        scores = np.where(held, self.scores[rows, :width], -np.inf)
        columns = np.where(held, self.columns[rows, :width], -1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        return Ranked(np.take_along_axis(columns, order, axis=1), np.take_along_axis(scores, order, axis=1))


def room(k: int) -> int:
    """The candidates that a query can have before they are looked through: the best k, and as many again."""
    return 2 * k + 256
