"""Every combination of the axes that makes sense, as the cells of a sweep, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask, check_names
from embassay.protocols.rag.sweep.config import RERANK, SweepRequest
from embassay.protocols.rag.sweep.parts import Collection, Parts, SweepEncoder, read_collection
from embassay.protocols.rag.sweep.stacks import NONE, TASK, Configuration
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import served
from embassay.systems import SYSTEMS, sized
from embassay.systems.remote import NoCalls
from embassay.systems.rerankers import RERANKERS


@dataclass(frozen=True)
class Grid:
    """`wanted` in the order of the axes, each once; `senseless` with the reason of each."""

    wanted: tuple[Configuration, ...]
    senseless: Mapping[Configuration, str]


Sized = Callable[[str, int | None], str]


def grid(request: SweepRequest, dims: Mapping[str, int | None], sized: Sized = lambda name, _: name) -> Grid:
    """All combinations of the request's axes; `dims` are those of each encoder, None where nobody knows yet. More of
    them are had from a model that has a parameter for it, of which `sized` then gives another spec string.

    Where a mode ends in `+rerank`, a mode that does not takes no reranker; else every reranker goes with every mode.
    UsageError where no combination is left. Source: spec rag 3.4.
    """
    wanted: dict[Configuration, None] = {}
    senseless: dict[Configuration, str] = {}
    for one, reason in _all(request, dims, sized):
        if reason:
            senseless.setdefault(one, reason)
        else:
            wanted[one] = None
    if not wanted:
        first, reason = next(iter(senseless.items()))
        raise UsageError(
            f"No combination of the axes makes sense; the first, {first.id}: {reason}.",
            mend="Change an axis.",
        )
    return Grid(tuple(wanted), {one: why for one, why in senseless.items() if one not in wanted})


def _all(
    request: SweepRequest, dims: Mapping[str, int | None], sized: Sized
) -> Iterator[tuple[Configuration, str]]:
    heads = product(request.chunk, request.rewrite, request.encoder, request.dims, request.index)
    tails = list(_tails(request))
    for chunk, rewrite, encoder, size, index in heads:
        whole = dims.get(encoder)
        kept = None if size == whole else size
        too_many = (
            f"{encoder} has {whole} dimensions"
            if kept is not None and whole is not None and kept > whole and sized(encoder, kept) == encoder
            else ""
        )
        for k, mode, reranker, deduplicate, boost, reason in tails:
            one = Configuration(
                encoder, kept, index, k, reranker, "hybrid" if mode.startswith("hybrid") else "dense",
                rewrite, deduplicate, boost, chunk,
            )  # fmt: skip
            yield one, too_many or reason


def _tails(request: SweepRequest) -> Iterator[tuple[int, str, str, float, float, str]]:
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
            alone = "the boost is added to a reranker's scores, and there is none"
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


def plan_of(parts: Parts) -> SweepPlan:
    """Read the datasets, open the encoders, and lay out the cells. UsageError for a spec that is none and for a grid
    without any sense, DataError for what is wrong in the data. An encoder that cannot be had fails later, in its
    cells."""
    request = parts.request
    collections = tuple(read_collection(one, request) for one in request.datasets)
    check_names(one.name for one in collections)
    systems = {name: _encoder(parts, name) for name in request.encoder}
    dims = {name: one.facts.get("dims") for name, one in systems.items()}
    whole = grid(request, dims, sized)
    systems |= {
        name: _encoder(parts, one.encoder, one.dims)
        for one in whole.wanted if (name := sized(one.encoder, one.dims)) not in systems
    }  # fmt: skip
    used = {sized(one.encoder, one.dims) for one in whole.wanted}
    systems = {name: one for name, one in systems.items() if name in used}
    cells = tuple(
        cell
        for one in collections
        for cell in _cells(one, whole.wanted, {k: v.identity for k, v in systems.items()})
    )
    rerankers = [_reranker(name) for name in request.reranker if name != NONE]
    datasets = tuple(_dataset(one) for one in collections)
    return SweepPlan(
        request=request, systems=(*systems.values(), *rerankers), datasets=datasets, cells=cells,
        tokenizer_identity=parts.tokenizer.identity, collections=collections, grid=whole,
    )  # fmt: skip


def label(one: Configuration) -> str:
    """The name of a cell.

    >>> label(Configuration("wordllama", 64, "hnsw-f32", chunk="200"))
    'wordllama/64d/hnsw-f32/chunk=200'
    """
    parts = [one.encoder, f"{one.dims}d" if one.dims else "", one.index]
    parts += [f"{name}={value}" for name in ("rewrite", "chunk") if (value := getattr(one, name)) != NONE]
    return "/".join(filter(None, parts))


def _cells(
    collection: Collection, wanted: Sequence[Configuration], identities: Mapping[str, str]
) -> Iterator[Cell]:
    by_label: dict[str, list[Configuration]] = {}
    for one in wanted:
        by_label.setdefault(label(one), []).append(one)
    for name, own in by_label.items():
        key = digest(
            [
                TASK,
                collection.name,
                collection.fingerprint,
                name,
                identities[sized(own[0].encoder, own[0].dims)],
            ]
        )
        job = CellJob(collection, tuple(own))
        yield Cell(TASK, collection.name, name, key, len(own) * len(collection.query_ids), job)


def _encoder(parts: Parts, base: str, size: int | None = None) -> PlannedSystem:
    name = sized(base, size)
    facts: dict[str, Any] = dict(SYSTEMS.get(SYSTEMS.parse(name).name).facts)
    facts["summary"] = "encodes queries and passages"
    try:
        with parts.charged(name):
            encoder = parts.encoder(base, size)
            facts["dims"] = _dims(parts, encoder)
    except ModelError as error:
        return PlannedSystem(name, name, f"failed: {error.message}", "embedding", {**facts, "dims": None})
    facts["max_tokens"] = encoder.system.encoder.max_tokens
    remote = served(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    return PlannedSystem(name, name, encoder.identity, "embedding", facts, remote)


def _dims(parts: Parts, encoder: SweepEncoder) -> int | None:
    try:
        return encoder.dim
    except ModelError:
        if isinstance(parts.ledger, NoCalls):
            return None
        raise


def _reranker(name: str) -> PlannedSystem:
    entry = RERANKERS.get(RERANKERS.parse(name).name)
    return PlannedSystem(
        name, name, name, "classical", {"summary": entry.summary, "role": "reranks candidates"}
    )


def _dataset(one: Collection) -> PlannedDataset:
    task = PlannedTask(TASK, len(one.query_ids), len(one.ids), one.skipped, one.warnings)
    return PlannedDataset(one.source, one.name, one.lang, one.fingerprint, (task,))
