"""Every combination of the axes that makes sense, as the cells of a sweep, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask, check_unique_dataset_names
from embassay.protocols.rag.sweep.collection import SweepCollection
from embassay.protocols.rag.sweep.config import RERANK, SweepRequest
from embassay.protocols.rag.sweep.contexts import load_context_prompt
from embassay.protocols.rag.sweep.encoder import SweepEncoder
from embassay.protocols.rag.sweep.evidence import open_judged_collection
from embassay.protocols.rag.sweep.parts import OpenedSweepParts
from embassay.protocols.rag.sweep.retriever import make_stack_configuration_of_retriever, open_planned_retrievers
from embassay.protocols.rag.sweep.stacks import LIVE, NONE, SPARSE, TASK, WORDS, StackConfiguration
from embassay.protocols.rag.tradeoffs import compute_passage_reading_cost, compute_reranking_cost
from embassay.registry import Registry
from embassay.runs.folder import RunCell, digest_json
from embassay.runs.forecast import find_remote_encoder
from embassay.systems import RAGGED, SYSTEMS, add_dims_to_spec
from embassay.systems.late_chunks import VERSION as LATE
from embassay.systems.models import KnownModelFacts, find_known_model
from embassay.systems.remote import NoCallsLedger
from embassay.systems.rerankers import RERANKERS
from embassay.text.splitters import parse_document_splitting


@dataclass(frozen=True)
class ConfigurationGrid:
    """`wanted` in the order of the axes, each once; `senseless` with the reason of each."""

    wanted: tuple[StackConfiguration, ...]
    senseless: Mapping[StackConfiguration, str]


Sized = Callable[[str, int | None], str]


def make_configuration_grid(
    request: SweepRequest,
    dims: Mapping[str, int | None],
    sized: Sized = lambda name, _: name,
    not_late: Mapping[str, str] = {},
) -> ConfigurationGrid:
    """All combinations of the request's axes; `dims` are those of each encoder, None where nobody knows yet. More of
    them are had from a model that has a parameter for it, of which `sized` then gives another spec string. `not_late`
    says of encoders why they cannot read chunks within their document.

    Where a mode ends in `+rerank`, a mode that does not takes no reranker; else every reranker goes with every mode.
    UsageError where no combination is left. Source: spec rag 3.4.
    """
    wanted: dict[StackConfiguration, None] = {}
    senseless: dict[StackConfiguration, str] = {}
    for configuration, reason in _list_axis_combinations(request, dims, sized, not_late):
        if reason:
            senseless.setdefault(configuration, reason)
        else:
            wanted[configuration] = None
    if not wanted:
        first, reason = next(iter(senseless.items()))
        raise UsageError(
            f"No combination of the axes makes sense. The first, {first.id}: {reason}.", mend="Change an axis."
        )
    return ConfigurationGrid(tuple(wanted), {config: why for config, why in senseless.items() if config not in wanted})


FLAT = "flat"


def _list_axis_combinations(
    request: SweepRequest, dims: Mapping[str, int | None], sized: Sized, not_late: Mapping[str, str]
) -> Iterator[tuple[StackConfiguration, str]]:
    tails = list(_iterate_retrieval_steps_with_reasons(request))
    sparse = [tail for tail in tails if tail[1].startswith(SPARSE)]
    for chunk, rewrite, (k, _, reranker, deduplicate, boost, reason) in product(request.chunk, request.rewrite, sparse):
        yield (
            StackConfiguration(WORDS, None, NONE, k, reranker, SPARSE, rewrite, deduplicate, boost, chunk),
            reason
            or (
                "late chunks differ only in their vectors, which BM25 does not use" if _is_late_chunking(chunk) else ""
            ),
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
            too_many = f"{encoder} has several vectors per text, which need a {FLAT} index with all dimensions"
        if _is_late_chunking(chunk) and not_late.get(encoder):
            too_many = f"{encoder} makes no late chunks, since {not_late[encoder]}"
        for k, mode, reranker, deduplicate, boost, reason in tails:
            configuration = StackConfiguration(
                encoder, cut, index, k, reranker, "hybrid" if mode.startswith("hybrid") else "dense",
                rewrite, deduplicate, boost, chunk
            )  # fmt: skip
            for fusion in request.fusion if configuration.mode == "hybrid" else (configuration.fusion,):
                yield replace(configuration, fusion=fusion), too_many or reason


def _is_late_chunking(chunk: str) -> bool:
    splitting = parse_document_splitting(chunk)
    return splitting is not None and splitting.is_late_chunking


def _iterate_retrieval_steps_with_reasons(request: SweepRequest) -> Iterator[tuple[int, str, str, float, float, str]]:
    """List the steps on the index's answers, and why some are left out."""
    split = any(mode.endswith(RERANK) for mode in request.mode)
    rerankers = tuple(dict.fromkeys((NONE, *request.reranker) if split else request.reranker))
    for k, mode, reranker in product(request.k, request.mode, rerankers):
        reason = ""
        if split and not mode.endswith(RERANK) and reranker != NONE:
            reason = f"the mode {mode} uses no reranker if another mode ends in {RERANK}"
        if mode.endswith(RERANK) and reranker == NONE:
            if NONE not in request.reranker and len(request.reranker) > 0:
                continue
            reason = f"the mode {mode} needs a reranker"
        for deduplicate, boost in product(request.deduplicate, request.boost):
            alone = "the boost is added to a reranker's scores, but there is no reranker"
            why = reason or (alone if boost and reranker == NONE else "")
            yield k, mode, reranker, deduplicate, boost, why


