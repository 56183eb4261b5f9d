"""From a request to the cells of a run, and what they will take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from embassay.contracts import Tokenizer
from embassay.data.shapes import check_targets
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.forecast import Forecaster, Work
from embassay.protocols.kernel.plan import (
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
from embassay.protocols.sage.edits import Context, corpora_length
from embassay.protocols.sage.options import VERSION, Request
from embassay.protocols.sage.tasks import PAIR_CORPUS, TASK_NAMES, TASKS
from embassay.protocols.sage.work import needed
from embassay.runs.cells import Cell
from embassay.runs.files import digest
from embassay.runs.forecast import Forecast, Forecasts, tokens_of
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


LENGTHS = {"robustness": 7.0, "sensitivity": 1 + 3 * (1.15 + 1.5 + 2) + 3 * (0.85 + 0.5 + 0.1)}
"""Tokens of all versions of a document together, in units of the original's; other tasks see it once."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell, in the order of the plan.

    With `measure`, systems on this machine are timed on a few texts, for which they are loaded here.
    """
    return Forecasts(tuple(_cells(plan, measure=measure)))


def _cells(plan: Plan, *, measure: bool) -> Iterator[Forecast]:
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    cache = plan.cells[0].job.cache
    forecaster = Forecaster(plan.systems, tokenizer, request.seed, cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_work(plan, planned, dataset.source, tokenizer))


def _length(name: str, context: Context) -> float:
    return corpora_length(context) if name == "retrieval" else LENGTHS.get(name, 1.0)


def _work(plan: Plan, planned: PlannedTask, source: str, tokenizer: Tokenizer) -> Work:
    request, name = plan.request, planned.task
    limit = request.options.drawn(name, request.limit)
    loaded = work.load(name, request.dataset(source), limit, request.seed)
    fields = work.task(name).fields(loaded.data)
    first = {"retrieval": "document", "preference": "source"}.get(name, "text")
    texts, queries = fields[first][1], fields.get("query", ((), ()))[1]
    tokens, _ = tokens_of(texts, tokenizer)
    context = Context(loaded.dataset, tokenizer, request.seed, request.options)
    return Work(
        name, loaded.dataset, planned.n, planned.texts, round(tokens * _length(name, context)),
        partial(work.rehearse, name, loaded.data, context), texts, queries, KINDS.get(name, "pairs"),
        footprint=lambda system: needed(name, system, loaded.data, fields, request.options),
    )  # fmt: skip
