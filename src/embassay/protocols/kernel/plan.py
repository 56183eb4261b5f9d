"""The systems and datasets of a run, looked at before anything is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from embassay.contracts import Encoder, Kind, RemoteEncoder, Tokenizer
from embassay.data import Dataset
from embassay.data.rows import nearest
from embassay.data.shapes import TASKS
from embassay.data.sources import chosen_tasks
from embassay.errors import DataError, ModelError, UsageError
from embassay.protocols.kernel.inputs import charged, describe
from embassay.records import Loaded, Skipped
from embassay.registry import Registry
from embassay.runs.folder import Cell
from embassay.runs.forecast import served
from embassay.systems import SYSTEMS
from embassay.systems.remote import Ledger, NoCalls

REFERENCES = ("constant", "random")


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
    group: str = field(default="", kw_only=True)
    """The datasets that it counts as one with; empty for those that stand alone."""


@dataclass(frozen=True)
class Part:
    """A dataset of a suite in a run: the set it counts as, the paper's name of it, its tasks, whether it is there, and
    what it lacks, for whatever reason; empty where it is whole."""

    dataset: str
    set: str
    title: str
    tasks: tuple[str, ...]
    present: bool
    reason: str


@dataclass(frozen=True)
class PlannedSuite:
    """A suite of the run, as far as the run has it. `within` is the names of datasets by every suite that it holds,
    itself included."""

    name: str
    title: str
    parts: tuple[Part, ...]
    within: Mapping[str, tuple[str, ...]]

    def count(self, task: str = "", within: str = "") -> tuple[int, int]:
        """How many of its sets are there, and how many it has: for one task, of a suite in it, or in all. A set of
        several datasets is there when all of them are."""
        own = self._of(task, within)
        every = dict.fromkeys(one.set for one in own)
        lacking = {one.set for one in own if not one.present or (task and f"not for {task}" in one.reason)}
        return len(every) - len(lacking), len(every)

    def said(self, task: str = "", within: str = "") -> str:
        """`14 of 15 sets of beir.`; a set that is there only in part is named. Empty where it has none of these."""
        here, every = self.count(task, within)
        partly = dict.fromkeys(one.set for one in self._of(task, within) if one.present and one.reason)
        lacking = f" {', '.join(partly)} only in part." if partly else ""
        return f"{here} of {every} sets of {self.name}.{lacking}" if every else ""

    def _of(self, task: str, within: str) -> list[Part]:
        names = self.within.get(within)
        return [
            one
            for one in self.parts
            if (not task or task in one.tasks) and (names is None or one.dataset in names)
        ]

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        fetch = f"`embassay data fetch {self.name}` fetches what is public."
        parts = [{**asdict(one), "tasks": list(one.tasks)} for one in self.parts]
        here, every = self.count()
        return {"name": self.name, "title": self.title, "sets": every, "present": here, "said": self.said(),
                "parts": parts, "mend": fetch}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Everything a run will do, in its order. Protocols add what their cells are made of."""

    request: Any
    """What was asked for; has `as_dict()`, `systems`, `seed` and `tokenizer`."""
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[Cell, ...] = ()
    tokenizer_identity: str = ""
    cache: Path | None = field(default=None, kw_only=True)
    """The folder of kept vectors, or the file of kept answers; None for the user's."""
    paper: tuple[str, ...] = field(default=(), kw_only=True)
    """The order of the paper's tasks."""
    suites: tuple[PlannedSuite, ...] = field(default=(), kw_only=True)
    """The suites that were named, with what is there of them."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that at least one dataset joins, in the paper's order."""
        return in_order((one.task for dataset in self.datasets for one in dataset.tasks), self.paper)

    def dataset(self, name: str) -> PlannedDataset:
        """The dataset of that name."""
        return next(one for one in self.datasets if one.name == name)

    def lang(self, dataset: str) -> str:
        """The language of a dataset."""
        return self.dataset(dataset).lang


class JoinableTask(Protocol):
    """What planning needs to know of a protocol's task."""

    @property
    def name(self) -> str: ...
    @property
    def shapes(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=JoinableTask)


def planned_systems(
    specs: Iterable[str],
    tokenizer: Tokenizer,
    seed: int,
    ledger: Ledger | None,
    *,
    pair_corpus: str = "batch",
) -> list[PlannedSystem]:
    """The systems and the reference rows, each once whatever it was called. UsageError for a spec that is none, before
    any of them is opened."""
    named = tuple(specs)
    for spec in named:
        SYSTEMS.parse(spec)
    found = [
        _planned_system(spec, tokenizer, seed, ledger, pair_corpus)
        for spec in dict.fromkeys((*named, *REFERENCES))
    ]
    return list({system.name: system for system in found}.values())


