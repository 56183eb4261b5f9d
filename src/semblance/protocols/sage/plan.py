"""From a request to the cells of a run, before anything is computed."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semblance.contracts import Encoder, Kind, RemoteEncoder, Tokenizer
from semblance.data.shapes import check_targets
from semblance.errors import DataError, ModelError, UsageError
from semblance.protocols.sage import work
from semblance.protocols.sage.request import VERSION, Request
from semblance.protocols.sage.tasks import TASK_NAMES, TASKS
from semblance.records import Loaded, Skipped
from semblance.runs.cells import Cell
from semblance.runs.files import digest
from semblance.runs.forecast import served
from semblance.systems import SYSTEMS
from semblance.systems.remote.ledger import Ledger, Reservation
from semblance.text import open_tokenizer

REFERENCES = ("constant", "random")


class NoCalls(Ledger):
    """The ledger of a plan that is only looked at: whoever would send a request is stopped."""

    def try_reserve(self, model: str, usd: float | None) -> Reservation | None:  # noqa: ARG002 - what a ledger hears
        raise ModelError(
            f"A plan sends no request, and only one could tell how many dimensions {model!r} has.",
            mend="Leave dims= out, or say dimensions=NUMBER.",
        )


@dataclass(frozen=True)
class PlannedSystem:
    """A system of the run, as far as it is known without computing anything."""

    spec: str
    name: str
    identity: str
    kind: Kind
    facts: dict[str, Any]
    remote: RemoteEncoder | None = None


@dataclass(frozen=True)
class PlannedTask:
    """A task on a dataset: its size, and what was left out at the door."""

    task: str
    n: int
    texts: int
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class PlannedDataset:
    """A dataset of the run and the tasks it joins."""

    source: str
    name: str
    lang: str
    fingerprint: str
    tasks: tuple[PlannedTask, ...]


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
        joined = {one.task for dataset in self.datasets for one in dataset.tasks}
        return tuple(name for name in TASK_NAMES if name in joined)

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
    for spec in request.systems:
        SYSTEMS.parse(spec)
    check_targets(request.mapping)
    tokenizer = open_tokenizer(request.tokenizer)
    specs = dict.fromkeys((*request.systems, *REFERENCES))
    systems = _distinct([_planned_system(spec, tokenizer, request.seed, ledger) for spec in specs])
    datasets = [_planned_dataset(source, request) for source in dict.fromkeys(request.datasets)]
    _check_names([dataset.name for dataset in datasets])
    cells = tuple(
        _cell(request, system, dataset, one, tokenizer.identity, cache)
        for name in TASK_NAMES
        for dataset in datasets
        for one in dataset.tasks
        if one.task == name
        for system in systems
    )
    return Plan(request, tuple(systems), tuple(datasets), tokenizer.identity, cells)


def _planned_system(spec: str, tokenizer: Tokenizer, seed: int, ledger: Ledger | None) -> PlannedSystem:
    with work.charged(ledger, SYSTEMS.format(SYSTEMS.parse(spec))):
        system = work.describe(spec, tokenizer, seed, ledger)
        encoder, remote = getattr(system, "encoder", None), served(system)
        facts = {} if encoder is None else {"dims": _dims(encoder, ledger), "max_tokens": encoder.max_tokens}
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    return PlannedSystem(spec, system.name, system.identity, system.kind, facts, remote)


def _dims(encoder: Encoder, ledger: Ledger | None) -> int | None:
    """The dimensions of a system; None where only a request could tell, and none may be sent."""
    try:
        return encoder.dim
    except ModelError:
        if isinstance(ledger, NoCalls):
            return None
        raise


def _distinct(systems: list[PlannedSystem]) -> list[PlannedSystem]:
    """The systems without those that another spelling has named already."""
    return list({system.name: system for system in systems}.values())


def _planned_dataset(source: str, request: Request) -> PlannedDataset:
    how = request.dataset(source)
    dataset = work.dataset(how)
    wanted = request.tasks or TASK_NAMES
    lacking = {name: _missing(name, dataset) for name in wanted}
    joined = [name for name in TASK_NAMES if name in wanted and not lacking[name]]
    if not joined:
        needs = "; ".join(f"{name} lacks {' and '.join(columns)}" for name, columns in lacking.items())
        raise UsageError(
            f"The dataset {source!r} joins none of the requested tasks: {needs}.",
            mend="Name its columns with --map, for example --map text=body,label=topic, or choose another task.",
        )
    tasks = [_planned_task(name, work.load(name, how, request.limit, request.seed)) for name in joined]
    return PlannedDataset(source, dataset.name, dataset.lang, dataset.fingerprint, tuple(tasks))


def _missing(task: str, dataset: Any) -> tuple[str, ...]:
    """The columns the dataset lacks for the task: none if it has one of the task's shapes."""
    by_shape = [tuple(dataset.missing(shape)) for shape in work.task(task).shapes]
    return () if () in by_shape else min(by_shape, key=len)


def _planned_task(name: str, loaded: Loaded[Any]) -> PlannedTask:
    task = work.task(name)
    n = task.size(loaded.data)
    if not n:
        raise DataError(
            f"the dataset {loaded.dataset!r} has no usable item for the task {name}",
            expected="at least one",
            found="; ".join(f"{skip.count} with {skip.reason}" for skip in loaded.skipped) or "none",
        )
    return PlannedTask(name, n, n * task.texts_per_item, loaded.skipped, loaded.warnings)


def _check_names(names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"Two datasets are called {name!r}.",
                mend="Rename one file, or give it a description with a name.",
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
            "options": asdict(request.options),
        }
    )
    job = work.Job(
        task.task, system.spec, how, request.limit, request.seed, request.tokenizer, request.options, cache
    )
    units = task.texts if system.kind == "embedding" else 0
    return Cell(task.task, dataset.name, system.name, key, units, job, remote=system.remote is not None)


def facts_of(system: PlannedSystem) -> dict[str, Any]:
    """What the registry and the encoder say of a system, for its card."""
    entry = SYSTEMS.get(SYSTEMS.style.parse(system.spec).name)
    return {**dict(entry.facts), **system.facts, "summary": entry.summary}
