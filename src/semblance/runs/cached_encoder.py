"""An encoder that never encodes a text twice, and whose vectors do not depend on how it is called.

The distinct texts of a call, in content order (shorter first, then by code point), are cut into fixed
chunks; a chunk is what the encoder sees in one call and what the cache keeps. So a vector depends on the
set of texts asked for together and on nothing else: not on batches, resumes, workers, or what the cache
already holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Encoder, Role
from semblance.errors import ModelError
from semblance.runs.embedding_cache import EmbeddingCache

_CHUNK_SIZE = 64


@dataclass
class Counts:
    """What happened so far: distinct texts of each call that were encoded, taken from the cache, and (of
    both) cut at the encoder's limit; seconds spent in the encoder."""

    encoded: int = 0
    cached: int = 0
    truncated: int = 0
    seconds: float = 0.0


class CachedEncoder:
    """`encoder` behind `cache`.

    The encoder may have two attributes beside its contract: `chunk_size`, texts per chunk (64 without it),
    and `uses_roles`, False where a role makes no difference to its vectors, so that they are kept only
    once. `progress`, when set, is called with the number of distinct texts of each chunk as it is done.
    """

    def __init__(
        self, encoder: Encoder, cache: EmbeddingCache, *, progress: Callable[[int], None] | None = None
    ) -> None:
        self.encoder = encoder
        self.cache = cache
        self.progress = progress
        self.counts = Counts()
        self.chunk_size: int = getattr(encoder, "chunk_size", _CHUNK_SIZE)
        self.uses_roles: bool = getattr(encoder, "uses_roles", True)

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def identity(self) -> str:
        """The encoder's identity."""
        return self.encoder.identity

    @property
    def dim(self) -> int:
        """The encoder's dimensions."""
        return self.encoder.dim

    @property
    def max_tokens(self) -> int | None:
        """The encoder's limit."""
        return self.encoder.max_tokens

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, (n, dim) float32; equal texts have equal vectors. ModelError when the encoder gives
        another shape or values that are not finite; finished chunks are kept."""
        role = role if self.uses_roles else None
        distinct = sorted(sorted(set(texts)), key=len)
        vectors = np.empty((len(distinct), self.dim), dtype=np.float32)
        for start in range(0, len(distinct), self.chunk_size):
            chunk = distinct[start : start + self.chunk_size]
            vectors[start : start + len(chunk)] = self._chunk(chunk, role)
            if self.progress is not None:
                self.progress(len(chunk))
        row = {text: position for position, text in enumerate(distinct)}
        return vectors.take([row[text] for text in texts], axis=0)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """The encoder's count."""
        return self.encoder.count_truncated(texts)

    def _chunk(self, texts: list[str], role: Role | None) -> NDArray[np.float32]:
        key = chunk_key(self.identity, role, texts)
        vectors = self.cache.read(key, (len(texts), self.dim))
        if vectors is None:
            vectors = self._encoded(texts, role)
            self.cache.write(key, self.identity, vectors)
            self.counts.encoded += len(texts)
        else:
            self.counts.cached += len(texts)
        self.counts.truncated += self._cut(key, texts)
        return vectors

    def _encoded(self, texts: list[str], role: Role | None) -> NDArray[np.float32]:
        started = perf_counter()
        vectors = self._checked(self.encoder.encode(texts, role=role), len(texts))
        self.counts.seconds += perf_counter() - started
        return vectors

    def _cut(self, key: bytes, texts: list[str]) -> int:
        """How many of the chunk's texts are too long: counted once, then kept beside its vectors."""
        if self.max_tokens is None:
            return 0
        cut = self.cache.read_cut(key)
        if cut is None:
            cut = self.encoder.count_truncated(texts)
            self.cache.write_cut(key, cut)
        return cut

    def _checked(self, vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
        if vectors.shape != (n, self.dim):
            raise ModelError(
                f"The encoder {self.name!r} gave an array of shape {vectors.shape} for {n} texts, "
                f"expected ({n}, {self.dim})."
            )
        if not np.isfinite(vectors).all():
            bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise ModelError(
                f"The encoder {self.name!r} gave values that are not finite (text {bad} of {n})."
            )
        return np.ascontiguousarray(vectors, dtype=np.float32)


def chunk_key(identity: str, role: Role | None, texts: Sequence[str]) -> bytes:
    """32 bytes that name a chunk: a hash of the encoder, the role and the texts, every length included."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (identity, role or "", *texts)]
    lengths = np.fromiter(map(len, parts), dtype="<u8", count=len(parts))
    digest = hashlib.blake2b(lengths.tobytes(), digest_size=32)
    digest.update(b"".join(parts))
    return digest.digest()
