"""Every combination of the axes that makes sense, as the cells of a sweep, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from embassay.contracts import Similarity, Tokenizer
from embassay.errors import EmbassayError, ModelError, UsageError
from embassay.protocols.kernel.forecast import (
    Forecaster,
    TaskEffort,
    choose_largest,
    count_dimensions,
    read_bytes,
    sample_texts,
    sum_memory,
    text_bytes,
    vector_bytes,
)
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask, check_names
from embassay.protocols.rag.sweep.collection import Collection, count_tokens, make_passages, read_collection
from embassay.protocols.rag.sweep.config import RERANK, SweepRequest
from embassay.protocols.rag.sweep.parts import OpenedParts, SweepEncoder
from embassay.protocols.rag.sweep.retriever import make_configuration, plan_retrievers
from embassay.protocols.rag.sweep.stacks import LIVE, NONE, SPARSE, TASK, WORDS, Configuration
from embassay.protocols.rag.tradeoffs import estimate_word_index_bytes, generation_cost, reranking_cost
from embassay.registry import Registry
from embassay.runs.folder import Cell, digest_json
from embassay.runs.forecast import Forecast, Forecasts, find_remote_encoder, remote_seconds
from embassay.runs.memory import Footprint
from embassay.search.indexes import INDEXES
from embassay.systems import RAGGED, SYSTEMS, add_dims
from embassay.systems.models import KnownModel, find_known_model
from embassay.systems.remote import NoCalls
from embassay.systems.rerankers import RERANKERS


@dataclass(frozen=True)
class Grid:
    """`wanted` in the order of the axes, each once; `senseless` with the reason of each."""

    wanted: tuple[Configuration, ...]
    senseless: Mapping[Configuration, str]


Sized = Callable[[str, int | None], str]


def make_grid(
    request: SweepRequest, dims: Mapping[str, int | None], sized: Sized = lambda name, _: name
) -> Grid:
    """All combinations of the request's axes; `dims` are those of each encoder, None where nobody knows yet. More of
    them are had from a model that has a parameter for it, of which `sized` then gives another spec string.

    Where a mode ends in `+rerank`, a mode that does not takes no reranker; else every reranker goes with every mode.
    UsageError where no combination is left. Source: spec rag 3.4.
    """
    wanted: dict[Configuration, None] = {}
    senseless: dict[Configuration, str] = {}
    for configuration, reason in _list_combinations(request, dims, sized):
        if reason:
            senseless.setdefault(configuration, reason)
        else:
            wanted[configuration] = None
    if not wanted:
        first, reason = next(iter(senseless.items()))
        raise UsageError(
            f"No combination of the axes makes sense; the first, {first.id}: {reason}.",
            mend="Change an axis.",
        )
    return Grid(tuple(wanted), {config: why for config, why in senseless.items() if config not in wanted})


FLAT = "flat"


def _list_combinations(
    request: SweepRequest, dims: Mapping[str, int | None], sized: Sized
) -> Iterator[tuple[Configuration, str]]:
    tails = list(_list_tails(request))
    sparse = [tail for tail in tails if tail[1].startswith(SPARSE)]
    for chunk, rewrite, (k, _, reranker, deduplicate, boost, reason) in product(
        request.chunk, request.rewrite, sparse
    ):
        yield (
            Configuration(WORDS, None, NONE, k, reranker, SPARSE, rewrite, deduplicate, boost, chunk),
            reason,
        )
    tails = [tail for tail in tails if tail not in sparse]
    heads = product(request.chunk, request.rewrite, request.encoder, request.dims, request.index)
    for chunk, rewrite, encoder, size, index in heads:
        whole = dims.get(encoder)
        # All dimensions by number are the same stack as all without one.
        cut = None if size == whole else size
        too_many = (
            f"{encoder} has {whole} dimensions"
            if cut is not None and whole is not None and cut > whole and sized(encoder, cut) == encoder
            else ""
        )
        if encoder.partition("?")[0].partition(":")[0] in RAGGED and (cut is not None or index != FLAT):
            too_many = f"{encoder} has many vectors for a text, which go into {FLAT} with all dimensions"
        for k, mode, reranker, deduplicate, boost, reason in tails:
            configuration = Configuration(
                encoder, cut, index, k, reranker, "hybrid" if mode.startswith("hybrid") else "dense",
                rewrite, deduplicate, boost, chunk
            )  # fmt: skip
            for fusion in request.fusion if configuration.mode == "hybrid" else (configuration.fusion,):
                yield replace(configuration, fusion=fusion), too_many or reason


def _list_tails(request: SweepRequest) -> Iterator[tuple[int, str, str, float, float, str]]:
    """What is done with the index's answers, and why not."""
    split = any(mode.endswith(RERANK) for mode in request.mode)
    rerankers = tuple(dict.fromkeys((NONE, *request.reranker) if split else request.reranker))
    for k, mode, reranker in product(request.k, request.mode, rerankers):
        reason = ""
        if split and not mode.endswith(RERANK) and reranker != NONE:
            reason = f"the mode {mode} takes no reranker where another mode ends in {RERANK}"
        if mode.endswith(RERANK) and reranker == NONE:
            if NONE not in request.reranker and len(request.reranker) > 0:
                continue
            reason = f"the mode {mode} needs a reranker"
        for deduplicate, boost in product(request.deduplicate, request.boost):
            alone = "the boost is added to a reranker's scores, but there is none"
            why = reason or (alone if boost and reranker == NONE else "")
            yield k, mode, reranker, deduplicate, boost, why