def _planned_system(
    spec: str, tokenizer: Tokenizer, seed: int, ledger: Ledger | None, pair_corpus: str
) -> PlannedSystem:
    with charged(ledger, SYSTEMS.format(SYSTEMS.parse(spec))):
        system = describe(spec, tokenizer, seed, ledger, pair_corpus)
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


def in_order(names: Iterable[str], paper: Sequence[str]) -> tuple[str, ...]:
    """The tasks of the paper that are among the names, in its order, then those that others brought, in theirs.

    >>> in_order(["mine", "sts", "retrieval"], ("retrieval", "clustering", "sts"))
    ('retrieval', 'sts', 'mine')
    """
    given = tuple(dict.fromkeys(names))
    return (*(name for name in paper if name in given), *(name for name in given if name not in paper))


def joined_tasks(
    source: str, dataset: Dataset, wanted: Sequence[T], protocol: str = "", known: Registry[T] | None = None
) -> list[T]:
    """The wanted tasks that the dataset is for and has the columns of.

    What it is for, the user says (`?tasks=`, a description), else its record of the catalogue for `protocol`; of other
    data the columns alone decide. UsageError, with what each task lacks, if there is none, and for a chosen task that
    is neither among the `known` ones nor any of the papers'.
    """
    if (meant := dataset.tasks_in(protocol)) is not None:
        wanted = _meant(source, meant, wanted, known)
    lacking = {task.name: _missing(task, dataset) for task in wanted}
    joined = [task for task in wanted if not lacking[task.name]]
    if not joined:
        needs = "; ".join(f"{name} lacks {' and '.join(columns)}" for name, columns in lacking.items())
        raise UsageError(
            f"The dataset {source!r} joins none of the requested tasks: {needs}.",
            mend="Name its columns with --map, for example --map text=body,label=topic, or choose another task.",
        )
    return joined


def _meant(source: str, meant: Sequence[str], wanted: Sequence[T], known: Registry[T] | None) -> list[T]:
    """The wanted tasks among those that the dataset is for."""
    every = dict.fromkeys(TASKS.values())
    for name in meant:
        if known is not None and name not in known and name not in every:
            near = nearest(name, every)
            raise UsageError(
                f"{source!r} is to be taken for {name!r}, which is not a task.",
                mend=f"{f'Did you mean {near}? ' if near else ''}Tasks are {', '.join(every)}.",
            )
    fitting = [task for task in wanted if task.name in meant]
    if not fitting:
        raise UsageError(
            f"The dataset {source!r} is for {' and '.join(meant)}, and this run asks for "
            f"{', '.join(task.name for task in wanted)}.",
            mend=f"Leave it out, or take it for another task: -d '{_with_tasks(source, wanted[0].name)}'.",
        )
    return fitting


def _with_tasks(source: str, task: str) -> str:
    place = chosen_tasks(source)[0]
    return f"{place}{'&' if '?' in place else '?'}tasks={task}"


def _missing(task: JoinableTask, dataset: Dataset) -> tuple[str, ...]:
    """The columns the dataset lacks for the task: none if it has one of the task's shapes."""
    by_shape = [tuple(dataset.missing(shape)) for shape in task.shapes]
    return () if () in by_shape else min(by_shape, key=len)


def planned_task(name: str, loaded: Loaded[Any], size: Callable[[Any], int], texts: int) -> PlannedTask:
    """A loaded dataset as a task of the plan. DataError if nothing of it can be used."""
    n = size(loaded.data)
    if not n:
        raise DataError(
            f"the dataset {loaded.dataset!r} has no usable item for the task {name}",
            expected="at least one",
            found="; ".join(f"{skip.count} with {skip.reason}" for skip in loaded.skipped) or "none",
        )
    return PlannedTask(name, n, texts, loaded.skipped, loaded.warnings)


def check_names(names: Iterable[str]) -> None:
    """UsageError if two datasets have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"Two datasets are called {name!r}.",
                mend="Rename one file, or give it a description with a name.",
            )


def facts_of(system: PlannedSystem) -> dict[str, Any]:
    """What the registry and the encoder say of a system, for its card. One of another registry says all itself."""
    if "summary" in system.facts:
        return system.facts
    entry = SYSTEMS.get(SYSTEMS.style.parse(system.spec).name)
    return {**dict(entry.facts), **system.facts, "summary": entry.summary}
