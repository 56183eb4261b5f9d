"""The reference rows of every table: what a score is worth without looking at the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates
from embassay.machine import count_cores
from embassay.randomness import draw_random_bytes
from embassay.search.exact import (
    RowScores,
    compute_condensed_distances,
    iterate_results_of_shards,
    rank_scores_in_blocks,
)
from embassay.systems.lexical.bags import check_equal_text_counts

# Those of a float64, the hidden bit included.
_MANTISSA_BITS = 53


@dataclass(frozen=True, kw_only=True)
class ConstantSimilarity:
    """Similarity 1 for any two texts; all search results are tied, so a search returns the first k texts.

    Source: SAGE spec, section 6 ("what the number does not mean") and section 14.
    """

    name: str = "constant"

    @property
    def identity(self) -> str:
        """Nothing to configure."""
        return "constant/1"

    @property
    def kind(self) -> Kind:
        """The kind of the system: a reference row, not ranked."""
        return "reference"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Ones, shape (n,). Raises UsageError for unequal lengths."""
        check_equal_text_counts(a, b)
        return np.ones(len(a), dtype=np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The pairwise distances, all zero, condensed."""
        return np.zeros(len(texts) * (len(texts) - 1) // 2, dtype=np.float32)

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The first k texts for each query."""
        first = np.arange(k)
        inside = np.broadcast_to(first < len(corpus), (len(queries), k))
        return RankedCandidates(np.where(inside, first, -1), np.where(inside, 1.0, -np.inf))

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: CellPartExecutor | None = None,  # noqa: ARG002 - the texts are not even looked at
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard, in order."""
        return (self.search(queries, shard, k) for shard in shards)


@dataclass(frozen=True, kw_only=True)
class RandomSimilarity:
    """Random similarity, uniform in [0, 1), drawn once per pair of different texts and seed; 1 for equal texts.

    Every text is hashed to 64 bits (SHAKE-128 of seed and text), and a pair's value is the mixed sum of two
    hashes (the finaliser of splitmix64): symmetric, the same in every call and process, and a matrix costs a
    few integer operations per cell. Source: SAGE spec, section 14.
    """

    name: str = "random"
    seed: int = 1337

    @property
    def identity(self) -> str:
        """The seed."""
        return f"random/1 seed={self.seed}"

    @property
    def kind(self) -> Kind:
        """A reference row, not ranked."""
        return "reference"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). Raises UsageError for unequal lengths."""
        check_equal_text_counts(a, b)
        return _draw_random_similarity_from_hashes(self._hash_texts(a), self._hash_texts(b)).astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed."""
        hashes = self._hash_texts(texts)
        return compute_condensed_distances(
            lambda rows: 1 - _draw_random_similarity_from_hashes(hashes[rows, None], hashes[None, rows.start :]),
            len(texts),
            threads=count_cores(),
        )

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The k most similar corpus texts of each query."""
        return self._search_corpus_by_random_scores(self._hash_texts(queries)[:, None], k, corpus)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard, in order."""
        return iterate_results_of_shards(
            partial(self._search_corpus_by_random_scores, self._hash_texts(queries)[:, None], k), shards, spread
        )

    def _search_corpus_by_random_scores(
        self, left: NDArray[np.uint64], k: int, corpus: Sequence[str]
    ) -> RankedCandidates:
        """The best k of the corpus for the hashes of queries (q, 1)."""
        right = self._hash_texts(corpus)

        def prepare_scores(columns: slice) -> RowScores:
            return lambda rows: _draw_random_similarity_from_hashes(left[rows], right[columns])

        return rank_scores_in_blocks(prepare_scores, (len(left), len(right)), k, threads=count_cores())

    def _hash_texts(self, texts: Sequence[str]) -> NDArray[np.uint64]:
        digests = b"".join(draw_random_bytes(8, self.seed, "random similarity", text) for text in texts)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _draw_random_similarity_from_hashes(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Uniform in [0, 1) per pair of hashes, broadcast together; 1 where they are equal."""
    # A sum does not know which text came first; unsigned numbers overflow without harm.
    mixed = a + b
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    # The top bits, as many as a float holds exactly.
    uniform = (mixed >> np.uint64(64 - _MANTISSA_BITS)) * 2.0**-_MANTISSA_BITS
    return np.where(a == b, 1.0, uniform)