@dataclass(frozen=True)
class CellJob:
    """The stacks of a cell: they differ in what is done with the index's answers."""

    collection: Collection
    configurations: tuple[Configuration, ...]

    @property
    def head(self) -> Configuration:
        """One of them: chunk, rewrite, encoder, dims and index are those of all."""
        return self.configurations[0]


@dataclass(frozen=True, kw_only=True)
class SweepPlan(Plan):
    """A sweep as manifests know it; `grid` has what is measured and what makes no sense."""

    request: SweepRequest
    collections: tuple[Collection, ...]
    grid: Grid


def plan_of(parts: OpenedParts) -> SweepPlan:
    """Read the datasets, open the encoders, and lay out the cells. UsageError for a spec that is none and for a grid
    without any sense, DataError for what is wrong in the data. An encoder that cannot be had fails later, in its
    cells."""
    request = parts.request
    collections = tuple(read_collection(dataset, request) for dataset in request.datasets)
    retrievers = plan_retrievers(request)
    check_names(collection.name for collection in collections)
    systems = {name: _plan_encoder(parts, name) for name in request.encoder if not _is_sparse_only(request)}
    dims = {name: system.facts.get("dims") for name, system in systems.items()}
    whole = make_grid(request, dims, add_dims)
    systems |= {
        name: _plan_words()
        if configuration.mode == SPARSE
        else _plan_encoder(parts, configuration.encoder, configuration.dims)
        for configuration in whole.wanted
        if (name := add_dims(configuration.encoder, configuration.dims)) not in systems
    }
    used = {name_source(configuration) for configuration in whole.wanted}
    systems = {name: system for name, system in systems.items() if name in used} | retrievers
    wanted = (*whole.wanted, *(make_configuration(name, request) for name in retrievers))
    cells = tuple(
        cell
        for collection in collections
        for cell in _make_cells(collection, wanted, {k: v.identity for k, v in systems.items()})
    )
    rerankers = [_plan_reranker(name) for name in request.reranker if name != NONE]
    datasets = tuple(_plan_dataset(collection) for collection in collections)
    return SweepPlan(
        request=request, systems=(*systems.values(), *rerankers), datasets=datasets, cells=cells,
        tokenizer_identity=parts.tokenizer.identity, collections=collections, grid=whole
    )  # fmt: skip


def name_source(configuration: Configuration) -> str:
    """Whose vectors, or lists, a combination takes: an encoder has others of its own for some dimensions."""
    if configuration.mode == LIVE:
        return configuration.encoder
    return add_dims(configuration.encoder, configuration.dims)


