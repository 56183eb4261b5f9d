"""A reranker that never scores a pair twice, for quality and not for latency: what is found takes no time.

What may be kept for a pair of query and document is a score that does not depend on the other candidates. A reranker
says so by an attribute `pairwise`, True; without it, or where it is False (a chat model that orders lists, weights
counted within the list), the scores of a whole list are kept together, and only the same list in the same order finds
them. A local model's score may still differ by rounding with the documents that share its batch (about 1e-6): the
first one computed stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from embassay.contracts import Reranker
from embassay.errors import ModelError
from embassay.runs.pair_cache import PairCache, Scores, score_key

__all__ = ["CachedReranker", "Counts"]

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
