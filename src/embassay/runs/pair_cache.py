"""Scores of rerankers on disk, shared by all runs and processes of a user: one SQLite file.

A score is kept for its query and document, and is found whatever the other candidates are, so a sweep over depths,
modes and indexes scores each pair once. Where a reranker's scores depend on the whole list, it is the list that has an
entry. Each entry carries a checksum that is verified on every read; a damaged one is dropped and scored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.runs.store import Store, seal

__all__ = ["PairCache", "PairsInfo", "score_key"]

_SCORES = """
CREATE TABLE IF NOT EXISTS scores (
    key BLOB NOT NULL UNIQUE,
    reranker TEXT NOT NULL,
    checksum BLOB NOT NULL,
    scores BLOB NOT NULL
)
"""
_PER_STATEMENT = 1000

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class PairsInfo:
    """What a cache holds: `bytes` on disk, `entries`, and the scores of each reranker identity."""

    path: Path
    bytes: int
    entries: int
    rerankers: Mapping[str, int]


class PairCache(Store):
    """Scores by key. Safe to share between threads, and between processes that open it each."""

    title = "cache of rerankers' scores"
    file = "pairs.sqlite"
    tables = (_SCORES,)
    main = "scores"
    owner = "reranker"

    def read(self, keys: Sequence[bytes], n: int = 1) -> dict[bytes, Scores]:
        """The scores kept under those of the keys that have any, (n,) each; damaged ones are dropped, not given."""
        found: dict[bytes, Scores] = {}
        for start in range(0, len(keys), _PER_STATEMENT):
            part = keys[start : start + _PER_STATEMENT]
            marks = ",".join("?" * len(part))
            for key, checksum, content in self._all(
                f"SELECT key, checksum, CAST(scores AS BLOB) FROM scores WHERE key IN ({marks})", *part
            ):
                if checksum == seal(key, content) and len(content) == 4 * n:
                    found[key] = np.frombuffer(content, dtype="<f4")
                else:
                    self.drop(key)
        return found

    def write(self, reranker: str, scores: Mapping[bytes, Scores]) -> None:
        """Keep scores of the reranker with this identity; a key that is already there keeps what it has.

        At most 1000 keys are written together, all or none of them.
        """
        rows = list(scores.items())
        for start in range(0, len(rows), _PER_STATEMENT):
            values: list[bytes | str] = []
            part = rows[start : start + _PER_STATEMENT]
            for key, found in part:
                content = np.ascontiguousarray(found, dtype="<f4").tobytes()
                values += [key, reranker, seal(key, content), content]
            marks = ",".join(["(?, ?, ?, ?)"] * len(part))
            self._change(f"INSERT OR IGNORE INTO scores VALUES {marks}", *values)

    def info(self) -> PairsInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._all(
            "SELECT reranker, COUNT(*), SUM(length(scores)) / 4 FROM scores GROUP BY reranker ORDER BY reranker"
        )
        return PairsInfo(
            path=self.path,
            bytes=self._size(),
            entries=sum(entries for _, entries, _ in rows),
            rerankers={reranker: scores for reranker, _, scores in rows},
        )


def score_key(identity: str, query: str, documents: Sequence[str]) -> bytes:
    """32 bytes that name the scores of documents in this order: of one alone, or of a whole list."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (identity, query, *documents):
        # Texts may hold lone surrogates, which UTF-8 has no bytes for.
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()
