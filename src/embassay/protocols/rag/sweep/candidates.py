"""From an index's answers to final lists: fusing with words, removing near copies, reranking, boosting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.protocols.rag.sweep.collection import Passages
from embassay.search.bm25 import BM25Index, Hit
from embassay.search.boost import boosted
from embassay.search.duplicates import distinct
from embassay.search.fusion import rrf

Floats = NDArray[np.float64]
Places = tuple[int, ...]
Listed = tuple[Places, tuple[float, ...]]
"""Passages by position, best first, and their scores."""
Score = Callable[[str, Sequence[str]], NDArray[np.float32]]
"""A reranker's way of scoring: query and texts to one score each."""


@dataclass(frozen=True)
class Final:
    """A query's list: passages by position, best first, and their scores; `raw` are the reranker's scores in the order
    of the candidates, None without one; `candidates` are what it was given."""

    places: Places
    scores: tuple[float, ...]
    candidates: Places
    raw: Floats | None = None


@dataclass(frozen=True)
class Words:
    """Search by words in the passages."""

    passages: Passages
    index: BM25Index
    depth: int
    c: float

    @classmethod
    def of(cls, passages: Passages, depth: int, c: float, *, queries: Sequence[str] | None = None) -> Words:
        """The index of the passages, for these queries alone where they are given."""
        return cls(passages, BM25Index.of(passages.ids, passages.texts, asked=queries), depth, c)

    def hits(self, query: str) -> list[Hit]:
        """The best passages by BM25, to the depth of the hybrid."""
        return self.index.search(query, self.depth)

    def fused(self, dense: Sequence[int], hits: Sequence[Hit]) -> Listed:
        """Both lists as one, by reciprocal rank fusion; spec rag 3.4."""
        ids = self.passages.ids
        one = rrf([[ids[place] for place in dense], [hit.id for hit in hits]], self.c)
        return tuple(self.index.place(found.id) for found in one), tuple(found.score for found in one)

    def scores(self, query: str, places: Sequence[int]) -> Floats:
        """The BM25 score of these passages, 0 for those that share no word with the query, (n,)."""
        return self.index.scores(query, [self.passages.ids[place] for place in places])


def found(ranked: Ranked, row: int) -> Listed:
    """What an index found for a query: positions and scores."""
    there = ranked.indices[row] >= 0
    return tuple(ranked.indices[row][there].tolist()), tuple(ranked.scores[row][there].tolist())


@dataclass(frozen=True)
class Ending:
    """What is done with a query's candidates. `deduplicate` 0 removes none, `boost` 0 adds nothing."""

    passages: Passages
    words: Words | None
    score: Score | None
    deduplicate: float = 0.0
    boost: float = 0.0

    def __call__(self, query: str, places: Places, scores: tuple[float, ...]) -> Final:
        """The final list; equal scores keep the order in which the candidates were found."""
        texts = [self.passages.texts[place] for place in places]
        if self.deduplicate:
            kept = distinct(texts, self.deduplicate).kept
            places, scores = tuple(places[i] for i in kept), tuple(scores[i] for i in kept)
            texts = [texts[i] for i in kept]
        if self.score is None or not places:
            return Final(places, scores, places)
        raw = np.asarray(self.score(query, texts), dtype=np.float64)
        final = raw
        if self.boost:
            assert self.words is not None
            final = boosted(raw, self.words.scores(query, places), self.boost)
        order = np.argsort(-final, kind="stable")
        return Final(tuple(places[i] for i in order), tuple(final[order].tolist()), places, raw)
