"""Exact vector search in bounded memory: candidates gathered in float32 while vectors are read, decided in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.machine import choose_cuda_card, count_cores


def top_k(scores: NDArray[np.floating[Any]], k: int) -> RankedCandidates:
    """The k best columns of each row of `scores` (q, n), exactly, ties by column.

    Higher is better. A score of -inf marks a cell that holds no candidate; where a row has fewer than k
    candidates, it ends in indices of -1 and scores of -inf. Raises UsageError for k < 1 or another number of
    axes, ModelError for NaN. Tie rule: SAGE spec [A18], "then corpus order".
    """
    _check_score_matrix_for_top_k(scores, k)
    queries, n = scores.shape
    size = min(k, n)
    columns = np.broadcast_to(np.arange(n), (queries, n)) if size == n else _find_best_columns(scores, size)
    values = np.take_along_axis(scores, columns, axis=1).astype(np.float64)
    return _sort_best_candidates(columns, values, k)


def merge(ranked: Sequence[RankedCandidates], offsets: Sequence[int], k: int) -> RankedCandidates:
    """Merge the best k of each shard into the k best over all shards, exactly.

    `ranked[s]` holds (q, >= min(k, size of s)) results of shard s with its own indices; `offsets[s]` is
    added to them. Ties go to the earlier shard of the sequence, then to the lower index, so that with
    ascending offsets the result is what one search over the joined shards gives. Raises UsageError where the
    shards do not fit together.
    """
    if not ranked or len(ranked) != len(offsets) or len({len(shard.indices) for shard in ranked}) != 1:
        raise UsageError(
            f"Cannot merge {len(ranked)} rankings with {len(offsets)} offsets.",
            mend="Pass at least one ranking, all for the same queries, and one offset per ranking.",
        )
    indices = [
        np.where(shard.indices < 0, -1, shard.indices + offset) for shard, offset in zip(ranked, offsets, strict=True)
    ]
    # The sort is stable, so that of equal scores the earlier shard stays first.
    return _sort_best_candidates(np.concatenate(indices, axis=1), np.concatenate([s.scores for s in ranked], axis=1), k)


def _check_score_matrix_for_top_k(scores: NDArray[np.floating[Any]], k: int) -> None:
    if scores.ndim != 2 or k < 1:
        raise UsageError(
            f"Cannot take the best {k} of scores of shape {scores.shape}.",
            mend="Scores need two axes (queries, candidates), and k must be at least 1.",
        )
    # The maximum is NaN where any score is, and needs no second array.
    if scores.size and np.isnan(scores.max()):
        row, column = np.argwhere(np.isnan(scores))[0]
        raise ModelError(f"The score of query {row} and candidate {column} is not a number.")


def _find_best_columns(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """The k best columns of each row, ascending; among cells equal to the k-th best, the first ones."""
    n = scores.shape[1]
    worst = np.partition(scores, n - k, axis=1)[:, n - k, None]
    chosen = scores > worst
    tied = scores == worst
    missing = k - np.count_nonzero(chosen, axis=1)
    # Where more cells tie with the k-th best than are missing, the first of them are taken.
    contested = np.flatnonzero(np.count_nonzero(tied, axis=1) > missing)
    tied[contested] &= np.cumsum(tied[contested], axis=1) <= missing[contested, None]
    chosen |= tied
    return np.nonzero(chosen)[1].reshape(len(scores), k)


def _sort_best_candidates(indices: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> RankedCandidates:
    """The first k of each row by score, ties as they stand, filled up with -1 and -inf."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(scores, order, axis=1)
    indices = np.where(scores == -np.inf, -1, np.take_along_axis(indices, order, axis=1))
    fill = ((0, 0), (0, k - order.shape[1]))
    return RankedCandidates(np.pad(indices, fill, constant_values=-1), np.pad(scores, fill, constant_values=-np.inf))


T = TypeVar("T")
Scores = NDArray[np.floating[Any]]
RowScores = Callable[[slice], Scores]

CANDIDATE_BLOCK = 32_768
"""Candidates per block: a row of float64 scores then stays within a core's cache."""
_BLOCK_CELLS = 2**19


