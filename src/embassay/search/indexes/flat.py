"""Exact search: every vector is compared with every query."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.contracts import IndexFacts, Ranked
from embassay.errors import UsageError
from embassay.search.blocks import blocks
from embassay.search.exact import exact_search_shards, longest_of
from embassay.search.indexes.vectors import Floats, Vectors, forget, shape_of, shards_of

LEAST_MEMORY = 2**25
_WIDEST_BLOCK = 4096
_QUERIES = 1024


class Flat:
    """The vectors themselves, under the rules of `exact_search`. Nothing is built and nothing is kept.

    With a limit of `memory`, in bytes, a quarter of it is for vectors, which are read piece by piece and, where they
    are a memory map, given back to the system; an eighth is for products, the rest for candidates and for what the
    matrix product needs itself. What is found does not depend on it. UsageError for less than 32 MiB, ModelError for
    values that are not finite."""

    def __init__(self, vectors: Vectors, *, memory: int | None = None, name: str = "flat") -> None:
        if memory is not None and memory < LEAST_MEMORY:
            raise UsageError(
                f"Exact search cannot work in {memory} bytes.",
                mend=f"Give it {LEAST_MEMORY} (32 MiB) or more.",
            )
        self.name = name
        self._vectors: Vectors | None = vectors
        self._memory = memory
        n, dim = shape_of(vectors)
        # Under a limit the vectors are read anew for every search, and this is found on the way.
        self._longest = max(map(longest_of, shards_of(vectors))) if memory is None else None
        held = 4 * n * dim
        self.facts = IndexFacts(
            n,
            dim,
            build_seconds=0.0,
            disk_bytes=0,
            memory_bytes=held if memory is None else min(held, memory),
        )

    def search(self, queries: Floats, k: int) -> Ranked:
        """The best k vectors of each query, exactly."""
        if self._vectors is None:
            raise UsageError(f"The index {self.name!r} is closed.", mend="Open it again.")
        if self._memory is None:
            return exact_search_shards(queries, shards_of(self._vectors), k, longest=self._longest)
        block = min(_WIDEST_BLOCK, self._memory // (32 * _QUERIES))
        return exact_search_shards(queries, self._pieces(self._vectors, self._memory // 4), k, block=block)

    def _pieces(self, vectors: Vectors, size: int) -> Iterator[Floats]:
        rows = max(1, size // (4 * self.facts.dim))
        for shard in shards_of(vectors):
            for part in blocks(len(shard), rows):
                piece = shard[part]
                yield piece
                forget(piece)

    def close(self) -> None:
        """Let go of the vectors."""
        self._vectors = None
