"""Measuring the stacks on one index: final lists, their quality, and the time of each stage, by a monotonic clock.

A stage is timed once for what it depends on: embedding for an encoder (and rewriting), retrieval for an index at a
depth, search by words with fusion for a dataset, reranking for a reranker, k and mode, on the candidates that exact
search finds at full dimensions with the first encoder. Totals are sums per query and session. Samples are kept as they
are taken: a run that resumes has those of its finished parts. Source: spec rag 3.2.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Index, Ranked
from embassay.measures import evaluate_graded
from embassay.measures.judgements import ABSENT, UNJUDGED, Graded
from embassay.measures.sets import Companion
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.sweep.config import Latency
from embassay.protocols.rag.sweep.parts import (
    Bench,
    Collection,
    Encoded,
    Final,
    Listed,
    Parts,
    RerankerFailed,
    Vectors,
    collapsed,
    ending_of,
    first,
    found,
)
from embassay.protocols.rag.sweep.stacks import NONE, Configuration, Found, Skipped, Stack
from embassay.runs.folder import digest, to_json, write_atomic
from embassay.systems.remote.calls import wait_for

Floats = NDArray[np.float64]
MARGIN_RANK = 10
ENTROPY_OF = 50


def graded(collection: Collection, lists: Sequence[Sequence[int]], pools: Sequence[Sequence[int]]) -> Graded:
    """Rankings of documents (positions, each once) and the pools they are from, by grade."""
    width = max((len(one) for one in lists), default=0)
    top = np.full((len(lists), max(1, width)), ABSENT, dtype=np.int8)
    pool = np.zeros((len(lists), 5), dtype=np.int64)
    for row, (own, ranked, candidates) in enumerate(zip(collection.grades, lists, pools, strict=True)):
        top[row, : len(ranked)] = [own.get(place, UNJUDGED) for place in ranked]
        for place in set(candidates):
            if place in own:
                pool[row, own[place] - 1] += 1
    sizes = np.array([len(set(one)) for one in pools], dtype=np.int64)
    return Graded(collection.counts, top, pool, pool_sizes=sizes, names=collection.query_ids)


def quality(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """Each query's value of each measure, (q,), NaN where it is undefined."""
    return evaluate_graded(list(measures), lists)


def ceilings(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """What the best set from each pool reaches (PROC), by the measure that it bounds; spec rag 1.6."""
    bounded = {one: _ceiling(one) for one in measures}
    wanted = {one: proc for one, proc in bounded.items() if proc}
    values = evaluate_graded(list(wanted.values()), lists)
    return {one: values[proc] for one, proc in wanted.items()}


def _ceiling(measure: str) -> str:
    name, _, cutoff = measure.rpartition("@")
    return f"PROC(of={name!r})@{cutoff}" if name in get_args(Companion) else ""


def margins(scores: Sequence[Sequence[float]]) -> Floats:
    """The first score less the tenth of each list, (q,); NaN for a shorter one. Spec rag 3.5."""
    return np.array(
        [one[0] - one[MARGIN_RANK - 1] if len(one) >= MARGIN_RANK else np.nan for one in scores],
        dtype=np.float64,
    )


def entropies(scores: Sequence[Floats | None]) -> Floats:
    """How undecided a reranker is on the first 50 candidates, (q,): the entropy of the softmax of its scores over its
    maximum, 0 to 1; NaN where there is none or fewer than two. Spec rag 3.5.

    >>> float(entropies([np.array([2.0, 1.0, 0.0, 0.0])])[0].round(6))
    0.756481
    """
    return np.array([_entropy(one) for one in scores], dtype=np.float64)


def _entropy(scores: Floats | None) -> float:
    if scores is None or len(scores) < 2:
        return float("nan")
    first = scores[:ENTROPY_OF]
    weights = np.exp(first - first.max())
    share = weights / weights.sum()
    there = share[share > 0]
    return float(-(there * np.log(there)).sum() / np.log(len(first)))


def index_recall(
    exact: Sequence[Sequence[int]], own: Sequence[Sequence[int]], cutoffs: Sequence[int]
) -> Mapping[int, float]:
    """By cutoff, the mean share of the exact first K that an index has among its own first K.

    >>> index_recall([[1, 2]], [[2, 3]], [2])
    {2: 0.5}
    """
    return {
        k: float(
            np.mean([len({*a[:k]} & {*b[:k]}) / max(1, len(a[:k])) for a, b in zip(exact, own, strict=True)])
        )
        for k in cutoffs
    }


Do = Callable[[int], object]
"""What is timed, given a query's position."""


@dataclass(frozen=True)
class Stopwatch:
    """Takes time into the files of `folder`, and reads what is there."""

    folder: Path
    latency: Latency

    def alone(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """Time `do` for one query at a time; the name under which the samples are kept, (sessions, queries) in ms."""
        return self._kept(what, (self.latency.repeats, len(queries)), lambda: self._sessions(queries, do))

    def together(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """The same with as many queries in flight as the config says, once: (1, queries)."""
        said = {**what, "concurrency": self.latency.concurrency}
        return self._kept(said, (1, len(queries)), lambda: self._in_flight(queries, do))

    def read(self, name: str) -> Floats | None:
        """The samples of this name, (sessions, queries) in ms; None where there are none, or damaged ones."""
        try:
            samples = np.array(json.loads(self._path(name).read_text("utf-8"))["samples"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return samples if samples.ndim == 2 else None

    def load(self) -> tuple[float | None, int]:
        """The highest load average while any of the samples were taken, by cores, and the cores of that machine; (None,
        0) where it is not known."""
        found: list[tuple[float, float, int]] = []
        for path in self.folder.glob("*.json"):
            try:
                content = json.loads(path.read_text("utf-8"))
                load, cores = float(content["load"]), int(content["cores"])
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            if load >= 0 and cores > 0:
                found.append((load / cores, load, cores))
        return max(found)[1:] if found else (None, 0)

    def _kept(self, what: Mapping[str, Any], shape: tuple[int, int], take: Callable[[], Floats]) -> str:
        name = digest(dict(what))
        there = self.read(name)
        if there is None or there.shape != shape:
            before = _load()
            samples = take().tolist()
            load = max(before, _load())
            content = {
                "what": dict(what),
                "unit": "ms",
                "samples": samples,
                "load": load,
                "cores": os.cpu_count() or 1,
            }
            write_atomic(self._path(name), to_json(content) + "\n")
        return name

    def _sessions(self, queries: Sequence[int], do: Do) -> Floats:
        samples = np.empty((self.latency.repeats, len(queries)))
        for session in range(self.latency.repeats):
            # The first calls load, compile and fill caches of the processor.
            for call in range(self.latency.warmup):
                do(queries[call % len(queries)])
            samples[session] = [_milliseconds(do, query) for query in queries]
        return samples

    def _in_flight(self, queries: Sequence[int], do: Do) -> Floats:
        with ThreadPoolExecutor(self.latency.concurrency) as pool:
            for future in [pool.submit(do, query) for query in queries[: self.latency.warmup]]:
                future.result()
            return np.array([list(pool.map(lambda query: _milliseconds(do, query), queries))])

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _load() -> float:
    """The load average of the last minute; below 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0


def _milliseconds(do: Do, query: int) -> float:
    began = perf_counter()
    do(query)
    return 1000 * (perf_counter() - began)


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
        encoder = self.encoded.encoder
        return encoder.cut(encoder.afresh(text), self.dims)

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
        return cls(encoded, dims, encoded.encoder.index(index, documents, kept), watch, documents, queries)

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