@dataclass(frozen=True)
class SweepCellJob:
    """A cell's stacks, which differ in what is done with the index's answers."""

    collection: SweepCollection
    configurations: tuple[StackConfiguration, ...]

    @property
    def head(self) -> StackConfiguration:
        """The first stack: its chunk, rewrite, encoder, dims and index are those of all."""
        return self.configurations[0]


@dataclass(frozen=True, kw_only=True)
class SweepPlan(Plan):
    """A sweep as manifests know it; `grid` has what is measured and what makes no sense."""

    request: SweepRequest
    collections: tuple[SweepCollection, ...]
    grid: ConfigurationGrid


def plan_sweep(parts: OpenedSweepParts) -> SweepPlan:
    """Read the datasets, open the encoders, and lay out the cells. UsageError for a spec that is none and for a grid
    without any sense, DataError for what is wrong in the data. An encoder that cannot be had fails later, in its
    cells."""
    request = parts.request
    collections = tuple(open_judged_collection(dataset, request) for dataset in request.datasets)
    retrievers = open_planned_retrievers(request)
    check_unique_dataset_names(collection.name for collection in collections)
    systems = {
        name: _describe_encoder_for_plan(parts, name) for name in request.encoder if not _is_sweep_sparse_only(request)
    }
    dims = {name: system.facts.get("dims") for name, system in systems.items()}
    not_late = {
        name: _explain_no_late_chunks(parts, name) for name in systems if any(map(_is_late_chunking, request.chunk))
    }
    whole = make_configuration_grid(request, dims, add_dims_to_spec, not_late)
    systems |= {
        name: _make_word_search_system()
        if configuration.mode == SPARSE
        else _describe_encoder_for_plan(parts, configuration.encoder, configuration.dims)
        for configuration in whole.wanted
        if (name := add_dims_to_spec(configuration.encoder, configuration.dims)) not in systems
    }
    used = {name_vector_source(configuration) for configuration in whole.wanted}
    systems = {name: system for name, system in systems.items() if name in used} | retrievers
    wanted = (*whole.wanted, *(make_stack_configuration_of_retriever(name, request) for name in retrievers))
    cells = tuple(
        cell
        for collection in collections
        for cell in _make_sweep_cells(collection, wanted, {k: v.identity for k, v in systems.items()})
    )
    rerankers = [_make_planned_reranker(name) for name in request.reranker if name != NONE]
    datasets = tuple(_make_planned_dataset(collection) for collection in collections)
    return SweepPlan(
        request=request, systems=(*systems.values(), *rerankers), datasets=datasets, cells=cells,
        tokenizer_identity=parts.tokenizer.identity, collections=collections, grid=whole
    )  # fmt: skip


def name_vector_source(configuration: StackConfiguration) -> str:
    """Name whose vectors, or lists, a combination takes: an encoder may have others by dimensions."""
    if configuration.mode == LIVE:
        return configuration.encoder
    return add_dims_to_spec(configuration.encoder, configuration.dims)


def make_cell_label(configuration: StackConfiguration) -> str:
    """The name of a cell.

    >>> make_cell_label(StackConfiguration("wordllama", 64, "hnsw-f32", chunk="200"))
    'wordllama/64d/hnsw-f32/chunk=200'
    """
    parts = [
        configuration.encoder,
        f"{configuration.dims}d" if configuration.dims else "",
        "" if configuration.index == NONE else configuration.index,
    ]
    parts += [f"{name}={value}" for name in ("rewrite", "chunk") if (value := getattr(configuration, name)) != NONE]
    return "/".join(filter(None, parts))


def _make_sweep_cells(
    collection: SweepCollection, wanted: Sequence[StackConfiguration], identities: Mapping[str, str]
) -> Iterator[RunCell]:
    by_label: dict[str, list[StackConfiguration]] = {}
    for configuration in wanted:
        by_label.setdefault(make_cell_label(configuration), []).append(configuration)
    for name, stacks in by_label.items():
        key = digest_json(
            [
                TASK,
                collection.name,
                collection.fingerprint,
                name,
                identities[name_vector_source(stacks[0])],
                *_list_chunk_identity_parts(stacks[0].chunk),
            ]
        )
        job = SweepCellJob(collection, tuple(stacks))
        yield RunCell(TASK, collection.name, name, key, len(stacks) * len(collection.query_ids), job)


