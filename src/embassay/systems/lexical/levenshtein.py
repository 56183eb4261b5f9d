"""The Levenshtein ratio on characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.distance import Levenshtein as UnitCost
from rapidfuzz.process import cdist, cpdist

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates
from embassay.search.exact import compute_condensed_distances, iterate_results_of_shards, rank_scores_in_blocks
from embassay.systems.lexical.bags import check_equal_text_counts

_ALL_CORES = -1


@dataclass(frozen=True, kw_only=True)
class LevenshteinSimilarity:
    """(|x| + |y| - d) / (|x| + |y|), where d is the indel distance in characters; in [0, 1], higher is more similar.

    Case counts. Two empty texts have 1, one empty text 0. With `unit`, 1 - d / max(|x|, |y|), d counting a
    substitution once. Values equal as fractions are equal floats. Source: SAGE, A.7 (Levenshtein Ratio), spec
    [A1].
    """

    name: str = "levenshtein"
    unit: bool = False

    @property
    def identity(self) -> str:
        """The distance used."""
        return f"levenshtein/1 distance={'unit' if self.unit else 'indel'}"

    @property
    def kind(self) -> Kind:
        """A classical metric."""
        return "classical"

    @property
    def _similarity_scorer(self) -> Callable[..., float]:
        return UnitCost.normalized_similarity if self.unit else Indel.normalized_similarity

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). Raises UsageError for unequal lengths."""
        check_equal_text_counts(a, b)
        return np.asarray(cpdist(a, b, scorer=self._similarity_scorer, dtype=np.float32, workers=_ALL_CORES))

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed."""

        def compute_distance_block(rows: slice) -> NDArray[np.float64]:
            # Compared with itself as one object, a list costs half: rapidfuzz mirrors the result.
            part = texts[rows]
            return 1 - np.hstack(
                (self._compute_similarity_matrix(part, part), self._compute_similarity_matrix(part, texts[rows.stop :]))
            )

        return compute_condensed_distances(compute_distance_block, len(texts), threads=1)

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The k most similar corpus texts of each query."""
        return rank_scores_in_blocks(
            lambda candidates: lambda rows: self._compute_similarity_matrix(queries[rows], corpus[candidates]),
            (len(queries), len(corpus)),
            k,
            threads=1,
        )

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard, in order."""
        return iterate_results_of_shards(partial(self._search_shard, queries, k), shards, spread)

    def _search_shard(self, queries: Sequence[str], k: int, shard: Sequence[str]) -> RankedCandidates:
        return self.search(queries, list(shard), k)

    def _compute_similarity_matrix(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float64]:
        if not (a and b):
            return np.empty((len(a), len(b)))
        return np.asarray(cdist(a, b, scorer=self._similarity_scorer, dtype=np.float64, workers=_ALL_CORES))
