"""Exact search: every vector is compared with every query."""

from __future__ import annotations

from itertools import accumulate

from semblance.contracts import IndexFacts, Ranked
from semblance.search.exact import exact_search
from semblance.search.indexes.vectors import Floats, Vectors, shape_of, shards_of
from semblance.search.ranking import merge


class Flat:
    """The vectors themselves, under the rules of `exact_search`. Nothing is built and nothing is kept."""

    def __init__(self, vectors: Vectors, name: str = "flat") -> None:
        self.name = name
        self._vectors = vectors
        n, dim = shape_of(vectors)
        self.facts = IndexFacts(n, dim, build_seconds=0.0, disk_bytes=0, memory_bytes=4 * n * dim)

    def search(self, queries: Floats, k: int) -> Ranked:
        """The best k vectors of each query."""
        shards = shards_of(self._vectors)
        offsets = [0, *accumulate(len(shard) for shard in shards)][:-1]
        return merge([exact_search(queries, shard, k) for shard in shards], offsets, k)

    def close(self) -> None:
        """Nothing to release but the vectors."""
        self._vectors = self._vectors[:0]
