"""Embeddings on disk, shared by all runs and processes of a user: one SQLite file.

Vectors are raw little-endian float32 with a checksum that is verified on every read; a damaged row is
dropped and its texts are encoded again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.runs.store import Store, cache_folder, seal

__all__ = ["CacheInfo", "EmbeddingCache", "cache_folder"]

_CHUNKS = """
CREATE TABLE IF NOT EXISTS chunks (
    key BLOB NOT NULL UNIQUE,
    encoder TEXT NOT NULL,
    texts INTEGER NOT NULL,
    dim INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    vectors BLOB NOT NULL
)
"""
_CUTS = "CREATE TABLE IF NOT EXISTS cuts (key BLOB PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class CacheInfo:
    """What a cache holds: `bytes` on disk, `entries` (chunks), and the texts of each encoder identity."""

    path: Path
    bytes: int
    entries: int
    encoders: Mapping[str, int]


class EmbeddingCache(Store):
    """Chunks of vectors by key. Safe to share between threads, and between processes that open it each."""

    title = "embedding cache"
    file = "embeddings.sqlite"
    tables = (_CHUNKS, _CUTS)
    main = "chunks"
    owner = "encoder"

    def read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """The vectors kept under `key`, shape `shape`; None when there are none, or damaged ones."""
        row = self._first("SELECT texts, dim, checksum, CAST(vectors AS BLOB) FROM chunks WHERE key = ?", key)
        if row is None:
            return None
        texts, dim, checksum, content = row
        if (texts, dim) != shape or checksum != seal(key, content) or len(content) != 4 * texts * dim:
            self.drop(key)
            return None
        return np.frombuffer(content, dtype="<f4").reshape(shape)

    def holds(self, key: bytes) -> bool:
        """Whether there are vectors under `key`, unread: damage shows when they are read."""
        return self._first("SELECT 1 FROM chunks WHERE key = ?", key) is not None

    def write(self, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep `vectors`, (n, dim), under `key`; a key that is already there keeps what it has."""
        content = np.ascontiguousarray(vectors, dtype="<f4").data.cast("B")
        self._change(
            "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
            key, encoder, *vectors.shape, seal(key, content), content,
        )  # fmt: skip

    def read_cut(self, key: bytes) -> int | None:
        """How many texts of the chunk `key` were cut at the encoder's limit; None when that is not known."""
        row = self._first("SELECT texts FROM cuts WHERE key = ?", key)
        return None if row is None else int(row[0])

    def write_cut(self, key: bytes, texts: int) -> None:
        """Keep how many texts of the chunk `key` were cut."""
        self._change("INSERT OR IGNORE INTO cuts VALUES (?, ?)", key, texts)

    def info(self) -> CacheInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._all("SELECT encoder, COUNT(*), SUM(texts) FROM chunks GROUP BY encoder ORDER BY encoder")
        return CacheInfo(
            path=self.path,
            bytes=self._size(),
            entries=sum(entries for _, entries, _ in rows),
            encoders={encoder: texts for encoder, _, texts in rows},
        )

    def _sweep(self) -> None:
        self._change("DELETE FROM cuts WHERE key NOT IN (SELECT key FROM chunks)")
