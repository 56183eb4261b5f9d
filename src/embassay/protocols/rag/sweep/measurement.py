"""Measuring the stacks on one index: final lists, their quality, and the time of each stage, by a monotonic clock.

A stage is timed once for what it depends on: embedding for an encoder (and rewriting), retrieval for an index at a
depth, search by words with fusion for a dataset, reranking for a reranker, k and mode, on the candidates that exact
search finds at full dimensions with the first encoder. Totals are sums per query and session. Samples are kept as they
are taken: a run that resumes has those of its finished parts. Source: spec rag 3.2.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Index, IndexFacts, RankedCandidates
from embassay.data import draw
from embassay.limits import parse_json_written_by_embassay
from embassay.measures import evaluate_graded
from embassay.measures.judgements import ABSENT, UNJUDGED, Graded
from embassay.measures.sets import Companion
from embassay.protocols.rag.answers.answerer import ModelAnswer
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.sweep.collection import SweepCollection
from embassay.protocols.rag.sweep.config import LatencySettings
from embassay.protocols.rag.sweep.encoder import Vectors
from embassay.protocols.rag.sweep.parts import (
    ChunkedDatasetEvaluation,
    EncodedChunkedDataset,
    Listed,
    OpenedSweepParts,
    RankedList,
    RerankerFailed,
    list_found_positions_and_scores,
    make_candidate_postprocessing,
    take_first_of_list,
)
from embassay.protocols.rag.sweep.signals import compute_margins_of_first_over_tenth, compute_score_entropies
from embassay.protocols.rag.sweep.stacks import (
    FIRST_TOKENS,
    FIRST_WORD,
    GENERATE,
    NONE,
    WORDS,
    WRITTEN,
    MeasuredCellStacks,
    MeasuredStackArrays,
    SkippedStack,
    StackConfiguration,
)
from embassay.runs.folder import digest_json, format_value_as_json, write_file_atomically
from embassay.search import exact_search
from embassay.search.bm25 import WordSearchHit
from embassay.search.fusion import parse_fusion_rule
from embassay.search.indexes.store import AUTO, find_smallest_search_width, recall
from embassay.systems.remote.calls import run_in_remote_loop_and_wait

Floats = NDArray[np.float64]


def make_graded_lists_and_pools(
    collection: SweepCollection, lists: Sequence[Sequence[int]], pools: Sequence[Sequence[int]]
) -> Graded:
    """Grade rankings of documents (positions, each once) and the pools they are from."""
    width = max((len(ranked) for ranked in lists), default=0)
    top = np.full((len(lists), max(1, width)), ABSENT, dtype=np.int8)
    pool = np.zeros((len(lists), 5), dtype=np.int64)
    for row, (judged, ranked, candidates) in enumerate(zip(collection.grades, lists, pools, strict=True)):
        top[row, : len(ranked)] = [judged.get(place, UNJUDGED) for place in ranked]
        for place in set(candidates):
            if place in judged:
                pool[row, judged[place] - 1] += 1
    sizes = np.array([len(set(candidates)) for candidates in pools], dtype=np.int64)
    return Graded(collection.counts, top, pool, pool_sizes=sizes, names=collection.query_ids)


def measure_list_quality(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """Measure each query's value of each measure, (q,), NaN where it is undefined."""
    return evaluate_graded(list(measures), lists)


def compute_pool_ceilings(measures: Sequence[str], lists: Graded) -> dict[str, Floats]:
    """Compute what the best set from each pool reaches (PROC), by its measure; spec rag 1.6."""
    bounded = {measure: _make_name_of_ceiling_share_measure(measure) for measure in measures}
    wanted = {measure: proc for measure, proc in bounded.items() if proc}
    values = evaluate_graded(list(wanted.values()), lists)
    return {measure: values[proc] for measure, proc in wanted.items()}


def _make_name_of_ceiling_share_measure(measure: str) -> str:
    name, _, cutoff = measure.rpartition("@")
    return f"PROC(of={name!r})@{cutoff}" if name in get_args(Companion) else ""


