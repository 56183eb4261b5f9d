"""The cells of a sweep: an index of an encoder's vectors with so many dimensions, on a dataset; and who takes part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.errors import ModelError
from embassay.protocols.planning import PlannedDataset, PlannedSystem, PlannedTask, check_names
from embassay.protocols.rag.sweep.collection import Collection, read_collection
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.grid import Grid, grid
from embassay.protocols.rag.sweep.parts import Parts, SweepEncoder
from embassay.protocols.rag.sweep.request import SweepRequest
from embassay.protocols.rag.sweep.stacks import TASK
from embassay.runs.cells import Cell
from embassay.runs.files import digest
from embassay.runs.forecast import served
from embassay.systems import SYSTEMS, sized
from embassay.systems.remote import NoCalls
from embassay.systems.rerankers import RERANKERS


@dataclass(frozen=True)
class CellJob:
    """The stacks of a cell: they differ in what is done with the index's answers."""

    collection: Collection
    configurations: tuple[Configuration, ...]

    @property
    def head(self) -> Configuration:
        """One of them: chunk, rewrite, encoder, dims and index are those of all."""
        return self.configurations[0]


@dataclass(frozen=True)
class SweepPlan:
    """A sweep as manifests know it; `grid` has what is measured and what makes no sense."""

    request: SweepRequest
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[Cell, ...]
    tokenizer_identity: str
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
        request,
        (*systems.values(), *rerankers),
        datasets,
        cells,
        parts.tokenizer.identity,
        collections,
        whole,
    )


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
