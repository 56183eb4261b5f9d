"""All against all in bounded memory, block by block and shard by shard, with results in a fixed order.

The cut depends on the corpus alone, never on memory, engine or machine, because what an encoder sees in one call is a
shard: so the same corpus gives the same vectors, and the same bytes, wherever it is searched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked, Spread
from embassay.search.ranking import merge, top_k

T = TypeVar("T")
Scores = NDArray[np.floating[Any]]
RowScores = Callable[[slice], Scores]

CANDIDATE_BLOCK = 32_768
"""Candidates per block: a row of float64 scores then stays within a core's cache."""
_BLOCK_CELLS = 2**19


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover `range(n)` in order."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def in_threads(work: Callable[[slice], T], parts: Sequence[slice], threads: int) -> list[T]:
    """`work` of each part, in the order of the parts."""
    if threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


def stack(ranked: Sequence[Ranked]) -> Ranked:
    """Rankings of consecutive queries as one."""
    return Ranked(
        np.concatenate([part.indices for part in ranked]), np.concatenate([part.scores for part in ranked])
    )


def ranked_blocks(
    prepare: Callable[[slice], RowScores], shape: tuple[int, int], k: int, *, threads: int
) -> Ranked:
    """The k best of `shape` = (q, n) scores that exist only one block at a time.

    `prepare(candidates)` returns a function from a slice of queries to their scores (rows, candidates).
    """
    queries, n = shape
    parts = list(blocks(n, CANDIDATE_BLOCK)) or [slice(0, 0)]
    found = []
    for candidates in parts:
        score = prepare(candidates)
        rows = max(1, _BLOCK_CELLS // max(1, candidates.stop - candidates.start))
        found.append(_ranked(score, list(blocks(queries, rows)) or [slice(0, 0)], k, threads))
    return merge(found, [part.start for part in parts], k)


def _ranked(score: RowScores, parts: Sequence[slice], k: int, threads: int) -> Ranked:
    return stack(in_threads(lambda rows: top_k(score(rows), k), parts, threads))


def condensed_blocks(distances: RowScores, n: int, *, threads: int) -> NDArray[np.float32]:
    """Distances of all pairs in scipy's condensed order, n(n-1)/2, clipped to [0, inf).

    `distances(rows)` returns (rows, n - rows.start): the columns from `rows.start` on; cells at and below the
    diagonal are not read.
    """
    out = np.empty(n * (n - 1) // 2, dtype=np.float32)

    def fill(rows: slice) -> None:
        block = distances(rows)
        for place, row in enumerate(range(rows.start, rows.stop)):
            start = row * (2 * n - row - 1) // 2
            out[start : start + n - 1 - row] = block[place, place + 1 :]

    in_threads(fill, list(blocks(n, max(1, _BLOCK_CELLS // max(1, n)))), threads)
    return np.maximum(out, 0, out=out)


A = TypeVar("A")
B = TypeVar("B")

SHARD = 32_768
"""Documents of a shard, in the order of the corpus; the last one has what is left."""


def cut(documents: int) -> list[slice]:
    """The shards of a corpus: one, of nothing, where it is empty.

    >>> cut(40_000)
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    return list(blocks(documents, SHARD)) or [slice(0, 0)]


def over_shards(work: Callable[[A], B], shards: Iterable[A], spread: Spread | None) -> Iterator[B]:
    """`work` of each shard, in order; in this process, one after the other, without a `spread`."""
    return map(work, shards) if spread is None else spread.map(work, shards)
