"""A reranker that never scores a pair twice: its scores in one SQLite file shared by a user's runs.

A score is kept for its query and document, and is found whatever the other candidates are, so a sweep over depths,
modes and indexes scores each pair once. Where a reranker's scores depend on the whole list, it is the list that has an
entry. Each entry carries a checksum that is verified on every read; a damaged one is dropped and scored again.

What may be kept for a pair of query and document is a score that does not depend on the other candidates. A reranker
says so by an attribute `pairwise`, True; without it, or where it is False (a chat model that orders lists, weights
counted within the list), the scores of a whole list are kept together, and only the same list in the same order finds
them. A local model's score may still differ by rounding with the documents that share its batch (about 1e-6): the
first one computed stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Reranker
from embassay.errors import ModelError
from embassay.runs.store import Store, seal

__all__ = ["CachedReranker", "Counts", "PairCache", "PairsInfo", "score_key"]

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


_CHUNK_SIZE = 64


@dataclass
class Counts:
    """What happened so far: documents that the reranker scored, documents whose score the cache had, and seconds
    spent in the reranker. A document that stands twice in a call counts once."""

    computed: int = 0
    found: int = 0
    seconds: float = 0.0


class CachedReranker:
    """`reranker` behind `cache`: it is asked only for what is missing.

    The reranker may have attributes beside its contract: `pairwise` (see above); `chunk_size`, documents per call (64
    without it), each chunk kept the moment it is scored, so that an error, a budget or a kill loses at most one; and
    `skips_blank`, True where a blank document is not scored but put 1 below the lowest, which is then done here.
    Rerankers that pay by the call set `chunk_size` to what one call may hold.
    """

    def __init__(self, reranker: Reranker, cache: PairCache) -> None:
        self.reranker = reranker
        self.cache = cache
        self.counts = Counts()
        self.pairwise: bool = getattr(reranker, "pairwise", False)
        self._chunk_size: int = getattr(reranker, "chunk_size", _CHUNK_SIZE)
        self._skips_blank: bool = getattr(reranker, "skips_blank", False)

    @property
    def name(self) -> str:
        """The reranker's name."""
        return self.reranker.name

    @property
    def identity(self) -> str:
        """The reranker's identity."""
        return self.reranker.identity

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """The reranker's scores, (n,), kept or new. Errors are the reranker's; ModelError where it does not give one
        finite score for each document. What was scored before an error is kept."""
        if not documents:
            return np.empty(0, dtype=np.float32)
        if not self.pairwise:
            return self._list(query, documents)
        sent = [text for text in dict.fromkeys(documents) if self._is_sent(text)]
        scores = self._pairs(query, sent)
        lowest = min(scores.values(), default=np.float32(1))
        return np.array([scores.get(text, lowest - 1) for text in documents], dtype=np.float32)

    def missing(self, query: str, documents: Sequence[str]) -> int:
        """How many distinct documents `score` would ask the reranker for."""
        if not self.pairwise:
            key = score_key(self.identity, query, documents)
            return 0 if self.cache.read([key], len(documents)) else len(documents)
        keys = {score_key(self.identity, query, [text]) for text in documents if self._is_sent(text)}
        return len(keys) - len(self.cache.read(list(keys)))

    def _is_sent(self, text: str) -> bool:
        return bool(text.strip()) or not self._skips_blank

    def _pairs(self, query: str, documents: Sequence[str]) -> dict[str, np.float32]:
        """The scores of distinct documents by their text."""
        keys = {text: score_key(self.identity, query, [text]) for text in documents}
        kept = self.cache.read(list(keys.values()))
        scores = {text: kept[key][0] for text, key in keys.items() if key in kept}
        self.counts.found += len(scores)
        waiting = [text for text in documents if text not in scores]
        for start in range(0, len(waiting), self._chunk_size):
            chunk = waiting[start : start + self._chunk_size]
            new = self._asked(query, chunk)
            self.cache.write(
                self.identity, {keys[text]: new[place : place + 1] for place, text in enumerate(chunk)}
            )
            scores |= zip(chunk, new, strict=True)
        return scores

    def _list(self, query: str, documents: Sequence[str]) -> Scores:
        """The scores of documents that were scored together."""
        key = score_key(self.identity, query, documents)
        kept = self.cache.read([key], len(documents)).get(key)
        if kept is not None:
            self.counts.found += len(documents)
            return kept
        new = self._asked(query, documents)
        self.cache.write(self.identity, {key: new})
        return new

    def _asked(self, query: str, documents: Sequence[str]) -> Scores:
        started = perf_counter()
        try:
            scores = np.asarray(self.reranker.score(query, documents), dtype=np.float32)
        finally:
            self.counts.seconds += perf_counter() - started
        if scores.shape != (len(documents),) or not np.isfinite(scores).all():
            raise ModelError(
                f"The reranker {self.name!r} did not give one finite score for each of {len(documents)} documents."
            )
        self.counts.computed += len(documents)
        return scores
