"""What stacks on one dataset share: passages, rewritten queries, words, tokens, and each encoder's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.errors import ModelError
from embassay.protocols.rag.probes.noise.levels import LEVELS, noisy, phrases
from embassay.protocols.rag.sweep.candidates import Listed, Places, Words, found
from embassay.protocols.rag.sweep.collection import Collection, Passages, passages_of, token_lengths
from embassay.protocols.rag.sweep.parts import Parts, SweepEncoder, Vectors
from embassay.search import exact_search
from embassay.search.bm25 import Hit
from embassay.systems.transforms import unit

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
