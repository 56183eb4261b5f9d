"""What stacks on one dataset share, and how they end on it: fused with words, near copies out, reranked, boosted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.errors import ModelError
from embassay.protocols.rag.probes.small_talk import LEVELS, noisy, phrases
from embassay.protocols.rag.sweep.parts import (
    Collection,
    Parts,
    Passages,
    SweepEncoder,
    Vectors,
    passages_of,
    token_lengths,
)
from embassay.protocols.rag.sweep.stacks import NONE, Configuration
from embassay.search import exact_search
from embassay.search.bm25 import BM25Index, Hit
from embassay.search.fusion import boosted, distinct, rrf
from embassay.systems.cosine import unit

Floats = NDArray[np.float64]
MOST_LOST = 0.05
"""The share of passages without a vector from which an encoder has failed."""


@dataclass
class Bench:
    """A dataset cut in one way and asked in one way."""

    parts: Parts
    collection: Collection
    chunk: str
    rewrite: str
    _lengths: dict[int, int] = field(default_factory=dict)

    @cached_property
    def passages(self) -> Passages:
        """What is indexed."""
        return passages_of(self.collection, self.chunk, self.parts.tokenizer)

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """What is searched for and what the reranker is asked."""
        return self.parts.rewritten(self.rewrite, self.collection.query_ids, self.collection.queries)

    def rewrite_queries(self) -> None:
        """Have the queries rewritten now. ModelError where one cannot be."""
        assert self.queries

    @cached_property
    def words(self) -> Words:
        """Search by words, for the queries of the bench."""
        request = self.parts.request
        return Words.of(self.passages, request.depth, request.rrf_c, queries=self.queries)

    @cached_property
    def hits(self) -> list[list[Hit]]:
        """What words find for each query."""
        depth, index = self.words.depth, self.words.index
        found = [index.search(query, depth + self.spare) for query in self.queries]
        return [
            [hit for hit in hits if index.place(hit.id) not in own][:depth]
            for hits, own in zip(found, self.own, strict=True)
        ]

    @cached_property
    def own(self) -> list[frozenset[int]]:
        """The passages that each query's ranking leaves out: those of its own document, where it is told to."""
        if not self.collection.own:
            return [frozenset()] * len(self.queries)
        of: dict[int, list[int]] = {}
        for place, document in enumerate(self.passages.documents.tolist()):
            of.setdefault(document, []).append(place)
        return [frozenset() if one is None else frozenset(of[one]) for one in self.collection.own]

    @property
    def spare(self) -> int:
        """How much deeper to search, so that as many are left."""
        return max(map(len, self.own), default=0)

    def found(self, ranked: Ranked, row: int, depth: int) -> Listed:
        """The first `depth` that an index found for a query, without its own passages."""
        places, scores = found(ranked, row)
        if not (own := self.own[row]):
            return places[:depth], scores[:depth]
        kept = [i for i, place in enumerate(places) if place not in own][:depth]
        return tuple(places[i] for i in kept), tuple(scores[i] for i in kept)

    @cached_property
    def query_tokens(self) -> NDArray[np.int64]:
        """Tokens of each query, (q,)."""
        return token_lengths(self.parts.tokenizer, self.queries)

    def tokens(self, places: Sequence[int]) -> NDArray[np.int64]:
        """Tokens of these passages, each counted once, (n,)."""
        new = [place for place in dict.fromkeys(places) if place not in self._lengths]
        counted = token_lengths(self.parts.tokenizer, [self.passages.texts[place] for place in new])
        self._lengths |= dict(zip(new, counted.tolist(), strict=True))
        return np.array([self._lengths[place] for place in places], dtype=np.int64)

    @property
    def made(self) -> tuple[str, ...]:
        """Which of its large parts are in memory already."""
        return tuple(name for name in ("passages", "words") if name in vars(self))

    @property
    def what(self) -> dict[str, str]:
        """What it is, for the names of timings."""
        return {"dataset": self.collection.name, "chunk": self.chunk, "rewrite": self.rewrite}