def cut_range_into_blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover `range(n)` in order."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def run_in_threads(work: Callable[[slice], T], parts: Sequence[slice], threads: int) -> list[T]:
    """`work` of each part, in the order of the parts."""
    if threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


def concatenate_rankings_of_queries(ranked: Sequence[RankedCandidates]) -> RankedCandidates:
    """Rankings of consecutive queries as one."""
    return RankedCandidates(
        np.concatenate([part.indices for part in ranked]), np.concatenate([part.scores for part in ranked])
    )


def rank_scores_in_blocks(
    prepare: Callable[[slice], RowScores], shape: tuple[int, int], k: int, *, threads: int
) -> RankedCandidates:
    """The k best of `shape` = (q, n) scores that exist only one block at a time.

    `prepare(candidates)` returns a function from a slice of queries to their scores (rows, candidates).
    """
    queries, n = shape
    parts = list(cut_range_into_blocks(n, CANDIDATE_BLOCK)) or [slice(0, 0)]
    rankings = []
    for candidates in parts:
        score = prepare(candidates)
        rows = max(1, _BLOCK_CELLS // max(1, candidates.stop - candidates.start))
        rankings.append(
            _rank_rows_in_threads(score, list(cut_range_into_blocks(queries, rows)) or [slice(0, 0)], k, threads)
        )
    return merge(rankings, [part.start for part in parts], k)


def _rank_rows_in_threads(score: RowScores, parts: Sequence[slice], k: int, threads: int) -> RankedCandidates:
    return concatenate_rankings_of_queries(run_in_threads(lambda rows: top_k(score(rows), k), parts, threads))


def compute_condensed_distances(distances: RowScores, n: int, *, threads: int) -> NDArray[np.float32]:
    """Distances of all pairs in scipy's condensed order, n(n-1)/2, clipped to [0, inf).

    `distances(rows)` returns (rows, n - rows.start): the columns from `rows.start` on; cells at and below the
    diagonal are not read.
    """
    out = np.empty(n * (n - 1) // 2, dtype=np.float32)

    def fill_rows(rows: slice) -> None:
        block = distances(rows)
        for place, row in enumerate(range(rows.start, rows.stop)):
            # Rows 0 to r - 1 of the triangle hold r (2n - r - 1) / 2 pairs.
            start = row * (2 * n - row - 1) // 2
            out[start : start + n - 1 - row] = block[place, place + 1 :]

    run_in_threads(fill_rows, list(cut_range_into_blocks(n, max(1, _BLOCK_CELLS // max(1, n)))), threads)
    return np.maximum(out, 0, out=out)


A = TypeVar("A")
B = TypeVar("B")

SHARD = 32_768
"""Documents of a shard, in the order of the corpus; the last one has what is left."""


def cut_corpus_into_shards(documents: int) -> list[slice]:
    """The shards of a corpus: one, of nothing, where it is empty.

    >>> cut_corpus_into_shards(40_000)
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    return list(cut_range_into_blocks(documents, SHARD)) or [slice(0, 0)]


def iterate_results_of_shards(
    work: Callable[[A], B], shards: Iterable[A], spread: CellPartExecutor | None
) -> Iterator[B]:
    """`work` of each shard, in order; in this process, one after the other, without a `spread`."""
    return map(work, shards) if spread is None else spread.map(work, shards)


SCORE_DECIMALS = 6
_DECIDED_CELLS = 2**18
_LEAST_WORK = 2**16
"""So many cells are worth a thread."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass
class SearchCandidates:
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
        cls, queries: Floats, vectors: Floats, offset: int, before: RankedCandidates, threads: int = 1
    ) -> SearchCandidates:
        """The candidates that are the best `before` this array."""
        q, k = before.indices.shape
        columns = np.empty((q, compute_kept_candidates_per_query(k)), dtype=np.int64)
        scores = np.empty((q, compute_kept_candidates_per_query(k)))
        # Ascending, what is none (-1) behind.
        order = np.argsort(before.indices.astype(np.uint64), axis=1)
        columns[:, :k] = np.take_along_axis(before.indices, order, axis=1)
        scores[:, :k] = np.take_along_axis(before.scores, order, axis=1)
        counts = np.count_nonzero(before.indices >= 0, axis=1)
        best = np.ascontiguousarray(before.scores[:, -1])
        return cls(queries, vectors, offset, k, columns, scores, counts, best, np.zeros(q), threads)

    def add(self, products: Floats, first: int) -> None:
        """The products (q, block) with the vectors from number `first` of the array on."""
        from embassay.search.kernels import add_inner_products_as_candidates

        places = np.zeros(len(products), dtype=np.int64)

        def scan_rows(rows: slice) -> None:
            add_inner_products_as_candidates(
                products[rows], self.offset + first, places[rows], self._slice_candidate_rows(rows), self.k
            )

        while True:
            self._run_in_row_parts(scan_rows, products.shape[1])
            stuck = np.flatnonzero(places < products.shape[1])
            if not len(stuck):
                return
            # A query that scores thousands of vectors alike (the zero vector of an empty text) fills its room.
            self._keep_best_by_exact_scores(stuck)

    def ranked(self) -> RankedCandidates:
        """The best k of each query, decided, ties by column."""
        from embassay.search.kernels import trim_rows_to_top_k_margin

        self._run_in_row_parts(
            lambda rows: trim_rows_to_top_k_margin(self._slice_candidate_rows(rows), self.k), self.columns.shape[1]
        )
        self._keep_best_by_exact_scores(np.arange(len(self.queries)))
        return self._rank_candidates(np.arange(len(self.queries)))

    def _run_in_row_parts(self, work: Callable[[slice], None], width: int) -> None:
        rows = len(self.queries)
        threads = min(self.threads, max(1, rows * width // _LEAST_WORK))
        run_in_threads(work, list(cut_range_into_blocks(rows, -(-rows // threads) or 1)), threads)

    def _slice_candidate_rows(self, rows: slice) -> tuple[NDArray[Any], ...]:
        return self.columns[rows], self.scores[rows], self.counts[rows], self.best[rows], self.margins[rows]

    def _keep_best_by_exact_scores(self, rows: Numbers) -> None:
        """Keep the best k of these queries by float64 scores, rounded."""
        held = np.arange(self.columns.shape[1]) < self.counts[rows, None]
        undecided = held & (self.columns[rows] >= self.offset)
        at, places = np.nonzero(undecided)
        at = rows[at]
        exact = self._compute_pair_dot_products(at, self.columns[at, places] - self.offset)
        self.scores[at, places] = np.round(exact, SCORE_DECIMALS) + 0.0
        ranked = self._rank_candidates(rows)
        # As unsigned numbers -1 is the largest: empty places go last.
        order = np.argsort(ranked.indices.astype(np.uint64), axis=1)
        self.columns[rows, : self.k] = np.take_along_axis(ranked.indices, order, axis=1)
        self.scores[rows, : self.k] = np.take_along_axis(ranked.scores, order, axis=1)
        self.counts[rows] = np.count_nonzero(ranked.indices >= 0, axis=1)
        self.best[rows] = np.maximum(self.best[rows], ranked.scores[:, -1])

    def _compute_pair_dot_products(self, rows: Numbers, columns: Numbers) -> NDArray[np.float64]:
        """The float64 product of each pair of a query and a vector of this array."""
        from embassay.search.kernels import compute_vector_pair_dot_products

        out = np.empty(len(rows))

        def multiply_vector_pairs_of_slice(part: slice) -> None:
            vectors = np.asarray(self.vectors[columns[part]], dtype=np.float32)
            compute_vector_pair_dot_products(self.queries, rows[part], vectors, out[part])

        parts = list(cut_range_into_blocks(len(rows), max(1, _DECIDED_CELLS // max(1, self.queries.shape[1]))))
        run_in_threads(multiply_vector_pairs_of_slice, parts, self.threads)
        return out

    def _rank_candidates(self, rows: Numbers) -> RankedCandidates:
        """The first k candidates of these queries by score, ties as they stand, filled up with -1 and -inf."""
        width = max(self.k, int(self.counts[rows].max(initial=0)))
        held = np.arange(width) < self.counts[rows, None]
        scores = np.where(held, self.scores[rows, :width], -np.inf)
        columns = np.where(held, self.columns[rows, :width], -1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        return RankedCandidates(np.take_along_axis(columns, order, axis=1), np.take_along_axis(scores, order, axis=1))


def compute_kept_candidates_per_query(k: int) -> int:
    """The candidates that a query can have before they are looked through: the best k, and as many again."""
    return 2 * k + 256


_QUERY_BLOCK = 1024
_PRODUCTS = 2**22
"""Products that are in memory at once: 16 MiB; 2 MiB are about as fast."""
_ROOM_CELLS = 2**20
_LEAST_QUERIES = 128
"""So many queries are worth a thread of their own."""
_SIDE_BY_SIDE = Lock()
_LARGEST = float(np.finfo(np.float32).max)


def exact_search(queries: Floats, corpus: Floats, k: int, *, block: int | None = None) -> RankedCandidates:
    """The k corpus rows (n, d) with the highest inner product for each query (q, d); cosine for unit vectors.

    Scores are rounded to 1e-6 before ranking, so that float noise never decides (SAGE spec, section 12);
    ties go to the lower index. `block` corpus rows at a time (by default as many as make 4 million products) are
    multiplied in float32; whatever could be among the best k under the rounding error of that product is scored again
    in float64, each pair by itself. The result therefore depends on neither `block` nor the position of a row, and
    equal rows always tie. Rows that are only nearly equal (one text encoded in two batches) tie unless their scores lie
    on both sides of a rounding edge: at a difference of 1e-7, one time in 10. Raises UsageError for shapes that
    do not fit and k < 1, ModelError for values that are not finite.

    Where there is a CUDA card, searches that are worth the way are done there, with the same result.
    """
    return exact_search_shards(queries, [corpus], k, block=block)


def exact_search_shards(
    queries: Floats, shards: Iterable[Floats], k: int, *, block: int | None = None, longest: float | None = None
) -> RankedCandidates:
    """`exact_search` in shards (n_i, d) as if they were stacked. They are read once, in order, and each is done with
    when the next is asked for,
    so that only one has to be in memory. `longest` is the `bound_largest_vector_norm` of all shards
    where it is known: half of the work for a single query."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    _check_vectors(queries, queries, k)
    nothing = RankedCandidates.make_empty_candidates(len(queries), k)
    lengths = _compute_upper_bounds_of_vector_norms(queries)
    offset = 0
    for shard in shards:
        _check_vectors(queries, shard, k)
        vectors = np.asarray(shard, dtype=np.float32)
        ahead = _search_on_gpu(queries, vectors, nothing, offset)
        if ahead is None:
            search = _QueriesAgainstArray(queries, lengths, vectors, nothing, offset, longest, block)
            parts = _search_query_blocks(
                search, len(queries), max(1, min(_QUERY_BLOCK, _ROOM_CELLS // compute_kept_candidates_per_query(k)))
            )
            ahead = concatenate_rankings_of_queries(parts) if parts else nothing
        nothing = ahead
        offset += len(vectors)
    return nothing


def _search_on_gpu(queries: Floats, vectors: Floats, before: RankedCandidates, offset: int) -> RankedCandidates | None:
    """Search on a CUDA card; None where there is none, it is not worth the way, or has no room."""
    from embassay.search import card as on_card

    device = choose_cuda_card() if on_card.is_gpu_search_worthwhile(len(queries), len(vectors)) else None
    return None if device is None else on_card.search_vectors_on_gpu(device, queries, vectors, before, offset)


def _search_query_blocks(search: _QueriesAgainstArray, queries: int, size: int) -> list[RankedCandidates]:
    """The blocks of queries: many of them side by side, each by one thread, which beats multiplying with all threads
    in turns with looking through the products; a few, or while another search does that, one after the other."""
    with reserve_matrix_threads(enough=queries >= count_cores() * _LEAST_QUERIES) as threads:
        if threads == 1:
            return [search(rows, _PRODUCTS, count_cores()) for rows in cut_range_into_blocks(queries, size)]
        parts = list(cut_range_into_blocks(queries, min(size, -(-queries // threads))))
        return run_in_threads(lambda rows: search(rows, _PRODUCTS // threads, 1), parts, threads)


@contextmanager
def reserve_matrix_threads(*, enough: bool = True) -> Iterator[int]:
    """How many threads may multiply matrices, each alone: all cores, if there is `enough` for them to do; else 1, and
    BLAS spreads each product over the cores itself."""
    threads = count_cores()
    if threads == 1 or not enough or not _SIDE_BY_SIDE.acquire(blocking=False):
        yield 1
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # The limit holds for the whole process: one search at a time sets and lifts it.
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield threads
    finally:
        _SIDE_BY_SIDE.release()


def bound_largest_vector_norm(vectors: Floats) -> float:
    """A bound on the length of the longest row, for `exact_search_shards`. ModelError for values that are not finite.

    >>> bound_largest_vector_norm(np.array([[3, 4], [0, 0]], np.float32)) - 5 < 1e-5
    True
    """
    return max(
        (
            float(_compute_upper_bounds_of_vector_norms(vectors[rows]).max())
            for rows in cut_range_into_blocks(len(vectors), 16_384)
        ),
        default=0.0,
    )


@dataclass(frozen=True)
class _QueriesAgainstArray:
    """All queries and their lengths against one array, whose rows are numbered from `offset`, after what was found
    `before`; `known` is `bound_largest_vector_norm` the array where that is known."""

    queries: Floats
    lengths: NDArray[np.float64]
    vectors: Floats
    before: RankedCandidates
    offset: int
    known: float | None
    block: int | None

    def __call__(self, part: slice, most: int, threads: int) -> RankedCandidates:
        """One block of queries: filtered in float32, at `most` so many products at once, decided in float64."""
        queries, lengths, vectors = self.queries[part], self.lengths[part], self.vectors
        earlier = RankedCandidates(self.before.indices[part], self.before.scores[part])
        candidates = SearchCandidates.of(queries, vectors, self.offset, earlier, threads)
        size = self.block or max(1024, most // len(queries))
        buffer = np.empty(len(queries) * min(size, len(vectors)), dtype=np.float32)
        longest = self.known or 0.0
        for columns in cut_range_into_blocks(len(vectors), size):
            rows = vectors[columns]
            if self.known is None:
                longest = max(longest, float(_compute_upper_bounds_of_vector_norms(rows).max()))
            # Two true scores that round to one value differ by at most one unit; a score is off by at most the error of
            # its product, or by half a unit once decided.
            candidates.margins = 2 * 10.0**-SCORE_DECIMALS + 2 * _bound_product_error(
                lengths, longest, queries.shape[1]
            )
            products = buffer[: len(queries) * len(rows)].reshape(len(queries), len(rows))
            np.matmul(queries, rows.T, out=products)
            candidates.add(products, columns.start)
        return candidates.ranked()


def _bound_product_error(lengths: NDArray[np.float64], longest: float, dim: int) -> NDArray[np.float64]:
    """A bound on the rounding error of each query's float32 products, whatever the order of additions:
    d u |q| |c| / (1 - d u), with u the unit roundoff (Higham, Accuracy and Stability, section 3.1)."""
    if lengths.max(initial=0.0) * longest > _LARGEST:
        raise ModelError("The vectors to search are too large: their products overflow float32.")
    roundoff = dim * float(np.finfo(np.float32).eps) / 2
    return np.asarray(lengths * (longest * roundoff / (1 - roundoff)))


def _compute_upper_bounds_of_vector_norms(vectors: Floats) -> NDArray[np.float64]:
    """The length of each vector, rounded up. ModelError for values that are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", vectors, vectors)
    if not np.isfinite(squares).all():
        raise ModelError("The vectors to search contain values that are not finite or overflow float32.")
    # The rounding error of a sum of dim products is at most dim times epsilon.
    dim = vectors.shape[1]
    return np.asarray(np.sqrt(squares.astype(np.float64)) * (1 + dim * float(np.finfo(np.float32).eps)))


def _check_vectors(queries: Floats, corpus: Floats, k: int) -> None:
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1] or k < 1:
        raise UsageError(
            f"Cannot search vectors of shape {corpus.shape} for the best {k} with queries {queries.shape}.",
            mend="Both need two axes (items, dimensions) with the same number of dimensions, and k must be at least 1.",
        )