def cell_label(configuration: Configuration) -> str:
    """The name of a cell.

    >>> cell_label(Configuration("wordllama", 64, "hnsw-f32", chunk="200"))
    'wordllama/64d/hnsw-f32/chunk=200'
    """
    parts = [
        configuration.encoder,
        f"{configuration.dims}d" if configuration.dims else "",
        "" if configuration.index == NONE else configuration.index,
    ]
    parts += [
        f"{name}={value}" for name in ("rewrite", "chunk") if (value := getattr(configuration, name)) != NONE
    ]
    return "/".join(filter(None, parts))


def _make_cells(
    collection: Collection, wanted: Sequence[Configuration], identities: Mapping[str, str]
) -> Iterator[Cell]:
    by_label: dict[str, list[Configuration]] = {}
    for configuration in wanted:
        by_label.setdefault(cell_label(configuration), []).append(configuration)
    for name, stacks in by_label.items():
        key = digest_json(
            [
                TASK,
                collection.name,
                collection.fingerprint,
                name,
                identities[name_source(stacks[0])],
            ]
        )
        job = CellJob(collection, tuple(stacks))
        yield Cell(TASK, collection.name, name, key, len(stacks) * len(collection.query_ids), job)


def _is_sparse_only(request: SweepRequest) -> bool:
    return all(mode.startswith(SPARSE) for mode in request.mode)


def _plan_words() -> PlannedSystem:
    """Search by words as a system of the plan."""
    return PlannedSystem(WORDS, WORDS, "words/1", "classical", {"summary": "finds passages by words"})