@dataclass
class Encoded:
    """A bench in an encoder's vectors, as they are; one at a time is in memory."""

    bench: Bench
    encoder: SweepEncoder
    documents: Vectors
    queries: Vectors
    warnings: tuple[str, ...] = ()
    _exact: dict[tuple[int | None, int], list[Places]] = field(default_factory=dict)

    @classmethod
    def of(cls, bench: Bench, encoder: SweepEncoder) -> Encoded:
        """Encode, or find encoded, passages and queries. ModelError when the encoder fails."""
        passages, listener = bench.passages.texts, bench.parts.listener
        texts = len(set(passages)) + len(set(bench.queries))
        listener.stage(f"vectors by {encoder.name} of {bench.collection.name}", texts)
        with bench.parts.charged(encoder.name):
            documents = encoder.vectors(passages, "document")
            queries = encoder.vectors(bench.queries, "query")
        lost = np.flatnonzero(np.isnan(documents[:, 0]))
        if len(lost) > MOST_LOST * len(documents):
            raise ModelError(f"{encoder.name} could not encode {len(lost):,} of {len(documents):,} passages.")
        if np.isnan(queries).any():
            raise ModelError(f"{encoder.name} could not encode {int(np.isnan(queries[:, 0]).sum())} queries.")
        documents[lost] = 0
        some = ", ".join(bench.passages.ids[place] for place in lost[:3])
        said = (
            f"passages that {encoder.name} could not encode, found by words alone: {len(lost):,} ({some})",
        )
        return cls(bench, encoder, documents, queries, (*(said if len(lost) else ()), *encoder.oddities()))

    def cut(self, dims: int | None) -> tuple[Vectors, Vectors]:
        """Passages and queries with so many dimensions, at length 1."""
        return unit(self.documents[:, :dims]), unit(self.queries[:, :dims])

    def exact(self, dims: int | None, depth: int) -> list[Places]:
        """The nearest passages of each query by exact search."""
        if (dims, depth) not in self._exact:
            documents, queries = self.cut(dims)
            deep = min(depth + self.bench.spare, len(documents))
            ranked = exact_search(queries, documents, deep)
            self._exact[dims, depth] = [
                self.bench.found(ranked, row, depth)[0] for row in range(len(queries))
            ]
        return self._exact[dims, depth]

    @cached_property
    def noise(self) -> Floats:
        """Cosine of each query with itself in much small talk, (q,), English where no language or several are stated;
        NaN in a language that we have none in."""
        collection, seed = self.bench.collection, self.bench.parts.request.seed
        lang = "en" if collection.lang in ("", "und", "mul") else collection.lang[:2]
        if lang not in phrases():
            return np.full(len(self.queries), np.nan)
        texts = [
            noisy(query, len(LEVELS) - 1, lang=lang, seed=seed, key=key)  # type: ignore[arg-type]
            for key, query in zip(collection.query_ids, self.bench.queries, strict=True)
        ]
        with self.bench.parts.charged(self.encoder.name):
            loud = unit(self.encoder.vectors(texts, "query"))
        return np.asarray(np.einsum("qd,qd->q", unit(self.queries), loud, dtype=np.float64))


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


class RerankerFailed(Exception):
    """A reranker could not be had, or did not score."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _scoring(parts: Parts, name: str, *, cached: bool) -> Score:
    """A reranker's scores, from the cache or afresh; one that fails is not asked again."""
    try:
        kept = parts.reranker(name)
    except ModelError as error:
        raise RerankerFailed(error.message) from error
    ask = kept.score if cached else kept.reranker.score

    def score(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return ask(query, texts)
        except ModelError as error:
            parts.give_up("reranker", name, error)
            raise RerankerFailed(error.message) from error

    return score


def ending_of(bench: Bench, one: Configuration, *, cached: bool) -> Ending:
    """What is done with candidates; `cached` scores come from the cache where it has them. Here and in its calls,
    RerankerFailed for a reranker that fails."""
    score = None if one.reranker == NONE else _scoring(bench.parts, one.reranker, cached=cached)
    words = bench.words if one.boost else None
    return Ending(bench.passages, words, score, one.deduplicate, one.boost)


def first(listed: Listed, k: int) -> Listed:
    """The first `k` of a list."""
    return listed[0][:k], listed[1][:k]
