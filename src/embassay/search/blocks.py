"""All against all in bounded memory, block by block and shard by shard, and the best k of it under one tie rule: score
descending, then index ascending.

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
from embassay.errors import ModelError, UsageError


def top_k(scores: NDArray[np.floating[Any]], k: int) -> Ranked:
    """The k best columns of each row of `scores` (q, n), exactly, ties by column.

    Higher is better. A score of -inf marks a cell that holds no candidate; where a row has fewer than k
    candidates, it ends in indices of -1 and scores of -inf. Raises UsageError for k < 1 or another number of
    axes, ModelError for NaN. Tie rule: SAGE spec [A18], "then corpus order".
    """
    _check(scores, k)
    queries, n = scores.shape
    kept = min(k, n)
    columns = np.broadcast_to(np.arange(n), (queries, n)) if kept == n else _best_columns(scores, kept)
    values = np.take_along_axis(scores, columns, axis=1).astype(np.float64)
    return _sorted(columns, values, k)


def merge(ranked: Sequence[Ranked], offsets: Sequence[int], k: int) -> Ranked:
    """The k best over all shards, exactly, from the best k of each shard.

    `ranked[s]` holds (q, >= min(k, size of s)) results of shard s with its own indices; `offsets[s]` is
    added to them. Ties go to the earlier shard of the sequence, then to the lower index, so that with
    ascending offsets the result is what one search over the joined shards gives. Raises UsageError where the
    shards do not fit together.
    """
    if not ranked or len(ranked) != len(offsets) or len({len(shard.indices) for shard in ranked}) != 1:
        raise UsageError(
            f"Cannot merge {len(ranked)} rankings with {len(offsets)} offsets.",
            mend="Give at least one ranking, each with the same queries, and one offset for each.",
        )
    indices = [
        np.where(shard.indices < 0, -1, shard.indices + offset)
        for shard, offset in zip(ranked, offsets, strict=True)
    ]
    return _sorted(np.concatenate(indices, axis=1), np.concatenate([s.scores for s in ranked], axis=1), k)


def _check(scores: NDArray[np.floating[Any]], k: int) -> None:
    if scores.ndim != 2 or k < 1:
        raise UsageError(
            f"Cannot take the best {k} of scores of shape {scores.shape}.",
            mend="Scores have two axes (queries, candidates), and k is at least 1.",
        )
    if scores.size and np.isnan(scores.max()):
        row, column = np.argwhere(np.isnan(scores))[0]
        raise ModelError(f"The score of query {row} and candidate {column} is not a number.")


def _best_columns(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """The k best columns of each row, ascending; among cells equal to the k-th best, the first ones."""
    n = scores.shape[1]
    worst = np.partition(scores, n - k, axis=1)[:, n - k, None]
    chosen = scores > worst
    tied = scores == worst
    missing = k - np.count_nonzero(chosen, axis=1)
    contested = np.flatnonzero(np.count_nonzero(tied, axis=1) > missing)
    tied[contested] &= np.cumsum(tied[contested], axis=1) <= missing[contested, None]
    chosen |= tied
    return np.nonzero(chosen)[1].reshape(len(scores), k)


def _sorted(indices: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> Ranked:
    """The first k of each row by score, ties as they stand, filled up with -1 and -inf."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(scores, order, axis=1)
    indices = np.where(scores == -np.inf, -1, np.take_along_axis(indices, order, axis=1))
    fill = ((0, 0), (0, k - order.shape[1]))
    return Ranked(np.pad(indices, fill, constant_values=-1), np.pad(scores, fill, constant_values=-np.inf))


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
