"""What servers answer, as a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.errors import UsageError
from embassay.search.exact import SCORE_DECIMALS

Found = Sequence[tuple[int, float]]
"""Positions of vectors and their scores, in any order."""


def check_queries(queries: NDArray[np.float32], dim: int, k: int) -> None:
    """UsageError unless `queries` is (q, dim) and k at least 1."""
    if queries.ndim != 2 or queries.shape[1] != dim or k < 1:
        raise UsageError(
            f"Cannot search the best {k} of vectors of {dim} dimensions for queries {queries.shape}.",
            mend="Queries have two axes (items, dimensions), as many dimensions, and k is at least 1.",
        )


def ranked(found: Sequence[Found], k: int) -> Ranked:
    """One row per query, under the tie rule of `exact_search`: scores rounded to 1e-6, ties by position."""
    indices = np.full((len(found), k), -1, dtype=np.int64)
    scores = np.full((len(found), k), -np.inf)
    for row, hits in enumerate(found):
        rounded = [(position, round(score, SCORE_DECIMALS) + 0.0) for position, score in hits]
        best = sorted(rounded, key=lambda hit: (-hit[1], hit[0]))[:k]
        for place, (position, score) in enumerate(best):
            indices[row, place], scores[row, place] = position, score
    return Ranked(indices, scores)
