"""What a sweep takes before it begins: texts, calls, pairs, money, time and memory; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from embassay.contracts import Similarity, Tokenizer
from embassay.errors import EmbassayError
from embassay.protocols.kernel.forecast import (
    TaskCostForecaster,
    TaskWorkloadForForecast,
    choose_largest_footprint,
    count_vector_dimensions,
    estimate_reading_bytes,
    estimate_text_memory_bytes,
    sample_texts_evenly,
    sum_memory_footprint,
    vector_bytes,
)
from embassay.protocols.rag.sweep.collection import (
    PassagesToIndex,
    SweepCollection,
    count_tokens,
    cut_collection_into_passages,
)
from embassay.protocols.rag.sweep.config import SweepRequest
from embassay.protocols.rag.sweep.contexts import WRITTEN, build_context_messages
from embassay.protocols.rag.sweep.grid import (
    PriceList,
    SweepPlan,
    is_paid_server,
    make_price_list,
    name_vector_source,
    plan_sweep,
)
from embassay.protocols.rag.sweep.parts import OpenedSweepParts
from embassay.protocols.rag.sweep.stacks import LIVE, NONE, SPARSE, WORDS, StackConfiguration
from embassay.protocols.rag.tradeoffs import estimate_word_index_bytes
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.runs.memory import WorkMemoryEstimate
from embassay.search.indexes import INDEXES
from embassay.systems.remote import NoCallsLedger
from embassay.systems.rerankers import RERANKERS
from embassay.text.splitters import DocumentChunk, parse_document_splitting

_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_LINKS = 256
"""Bytes of a passage in an index beside its vector: links of a graph, its number."""
_CHUNK = 200
"""Bytes of a chunk beside its text: its id, its number and that of its document."""
_SHARE = 200
"""Documents that are cut to learn how many chunks there are, and chunks that are laid out for a model."""
_ASSUMED = " ".join(["context"] * 30)
"""In place of what a model will say of a chunk."""


@dataclass(frozen=True)
class PassageCountAndBytes:
    """Passages of a dataset cut in one way: how many, and bytes of their texts and of the index of words."""

    passages: int
    texts: int
    words: int


@dataclass
class SweepMemoryEstimates:
    """Estimates for the cells of a sweep; each way of cutting a dataset is tried once, on some documents."""

    tokenizer: Tokenizer
    _sizes: dict[tuple[str, str], PassageCountAndBytes] = field(default_factory=dict)

    def estimate_cell_memory(
        self,
        collection: SweepCollection,
        configurations: Sequence[StackConfiguration],
        system: Any,
        *,
        made: Sequence[str] = (),
    ) -> WorkMemoryEstimate:
        """The estimate for configurations on one index of the vectors of `system` (None: by words alone); what is
        `made` (`passages`, `words`) is held already."""
        head, sizes = (configurations[0], self._measure_passage_count_and_bytes(collection, configurations[0].chunk))
        queries, n = len(collection.queries), sizes.passages
        dim = 0 if system is None else count_vector_dimensions(system)
        words = any(configuration.mode in ("hybrid", SPARSE) or configuration.boost for configuration in configurations)
        parts = {
            f"the vectors of {n:,} passages": (dim > 0) * (vector_bytes(n + 2 * queries, dim) + n * _TABLES),
            "passages": estimate_reading_bytes(collection.texts) + ("passages" not in made) * sizes.texts,
            "the index": 0 if head.index == NONE else self._estimate_search_index_bytes(head, n, dim),
            "words": words * ("words" not in made) * sizes.words,
        }
        return sum_memory_footprint(parts, _suggest_smaller_cell(head))

    def _estimate_search_index_bytes(self, head: StackConfiguration, n: int, dim: int) -> int:
        kind = dict(INDEXES.get(INDEXES.parse_spec(head.index).name).facts).get("kind", "")
        return n * (4 * (head.dims or dim) + _LINKS) if kind == "approximate" else 0

    def _measure_passage_count_and_bytes(self, collection: SweepCollection, chunk: str) -> PassageCountAndBytes:
        if (collection.name, chunk) not in self._sizes:
            self._sizes[collection.name, chunk] = _estimate_chunked_collection_sizes(collection, chunk, self.tokenizer)
        return self._sizes[collection.name, chunk]


def _estimate_chunked_collection_sizes(
    collection: SweepCollection, chunk: str, tokenizer: Tokenizer
) -> PassageCountAndBytes:
    if chunk == NONE:
        return PassageCountAndBytes(
            len(collection.texts),
            0,
            estimate_word_index_bytes(collection.texts, len(collection.texts), collection.queries),
        )
    sample = sample_texts_evenly(collection.texts)[:: max(1, min(len(collection.texts), 1000) // _SHARE)]
    some = replace(collection, ids=[str(i) for i in range(len(sample))], texts=sample, titles=(), shifts=())
    cut = cut_collection_into_passages(some, chunk, tokenizer)
    n = round(1.1 * len(cut) / max(1, len(sample)) * len(collection.texts))
    return PassageCountAndBytes(
        n,
        estimate_text_memory_bytes(cut.texts, n) + _CHUNK * n,
        estimate_word_index_bytes(cut.texts, n, collection.queries),
    )


def _suggest_smaller_cell(head: StackConfiguration) -> str:
    """Suggest what makes this cell smaller."""
    if head.mode in (SPARSE, LIVE):
        return "Use a smaller corpus, or fewer queries"
    ways = ["Use a smaller corpus", "an encoder with fewer dimensions"]
    ways += ["longer chunks"] if head.chunk != NONE else []
    ways += ["the flat index, which needs no second copy"] if head.index != "flat" else []
    return f"{', '.join(ways[:-1])} or {ways[-1]}"


_SAMPLE = 16
_PROMPT = 250
"""Tokens of the instructions that go before a question."""
_NAMED = 6
"""So many combinations are named for each reason that leaves some out."""
_LISTED_BYTES = 20
"""Of a document in a ranking on disk, and of a value per query, compressed."""


@dataclass(frozen=True)
class SweepForecast:
    """The forecast of embedding and reranking, a cell per dataset and model, with the combinations behind it."""

    combinations: int
    senseless: int
    indexes: int
    work: RunForecast
    disk_bytes: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason why a combination makes no sense, by its id."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {**self.work.as_dict(), **{key: value for key, value in asdict(self).items() if key != "work"}}

    def describe_forecast(self) -> Iterator[str]:
        """Describe what is measured, and what the times do not hold."""
        yield (
            f"{self.combinations:,} combinations on {self.indexes:,} indexes ({self.senseless:,} make no sense and are "
            f"left out), at most {self.disk_bytes / 1e6:,.0f} MB of results."
        )
        by_reason: dict[str, list[str]] = {}
        for id, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(id)
        for reason, ids in by_reason.items():
            more = f" and {len(ids) - _NAMED:,} more (all with --json)" if len(ids) > _NAMED else ""
            yield f"Left out ({reason}): {', '.join(ids[:_NAMED])}{more}."
        yield (
            "The time covers encoding and scoring, including timing; building indexes and searching take extra time. "
            "The number of pairs is an estimate: how many of them the stacks share is known only after the search."
        )


def forecast_sweep(request: SweepRequest, ledger: NoCallsLedger) -> SweepForecast:
    """Forecast what a request takes on an empty folder, less cached vectors; nothing is sent."""
    prices = make_price_list(request)
    parts = OpenedSweepParts(request, ledger)
    plan = plan_sweep(parts)
    cells = [
        *_forecast_context_calls(plan, parts),
        *_forecast_text_encoding(plan, parts),
        *_list_reranking_cell_forecasts(plan, parts, prices),
        *_forecast_chat_calls(plan, parts),
        *_forecast_retriever_questions(plan),
    ]
    combinations = sum(len(cell.job.configurations) for cell in plan.cells)
    listed = sum(configuration.k for cell in plan.cells for configuration in cell.job.configurations)
    values = combinations * (2 * len(request.measures) + 3)
    queries = max(len(collection.query_ids) for collection in plan.collections)
    senseless = len(plan.grid.senseless) * len(plan.collections)
    disk = (listed + values) * queries * _LISTED_BYTES
    return SweepForecast(combinations, senseless, len(plan.cells), RunForecast(tuple(cells)), disk,
        {configuration.id: why for configuration, why in plan.grid.senseless.items()}
    )  # fmt: skip


def _forecast_text_encoding(plan: SweepPlan, parts: OpenedSweepParts) -> Iterator[CellForecast]:
    """Texts of each dataset by each encoder, in each of its ways of cutting; a late chunk is read with its document."""
    chunks: dict[str, dict[str, None]] = {}
    for cell in plan.cells:
        head: StackConfiguration = cell.job.head
        if head.mode not in (SPARSE, LIVE):
            chunks.setdefault(name_vector_source(head), {})[head.chunk] = None
    # Encoders that are asked for the same texts are forecast together.
    for ways in dict.fromkeys(map(tuple, chunks.values())):
        encoders = [system for system in plan.systems if tuple(chunks.get(system.name, ())) == ways]
        forecaster = TaskCostForecaster(encoders, parts.tokenizer, plan.request.seed, None, measure=True)
        for collection in plan.collections:
            yield from forecaster.cells(_estimate_encoding_effort(plan, parts, collection, ways))


def _estimate_encoding_effort(
    plan: SweepPlan, parts: OpenedSweepParts, collection: SweepCollection, ways: Sequence[str]
) -> TaskWorkloadForForecast:
    texts, queries = _list_texts_to_encode(collection, ways, parts), list(collection.queries)
    room = SweepMemoryEstimates(parts.tokenizer)

    def rehearse_encoding(hear: Any) -> bool:
        for cut in texts:
            hear(cut, "document")
        hear(queries, "query")
        return True

    def estimate_largest_cell_memory(system: Similarity) -> WorkMemoryEstimate:
        jobs = [cell.job for cell in plan.cells if cell.job.collection is collection]
        mine = [job for job in jobs if name_vector_source(job.head) == system.name] or jobs
        return choose_largest_footprint(
            room.estimate_cell_memory(
                collection, job.configurations, None if job.head.mode in (SPARSE, LIVE) else system
            )
            for job in mine
        )

    passages = sum(map(len, texts))
    return TaskWorkloadForForecast(
        "embed",
        collection.name,
        passages + len(queries),
        passages,
        0,
        rehearse_encoding,
        texts[0],
        footprint=estimate_largest_cell_memory,
    )


def _list_texts_to_encode(
    collection: SweepCollection, ways: Sequence[str], parts: OpenedSweepParts
) -> list[Sequence[str]]:
    """What each way of cutting has to be encoded. What a model will say of chunks stands as as many words: nobody knows
    them before they are paid for."""
    # One list for each way: what two of them have in common is in the cache by then, and counted once.
    texts: list[Sequence[str]] = []
    for chunk in ways:
        splitting = parse_document_splitting(chunk)
        if splitting is None or splitting.is_late_chunking:
            texts.append(collection.texts)
            continue
        cut = cut_collection_into_passages(collection, chunk, parts.tokenizer).texts
        texts.append([f"{_ASSUMED} {text}" for text in cut] if splitting.model else cut)
    return texts


def _forecast_context_calls(plan: SweepPlan, parts: OpenedSweepParts) -> Iterator[CellForecast]:
    """Forecast the calls of language models that say what chunks are about: one for each."""
    for collection, chunk in product(plan.collections, plan.request.chunk):
        splitting = parse_document_splitting(chunk)
        if splitting is None or not splitting.model:
            continue
        passages = cut_collection_into_passages(collection, chunk, parts.tokenizer)
        n, messages = len(passages), _sample_context_messages(collection, passages)
        read = float(np.mean(count_tokens(parts.tokenizer, messages))) if n else 0.0
        head = CellForecast("situate", collection.name, splitting.model, n, 0, 0)
        chat = parts.open_chunk_context_writer(splitting.model).model
        yield _add_calls_to_forecast(head, chat, requests=n, read=read, written=WRITTEN)


def _sample_context_messages(collection: SweepCollection, passages: PassagesToIndex) -> list[str]:
    """Sample some of the messages that are sent, whole."""
    assert passages.spans is not None
    messages = []
    for place in range(0, len(passages), max(1, len(passages) // _SHARE)):
        row, (start, end) = passages.documents[place], passages.spans[place]
        text = collection.texts[row]
        title = collection.titles[row] if collection.titles else ""
        asked = build_context_messages(title, text, DocumentChunk(int(start), int(end), text[start:end]))
        messages.append("\n".join(message.content for message in asked))
    return messages


def _list_reranking_cell_forecasts(
    plan: SweepPlan, parts: OpenedSweepParts, prices: PriceList
) -> Iterator[CellForecast]:
    request = plan.request
    for collection in plan.collections:
        query = float(np.mean(count_tokens(parts.tokenizer, collection.queries)))
        configurations = [
            cfg for cell in plan.cells if cell.dataset == collection.name for cfg in cell.job.configurations
        ]
        for name in request.reranker:
            stacks = [cfg for cfg in configurations if cfg.reranker == name]
            if name == NONE or not stacks:
                continue
            pairs = _count_pairs_to_rerank(stacks, collection)
            tokens = query + _average_passage_tokens(collection, [stack.chunk for stack in stacks], parts)
            timed = _count_pairs_reranked_for_timing(stacks, request, len(collection.timed))
            total = pairs + timed
            usd = prices.usd(
                stacks[0], reranked=1, tokens=tokens, query=0, passage=0, passages=0
            )["rerank"] / 1000 * total  # fmt: skip
            seconds = _time_reranking_pair(collection, name, parts)
            # A price that the config gives to a local reranker is what a query would cost, not what the sweep pays.
            is_free = not is_paid_server(name, RERANKERS)
            yield CellForecast(
                "rerank", collection.name, name, len(collection.query_ids), total, round(total * tokens),
                requests=None if is_free else total // max(request.k),
                usd=0.0 if is_free else usd, seconds=None if seconds is None else seconds * total,
                assumed=True
            )  # fmt: skip


def _forecast_retriever_questions(plan: SweepPlan) -> Iterator[CellForecast]:
    """Forecast the questions that retrievers are asked."""
    for system in plan.systems:
        for collection in plan.collections if system.kind == "run" else ():
            n = len(collection.query_ids)
            usd = n * float(system.facts["usd_per_question"])
            yield CellForecast("asking", collection.name, system.name, n, n, 0, requests=n, usd=usd)


def _forecast_chat_calls(plan: SweepPlan, parts: OpenedSweepParts) -> Iterator[CellForecast]:
    """The calls of language models that rewrite every query, and that are timed as generators: an answer and a word for
    each timed query."""
    request = plan.request
    for collection in plan.collections:
        passage = _average_passage_tokens(collection, request.chunk, parts)
        query = float(np.mean(count_tokens(parts.tokenizer, collection.queries)))
        for name in request.rewrite:
            chat = None if name == NONE else getattr(parts.open_rewriter(name), "model", None)
            if chat is not None:
                head = CellForecast("rewrite", collection.name, name, len(collection.queries), 0, 0)
                yield _add_calls_to_forecast(
                    head, chat, requests=len(collection.queries), read=_PROMPT + query, written=query
                )
        asked = request.generator
        if asked is not None and asked.model:
            chat, read = (
                parts.open_answerer(asked).model,
                _PROMPT + query + min(asked.passages, len(collection.ids)) * passage,
            )
            head = CellForecast("generate", collection.name, asked.model, len(collection.timed), 0, 0)
            yield _add_calls_to_forecast(
                head, chat, requests=2 * len(collection.timed), read=read, written=asked.output_tokens / 2
            )


def _add_calls_to_forecast(
    head: CellForecast, chat: Any, *, requests: int, read: float, written: float
) -> CellForecast:
    """`head` with what so many calls take, each of which reads and writes so many tokens."""
    price, tokens = getattr(chat, "price", None), round(requests * (read + written))
    usd = None if price is None else price.usd(round(requests * read), round(requests * written))
    seconds = estimate_server_seconds(chat, requests, tokens, round(requests * written))
    return replace(head, requests=requests, tokens=tokens, usd=usd, seconds=seconds, assumed=True)


def _count_pairs_to_rerank(configurations: list[StackConfiguration], collection: SweepCollection) -> int:
    """About how many pairs differ: for each encoder its deepest list, and one of words where there is a hybrid; other
    dimensions and indexes find nearly the same passages, and a pair is scored once."""
    lists: dict[tuple[str, str, str], int] = {}
    for cfg in configurations:
        sources = [cfg.encoder, *([WORDS] if cfg.mode == "hybrid" else [])]
        for source in sources:
            key = source, cfg.chunk, cfg.rewrite
            lists[key] = max(lists.get(key, 0), cfg.k)
    return min(sum(lists.values()), len(collection.ids)) * len(collection.query_ids)


def _count_pairs_reranked_for_timing(
    configurations: list[StackConfiguration], request: SweepRequest, queries: int
) -> int:
    """Count the pairs that are scored afresh for the clock."""
    keys = {(cfg.mode, cfg.k, cfg.deduplicate, cfg.boost, cfg.chunk, cfg.rewrite) for cfg in configurations}
    latency = request.latency
    calls = latency.repeats * (latency.warmup + queries)
    loaded = {cfg for cfg in configurations if cfg.dims is None and cfg.index in (request.index[0], NONE)}
    return sum(key[1] for key in keys) * calls + sum(cfg.k for cfg in loaded) * (queries + latency.warmup)


def _average_passage_tokens(collection: SweepCollection, chunks: Sequence[str], parts: OpenedSweepParts) -> float:
    """Average the tokens of a passage of some documents, over these ways of cutting."""
    sample = collection.texts[:: max(1, len(collection.texts) // _SHARE)]
    some = replace(collection, ids=[str(i) for i in range(len(sample))], texts=sample, titles=(), shifts=())
    means = {
        chunk: np.mean(count_tokens(parts.tokenizer, cut_collection_into_passages(some, chunk, parts.tokenizer).texts))
        for chunk in dict.fromkeys(chunks)
    }
    return float(np.mean([means[chunk] for chunk in chunks]))


def _time_reranking_pair(collection: SweepCollection, name: str, parts: OpenedSweepParts) -> float | None:
    """Time a reranking pair on this machine in seconds; None if it cannot be tried without sending."""
    try:
        reranker = parts.reranker(name).reranker
        texts = list(collection.texts[:_SAMPLE])
        # Once before the clock runs: a first call takes longer than those after it.
        reranker.score(collection.queries[0], texts)
        began = perf_counter()
        reranker.score(collection.queries[0], texts)
        return (perf_counter() - began) / len(texts)
    except EmbassayError:
        return None