def _plan_encoder(parts: OpenedParts, base: str, size: int | None = None) -> PlannedSystem:
    name = add_dims(base, size)
    facts: dict[str, Any] = dict(SYSTEMS.get(SYSTEMS.parse(name).name).facts)
    facts["summary"] = "encodes queries and passages"
    try:
        with parts.charged(name):
            encoder = parts.encoder(base, size)
            facts["dims"] = _encoder_dims(parts, encoder)
    except ModelError as error:
        return PlannedSystem(name, name, f"failed: {error.message}", "embedding", {**facts, "dims": None})
    facts["max_tokens"] = encoder.system.encoder.max_tokens
    remote = find_remote_encoder(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    return PlannedSystem(name, name, encoder.identity, "embedding", facts, remote)


def _encoder_dims(parts: OpenedParts, encoder: SweepEncoder) -> int | None:
    try:
        return encoder.dim
    except ModelError:
        if isinstance(parts.ledger, NoCalls):
            return None
        raise


def _plan_reranker(name: str) -> PlannedSystem:
    entry = RERANKERS.get(RERANKERS.parse(name).name)
    return PlannedSystem(
        name, name, name, "classical", {"summary": entry.summary, "role": "reranks candidates"}
    )


def _plan_dataset(collection: Collection) -> PlannedDataset:
    task = PlannedTask(
        TASK, len(collection.query_ids), len(collection.ids), collection.skipped, collection.warnings
    )
    return PlannedDataset(
        collection.source, collection.name, collection.lang, collection.fingerprint, (task,)
    )


GENERATOR = "generator"
_SEARCH = 100
"""Documents that one search unit of a reranking service covers."""


@dataclass(frozen=True)
class PriceList:
    """US dollars per million tokens by name of part; of retrievers, and rerankers charged by the search, per 1,000 of
    these instead."""

    tokens: Mapping[str, float]
    searches: Mapping[str, float]
    date: str

    def usd(
        self,
        configuration: Configuration,
        *,
        reranked: float,
        tokens: float,
        query: float,
        passage: float,
        passages: int,
    ) -> dict[str, float]:
        """US dollars per 1,000 queries, by part: `reranked` candidates of `tokens` each (the query's own with them),
        queries of `query` tokens embedded, `passages` of `passage` tokens read by the generator. Spec rag 3.1."""
        usd = {"rerank": 0.0, "embed": query * 1000 * self.tokens.get(configuration.encoder, 0.0) / 1e6}
        if configuration.reranker in self.searches:
            # Charged by the search of up to 100 documents, each begun one whole.
            usd["rerank"] = self.searches[configuration.reranker] * ceil(reranked / _SEARCH)
        elif configuration.reranker != NONE:
            # `reranking_cost` takes whole candidates, and near copies that were removed make the mean a fraction.
            usd["rerank"] = reranked * reranking_cost(1, tokens, self.tokens.get(configuration.reranker, 0.0))
        if GENERATOR in self.tokens:
            usd["generate"] = generation_cost(min(passages, configuration.k), passage, self.tokens[GENERATOR])
        if configuration.mode == LIVE:
            usd["retrieve"] = self.searches.get(configuration.encoder, 0.0)
        return usd


def add_retriever_prices(prices: PriceList, systems: Sequence[PlannedSystem]) -> PriceList:
    """The prices with those of the retrievers among the systems of a plan."""
    asked = {
        system.name: 1000 * system.facts["usd_per_question"] for system in systems if system.kind == "run"
    }
    return replace(prices, searches={**prices.searches, **asked})


def price_list(request: SweepRequest) -> PriceList:
    """The prices of a request's parts, and their date: the config's, else the latest of the table's that are used.

    UsageError for a model on a server whose price nobody has given.
    """
    tokens: dict[str, float] = {}
    searches: dict[str, float] = {}
    dates = [request.prices.date] if request.prices.date else []
    axes: tuple[tuple[Registry[Any], tuple[str, ...], Mapping[str, float], str], ...] = (
        (SYSTEMS, request.encoder, request.prices.embed, "embed"),
        (RERANKERS, request.reranker, request.prices.rerank, "rerank"),
    )
    for registry, names, listed, part in axes:
        for name in names:
            if name == NONE:
                continue
            if name in listed:
                tokens[name] = listed[name]
                continue
            spec = registry.parse(name)
            price = spec.params.get("price")
            model = find_known_model(spec.target) or find_known_model(spec.target.partition(":")[2])
            if isinstance(price, int | float):
                tokens[name] = float(price)
            elif not is_remote(name, registry):
                tokens[name] = 0.0
            elif model is not None and model.usd_per_million_input is not None:
                tokens[name] = model.usd_per_million_input
                dates += _price_dates(model)
            elif model is not None and part == "rerank" and model.usd_per_thousand_searches is not None:
                searches[name] = model.usd_per_thousand_searches
                dates += _price_dates(model)
            else:
                raise UsageError(
                    f"The price of {name!r} is not known.",
                    mend=f"Give US dollars per million tokens: prices: {{{part}: {{{name!r}: 0.05}}}}.",
                )
    if request.prices.generator is not None:
        tokens[GENERATOR] = request.prices.generator
    return PriceList(tokens, searches, request.prices.date or max(dates, default=""))


def is_remote(name: str, registry: Registry[Any]) -> bool:
    """Whether what is called so asks a server that may charge for it; Ollama charges nothing."""
    spec = registry.parse(name)
    needs = dict(registry.get(spec.name).facts).get("needs", "")
    return "embassay[llm]" in needs and "ollama" not in (spec.name, spec.target.partition(":")[0])


def _price_dates(model: KnownModel) -> list[str]:
    return [model.priced_on] if model.priced_on else []


_TABLES = 300
"""Bytes of a passage in the tables that find its vector by its text."""
_LINKS = 256
"""Bytes of a passage in an index beside its vector: links of a graph, its number."""
_CHUNK = 200
"""Bytes of a chunk beside its text: its id, its number and that of its document."""
_SHARE = 200
"""Documents that are cut to learn how many chunks there are."""


@dataclass(frozen=True)
class PassageSizes:
    """Passages of a dataset cut in one way: how many, and bytes of their texts and of the index of words."""

    passages: int
    texts: int
    words: int


@dataclass
class MemoryEstimates:
    """Estimates for the cells of a sweep; each way of cutting a dataset is tried once, on some documents."""

    tokenizer: Tokenizer
    _sizes: dict[tuple[str, str], PassageSizes] = field(default_factory=dict)

    def needed(
        self,
        collection: Collection,
        configurations: Sequence[Configuration],
        system: Any,
        *,
        made: Sequence[str] = (),
    ) -> Footprint:
        """The estimate for configurations on one index of the vectors of `system` (None: by words alone); what is
        `made` (`passages`, `words`) is held already."""
        head, sizes = configurations[0], self._of(collection, configurations[0].chunk)
        queries, n = len(collection.queries), sizes.passages
        dim = 0 if system is None else count_dimensions(system)
        words = any(
            configuration.mode in ("hybrid", SPARSE) or configuration.boost
            for configuration in configurations
        )
        parts = {
            f"the vectors of {n:,} passages": (dim > 0) * (vector_bytes(n + 2 * queries, dim) + n * _TABLES),
            "passages": read_bytes(collection.texts) + ("passages" not in made) * sizes.texts,
            "the index": 0 if head.index == NONE else self._index(head, n, dim),
            "words": words * ("words" not in made) * sizes.words,
        }
        return sum_memory(parts, _suggest_smaller(head))

    def _index(self, head: Configuration, n: int, dim: int) -> int:
        kind = dict(INDEXES.get(INDEXES.parse(head.index).name).facts).get("kind", "")
        return n * (4 * (head.dims or dim) + _LINKS) if kind == "approximate" else 0

    def _of(self, collection: Collection, chunk: str) -> PassageSizes:
        if (collection.name, chunk) not in self._sizes:
            self._sizes[collection.name, chunk] = _collection_sizes(collection, chunk, self.tokenizer)
        return self._sizes[collection.name, chunk]


def _collection_sizes(collection: Collection, chunk: str, tokenizer: Tokenizer) -> PassageSizes:
    if chunk == NONE:
        return PassageSizes(
            len(collection.texts),
            0,
            estimate_word_index_bytes(collection.texts, len(collection.texts), collection.queries),
        )
    sample = sample_texts(collection.texts)[:: max(1, min(len(collection.texts), 1000) // _SHARE)]
    cut = make_passages(
        replace(collection, ids=[str(i) for i in range(len(sample))], texts=sample), chunk, tokenizer
    )
    n = round(1.1 * len(cut) / max(1, len(sample)) * len(collection.texts))
    return PassageSizes(
        n, text_bytes(cut.texts, n) + _CHUNK * n, estimate_word_index_bytes(cut.texts, n, collection.queries)
    )


def _suggest_smaller(head: Configuration) -> str:
    """What makes this cell smaller."""
    if head.mode in (SPARSE, LIVE):
        return "Sweep a smaller corpus, or fewer queries"
    ways = ["Sweep a smaller corpus", "an encoder of fewer dimensions"]
    ways += ["longer chunks"] if head.chunk != NONE else []
    ways += ["the index flat, which needs no second copy"] if head.index != "flat" else []
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
    work: Forecasts
    disk_bytes: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason why a combination makes no sense, by its id."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {**self.work.as_dict(), **{key: value for key, value in asdict(self).items() if key != "work"}}

    def in_words(self) -> Iterator[str]:
        """What is measured, and what the times do not hold."""
        yield (
            f"{self.combinations:,} combinations on {self.indexes:,} indexes ({self.senseless:,} make no sense and are "
            f"left out), at most {self.disk_bytes / 1e6:,.0f} MB of results."
        )
        by_reason: dict[str, list[str]] = {}
        for id, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(id)
        for reason, ids in by_reason.items():
            more = f" and {len(ids) - _NAMED:,} more (all with --json)" if len(ids) > _NAMED else ""
            yield f"Left out, for {reason}: {', '.join(ids[:_NAMED])}{more}."
        yield (
            "The time is that of encoding and scoring, timing included; building indexes and searching come on top. "
            "Pairs are an estimate: how many of them stacks share is known only after the search."
        )


def forecast_of(request: SweepRequest, ledger: NoCalls) -> SweepForecast:
    """What a request takes on an empty folder, less the vectors that the cache has; nothing is sent."""
    prices = price_list(request)
    parts = OpenedParts(request, ledger)
    plan = plan_of(parts)
    cells = [
        *_forecast_encode(plan, parts),
        *_forecast_rerank(plan, parts, prices),
        *_forecast_chat(plan, parts),
        *_forecast_asking(plan),
    ]
    combinations = sum(len(cell.job.configurations) for cell in plan.cells)
    listed = sum(configuration.k for cell in plan.cells for configuration in cell.job.configurations)
    values = combinations * (2 * len(request.measures) + 3)
    queries = max(len(collection.query_ids) for collection in plan.collections)
    senseless = len(plan.grid.senseless) * len(plan.collections)
    disk = (listed + values) * queries * _LISTED_BYTES
    return SweepForecast(combinations, senseless, len(plan.cells), Forecasts(tuple(cells)), disk,
        {configuration.id: why for configuration, why in plan.grid.senseless.items()}
    )  # fmt: skip


def _forecast_encode(plan: SweepPlan, parts: OpenedParts) -> Iterator[Forecast]:
    """Texts of each dataset by each encoder; chunks are counted as whole documents, whose tokens they share."""
    heads = [cell.job.head for cell in plan.cells if cell.job.head.mode not in (SPARSE, LIVE)]
    asked = {name_source(head) for head in heads}
    encoders = [system for system in plan.systems if system.name in asked]
    forecaster = Forecaster(encoders, parts.tokenizer, plan.request.seed, None, measure=True)
    room = MemoryEstimates(parts.tokenizer)
    for collection in plan.collections:
        texts, queries = collection.texts, list(collection.queries)

        def rehearse(hear: Any, texts: Sequence[str] = texts, queries: list[str] = queries) -> bool:
            hear(texts, "document")
            hear(queries, "query")
            return True

        def held(system: Similarity, of: Collection = collection) -> Footprint:
            jobs = [cell.job for cell in plan.cells if cell.job.collection is of]
            mine = [job for job in jobs if name_source(job.head) == system.name] or jobs
            return choose_largest(
                room.needed(of, job.configurations, None if job.head.mode in (SPARSE, LIVE) else system)
                for job in mine
            )

        yield from forecaster.cells(
            TaskEffort(
                "embed",
                collection.name,
                len(texts) + len(queries),
                len(texts),
                0,
                rehearse,
                texts,
                footprint=held,
            )
        )


def _forecast_rerank(plan: SweepPlan, parts: OpenedParts, prices: PriceList) -> Iterator[Forecast]:
    request = plan.request
    for collection in plan.collections:
        tokens = _candidate_tokens(collection, parts)
        configurations = [
            cfg for cell in plan.cells if cell.dataset == collection.name for cfg in cell.job.configurations
        ]
        for name in request.reranker:
            stacks = [cfg for cfg in configurations if cfg.reranker == name]
            if name == NONE or not stacks:
                continue
            pairs = _count_pairs(stacks, collection)
            timed = _count_timed(stacks, request, len(collection.timed))
            total = pairs + timed
            usd = prices.usd(
                stacks[0], reranked=1, tokens=tokens, query=0, passage=0, passages=0
            )["rerank"] / 1000 * total  # fmt: skip
            seconds = _time_pair(collection, name, parts)
            # A price that the config gives to a local reranker is what a query would cost, not what the sweep pays.
            is_free = not is_remote(name, RERANKERS)
            yield Forecast(
                "rerank", collection.name, name, len(collection.query_ids), total, round(total * tokens),
                requests=None if is_free else total // max(request.k),
                usd=0.0 if is_free else usd, seconds=None if seconds is None else seconds * total,
                assumed=True
            )  # fmt: skip


def _forecast_asking(plan: SweepPlan) -> Iterator[Forecast]:
    """The questions that retrievers are asked."""
    for system in plan.systems:
        for collection in plan.collections if system.kind == "run" else ():
            n = len(collection.query_ids)
            usd = n * float(system.facts["usd_per_question"])
            yield Forecast("asking", collection.name, system.name, n, n, 0, requests=n, usd=usd)


def _forecast_chat(plan: SweepPlan, parts: OpenedParts) -> Iterator[Forecast]:
    """The calls of language models that rewrite every query, and that are timed as generators: an answer and a word for
    each timed query."""
    request = plan.request
    for collection in plan.collections:
        passage = float(np.mean(_sample_lengths(collection, parts)))
        query = float(np.mean(count_tokens(parts.tokenizer, collection.queries)))
        for name in request.rewrite:
            chat = None if name == NONE else getattr(parts.rewriter(name), "model", None)
            if chat is not None:
                head = Forecast("rewrite", collection.name, name, len(collection.queries), 0, 0)
                yield _add_calls(
                    head, chat, requests=len(collection.queries), read=_PROMPT + query, written=query
                )
        asked = request.generator
        if asked is not None and asked.model:
            chat, read = (
                parts.answerer(asked).model,
                _PROMPT + query + min(asked.passages, len(collection.ids)) * passage,
            )
            head = Forecast("generate", collection.name, asked.model, len(collection.timed), 0, 0)
            yield _add_calls(
                head, chat, requests=2 * len(collection.timed), read=read, written=asked.output_tokens / 2
            )


def _add_calls(head: Forecast, chat: Any, *, requests: int, read: float, written: float) -> Forecast:
    """`head` with what so many calls take, each of which reads and writes so many tokens."""
    price, tokens = getattr(chat, "price", None), round(requests * (read + written))
    usd = None if price is None else price.usd(round(requests * read), round(requests * written))
    seconds = remote_seconds(chat, requests, tokens, round(requests * written))
    return replace(head, requests=requests, tokens=tokens, usd=usd, seconds=seconds, assumed=True)


def _count_pairs(configurations: list[Configuration], collection: Collection) -> int:
    """About how many pairs differ: for each encoder its deepest list, and one of words where there is a hybrid; other
    dimensions and indexes find nearly the same passages, and a pair is scored once."""
    lists: dict[tuple[str, str, str], int] = {}
    for cfg in configurations:
        sources = [cfg.encoder, *([WORDS] if cfg.mode == "hybrid" else [])]
        for source in sources:
            key = source, cfg.chunk, cfg.rewrite
            lists[key] = max(lists.get(key, 0), cfg.k)
    return min(sum(lists.values()), len(collection.ids)) * len(collection.query_ids)


def _count_timed(configurations: list[Configuration], request: SweepRequest, queries: int) -> int:
    """Pairs that are scored afresh for the clock."""
    keys = {(cfg.mode, cfg.k, cfg.deduplicate, cfg.boost, cfg.chunk, cfg.rewrite) for cfg in configurations}
    latency = request.latency
    calls = latency.repeats * (latency.warmup + queries)
    loaded = {cfg for cfg in configurations if cfg.dims is None and cfg.index in (request.index[0], NONE)}
    return sum(key[1] for key in keys) * calls + sum(cfg.k for cfg in loaded) * (queries + latency.warmup)


def _sample_lengths(collection: Collection, parts: OpenedParts) -> Any:
    """Tokens of some passages."""
    return count_tokens(parts.tokenizer, collection.texts[:: max(1, len(collection.texts) // 200)])


def _candidate_tokens(collection: Collection, parts: OpenedParts) -> float:
    return float(
        np.mean(_sample_lengths(collection, parts))
        + np.mean(count_tokens(parts.tokenizer, collection.queries))
    )


def _time_pair(collection: Collection, name: str, parts: OpenedParts) -> float | None:
    """Seconds per pair on this machine; None where it cannot be tried without sending anything."""
    try:
        reranker = parts.reranker(name).reranker
        texts = list(collection.texts[:_SAMPLE])
        reranker.score(collection.queries[0], texts)
        began = perf_counter()
        reranker.score(collection.queries[0], texts)
        return (perf_counter() - began) / len(texts)
    except EmbassayError:
        return None
