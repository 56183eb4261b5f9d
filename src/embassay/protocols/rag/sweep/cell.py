"""Measuring the stacks on one index: final lists, their quality, and the time of each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import Index, Ranked
from embassay.protocols.rag.sweep.bench import Bench, Encoded
from embassay.protocols.rag.sweep.candidates import Final, Listed
from embassay.protocols.rag.sweep.collection import collapsed
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.endings import RerankerFailed, ending_of, first
from embassay.protocols.rag.sweep.measured import Skipped
from embassay.protocols.rag.sweep.parts import Parts, Vectors
from embassay.protocols.rag.sweep.quality import ceilings, entropies, graded, index_recall, margins, quality
from embassay.protocols.rag.sweep.stacks import Found, Stack
from embassay.protocols.rag.sweep.stopwatch import Stopwatch
from embassay.protocols.rag.sweep.timing import Timing
from embassay.search.indexes import open_index

RECALL_AT = (10, 30)


@dataclass
class IndexedBench:
    """An encoder's vectors of a bench, so many dimensions of them, in an index; `close` when done."""

    encoded: Encoded
    dims: int | None
    index: Index
    watch: Stopwatch
    documents: Vectors
    queries: Vectors
    _answers: dict[int, Ranked] = field(default_factory=dict)
    _fused: list[Listed] = field(default_factory=list)

    @classmethod
    def of(cls, encoded: Encoded, dims: int | None, index: str, watch: Stopwatch, kept: Path) -> IndexedBench:
        """Build the index, or find it built under `kept`. UsageError where it takes no such vectors, ModelError where
        it cannot be had."""
        documents, queries = encoded.cut(dims)
        return cls(encoded, dims, open_index(index, documents, folder=kept), watch, documents, queries)

    @property
    def bench(self) -> Bench:
        """What is searched and asked."""
        return self.encoded.bench

    @property
    def parts(self) -> Parts:
        """What the sweep has opened."""
        return self.bench.parts

    @cached_property
    def timing(self) -> Timing:
        """Takes time on this index."""
        return Timing(self.encoded, self.dims, self.index, self.queries, self.watch)

    def answers(self, depth: int) -> list[Listed]:
        """What the index finds for each query at this depth."""
        if depth not in self._answers:
            deep = min(depth + self.bench.spare, len(self.documents))
            self._answers[depth] = self.index.search(self.queries, deep)
        return [self.bench.found(self._answers[depth], row, depth) for row in range(len(self.queries))]

    @cached_property
    def recall(self) -> dict[int, float]:
        """The index's against exact search, by cutoff."""
        deepest = max(RECALL_AT)
        exact = self.encoded.exact(self.dims, deepest)
        return dict(index_recall(exact, [places for places, _ in self.answers(deepest)], RECALL_AT))

    def measure(
        self,
        configurations: Sequence[Configuration],
        advance: Callable[[int], None],
        *,
        loaded: Callable[..., bool],
    ) -> Found:
        """Each of the configurations, which are on this index. Where a reranker fails, its own are skipped; `loaded`
        says which are also timed with several queries in flight. ModelError where the index or the encoder fails."""
        stacks, skipped = [], []
        for one in configurations:
            try:
                stacks.append(self._stack(one, load=loaded(one)))
            except RerankerFailed as error:
                skipped.append(Skipped(one, self.bench.collection.name, error.message, failed=True))
            advance(len(self.queries))
        return Found(tuple(stacks), tuple(skipped))

    def close(self) -> None:
        """Release the index."""
        self.index.close()

    def _stack(self, one: Configuration, *, load: bool) -> Stack:
        candidates = self._candidates(one)
        ending, depth = ending_of(self.bench, one, cached=True), self._depth(one)
        with self.parts.charged(one.reranker):
            finals = [ending(query, *own) for query, own in zip(self.bench.queries, candidates, strict=True)]
        return self._described(
            one,
            candidates,
            finals,
            self.timing.stages(one, depth),
            self.timing.loaded(one, depth) if load else "",
        )

    def _described(
        self,
        one: Configuration,
        candidates: Sequence[Listed],
        finals: Sequence[Final],
        times: Any,
        together: str,
    ) -> Stack:
        request, bench = self.parts.request, self.bench
        # A run that resumes must not tell the sessions apart; whether it was built or found is among the counts.
        facts = replace(self.index.facts, found=False)
        passages = bench.passages
        lists = [collapsed(final.places, passages) for final in finals]
        pools = [collapsed(places, passages) for places, _ in candidates]
        seen = graded(bench.collection, lists, pools)
        lengths = [bench.tokens(final.candidates) for final in finals]
        per_candidate = np.concatenate(
            [own + query for own, query in zip(lengths, bench.query_tokens, strict=True)]
        ).astype(np.float64)
        ids = bench.collection.ids
        return Stack(
            one, quality(request.measures, seen), ceilings(request.measures, seen), self._signals(one, finals),
            (_mean(per_candidate), float(per_candidate.std(ddof=1)) if len(per_candidate) > 1 else 0.0),
            _mean(np.concatenate(lengths)), _mean(bench.query_tokens), _mean([len(own) for own in lengths]),
            facts, self.recall, times, together,
            [
                ([ids[place] for place in ranked], _scores(final, ranked, passages.documents))
                for ranked, final in zip(lists, finals, strict=True)
            ],
        )  # fmt: skip

    def _signals(self, one: Configuration, finals: Sequence[Final]) -> dict[str, Any]:
        dense = [scores for _, scores in self.answers(self._depth(one))]
        found: dict[str, Any] = {"margin": margins(dense), "noise": self.encoded.noise}
        if one.reranker != NONE:
            found["entropy"] = entropies([final.raw for final in finals])
        return found

    def _depth(self, one: Configuration) -> int:
        """How many passages the index is asked for."""
        return one.k if one.mode == "dense" else self.parts.request.depth

    def _candidates(self, one: Configuration) -> list[Listed]:
        dense = self.answers(self._depth(one))
        if one.mode == "dense":
            return dense
        if not self._fused:
            self._fused = [
                self.bench.words.fused(places, hits)
                for (places, _), hits in zip(dense, self.bench.hits, strict=True)
            ]
        return [first(listed, one.k) for listed in self._fused]


def _scores(final: Final, ranked: Sequence[int], documents: Any) -> list[float]:
    """The score of each document: that of its best passage."""
    best: dict[int, float] = {}
    for place, score in zip(final.places, final.scores, strict=True):
        best.setdefault(int(documents[place]), score)
    return [best[document] for document in ranked]


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def skipped_all(
    configurations: Sequence[Configuration], dataset: str, reason: str, *, failed: bool
) -> Iterator[Skipped]:
    """All of them left out for one reason."""
    return (Skipped(one, dataset, reason, failed) for one in configurations)