def measure_index_recall(
    exact: Sequence[Sequence[int]], own: Sequence[Sequence[int]], cutoffs: Sequence[int]
) -> Mapping[int, float]:
    """Measure by cutoff the mean share of the exact first K that an index has in its own first K.

    >>> measure_index_recall([[1, 2]], [[2, 3]], [2])
    {2: 0.5}
    """
    return {
        k: float(np.mean([len({*a[:k]} & {*b[:k]}) / max(1, len(a[:k])) for a, b in zip(exact, own, strict=True)]))
        for k in cutoffs
    }


Do = Callable[[int], object]
"""What is timed, given a query's position."""


@dataclass(frozen=True)
class QueryLatencyRecorder:
    """A stopwatch that takes times into the files of `folder`, and reads what is there."""

    folder: Path
    latency: LatencySettings

    def alone(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """Time `do` for one query at a time, and return the name of the kept samples, in ms."""
        return self._measure_or_read_timing_samples(
            what, (self.latency.repeats, len(queries)), lambda: self._time_queries_repeatedly(queries, do)
        )

    def keep_reported_times(self, what: Mapping[str, Any], queries: Sequence[int], take: Callable[[int], float]) -> str:
        """Keep the ms that `take` says each query took, for what is timed where it is done: (1, queries)."""
        shape = 1, len(queries)
        return self._measure_or_read_timing_samples(
            what, shape, lambda: np.array([[take(query) for query in queries]], dtype=np.float64)
        )

    def together(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """Time `do` once with as many queries in flight as the config says: (1, queries)."""
        loaded = {**what, "concurrency": self.latency.concurrency}
        return self._measure_or_read_timing_samples(
            loaded, (1, len(queries)), lambda: self._time_queries_in_flight(queries, do)
        )

    def read(self, name: str) -> Floats | None:
        """Read the samples of this name, (sessions, queries) in ms; None for none, or damaged ones."""
        try:
            samples = np.array(
                parse_json_written_by_embassay(self._samples_path(name).read_text("utf-8"))["samples"], dtype=np.float64
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return samples if samples.ndim == 2 else None

    def load(self) -> tuple[float | None, int]:
        """The highest load average while any of the samples were taken, by cores, and the cores of that machine; (None,
        0) where it is not known."""
        peaks: list[tuple[float, float, int]] = []
        for path in self.folder.glob("*.json"):
            try:
                content = parse_json_written_by_embassay(path.read_text("utf-8"))
                load, cores = float(content["load"]), int(content["cores"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if load >= 0 and cores > 0:
                peaks.append((load / cores, load, cores))
        # The highest load by core; what is given is the load itself.
        return max(peaks)[1:] if peaks else (None, 0)

    def _measure_or_read_timing_samples(
        self, what: Mapping[str, Any], shape: tuple[int, int], take: Callable[[], Floats]
    ) -> str:
        name = digest_json(dict(what))
        taken = self.read(name)
        if taken is None or taken.shape != shape:
            before = _read_load_average()
            samples = take().tolist()
            load = max(before, _read_load_average())
            content = {"what": dict(what), "unit": "ms", "samples": samples, "load": load, "cores": os.cpu_count() or 1}
            write_file_atomically(self._samples_path(name), format_value_as_json(content) + "\n")
        return name

    def _time_queries_repeatedly(self, queries: Sequence[int], do: Do) -> Floats:
        samples = np.empty((self.latency.repeats, len(queries)))
        for session in range(self.latency.repeats):
            # The first calls load, compile and fill caches of the processor.
            for call in range(self.latency.warmup):
                do(queries[call % len(queries)])
            samples[session] = [_time_query_call(do, query) for query in queries]
        return samples

    def _time_queries_in_flight(self, queries: Sequence[int], do: Do) -> Floats:
        with ThreadPoolExecutor(self.latency.concurrency) as pool:
            for future in [pool.submit(do, query) for query in queries[: self.latency.warmup]]:
                future.result()
            return np.array([list(pool.map(lambda query: _time_query_call(do, query), queries))])

    def _samples_path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _read_load_average() -> float:
    """The load average of the last minute; below 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0


def _time_query_call(do: Do, query: int) -> float:
    began = perf_counter()
    do(query)
    return 1000 * (perf_counter() - began)


RECALL_AT = (10, 30)
Names = dict[str, str]
"""Of samples of time, by stage."""


class RagStackMeasurer(ABC):
    """Measures the stacks that share a way to find candidates, which is what a subclass knows; `close` when done.

    `bench` has what is searched and asked, `watch` the clock, `ef` is the search width that was found by itself.
    """

    bench: ChunkedDatasetEvaluation
    watch: QueryLatencyRecorder
    ef: int | None = None

    @property
    @abstractmethod
    def facts(self) -> IndexFacts:
        """The facts of the index that is searched."""

    @property
    @abstractmethod
    def charged_account(self) -> str:
        """Who pays for finding."""

    @property
    def recall(self) -> Mapping[int, float]:
        """Recall against exact search, by cutoff; empty where there is nothing to compare with."""
        return {}

    @abstractmethod
    def candidates(self, configuration: StackConfiguration) -> list[Listed]:
        """Find the candidates of each query, at most `one.k` each."""

    @abstractmethod
    def compute_routing_signals(self, configuration: StackConfiguration) -> dict[str, Floats]:
        """Compute what routing looks at before a reranker is asked."""

    @abstractmethod
    def time_candidate_stages(self, configuration: StackConfiguration) -> Names:
        """Time the stages until there are candidates, and name their samples."""

    @abstractmethod
    def list_timed_reranker_input(self, configuration: StackConfiguration, query: int) -> Listed:
        """What the reranker's clock is run on, for a query."""

    @abstractmethod
    def find(self, configuration: StackConfiguration, query: int) -> Listed:
        """Find the candidates of a query from its text, past all caches."""

    def close(self) -> None:  # noqa: B027 - words have nothing to release
        """Release what is searched."""

    @property
    def parts(self) -> OpenedSweepParts:
        """The parts that the sweep has opened."""
        return self.bench.parts

    def measure(
        self,
        configurations: Sequence[StackConfiguration],
        advance: Callable[[int], None],
        *,
        loaded: Callable[..., bool],
    ) -> MeasuredCellStacks:
        """Each of the configurations, which are on this index. Where a reranker fails, its own are skipped; `loaded`
        says which are also timed with several queries in flight. ModelError where the index or the encoder fails."""
        stacks, skipped = [], []
        for configuration in configurations:
            try:
                stacks.append(self._measure_stack(configuration, load=loaded(configuration)))
            except RerankerFailed as error:
                skipped.append(SkippedStack(configuration, self.bench.collection.name, error.message, failed=True))
            advance(len(self.bench.queries))
        return MeasuredCellStacks(tuple(stacks), tuple(skipped))

    def _measure_stack(self, configuration: StackConfiguration, *, load: bool) -> MeasuredStackArrays:
        candidates = self.candidates(configuration)
        ending = make_candidate_postprocessing(self.bench, configuration, cached=True)
        with self.parts.charge_model_calls_to_account(configuration.reranker):
            finals = [ending(query, *hit) for query, hit in zip(self.bench.queries, candidates, strict=True)]
        return self._make_measured_stack(
            configuration,
            candidates,
            finals,
            self._time_stack_stages(configuration),
            self._time_whole_queries_under_load(configuration) if load else "",
        )

    def _make_measured_stack(
        self,
        configuration: StackConfiguration,
        candidates: Sequence[Listed],
        finals: Sequence[RankedList],
        times: Names,
        together: str,
    ) -> MeasuredStackArrays:
        request, bench = self.parts.request, self.bench
        # A run that resumes must not tell the sessions apart; whether it was built or found is among the counts.
        facts = replace(self.facts, found=False)
        units = [
            bench.convert_passage_ranking_to_judged_units(row, final.places, final.scores)
            for row, final in enumerate(finals)
        ]
        pools = [
            bench.convert_passage_ranking_to_judged_units(row, *listed)[0] for row, listed in enumerate(candidates)
        ]
        ranked = make_graded_lists_and_pools(bench.collection, [unit for unit, _ in units], pools)
        lengths = [bench.tokens(final.candidates) for final in finals]
        per_candidate = np.concatenate(
            [row + query for row, query in zip(lengths, bench.query_token_counts, strict=True)]
        ).astype(np.float64)
        signals = self.compute_routing_signals(configuration)
        if configuration.reranker != NONE:
            signals["entropy"] = compute_score_entropies([final.raw for final in finals])
        return MeasuredStackArrays(
            configuration, measure_list_quality(request.measures, ranked),
            compute_pool_ceilings(request.measures, ranked), signals,
            (_average_or_zero(per_candidate), float(per_candidate.std(ddof=1)) if len(per_candidate) > 1 else 0.0),
            _average_or_zero(np.concatenate(lengths)), _average_or_zero(bench.query_token_counts),
            _average_or_zero([len(row) for row in lengths]),
            facts, self.recall, times, together, self.ef,
            [(bench.name_ranked_units(row, ranked), scores) for row, (ranked, scores) in enumerate(units)]
        )  # fmt: skip

    def _time_stack_stages(self, configuration: StackConfiguration) -> Names:
        """The samples of each stage that the configuration has."""
        names = {**time_query_rewriting(self.bench, self.watch), **self.time_candidate_stages(configuration)}
        timed = self.bench.collection.timed
        if configuration.reranker != NONE or configuration.deduplicate:
            done = {
                "stage": "rerank",
                **self.bench.what,
                "mode": configuration.mode,
                "k": configuration.k,
                "reranker": configuration.reranker,
                "deduplicate": configuration.deduplicate,
                "boost": configuration.boost,
            }
            with self.parts.charge_model_calls_to_account(configuration.reranker):
                names["rerank"] = self.watch.alone(done, timed, self._make_reranking_for_timing(configuration))
        return {**names, **self._measure_generator_time_samples(configuration)}

    def _make_reranking_for_timing(self, configuration: StackConfiguration) -> Callable[[int], Any]:
        """The end of a stack on what exact search finds at full dimensions, with the encoder that comes first: another
        index or encoder changes which texts are scored, not how many."""
        bench, ending = self.bench, make_candidate_postprocessing(self.bench, configuration, cached=False)
        listed = {query: self.list_timed_reranker_input(configuration, query) for query in bench.collection.timed}
        return lambda query: ending(bench.queries[query], *listed[query])

    def _measure_generator_time_samples(self, configuration: StackConfiguration) -> Names:
        """The samples of a generator that is timed: one answer for each timed query, its tokens, and one word from the
        same passages, which are those that the first stack finds; which stack it is changes the texts, not how many."""
        named = self.parts.request.generator
        if named is None or not named.model:
            return {}
        bench, answerer = self.bench, self.parts.open_answerer(named)

        def ask_with_passages(
            ask: Callable[[Question, Sequence[str]], Coroutine[Any, Any, ModelAnswer]], query: int
        ) -> ModelAnswer:
            places = self.list_timed_reranker_input(configuration, query)[0][: named.passages]
            texts = [bench.passages.texts[place] for place in places]
            return run_in_remote_loop_and_wait(lambda: ask(bench.question(query), texts))

        taken: Mapping[str, Callable[[int], float]] = {
            GENERATE: lambda query: 1000 * ask_with_passages(answerer.answer, query).seconds,
            WRITTEN: lambda query: ask_with_passages(answerer.answer, query).tokens,
            FIRST_WORD: lambda query: 1000 * ask_with_passages(answerer.answer_with_one_word, query).seconds,
            FIRST_TOKENS: lambda query: ask_with_passages(answerer.answer_with_one_word, query).tokens,
        }
        with self.parts.charge_model_calls_to_account(named.model):
            return {
                stage: self.watch.keep_reported_times(
                    {"stage": stage, **bench.what, "generator": asdict(named)}, bench.collection.timed, take
                )
                for stage, take in taken.items()
            }

    def _time_whole_queries_under_load(self, configuration: StackConfiguration) -> str:
        """Time whole queries with several in flight."""
        texts, ending = (self.bench.queries, make_candidate_postprocessing(self.bench, configuration, cached=False))
        # One account for both: threads that each name their own would mix them up.
        with self.parts.charge_model_calls_to_account(
            self.charged_account if configuration.reranker == NONE else configuration.reranker
        ):
            return self.watch.together(
                {"stage": "total", **self.bench.what, "configuration": configuration.id},
                self.bench.collection.timed,
                lambda query: ending(texts[query], *self.find(configuration, query)),
            )


def time_query_rewriting(bench: ChunkedDatasetEvaluation, watch: QueryLatencyRecorder) -> Names:
    """The samples of putting a query in the words of a search. Rules are run again for the clock; of a language model
    it is the time of the calls that brought the rewriting, taken when they were made, so that none is paid twice."""
    if bench.rewrite == NONE:
        return {}
    rewriter, timed = bench.parts.open_rewriter(bench.rewrite), bench.collection.timed
    what = {"stage": "rewrite", **bench.what}
    seconds = getattr(rewriter, "seconds", None)
    if seconds is None:
        return {
            "rewrite": watch.alone(
                what, timed, lambda query: run_in_remote_loop_and_wait(lambda: rewriter.rewrite(bench.question(query)))
            )
        }

    def get_recorded_rewriting_milliseconds(query: int) -> float:
        return 1000 * float(run_in_remote_loop_and_wait(lambda: seconds(bench.question(query))))

    with bench.parts.charge_model_calls_to_account(bench.rewrite):
        return {"rewrite": watch.keep_reported_times(what, timed, get_recorded_rewriting_milliseconds)}


@dataclass
class EncodedVectorIndexMeasurement(RagStackMeasurer):
    """An encoder's vectors of a bench, so many dimensions of them, in an index."""

    encoded: EncodedChunkedDataset
    dims: int | None
    index: Index
    watch: QueryLatencyRecorder
    documents: Vectors
    queries: Vectors
    ef: int | None = None
    _answers: dict[int, RankedCandidates] = field(default_factory=dict)
    _fused: dict[str, list[Listed]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, encoded: EncodedChunkedDataset, dims: int | None, index: str, watch: QueryLatencyRecorder, kept: Path
    ) -> EncodedVectorIndexMeasurement:
        """Build the index, or find it built under `kept`. UsageError where it takes no such vectors, ModelError where
        it cannot be had."""
        documents, queries = encoded.cut_vectors_to_dims(dims)
        bench = cls(encoded, dims, encoded.encoder.index(index, documents, kept), watch, documents, queries)
        if getattr(bench.index, "ef", None) == AUTO:
            bench._tune_search_width()
        return bench

    def _tune_search_width(self) -> None:
        """Set the smallest search width within 1% of exact recall, found on half of the queries, drawn by seed."""
        bench, deepest = self.bench, min(max(RECALL_AT), len(self.documents))
        rows = draw(bench.collection.query_ids, max(1, len(self.queries) // 2), self.parts.request.seed)
        exact = exact_search(self.queries[rows], self.documents, deepest)

        def measure_recall_at_width(ef: int) -> Mapping[str, float]:
            self.index.set_search_width(ef)  # type: ignore[attr-defined]
            ranked = self.index.search(self.queries[rows], deepest)
            return {str(k): recall(ranked, exact, min(k, deepest)) for k in RECALL_AT}

        self.ef = find_smallest_search_width(measure_recall_at_width, most=len(self.documents))
        self.index.set_search_width(self.ef)  # type: ignore[attr-defined]

    @property
    def bench(self) -> ChunkedDatasetEvaluation:  # type: ignore[override]
        """The dataset's bench that is searched and asked."""
        return self.encoded.bench

    @property
    def facts(self) -> IndexFacts:
        """The facts of the vector index."""
        return self.index.facts

    @property
    def charged_account(self) -> str:
        """The encoder's."""
        return self.encoded.encoder.name

    def answers(self, depth: int) -> list[Listed]:
        """Find what the index has for each query at this depth."""
        if depth not in self._answers:
            deep = min(depth + self.bench.extra_search_depth, len(self.documents))
            self._answers[depth] = self.index.search(self.queries, deep)
        return [
            self.bench.list_first_ranked_passages(self._answers[depth], row, depth) for row in range(len(self.queries))
        ]

    @cached_property
    def recall(self) -> dict[int, float]:
        """Recall of the index against exact search, by cutoff."""
        deepest = max(RECALL_AT)
        exact = self.encoded.exact(self.dims, deepest)
        return dict(measure_index_recall(exact, [places for places, _ in self.answers(deepest)], RECALL_AT))

    def close(self) -> None:
        """Release the index."""
        self.index.close()

    def candidates(self, configuration: StackConfiguration) -> list[Listed]:
        """Find the index's answers, or those and what words find as one list."""
        dense = self.answers(self._choose_search_depth(configuration))
        if configuration.mode == "dense":
            return dense
        if configuration.fusion not in self._fused:
            rule = parse_fusion_rule(configuration.fusion)
            self._fused[configuration.fusion] = [
                self.bench.words.fuse_dense_and_word_lists(listed, hits, rule)
                for listed, hits in zip(dense, self.bench.word_hits_by_query, strict=True)
            ]
        return [take_first_of_list(listed, configuration.k) for listed in self._fused[configuration.fusion]]

    def compute_routing_signals(self, configuration: StackConfiguration) -> dict[str, Floats]:
        """Compute the margin of the index's scores, the effect of noise, and how queries hang on a name."""
        dense = [scores for _, scores in self.answers(self._choose_search_depth(configuration))]
        return {
            "margin": compute_margins_of_first_over_tenth(dense),
            "noise": self.encoded.noise,
            **self.encoded.make_name_margin_change_signal,
        }

    def time_candidate_stages(self, configuration: StackConfiguration) -> Names:
        """Time embedding, retrieval, and search by words with fusion."""
        bench, watch, timed, rows = self.bench, self.watch, self.bench.collection.timed, self.queries
        depth = self._choose_search_depth(configuration)
        encoder = {**bench.what, "encoder": self.charged_account}
        with self.parts.charge_model_calls_to_account(self.charged_account):
            embed = watch.alone({"stage": "embed", **encoder}, timed, self._encode_query_afresh)
        names = {
            "embed": embed,
            "retrieve": watch.alone(
                {"stage": "retrieve", **encoder, "dims": self.dims, "index": configuration.index, "depth": depth},
                timed,
                lambda query: self.index.search(rows[query : query + 1], min(depth, len(bench.passages))),
            ),
        }
        if configuration.mode == "hybrid":
            names["fuse"] = watch.alone({"stage": "fuse", **bench.what}, timed, self._make_query_fusion_to_time())
        return names

    def list_timed_reranker_input(self, configuration: StackConfiguration, query: int) -> Listed:
        """What exact search finds at full dimensions; as its texts are only timed, fused by rank."""
        places = self.encoded.exact(None, self._choose_search_depth(configuration))[query]
        exact = places, (0.0,) * len(places)
        if configuration.mode == "hybrid":
            return take_first_of_list(
                self.bench.words.fuse_dense_and_word_lists(exact, self.bench.word_hits_by_query[query]), configuration.k
            )
        return exact

    def find(self, configuration: StackConfiguration, query: int) -> Listed:
        """Find a query's candidates: embed, search and fuse."""
        words, depth = (self.bench.words, min(self._choose_search_depth(configuration), len(self.bench.passages)))
        listed = list_found_positions_and_scores(self.index.search(self._encode_query_afresh(query), depth), 0)
        if configuration.mode == "hybrid":
            rule = parse_fusion_rule(configuration.fusion)
            return take_first_of_list(
                words.fuse_dense_and_word_lists(listed, words.find_bm25_hits(self.bench.queries[query]), rule),
                configuration.k,
            )
        return listed

    def _choose_search_depth(self, configuration: StackConfiguration) -> int:
        """Choose how many passages the index is asked for."""
        return configuration.k if configuration.mode == "dense" else self.parts.request.depth

    def _encode_query_afresh(self, query: int) -> Vectors:
        """Encode a query afresh, really."""
        encoder = self.encoded.encoder
        return self.encoded.fit_query_to_index(encoder.encode_query_without_cache(self.bench.queries[query]), self.dims)

    def _make_query_fusion_to_time(self) -> Callable[[int], Any]:
        words, queries = self.bench.words, self.bench.queries
        exact = self.encoded.exact(None, self.parts.request.depth)
        listed = [(places, (0.0,) * len(places)) for places in exact]
        return lambda query: words.fuse_dense_and_word_lists(listed[query], words.find_bm25_hits(queries[query]))


@dataclass
class WordSearchMeasurer(RagStackMeasurer):
    """Search by words alone on a bench: the baseline that every encoder has to beat."""

    bench: ChunkedDatasetEvaluation
    watch: QueryLatencyRecorder
    charged_account = WORDS

    @property
    def facts(self) -> IndexFacts:
        """The facts of the word index: passages; words have no dimensions."""
        return IndexFacts(len(self.bench.passages), 0, self.bench.words.seconds, None, None)

    def candidates(self, configuration: StackConfiguration) -> list[Listed]:
        """Find the best passages by BM25 for each query."""
        return [
            self._convert_hits_to_places_and_scores(hits)
            for hits in self.bench.find_word_hits_to_depth(configuration.k)
        ]

    def compute_routing_signals(self, configuration: StackConfiguration) -> dict[str, Floats]:
        """Compute the margin of BM25's scores."""
        return {"margin": compute_margins_of_first_over_tenth([scores for _, scores in self.candidates(configuration)])}

    def time_candidate_stages(self, configuration: StackConfiguration) -> Names:
        """Time the search by words."""
        words, texts = self.bench.words.index, self.bench.queries
        what = {"stage": "retrieve", **self.bench.what, "index": WORDS, "depth": configuration.k}
        return {
            "retrieve": self.watch.alone(
                what, self.bench.collection.timed, lambda query: words.search(texts[query], configuration.k)
            )
        }

    def list_timed_reranker_input(self, configuration: StackConfiguration, query: int) -> Listed:
        """What words find."""
        return self._convert_hits_to_places_and_scores(self.bench.find_word_hits_to_depth(configuration.k)[query])

    def find(self, configuration: StackConfiguration, query: int) -> Listed:
        """Find a query's candidates by words."""
        return self._convert_hits_to_places_and_scores(
            self.bench.words.index.search(self.bench.queries[query], configuration.k)
        )

    def _convert_hits_to_places_and_scores(self, hits: Sequence[WordSearchHit]) -> Listed:
        place = self.bench.words.index.place
        return tuple(place(hit.id) for hit in hits), tuple(hit.score for hit in hits)


def _average_or_zero(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def list_configurations_as_skipped(
    configurations: Sequence[StackConfiguration], dataset: str, reason: str, *, failed: bool
) -> Iterator[SkippedStack]:
    """Skip all configurations, for one reason."""
    return (SkippedStack(configuration, dataset, reason, failed) for configuration in configurations)
