"""A similarity that only notes what it is asked for, so that a task can be planned by doing it in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Kind, Ranked, Role, Spread

Hear = Callable[[Sequence[str], Role | None], None]


class Rehearsal:
    """Stands in for an embedding model compared by cosine: `hear` gets the texts and the role of every call that
    its encoder would get. All texts are equally similar."""

    name = identity = "rehearsal"
    kind: Kind = "embedding"

    def __init__(self, hear: Hear) -> None:
        self.hear = hear

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Zeros, (n,)."""
        self.hear(a, None)
        self.hear(b, None)
        return np.zeros(len(a), dtype=np.float32)

    def between(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Zeros, (n,)."""
        self.hear(texts, None)
        return np.zeros(np.broadcast_shapes(left.shape, right.shape), dtype=np.float32)

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """Zeros of one dimension, (n, 1): little work for what learns from them."""
        self.hear(texts, role)
        return np.zeros((len(texts), 1), dtype=np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Zeros, condensed."""
        self.hear(texts, None)
        return np.zeros(len(texts) * (len(texts) - 1) // 2, dtype=np.float32)

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The first k texts of the corpus."""
        return next(self.search_shards(queries, [corpus], k))

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: Spread | None = None,  # noqa: ARG002 - nothing is searched
    ) -> Iterator[Ranked]:
        """The first k texts of each shard."""
        self.hear(queries, "query")
        for shard in shards:
            self.hear(shard, "document")
            found = np.full((len(queries), k), -1, dtype=np.int64)
            found[:, : len(shard)] = np.arange(min(k, len(shard)))
            yield Ranked(found, np.where(found < 0, -np.inf, 0.0))
