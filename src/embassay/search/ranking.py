"""The best k of given scores, under one tie rule: score descending, then index ascending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
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
