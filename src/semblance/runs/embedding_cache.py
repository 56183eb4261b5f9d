"""Embeddings on disk, shared by all runs and processes of a user: one SQLite file.

Vectors are raw little-endian float32 with a checksum that is verified on every read; a damaged row is
dropped and its texts are encoded again. A cache that cannot be read or written costs time, never the run:
it warns once and the work goes on without it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
_FILE = "embeddings.sqlite"
_BUSY_SECONDS = 60


@dataclass(frozen=True)
class CacheInfo:
    """What a cache holds: `bytes` on disk, `entries` (chunks), and the texts of each encoder identity."""

    path: Path
    bytes: int
    entries: int
    encoders: Mapping[str, int]


def cache_folder() -> Path:
    """`$SEMBLANCE_CACHE`, or the platform's cache folder."""
    chosen = os.environ.get("SEMBLANCE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("semblance")


class EmbeddingCache:
    """Chunks of vectors by key. Safe to share between threads, and between processes that open it each."""

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = Lock()
        self._warned = False

    @classmethod
    def open(cls, path: Path | str | None = None) -> EmbeddingCache:
        """The cache in the file `path`, made when absent; by default in `cache_folder()`."""
        file = Path(path) if path is not None else cache_folder() / _FILE
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            return cls(file, _connect(file))
        except (OSError, sqlite3.Error) as error:
            cache = cls(file, _connect_read_only(file))
            cache._warn("opened for writing", error)
            return cache

    def read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """The vectors kept under `key`, shape `shape`; None when there are none, or damaged ones."""
        row = self._first("SELECT texts, dim, checksum, CAST(vectors AS BLOB) FROM chunks WHERE key = ?", key)
        if row is None:
            return None
        texts, dim, checksum, content = row
        if (texts, dim) != shape or checksum != _checksum(key, content) or len(content) != 4 * texts * dim:
            self._change("DELETE FROM chunks WHERE key = ?", key)
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
            key, encoder, *vectors.shape, _checksum(key, content), content,
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

    def clear(self, encoder: str | None = None) -> int:
        """Drop the vectors of the encoder with this name or identity, or all; the bytes freed on disk."""
        before = self._size()
        if encoder is None:
            self._change("DELETE FROM chunks")
        else:
            named = "encoder = ?1 OR substr(encoder, 1, length(?1) + 1) = ?1 || ':'"
            self._change(f"DELETE FROM chunks WHERE {named}", encoder)
        self._change("DELETE FROM cuts WHERE key NOT IN (SELECT key FROM chunks)")
        self._change("VACUUM")
        self._all("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self._size())

    def close(self) -> None:
        """Release the file; the cache then holds nothing and keeps nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _size(self) -> int:
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _first(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        rows = self._all(statement, *values)
        return rows[0] if rows else None

    def _all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The statement's rows; none, with a warning, when the file cannot be read."""
        with self._lock:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self._warn("read", error)
                return []

    def _change(self, statement: str, *values: Any) -> None:
        """Run the statement as one transaction of its own; only warn when the file cannot be written."""
        with self._lock:
            if self._connection is None:
                return
            try:
                self._connection.execute(statement, values)
            except sqlite3.Error as error:
                self._warn("written", error)

    def _warn(self, what: str, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The embedding cache {self.path} cannot be {what} ({error}); going on without it. "
                "Free the disk, or set SEMBLANCE_CACHE to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )


def _connect(file: Path) -> sqlite3.Connection:
    deadline = monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _prepared(file)
        except sqlite3.OperationalError as error:
            # SQLite's own patience does not cover two processes that make the same file at once.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(0.02)


def _prepared(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # Large pages suit chunks of 100 kB and more; only a new file takes the setting.
        connection.execute("PRAGMA page_size = 16384")
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the last chunks, never damage the file; a killed process loses nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_CHUNKS)
        connection.execute(_CUTS)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect_read_only(file: Path) -> sqlite3.Connection | None:
    """A file that cannot be changed is still read; None when it cannot be read either."""
    try:
        connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=ro&immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("SELECT 1 FROM chunks LIMIT 1")
    except sqlite3.Error:
        return None
    return connection


def _checksum(key: bytes, content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=16, key=key).digest()