def _list_chunk_identity_parts(chunk: str) -> list[str]:
    """List what chunks depend on beside their name: how late ones are read, what a model is asked."""
    splitting = parse_document_splitting(chunk)
    if splitting is None or not (splitting.is_late_chunking or splitting.model):
        return []
    return [LATE if splitting.is_late_chunking else load_context_prompt().identity]


def _is_sweep_sparse_only(request: SweepRequest) -> bool:
    return all(mode.startswith(SPARSE) for mode in request.mode)


def _make_word_search_system() -> PlannedSystem:
    """Search by words as a system of the plan."""
    return PlannedSystem(WORDS, WORDS, "words/1", "classical", {"summary": "finds passages by words"})


def _describe_encoder_for_plan(parts: OpenedSweepParts, base: str, size: int | None = None) -> PlannedSystem:
    name = add_dims_to_spec(base, size)
    facts: dict[str, Any] = dict(SYSTEMS.get(SYSTEMS.parse_spec(name).name).facts)
    facts["summary"] = "encodes queries and passages"
    try:
        with parts.charge_model_calls_to_account(name):
            encoder = parts.encoder(base, size)
            facts["dims"] = _find_encoder_dimensions(parts, encoder)
    except ModelError as error:
        return PlannedSystem(name, name, f"failed: {error.message}", "embedding", {**facts, "dims": None})
    facts["max_tokens"] = encoder.system.encoder.max_tokens
    remote = find_remote_encoder(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    return PlannedSystem(name, name, encoder.identity, "embedding", facts, remote)


def _explain_no_late_chunks(parts: OpenedSweepParts, name: str) -> str:
    """Explain why an encoder makes no late chunks; empty where it does, or cannot be had."""
    try:
        return parts.encoder(name).reason_no_late_chunks
    except ModelError:
        return ""


def _find_encoder_dimensions(parts: OpenedSweepParts, encoder: SweepEncoder) -> int | None:
    try:
        return encoder.dim
    except ModelError:
        if isinstance(parts.ledger, NoCallsLedger):
            return None
        raise


def _make_planned_reranker(name: str) -> PlannedSystem:
    entry = RERANKERS.get(RERANKERS.parse_spec(name).name)
    return PlannedSystem(name, name, name, "classical", {"summary": entry.summary, "role": "reranks candidates"})


def _make_planned_dataset(collection: SweepCollection) -> PlannedDataset:
    task = PlannedTask(TASK, len(collection.query_ids), len(collection.ids), collection.skipped, collection.warnings)
    return PlannedDataset(collection.source, collection.name, collection.lang, collection.fingerprint, (task,))


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
        configuration: StackConfiguration,
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
            # `compute_reranking_cost` takes whole candidates, and near copies that were removed make the mean a
            # fraction.
            usd["rerank"] = reranked * compute_reranking_cost(1, tokens, self.tokens.get(configuration.reranker, 0.0))
        if GENERATOR in self.tokens:
            usd["generate"] = compute_passage_reading_cost(
                min(passages, configuration.k), passage, self.tokens[GENERATOR]
            )
        if configuration.mode == LIVE:
            usd["retrieve"] = self.searches.get(configuration.encoder, 0.0)
        return usd


def add_retriever_prices(prices: PriceList, systems: Sequence[PlannedSystem]) -> PriceList:
    """Add to the prices those of the retrievers among the systems of a plan."""
    asked = {system.name: 1000 * system.facts["usd_per_question"] for system in systems if system.kind == "run"}
    return replace(prices, searches={**prices.searches, **asked})


def make_price_list(request: SweepRequest) -> PriceList:
    """Make the prices of a request's parts, and their date: the config's, else the table's latest.

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
            spec = registry.parse_spec(name)
            price = spec.params.get("price")
            model = find_known_model(spec.target) or find_known_model(spec.target.partition(":")[2])
            if isinstance(price, int | float):
                tokens[name] = float(price)
            elif not is_paid_server(name, registry):
                tokens[name] = 0.0
            elif model is not None and model.usd_per_million_input is not None:
                tokens[name] = model.usd_per_million_input
                dates += _list_price_dates(model)
            elif model is not None and part == "rerank" and model.usd_per_thousand_searches is not None:
                searches[name] = model.usd_per_thousand_searches
                dates += _list_price_dates(model)
            else:
                raise UsageError(
                    f"The price of {name!r} is unknown.",
                    mend=f"Give US dollars per million tokens: prices: {{{part}: {{{name!r}: 0.05}}}}.",
                )
    if request.prices.generator is not None:
        tokens[GENERATOR] = request.prices.generator
    return PriceList(tokens, searches, request.prices.date or max(dates, default=""))


def is_paid_server(name: str, registry: Registry[Any]) -> bool:
    """Say whether what is called so asks a server that may charge for it; Ollama charges nothing."""
    spec = registry.parse_spec(name)
    needs = dict(registry.get(spec.name).facts).get("needs", "")
    return "embassay[llm]" in needs and "ollama" not in (spec.name, spec.target.partition(":")[0])


def _list_price_dates(model: KnownModelFacts) -> list[str]:
    return [model.priced_on] if model.priced_on else []
