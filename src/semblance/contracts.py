"""What the parts promise each other: tokenizers, encoders and similarities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Role = Literal["query", "document"]
Kind = Literal["embedding", "classical", "reference"]


class Tokenizer(Protocol):
    """Cuts a text into tokens.

    `name` is the registry name (`cl100k`, `words`); `identity` adds what its output depends on
    (a version or a checksum), for cell keys and manifests.
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...

    def encode(self, text: str) -> list[int]:
        """Token ids; equal ids mean equal tokens within one process."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts."""
        ...

    def pieces(self, text: str) -> list[bytes]:
        """The bytes each token covers: as many as `encode` gives, and joined they are the text in UTF-8."""
        ...


class Encoder(Protocol):
    """An embedding model. It sees texts and their role, never the test."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str:
        """Everything its vectors depend on (weights checksum, parameters), for cache keys."""
        ...

    @property
    def dim(self) -> int: ...
    @property
    def max_tokens(self) -> int | None: ...

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, shape (n, dim), float32, not necessarily normalised."""
        ...

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than `max_tokens`."""
        ...


@dataclass(frozen=True)
class Ranked:
    """The best k candidates of each query: `indices` (q, k) int64, -1 where there are fewer; `scores` (q, k)
    float64, -inf there. Rows are sorted by score, descending; ties by index, ascending."""

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]


class Similarity(Protocol):
    """Anything SAGE can evaluate. Similarities are floats, 1 for equal texts; higher is more similar."""

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its values depend on: parameters, tokenizer, weights."""
        ...

    @property
    def kind(self) -> Kind: ...

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` (reference) and `b[i]` (candidate), shape (n,). One call is one batch:
        batch-normalised metrics (bm25) compare only within a call."""
        ...

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, clipped to [0, inf), in scipy's condensed order, n(n-1)/2."""
        ...

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The k most similar corpus texts of each query."""
        ...

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int
    ) -> Iterator[Ranked]:
        """`search` in each shard, in order, with scores comparable across shards: collection statistics
        (bm25) are those of all shards together. Indices are local to the shard."""
        ...
