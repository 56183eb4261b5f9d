"""The time of each stage of a stack, and of whole queries under load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embassay.contracts import Index
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.sweep.bench import Bench, Encoded
from embassay.protocols.rag.sweep.candidates import Final, Listed, found
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.endings import ending_of, first
from embassay.protocols.rag.sweep.parts import Vectors
from embassay.protocols.rag.sweep.stopwatch import Stopwatch
from embassay.systems.remote.home import wait_for
from embassay.systems.transforms import unit


@dataclass(frozen=True)
class Timing:
    """Takes the time of stacks on an `index` of an encoder's vectors, whose `queries` are cut to `dims`."""

    encoded: Encoded
    dims: int | None
    index: Index
    queries: Vectors
    watch: Stopwatch

    @property
    def bench(self) -> Bench:
        """What is searched and asked."""
        return self.encoded.bench

    def stages(self, one: Configuration, depth: int) -> dict[str, str]:
        """The names of the samples of each stage that the configuration has."""
        bench, watch, timed = self.bench, self.watch, self.bench.collection.timed
        what, rows = bench.what, self.queries
        encoder = {**what, "encoder": self.encoded.encoder.name}
        with self.bench.parts.charged(self.encoded.encoder.name):
            embed = watch.alone({"stage": "embed", **encoder}, timed, self._embed)
        names = {
            "embed": embed,
            "retrieve": watch.alone(
                {"stage": "retrieve", **encoder, "dims": self.dims, "index": one.index, "depth": depth}, timed,
                lambda query: self.index.search(rows[query : query + 1], min(depth, len(bench.passages))),
            ),
        }  # fmt: skip
        if one.mode == "hybrid":
            names["fuse"] = watch.alone({"stage": "fuse", **what}, timed, self._fuse())
        if one.reranker != NONE or one.deduplicate:
            done = {
                "stage": "rerank", **what, "mode": one.mode, "k": one.k, "reranker": one.reranker,
                "deduplicate": one.deduplicate, "boost": one.boost,
            }  # fmt: skip
            with self.bench.parts.charged(one.reranker):
                names["rerank"] = watch.alone(done, timed, self._rerank(one, depth))
        return names

    def _embed(self, query: int) -> Vectors:
        """A real encoding of a query, after a rewriting by rules; a language model's rewriting takes no time here."""
        bench, text = self.bench, self.bench.queries[query]
        if bench.rewrite != NONE:
            rewriter = self.bench.parts.rewriter(bench.rewrite)
            if not hasattr(rewriter, "model"):
                asked = Question(bench.collection.query_ids[query], bench.collection.queries[query])
                text = wait_for(lambda: rewriter.rewrite(asked))
        return unit(self.encoded.encoder.afresh(text)[None, : self.dims])

    def _fuse(self) -> Callable[[int], Any]:
        words, queries = self.bench.words, self.bench.queries
        exact = self.encoded.exact(None, self.bench.parts.request.depth)
        return lambda query: words.fused(exact[query], words.hits(queries[query]))

    def _rerank(self, one: Configuration, depth: int) -> Callable[[int], Any]:
        """The end of a stack on what exact search finds at full dimensions, with the encoder that comes first: another
        index or encoder changes which texts are scored, not how many."""
        bench, ending = self.bench, ending_of(self.bench, one, cached=False)
        exact = self.encoded.exact(None, depth)
        given: dict[int, Listed] = {}
        for query in bench.collection.timed:
            given[query] = exact[query], (0.0,) * len(exact[query])
            if one.mode == "hybrid":
                given[query] = first(bench.words.fused(exact[query], bench.hits[query]), one.k)
        return lambda query: ending(bench.queries[query], *given[query])

    def loaded(self, one: Configuration, depth: int) -> str:
        """Whole queries with several in flight."""
        depth = min(depth, len(self.bench.passages))
        words, texts = self.bench.words, self.bench.queries
        ending = ending_of(self.bench, one, cached=False)

        def whole(query: int) -> Final:
            listed = found(self.index.search(self._embed(query), depth), 0)
            if one.mode == "hybrid":
                listed = first(words.fused(listed[0], words.hits(texts[query])), one.k)
            return ending(texts[query], *listed)

        # One account for both: threads that each name their own would mix them up.
        with self.bench.parts.charged(self.encoded.encoder.name if one.reranker == NONE else one.reranker):
            return self.watch.together(
                {"stage": "total", **self.bench.what, "configuration": one.id},
                self.bench.collection.timed,
                whole,
            )
