"""BM25 scores of texts for each other, symmetric, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.search.blockwise import blocks, cores, in_threads
from embassay.systems.lexical.bags import Bags
from embassay.systems.lexical.bm25_weights import Collection, Weighting
from embassay.systems.lexical.index import Sparse, accumulate, invert

_ROWS_PER_TASK = 64


@dataclass(frozen=True)
class MutualScores:
    """Scores of texts for each other, both ways, over the texts as their own collection."""

    bags: Bags
    floors: NDArray[np.float64]
    directions: tuple[tuple[Sparse, Sparse], ...]

    @classmethod
    def build(cls, weighting: Weighting, bags: Bags, vocabulary: int) -> MutualScores:
        """The scores of the rows of `bags`, whose terms are below `vocabulary`."""
        collection = Collection.of(weighting, bags, np.ones(len(bags), dtype=np.int64), vocabulary)
        weights = (
            collection.query_weights(bags),
            collection.document_weights(bags.counts, bags.sizes[bags.rows]),
        )
        terms = np.arange(vocabulary)
        rows, index = zip(
            *((Sparse(bags.starts, bags.terms, w, vocabulary), invert(bags, w, terms)) for w in weights),
            strict=True,
        )
        return cls(bags, collection.floors(bags, weights[0]), ((rows[0], index[1]), (rows[1], index[0])))

    def scores(self, rows: slice) -> NDArray[np.float64]:
        """(score(i, j) + score(j, i)) / 2 of the rows i and all j from `rows.start` on; valid for j > i."""
        there, back = (
            accumulate("products", *direction, rows, above_diagonal=True) for direction in self.directions
        )
        return np.asarray((there + back + self.floors[rows, None] + self.floors)[:, rows.start :] / 2)

    def bounds(self) -> tuple[float, float]:
        """The lowest and highest score of two different, non-empty rows; (0, 0) where there are none."""
        filled = self.bags.sizes > 0

        def extremes(rows: slice) -> tuple[float, float]:
            scores = self.scores(rows)
            left, right = np.arange(rows.start, rows.stop), np.arange(rows.start, len(self.bags))
            counted = (right > left[:, None]) & filled[rows, None] & filled[None, rows.start :]
            return scores.min(initial=np.inf, where=counted), scores.max(initial=-np.inf, where=counted)

        found = in_threads(extremes, list(blocks(len(self.bags), _ROWS_PER_TASK)), cores())
        low, high = min((f[0] for f in found), default=0.0), max((f[1] for f in found), default=0.0)
        return (low, high) if low <= high else (0.0, 0.0)
