"""Systems that see their texts cleaned: `?clean=` of every spec string."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Kind, Ranked, Role, Similarity, Spread
from embassay.text.cleanup import Cleanup

_MANY = ("encode_chunks", "encode_together")
"""Calls with chunks of texts in place of texts."""


class CleanEncoder:
    """`encoder`, which is given every text cleaned. It stands below the cache: a vector is kept under the text as it
    was. What else the encoder says of itself (its price, its limits) is said here too."""

    def __init__(self, encoder: Encoder, cleanup: Cleanup, *, name: str) -> None:
        self._encoder, self._cleanup, self.name = encoder, cleanup, name
        self.identity = f"{cleanup.identity}:{encoder.identity}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._encoder, name)
        if name in _MANY:
            return lambda chunks, **more: found(_Cleaned(chunks, self._cleanup.all), **more)
        return found

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """The vectors of the cleaned texts."""
        return self._encoder.encode(self._cleanup.all(texts), role=role)

    def encode_tokens(self, texts: Sequence[str], *, role: Role | None = None) -> list[NDArray[np.float32]]:
        """The token vectors of the cleaned texts, where the encoder has them."""
        encoder: Any = self._encoder
        found: list[NDArray[np.float32]] = encoder.encode_tokens(self._cleanup.all(texts), role=role)
        return found

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the cleaned texts are too long."""
        return self._encoder.count_truncated(self._cleanup.all(texts))


@dataclass(frozen=True)
class _Cleaned(Sequence[Any]):
    """Texts, or chunks of them, each cleaned when it is looked at."""

    texts: Sequence[Any]
    clean: Callable[[Any], Any]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        return self.clean(self.texts[index])


@dataclass(frozen=True)
class _Shard(Sequence[str]):
    """The texts of a shard, cleaned at the first look; it pickles without them."""

    texts: Sequence[str]
    cleanup: Cleanup

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        return self._clean[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._clean)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Shard, (self.texts, self.cleanup)

    @cached_property
    def _clean(self) -> list[str]:
        return self.cleanup.all(list(self.texts))


class CleanSimilarity:
    """`system`, a similarity without vectors, which is given every text cleaned."""

    def __init__(self, system: Similarity, cleanup: Cleanup, *, name: str) -> None:
        self._system, self._cleanup, self.name = system, cleanup, name
        self.identity = f"{cleanup.identity}:{system.identity}"
        if hasattr(system, "search_corpora"):
            self.search_corpora = self._search_corpora

    @property
    def kind(self) -> Kind:
        """The system's."""
        return self._system.kind

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the cleaned texts, (n,)."""
        return self._system.pairs(self._cleanup.all(a), self._cleanup.all(b))

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Distances of the cleaned texts, condensed."""
        return self._system.distances(self._cleanup.all(texts))

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The best k of the cleaned corpus for each cleaned query."""
        return self._system.search(self._cleanup.all(queries), self._cleanup.all(corpus), k)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: Spread | None = None
    ) -> Iterator[Ranked]:
        """`search` in each shard."""
        return self._system.search_shards(self._cleanup.all(queries), self._shards(shards), k, spread=spread)

    def _search_corpora(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], each: int, k: int, *,
        spread: Spread | None = None,
    ) -> Iterator[Ranked]:  # fmt: skip
        system: Any = self._system
        found: Iterator[Ranked] = system.search_corpora(
            self._cleanup.all(queries), self._shards(shards), each, k, spread=spread
        )
        return found

    def _shards(self, shards: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        return _Cleaned(shards, lambda shard: _Shard(shard, self._cleanup))
