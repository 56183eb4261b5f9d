"""Exact vector search in bounded memory: block by block, no float noise in the ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from embassay.accelerator import card
from embassay.contracts import Ranked
from embassay.errors import ModelError, UsageError
from embassay.search.blockwise import blocks, cores, in_threads, stack
from embassay.search.candidates import SCORE_DECIMALS, Candidates, room

__all__ = ["SCORE_DECIMALS", "exact_search", "exact_search_shards", "longest_of"]

_QUERY_BLOCK = 1024
_PRODUCTS = 2**22
"""Products that are in memory at once: 16 MiB; 2 MiB are about as fast."""
_ROOM_CELLS = 2**20
_LEAST_QUERIES = 128
"""So many queries are worth a thread of their own."""
_SIDE_BY_SIDE = Lock()
_LARGEST = float(np.finfo(np.float32).max)

Floats = NDArray[np.float32]


def exact_search(queries: Floats, corpus: Floats, k: int, *, block: int | None = None) -> Ranked:
    """The k corpus rows (n, d) with the highest inner product for each query (q, d); cosine for unit vectors.

    Scores are rounded to 1e-6 before ranking, so that float noise never decides (SAGE spec, section 12);
    ties go to the lower index. `block` corpus rows at a time (by default as many as make 4 million products) are
    multiplied in float32; whatever could be among the best k under the rounding error of that product is scored again
    in float64, each pair by itself. The result therefore depends on neither `block` nor the position of a row, and
    equal rows always tie. Rows that are only nearly equal (one text encoded in two batches) tie unless their scores lie
    on both sides of a rounding edge: at a difference of 1e-7, one time in 10. Raises UsageError for shapes that
    do not fit and k < 1, ModelError for values that are not finite.

    Where there is a CUDA card, searches that are worth the way are done there (`on_card`), with the same result.
    """
    return exact_search_shards(queries, [corpus], k, block=block)


def exact_search_shards(
    queries: Floats,
    shards: Iterable[Floats],
    k: int,
    *,
    block: int | None = None,
    longest: float | None = None,
) -> Ranked:
    """`exact_search` in shards (n_i, d) as if they were stacked. They are read once, in order, and each is done with
    when the next is asked for, so that only one has to be in memory. `longest` is `longest_of` all shards where it is
    known: half of the work for a single query."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    _check(queries, queries, k)
    found = Ranked(np.full((len(queries), k), -1, dtype=np.int64), np.full((len(queries), k), -np.inf))
    lengths = _lengths(queries)
    offset = 0
    for shard in shards:
        _check(queries, shard, k)
        vectors = np.asarray(shard, dtype=np.float32)
        ahead = _on_card(queries, vectors, found, offset)
        if ahead is None:
            search = _Search(queries, lengths, vectors, found, offset, longest, block)
            parts = _over_queries(search, len(queries), max(1, min(_QUERY_BLOCK, _ROOM_CELLS // room(k))))
            ahead = stack(parts) if parts else found
        found = ahead
        offset += len(vectors)
    return found


def _on_card(queries: Floats, vectors: Floats, before: Ranked, offset: int) -> Ranked | None:
    """The same from a CUDA card; None where there is none, it is not worth the way, or it has no room."""
    from embassay.search import on_card

    device = card() if on_card.worth(len(queries), len(vectors)) else None
    return None if device is None else on_card.search_on_card(device, queries, vectors, before, offset)


def _over_queries(search: _Search, queries: int, size: int) -> list[Ranked]:
    """The blocks of queries: many of them side by side, each by one thread, which beats multiplying with all threads
    in turns with looking through the products; a few, or while another search does that, one after the other."""
    threads = cores()
    if threads == 1 or queries < threads * _LEAST_QUERIES or not _SIDE_BY_SIDE.acquire(blocking=False):
        return [search(rows, _PRODUCTS, threads) for rows in blocks(queries, size)]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # The limit holds for the whole process: one search at a time sets and lifts it.
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            parts = list(blocks(queries, min(size, -(-queries // threads))))
            return in_threads(lambda rows: search(rows, _PRODUCTS // threads, 1), parts, threads)
    finally:
        _SIDE_BY_SIDE.release()


def longest_of(vectors: Floats) -> float:
    """A bound on the length of the longest row, for `exact_search_shards`. ModelError for values that are not finite.

    >>> longest_of(np.array([[3, 4], [0, 0]], np.float32)) - 5 < 1e-5
    True
    """
    return max((float(_lengths(vectors[rows]).max()) for rows in blocks(len(vectors), 16_384)), default=0.0)


@dataclass(frozen=True)
class _Search:
    """All queries and their lengths against one array, whose rows are numbered from `offset`, after what was found
    `before`; `known` is `longest_of` the array where that is known."""

    queries: Floats
    lengths: NDArray[np.float64]
    vectors: Floats
    before: Ranked
    offset: int
    known: float | None
    block: int | None

    def __call__(self, part: slice, most: int, threads: int) -> Ranked:
        """One block of queries: filtered in float32, at `most` so many products at once, decided in float64."""
        queries, lengths, vectors = self.queries[part], self.lengths[part], self.vectors
        earlier = Ranked(self.before.indices[part], self.before.scores[part])
        candidates = Candidates.of(queries, vectors, self.offset, earlier, threads)
        size = self.block or max(1024, most // len(queries))
        buffer = np.empty(len(queries) * min(size, len(vectors)), dtype=np.float32)
        longest = self.known or 0.0
        for columns in blocks(len(vectors), size):
            rows = vectors[columns]
            if self.known is None:
                longest = max(longest, float(_lengths(rows).max()))
            # Two true scores that round to one value differ by at most one unit; a score is off by at most the error of
            # its product, or by half a unit once decided.
            candidates.margins = 2 * 10.0**-SCORE_DECIMALS + 2 * _product_error(
                lengths, longest, queries.shape[1]
            )
            products = buffer[: len(queries) * len(rows)].reshape(len(queries), len(rows))
            np.matmul(queries, rows.T, out=products)
            candidates.add(products, columns.start)
        return candidates.ranked()


def _product_error(lengths: NDArray[np.float64], longest: float, dim: int) -> NDArray[np.float64]:
    """A bound on the rounding error of each query's float32 products, whatever the order of additions:
    d u |q| |c| / (1 - d u), with u the unit roundoff (Higham, Accuracy and Stability, section 3.1)."""
    if lengths.max(initial=0.0) * longest > _LARGEST:
        raise ModelError("The vectors to search are too long: their products are beyond float32.")
    roundoff = dim * float(np.finfo(np.float32).eps) / 2
    return np.asarray(lengths * (longest * roundoff / (1 - roundoff)))


def _lengths(vectors: Floats) -> NDArray[np.float64]:
    """The length of each vector, rounded up. ModelError for values that are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", vectors, vectors)
    if not np.isfinite(squares).all():
        raise ModelError("The vectors to search hold values that are not finite, or beyond float32.")
    dim = vectors.shape[1]
    return np.asarray(np.sqrt(squares.astype(np.float64)) * (1 + dim * float(np.finfo(np.float32).eps)))


def _check(queries: Floats, corpus: Floats, k: int) -> None:
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1] or k < 1:
        raise UsageError(
            f"Cannot search the best {k} of vectors {corpus.shape} for queries {queries.shape}.",
            mend="Both have two axes (items, dimensions), as many dimensions, and k is at least 1.",
        )
