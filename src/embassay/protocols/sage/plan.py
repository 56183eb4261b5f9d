"""From a request to the cells of a run, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.data.shapes import check_targets
from embassay.protocols import opening
from embassay.protocols.planning import (
    PlannedDataset,
    PlannedSystem,
    PlannedTask,
    check_names,
    in_order,
    joined_tasks,
    planned_systems,
    planned_task,
)
from embassay.protocols.sage import work
from embassay.protocols.sage.request import VERSION, Request
from embassay.protocols.sage.tasks import PAIR_CORPUS, TASK_NAMES, TASKS
from embassay.runs.cells import Cell
from embassay.runs.files import digest
from embassay.search.blocks import SHARD
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Plan:
    """Everything a run will do, in its order."""

    request: Request
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    tokenizer_identity: str
    cells: tuple[Cell, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that at least one dataset joins, in the paper's order."""
        return in_order((one.task for dataset in self.datasets for one in dataset.tasks), TASK_NAMES)

    def lang(self, dataset: str) -> str:
        """The language of a dataset."""
        return next(one.lang for one in self.datasets if one.name == dataset)


def make_plan(request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """Open every system and dataset, and cut the work into cells.

    `ledger` is what systems that cost money are charged to.

    Raises UsageError for a dataset that joins none of the requested tasks, and ModelError for a system that cannot
    be opened: both before any work is done.
    """
    for name in request.tasks:
        TASKS.get(name)
    check_targets(request.mapping)
    tokenizer = open_tokenizer(request.tokenizer)
    systems = planned_systems(request.systems, tokenizer, request.seed, ledger, pair_corpus=PAIR_CORPUS)
    datasets = [_planned_dataset(source, request) for source in dict.fromkeys(request.datasets)]
    check_names(dataset.name for dataset in datasets)
    cells = tuple(
        _cell(request, system, dataset, one, tokenizer.identity, cache)
        for name in in_order(request.tasks or TASK_NAMES, TASK_NAMES)
        for dataset in datasets
        for one in dataset.tasks
        if one.task == name
        for system in systems
    )
    return Plan(request, tuple(systems), tuple(datasets), tokenizer.identity, cells)


def _planned_dataset(source: str, request: Request) -> PlannedDataset:
    how = request.dataset(source)
    dataset = opening.dataset(how)
    wanted = [work.task(name) for name in in_order(request.tasks or TASK_NAMES, TASK_NAMES)]
    tasks = []
    for task in joined_tasks(source, dataset, wanted, "sage", TASKS):
        limit = request.options.drawn(task.name, request.limit)
        loaded = work.load(task.name, how, limit, request.seed)
        tasks.append(
            planned_task(task.name, loaded, task.size, work.texts(task, loaded.data, request.options))
        )
    return PlannedDataset(
        source, dataset.name, dataset.lang, dataset.fingerprint, tuple(tasks), group=dataset.group
    )


def _cell(
    request: Request,
    system: PlannedSystem,
    dataset: PlannedDataset,
    task: PlannedTask,
    tokenizer: str,
    cache: Path | None,
) -> Cell:
    how = request.dataset(dataset.source)
    key = digest(
        {
            "protocol": "sage",
            "version": VERSION,
            "task": task.task,
            "system": [system.name, system.identity],
            "dataset": [dataset.name, dataset.fingerprint],
            "tokenizer": tokenizer,
            "limit": request.limit,
            "seed": request.seed,
            "options": request.options.as_dict(),
            **_cut(system, task),
        }
    )
    job = work.Job(
        task.task, system.spec, how, request.limit, request.seed, request.tokenizer, request.options, cache
    )
    # An encoder tells of its texts, every other system of a corpus's shards.
    units = task.texts if system.kind == "embedding" or task.task == "retrieval" else 0
    return Cell(task.task, dataset.name, system.name, key, units, job, remote=system.remote is not None)


def _cut(system: PlannedSystem, task: PlannedTask) -> dict[str, Any]:
    """How a corpus of more than one shard is cut: an encoder's vectors depend on it in their last bits."""
    cut = task.task == "retrieval" and task.n > SHARD and system.kind == "embedding"
    return {"shard": SHARD} if cut else {}
