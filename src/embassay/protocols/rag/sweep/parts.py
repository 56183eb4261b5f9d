"""What a sweep opens: encoders behind the cache of vectors, rerankers behind that of pairs; and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts, RankedCandidates, Reranker, Role, Tokenizer
from embassay.errors import EmbassayError, ModelError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.answers.answerer import CachedAnswererAndAnswerGrader, open_answerer
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.probes.bundles import AuthorName
from embassay.protocols.rag.probes.options import Lang
from embassay.protocols.rag.rewriters import REWRITERS, QuestionRewriter, open_rewriter
from embassay.protocols.rag.sweep.collection import (
    PassagesToIndex,
    SweepCollection,
    count_tokens,
    cut_collection_into_passages,
)
from embassay.protocols.rag.sweep.config import GeneratorSettings, SweepRequest
from embassay.protocols.rag.sweep.contexts import ChunkContextWriter, open_chunk_situator, situate_all_chunks
from embassay.protocols.rag.sweep.encoder import SweepEncoder, Vectors, add_price_to_spec
from embassay.protocols.rag.sweep.evidence import convert_passages_to_evidence_spans, name_ranked_units
from embassay.protocols.rag.sweep.signals import (
    measure_cosines_after_adding_small_talk,
    measure_name_margin_changes,
    read_author_names_by_query,
)
from embassay.protocols.rag.sweep.stacks import NONE, ComputeCounts, StackConfiguration
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.store import CachedReranker, RerankScoreCache
from embassay.search.bm25 import BM25Index, WordSearchHit
from embassay.search.fusion import (
    FusionRule,
    ScoredList,
    add_bm25_boost_to_scores,
    find_distinct_text_positions,
    fuse_two_ranked_lists,
)
from embassay.systems import add_dims_to_spec
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.own import InnerProductLayout
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import run_in_remote_loop_and_wait
from embassay.systems.rerankers import RERANKERS, open_reranker
from embassay.text import open_tokenizer
from embassay.text.splitters import DocumentChunk, DocumentSplitSettings, parse_document_splitting


@dataclass
class OpenedSweepParts:
    """All that a sweep has opened so far. What could not be opened is not tried again: its ModelError comes back."""

    request: SweepRequest
    ledger: Ledger
    listener: SilentListener = field(default_factory=SilentListener)
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that counts the tokens of candidates and chunks."""
        return open_tokenizer(self.request.tokenizer)

    def encoder(self, name: str, dims: int | None = None) -> SweepEncoder:
        """The encoder of this name, by its own parameter for vectors of `dims` where it has one. UsageError for a spec
        that is none, ModelError for one that cannot be had."""
        make = partial(SweepEncoder, name, dims, self.request, self.ledger, self.listener.advanced_by)
        sweep_encoder: SweepEncoder = self._open_part_once("encoder", add_dims_to_spec(name, dims), make)
        return sweep_encoder

    def reranker(self, name: str) -> CachedReranker:
        """Find or open the reranker behind the pair cache; its `reranker` scores afresh."""
        cached_reranker: CachedReranker = self._open_part_once(
            "reranker", name, partial(self._open_cached_reranker, name)
        )
        return cached_reranker

    def open_rewriter(self, name: str) -> QuestionRewriter:
        """Open the rewriter of queries."""
        text = self.request.resolve_path_in_spec_target(name, REWRITERS)
        rewriter: QuestionRewriter = self._open_part_once(
            "rewriter", name, partial(open_rewriter, text, ledger=self.ledger, seed=self.request.seed)
        )
        return rewriter

    def rewrite_queries(self, name: str, ids: Sequence[str], queries: Sequence[str]) -> tuple[str, ...]:
        """Rewrite queries in the words of a search; ModelError where one could not be rewritten."""
        if name == NONE:
            return tuple(queries)
        rewriter = self.open_rewriter(name)
        texts = [""] * len(queries)
        jobs = [partial(rewriter.rewrite, Question(*pair)) for pair in zip(ids, queries, strict=True)]
        self.listener.stage(f"rewriting by {name}", len(jobs), "queries")

        async def rewrite_all_queries() -> None:
            async for position, outcome in run_concurrent_jobs(jobs, progress=self.listener.advanced_by):
                if isinstance(outcome, CallFailure):
                    raise ModelError(f"{name} did not rewrite query {ids[position]!r}: {outcome.reason}")
                texts[position] = outcome

        with self.charge_model_calls_to_account(name):
            run_in_remote_loop_and_wait(rewrite_all_queries)
        return tuple(texts)

    def open_chunk_context_writer(self, name: str) -> ChunkContextWriter:
        """Who says what chunks are about."""
        make = partial(open_chunk_situator, name, ledger=self.ledger, seed=self.request.seed)
        situator: ChunkContextWriter = self._open_part_once("situator", name, make)
        return situator

    def add_contexts_to_chunks(
        self, name: str, titles: Sequence[str], texts: Sequence[str], cut: Sequence[Sequence[DocumentChunk]]
    ) -> list[list[DocumentChunk]]:
        """Each document's pieces after what the model says of them. ModelError where it says nothing of one."""
        situator = self.open_chunk_context_writer(name)
        self.listener.stage(f"contexts by {name}", sum(map(len, cut)), "chunks")
        with self.charge_model_calls_to_account(name):
            return situate_all_chunks(situator, titles, texts, cut, advance=self.listener.advanced_by)

    @cached_property
    def names(self) -> Mapping[str, tuple[AuthorName, str]]:
        """The name of whose author is in which query, by the sweep's file."""
        names = self.request.names
        return {} if names is None else read_author_names_by_query(Path(self.request.path(names.file)))

    def open_answerer(self, said: GeneratorSettings) -> CachedAnswererAndAnswerGrader:
        """Open the generator whose time is taken; what it answered before is not asked again."""
        make = partial(
            open_answerer, said.model, ledger=self.ledger, seed=self.request.seed, longest=said.output_tokens
        )
        answerer: CachedAnswererAndAnswerGrader = self._open_part_once("generator", said.model, make)
        return answerer

    @contextmanager
    def charge_model_calls_to_account(self, account: str) -> Iterator[None]:
        """Charge calls to the account."""
        with opening.charge_calls_to_account(self.ledger, account):
            yield

    def give_up_part(self, kind: str, name: str, error: ModelError) -> None:
        """Do not ask this part again in this session: its error comes back at once."""
        self._made[kind, name] = error

    def check(self, kind: str, name: str) -> None:
        """Check that this part was not given up; else ModelError."""
        part = self._made.get((kind, name))
        if isinstance(part, EmbassayError):
            raise part

    def counts(self, kind: str) -> tuple[int, int]:
        """Count texts or pairs that all encoders, or rerankers, have computed, and that the cache had."""
        made = [one for (own, _), one in self._made.items() if own == kind and not isinstance(one, Exception)]
        if kind == "encoder":
            return sum(one.counts[0] for one in made), sum(one.counts[1] for one in made)
        return sum(one.counts.computed for one in made), sum(one.counts.found for one in made)

    def close(self) -> None:
        """Release what holds connections."""
        for part in self._made.values():
            getattr(part, "close", lambda: None)()

    def _open_cached_reranker(self, name: str) -> CachedReranker:
        text = add_price_to_spec(
            self.request.resolve_path_in_spec_target(name, RERANKERS), RERANKERS, self.request.prices.rerank.get(name)
        )
        reranker: Reranker = open_reranker(text, ledger=self.ledger, tokenizer=self.tokenizer, seed=self.request.seed)
        return CachedReranker(reranker, self._rerank_score_cache)

    @cached_property
    def _rerank_score_cache(self) -> RerankScoreCache:
        return RerankScoreCache.open()

    def _open_part_once(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        key = kind, name
        if key not in self._made:
            try:
                self._made[key] = make()
            except ModelError as error:
                # A failure is kept too: what failed once is not tried for every cell.
                self._made[key] = error
        part = self._made[key]
        if isinstance(part, EmbassayError):
            raise part
        return part


class ComputedAndCachedCounter:
    """A counter of what was computed and what was found, since the last time that it was asked."""

    def __init__(self, parts: OpenedSweepParts) -> None:
        self.parts = parts
        self._before = self._read_encoder_and_reranker_counts()
        self._built = [0, 0]

    def index(self, facts: IndexFacts) -> None:
        """Count an index that was opened, if it is one that takes building."""
        # Flat search builds nothing, and would be counted as built.
        if facts.build_seconds > 0 or facts.found:
            self._built[facts.found] += 1

    def take_new_counts(self) -> dict[str, int]:
        """Take the counts of `ComputeCounts` since the last time, by name."""
        now, built = self._read_encoder_and_reranker_counts(), self._built
        counts = ComputeCounts(*(a - b for a, b in zip(now, self._before, strict=True)), *built)
        self._before, self._built = now, [0, 0]
        return asdict(counts)

    def _read_encoder_and_reranker_counts(self) -> tuple[int, int, int, int]:
        encoded, reranked = self.parts.counts("encoder"), self.parts.counts("reranker")
        return (*encoded, *reranked)


Floats = NDArray[np.float64]
MOST_LOST = 0.05
"""The share of passages without a vector from which an encoder has failed."""


@dataclass
class ChunkedDatasetEvaluation:
    """A bench of a dataset cut in one way and asked in one way."""

    parts: OpenedSweepParts
    collection: SweepCollection
    chunk: str
    rewrite: str
    _lengths: dict[int, int] = field(default_factory=dict)
    _hits: dict[int, list[list[WordSearchHit]]] = field(default_factory=dict)

    @cached_property
    def passages(self) -> PassagesToIndex:
        """The passages that are indexed; ModelError where a language model says nothing of a chunk."""
        situate = (
            partial(self.parts.add_contexts_to_chunks, self.document_split_settings.model)
            if self.document_split_settings
            else None
        )
        return cut_collection_into_passages(self.collection, self.chunk, self.parts.tokenizer, situate)

    @property
    def document_split_settings(self) -> DocumentSplitSettings | None:
        """How documents are cut; None for whole ones."""
        return parse_document_splitting(self.chunk)

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """The queries that are searched for and that the reranker is asked."""
        return self.parts.rewrite_queries(self.rewrite, self.collection.query_ids, self.collection.queries)

    def rewrite_queries_situate_chunks(self) -> None:
        """Have the queries rewritten and the chunks situated now. ModelError where one cannot be."""
        assert self.queries
        if self.document_split_settings and self.document_split_settings.model:
            assert len(self.passages)

    def convert_passage_ranking_to_judged_units(
        self, row: int, places: Sequence[int], scores: Sequence[float]
    ) -> Listed:
        """A query's ranking of passages as one of what is judged: documents, each where its best passage stands, or
        pieces of evidence; with scores."""
        collection = self.collection
        if collection.evidence:
            return convert_passages_to_evidence_spans(
                places, scores, self.passages, collection.evidence[row], collection.share
            )
        best: dict[int, float] = {}
        for document, score in zip(self.passages.documents[list(places)].tolist(), scores, strict=True):
            # Places stand best first, so the first of a document is its best passage.
            best.setdefault(document, score)
        return tuple(best), tuple(best.values())

    def name_ranked_units(self, row: int, units: Sequence[int]) -> list[str]:
        """Name what is in a ranking of judged units."""
        if self.collection.evidence:
            return name_ranked_units(units, self.passages, self.collection.evidence[row])
        return [self.collection.ids[unit] for unit in units]

    @cached_property
    def words(self) -> WordSearch:
        """The search by words, for the queries of the bench."""
        request = self.parts.request
        return WordSearch.of(self.passages, request.depth, request.rrf_c, queries=self.queries)

    def question(self, row: int) -> Question:
        """Make the question of a query as it was asked."""
        return Question(self.collection.query_ids[row], self.collection.queries[row])

    @property
    def word_hits_by_query(self) -> list[list[WordSearchHit]]:
        """What words find for each query, to the depth of the hybrid."""
        return self.find_word_hits_to_depth(self.words.depth)

    def find_word_hits_to_depth(self, depth: int) -> list[list[WordSearchHit]]:
        """Find the hits of words for each query, at most so many."""
        if depth not in self._hits:
            index = self.words.index
            hits_of = [index.search(query, depth + self.extra_search_depth) for query in self.queries]
            self._hits[depth] = [
                [hit for hit in hits if index.place(hit.id) not in own][:depth]
                for hits, own in zip(hits_of, self.own_passages_by_query, strict=True)
            ]
        return self._hits[depth]

    @cached_property
    def own_passages_by_query(self) -> list[frozenset[int]]:
        """The passages of each query's own document, which its ranking is told to leave out."""
        if not self.collection.own:
            return [frozenset()] * len(self.queries)
        of: dict[int, list[int]] = {}
        for place, document in enumerate(self.passages.documents.tolist()):
            of.setdefault(document, []).append(place)
        return [frozenset() if doc is None else frozenset(of[doc]) for doc in self.collection.own]

    @property
    def extra_search_depth(self) -> int:
        """The extra depth to search, so that as many are left."""
        return max(map(len, self.own_passages_by_query), default=0)

    def list_first_ranked_passages(self, ranked: RankedCandidates, row: int, depth: int) -> Listed:
        """List the first `depth` that an index found for a query, without its own passages."""
        places, scores = list_found_positions_and_scores(ranked, row)
        if not (own := self.own_passages_by_query[row]):
            return places[:depth], scores[:depth]
        left = [i for i, place in enumerate(places) if place not in own][:depth]
        return tuple(places[i] for i in left), tuple(scores[i] for i in left)

    @cached_property
    def query_token_counts(self) -> NDArray[np.int64]:
        """The tokens of each query, (q,)."""
        return count_tokens(self.parts.tokenizer, self.queries)

    def tokens(self, places: Sequence[int]) -> NDArray[np.int64]:
        """Count the tokens of these passages, each counted once, (n,)."""
        new = [place for place in dict.fromkeys(places) if place not in self._lengths]
        counted = count_tokens(self.parts.tokenizer, [self.passages.texts[place] for place in new])
        self._lengths |= dict(zip(new, counted.tolist(), strict=True))
        return np.array([self._lengths[place] for place in places], dtype=np.int64)

    @property
    def list_names_of_parts_in_memory(self) -> tuple[str, ...]:
        """The large parts that are in memory already."""
        return tuple(name for name in ("passages", "words") if name in vars(self))

    @property
    def what(self) -> dict[str, str]:
        """The facts of the bench that name its timings."""
        return {"dataset": self.collection.name, "chunk": self.chunk, "rewrite": self.rewrite}


@dataclass
class EncodedChunkedDataset:
    """A bench encoded in an encoder's vectors, as they are; one at a time is in memory."""

    bench: ChunkedDatasetEvaluation
    encoder: SweepEncoder
    documents: Vectors
    queries: Vectors
    warnings: tuple[str, ...] = ()
    _exact: dict[tuple[int | None, int], list[Places]] = field(default_factory=dict)
    _layouts: dict[int | None, InnerProductLayout] = field(default_factory=dict)

    @classmethod
    def of(cls, bench: ChunkedDatasetEvaluation, encoder: SweepEncoder) -> EncodedChunkedDataset:
        """Encode, or find encoded, passages and queries; ModelError when the encoder fails."""
        passages, listener = bench.passages.texts, bench.parts.listener
        texts = len(set(passages)) + len(set(bench.queries))
        listener.stage(f"vectors by {encoder.name} of {bench.collection.name}", texts)
        with bench.parts.charge_model_calls_to_account(encoder.name):
            if bench.document_split_settings and bench.document_split_settings.is_late_chunking:
                documents = encoder.embed_late_chunks(bench.passages, bench.collection.texts)
            else:
                documents = encoder.vectors(passages, "document")
            queries = encoder.vectors(bench.queries, "query")
        lost, unasked = encoder.lost(documents), encoder.lost(queries)
        if len(lost) > MOST_LOST * len(documents):
            raise ModelError(f"{encoder.name} could not encode {len(lost):,} of {len(documents):,} passages.")
        if len(unasked):
            raise ModelError(f"{encoder.name} could not encode {len(unasked)} queries.")
        if nothing := encoder.reason_vectors_are_useless:
            raise ModelError(f"{encoder.name} cannot distinguish texts: {nothing}.")
        examples = ", ".join(bench.passages.ids[place] for place in lost[:3])
        warning = (
            f"passages that {encoder.name} could not encode, so only BM25 can find them: {len(lost):,} ({examples})",
        )
        return cls(
            bench, encoder, documents, queries, (*(warning if len(lost) else ()), *encoder.list_vector_oddities())
        )

    def cut_vectors_to_dims(self, dims: int | None) -> tuple[Vectors, Vectors]:
        """Passages and queries with so many dimensions, as an index takes them; many vectors of a text stay as they
        are."""
        if self.encoder.has_many_vectors_per_text:
            return self.documents, self.queries
        layout = self.layout(dims)
        return layout.make_inner_product_document_vectors(self.documents[:, :dims]), layout.queries(
            self.queries[:, :dims]
        )

    def layout(self, dims: int | None) -> InnerProductLayout:
        """How vectors are laid out so that an inner product compares them as their model was made for."""
        if dims not in self._layouts:
            self._layouts[dims] = InnerProductLayout.of(self.encoder.by, self.documents[:, :dims])
        return self._layouts[dims]

    def fit_query_to_index(self, query: Vectors, dims: int | None) -> Vectors:
        """Fit a query that was encoded afresh to what the index takes."""
        return query if self.encoder.has_many_vectors_per_text else self.layout(dims).queries(query[:, :dims])

    def exact(self, dims: int | None, depth: int) -> list[Places]:
        """Find the nearest passages of each query by exact search."""
        if (dims, depth) not in self._exact:
            documents, queries = self.cut_vectors_to_dims(dims)
            # Deeper by what a query's own document may take away again.
            deep = min(depth + self.bench.extra_search_depth, len(documents))
            ranked = self.encoder.search_passages_exactly(queries, documents, deep)
            self._exact[dims, depth] = [
                self.bench.list_first_ranked_passages(ranked, row, depth)[0] for row in range(len(queries))
            ]
        return self._exact[dims, depth]

    @cached_property
    def noise(self) -> Floats:
        """Cosine of each query with itself in much small talk, (q,); see
        `signals.measure_cosines_after_adding_small_talk`. NaN for an encoder that gives many vectors."""
        if self.encoder.has_many_vectors_per_text:
            return np.full(len(self.queries), np.nan)
        collection, seed = self.bench.collection, self.bench.parts.request.seed
        return measure_cosines_after_adding_small_talk(
            collection.query_ids,
            self.bench.queries,
            scale_rows_to_unit_length(self.queries),
            collection.lang,
            seed,
            self._embed_texts,
        )

    @cached_property
    def make_name_margin_change_signal(self) -> dict[str, Floats]:
        """How an ablation changes each query's name margin, where the sweep has a file of names."""
        names, collection = self.bench.parts.request.names, self.bench.collection
        if names is None or self.encoder.has_many_vectors_per_text:
            return {}
        queries = dict(zip(collection.query_ids, self.bench.queries, strict=True))
        lang: Lang = "fr" if collection.lang[:2] == "fr" else "en"
        seed = self.bench.parts.request.seed
        return {
            "name": measure_name_margin_changes(
                self.bench.parts.names, queries, names.condition, seed, self._embed_texts, lang
            )
        }

    def _embed_texts(self, texts: Sequence[str], role: Role) -> Vectors:
        name, parts = self.bench.collection.name, self.bench.parts
        parts.listener.stage(f"vectors by {self.encoder.name} of changed queries of {name}", len(set(texts)))
        with parts.charge_model_calls_to_account(self.encoder.name):
            return scale_rows_to_unit_length(self.encoder.vectors(list(texts), role))


Places = tuple[int, ...]
Listed = tuple[Places, tuple[float, ...]]
"""Passages by position, best first, and their scores."""
Score = Callable[[str, Sequence[str]], NDArray[np.float32]]
"""A reranker's way of scoring: query and texts to one score each."""


@dataclass(frozen=True)
class RankedList:
    """A query's list: passages by position, best first, and their scores; `raw` are the reranker's scores in the order
    of the candidates, None without one; `candidates` are what it was given."""

    places: Places
    scores: tuple[float, ...]
    candidates: Places
    raw: Floats | None = None


LEAST_COSINE = -1.0
PLAIN = FusionRule()


@dataclass(frozen=True)
class WordSearch:
    """A search by words in the passages."""

    passages: PassagesToIndex
    index: BM25Index
    depth: int
    c: float
    seconds: float = 0.0
    """That making the index took."""

    @classmethod
    def of(cls, passages: PassagesToIndex, depth: int, c: float, *, queries: Sequence[str] | None = None) -> WordSearch:
        """Make the word search of the passages, for these queries alone where they are given."""
        began = perf_counter()
        index = BM25Index.of(passages.ids, passages.texts, asked=queries)
        return cls(passages, index, depth, c, perf_counter() - began)

    def find_bm25_hits(self, query: str) -> list[WordSearchHit]:
        """Find the best passages by BM25, to the depth of the hybrid."""
        return self.index.search(query, self.depth)

    def fuse_dense_and_word_lists(
        self, dense: Listed, hits: Sequence[WordSearchHit], rule: FusionRule = PLAIN
    ) -> Listed:
        """Both lists as one; by reciprocal rank fusion in spec rag 3.4."""
        ids = self.passages.ids
        vectors = ScoredList([ids[place] for place in dense[0]], dense[1], LEAST_COSINE)
        words = ScoredList([hit.id for hit in hits], [hit.score for hit in hits], 0.0)
        union = fuse_two_ranked_lists(vectors, words, rule, self.c)
        return tuple(self.index.place(hit.id) for hit in union), tuple(hit.score for hit in union)

    def scores(self, query: str, places: Sequence[int]) -> Floats:
        """Compute the BM25 score of these passages, 0 for those sharing no word with the query, (n,)."""
        return self.index.scores(query, [self.passages.ids[place] for place in places])


def list_found_positions_and_scores(ranked: RankedCandidates, row: int) -> Listed:
    """List the positions and scores of what an index found for a query."""
    is_there = ranked.indices[row] >= 0
    return tuple(ranked.indices[row][is_there].tolist()), tuple(ranked.scores[row][is_there].tolist())


@dataclass(frozen=True)
class CandidatePostprocessing:
    """What is done with a query's candidates. `deduplicate` 0 removes none, `boost` 0 adds nothing."""

    passages: PassagesToIndex
    words: WordSearch | None
    score: Score | None
    deduplicate: float = 0.0
    boost: float = 0.0

    def __call__(self, query: str, places: Places, scores: tuple[float, ...]) -> RankedList:
        """The final list; equal scores keep the order in which the candidates were found."""
        texts = [self.passages.texts[place] for place in places]
        if self.deduplicate:
            distinct_ = find_distinct_text_positions(texts, self.deduplicate).kept
            places, scores = tuple(places[i] for i in distinct_), tuple(scores[i] for i in distinct_)
            texts = [texts[i] for i in distinct_]
        if self.score is None or not places:
            return RankedList(places, scores, places)
        raw = np.asarray(self.score(query, texts), dtype=np.float64)
        final = raw
        if self.boost:
            assert self.words is not None
            final = add_bm25_boost_to_scores(raw, self.words.scores(query, places), self.boost)
        order = np.argsort(-final, kind="stable")
        return RankedList(tuple(places[i] for i in order), tuple(final[order].tolist()), places, raw)


class RerankerFailed(Exception):
    """The error that a reranker could not be had, or did not score."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _make_reranker_scorer(parts: OpenedSweepParts, name: str, *, cached: bool) -> Score:
    """Make the function of a reranker's scores, cached or afresh; one that fails is not asked again."""
    try:
        reranker = parts.reranker(name)
    except ModelError as error:
        raise RerankerFailed(error.message) from error
    ask = reranker.score if cached else reranker.reranker.score

    def score(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return ask(query, texts)
        except ModelError as error:
            parts.give_up_part("reranker", name, error)
            raise RerankerFailed(error.message) from error

    return score


def make_candidate_postprocessing(
    bench: ChunkedDatasetEvaluation, configuration: StackConfiguration, *, cached: bool
) -> CandidatePostprocessing:
    """What is done with candidates; `cached` scores come from the cache where it has them. Here and in its calls,
    RerankerFailed for a reranker that fails."""
    score = (
        None
        if configuration.reranker == NONE
        else _make_reranker_scorer(bench.parts, configuration.reranker, cached=cached)
    )
    words = bench.words if configuration.boost else None
    return CandidatePostprocessing(bench.passages, words, score, configuration.deduplicate, configuration.boost)


def take_first_of_list(listed: Listed, k: int) -> Listed:
    """Take the first `k` of a list."""
    return listed[0][:k], listed[1][:k]
