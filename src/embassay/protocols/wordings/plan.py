"""From datasets and systems to the cells of originals and of runs in other words, as all protocols of them have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.plan import REFERENCES, PlannedSystem, in_order, joined_tasks, planned_task
from embassay.protocols.tasks import TASK_NAMES
from embassay.protocols.wordings.levels import ORIGINAL, more_runs_needed
from embassay.protocols.wordings.records import Paraphraser, SourceText
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import PTEB_TASKS, PtebJob, SourceRun, slices, task
from embassay.records import Loaded
from embassay.registry import attribute
from embassay.runs.folder import Cell, CellRecord, RunFolder, digest

Seeds = Mapping[tuple[str, str], tuple[int, ...]]
"""(source, dataset) -> the seeds of its runs."""


class WrittenBy(Protocol):
    """Where wordings come from: who writes them, and what the run's set calls it."""

    @property
    def name(self) -> str: ...
    @property
    def paraphraser(self) -> Paraphraser: ...
    def variant(self, seed: int) -> str:
        """The variant of the cells of one run."""
        ...


@dataclass(frozen=True)
class PlannedDataset(planning.PlannedDataset):
    """A dataset, its languages by task, and how many distinct texts are to be written anew in one run."""

    languages: Mapping[str, tuple[str, ...]]
    asked: int


@dataclass(frozen=True)
class WordedPlan(planning.Plan):
    """A run as far as it is known: more runs may follow."""

    protocol: ClassVar[str]
    version: ClassVar[int]
    registry: ClassVar[str] = PTEB_TASKS
    """Where the tasks are: "module:NAME"."""
    request: Any
    datasets: tuple[PlannedDataset, ...]

    def parts(self, dataset: planning.PlannedDataset, name: str) -> tuple[Loaded[Any], ...]:
        """The data of a task on a dataset, by language."""
        request = self.request
        how = request.dataset(dataset.source)
        return slices(name, how, request.limit, request.seed, request.options.languages, self.registry)

    def originals(self) -> list[Cell]:
        """The cells of the texts as they are."""
        return [
            self._original(system, dataset, one.task, one.texts)
            for name in self.tasks
            for dataset in self.datasets
            for one in dataset.tasks
            if one.task == name
            for system in self.systems
        ]

    def _original(self, system: PlannedSystem, dataset: PlannedDataset, name: str, texts: int) -> Cell:
        request = self.request
        job = PtebJob(
            self.opened_as(system, name), request.seed, request.tokenizer, self.cache, name,
            request.dataset(dataset.source), request.limit, request.options, ORIGINAL, registry=self.registry,
        )  # fmt: skip
        depends = {
            "protocol": self.protocol,
            "version": self.version,
            "task": name,
            "system": [system.name, system.identity],
            "dataset": [dataset.name, dataset.fingerprint],
            "tokenizer": self.tokenizer_identity,
            "limit": request.limit,
            "seed": request.seed,
            "options": asdict(request.options),
        }
        units = texts if system.kind == "embedding" else 0
        return Cell(
            name, dataset.name, system.name, digest(depends), units, job,
            remote=system.remote is not None, variant=ORIGINAL,
        )  # fmt: skip

    def opened_as(self, system: PlannedSystem, task: str) -> str:  # noqa: ARG002
        """The spec string that a system is opened by for a task."""
        return system.spec

    def in_order(self, cells: Iterable[Cell]) -> tuple[Cell, ...]:
        """The cells by task, else as they come."""
        order = {name: place for place, name in enumerate(self.tasks)}
        return tuple(sorted(cells, key=lambda cell: order[cell.task]))


def run_of(paraphrases: ParaphraseSet, source: WrittenBy, dataset: str, seed: int, request: Any) -> SourceRun:
    """What a worker needs to find the wordings of one run; `request` says what is done with texts without any."""
    return SourceRun(
        paraphrases.path, source.name, dataset, seed, paraphrases.digest(source.name, dataset, seed),
        request.on_failure, request.exclude_copied,
    )  # fmt: skip


def reworded(original: Cell, variant: str, run: SourceRun, folder: RunFolder) -> Cell:
    """The cell of the same system on the same data in the wordings of a run."""
    depends = [original.key, variant, run.digest, run.on_failure, run.exclude_copied]
    job = replace(original.job, variant=variant, run=run, original=folder.cell_path(original))
    return replace(original, key=digest(depends), variant=variant, job=job)


Asked = Callable[[str, tuple[Loaded[Any], ...]], Iterator[SourceText]]
"""From a task and its data by language to the texts that are to be written anew, as often as they occur."""


def planned_dataset(
    source: str, request: Any, asked: Asked, protocol: str = "pteb", registry: str = PTEB_TASKS
) -> PlannedDataset:
    """A dataset, opened and counted. UsageError where it joins none of the tasks."""
    how = request.dataset(source)
    opened = opening.dataset(how)
    wanted = [task(name, registry) for name in in_order(request.tasks or TASK_NAMES, TASK_NAMES)]
    tasks, languages, distinct = [], {}, set[tuple[str, str, str]]()
    for what in joined_tasks(source, opened, wanted, protocol, attribute(registry)):
        parts = slices(what.name, how, request.limit, request.seed, request.options.languages, registry)
        texts = 0
        for one in asked(what.name, parts):
            texts += 1
            distinct.add((one.lang, one.text, one.place))
        planned = [planned_task(what.name, part, what.size, texts) for part in parts]
        tasks.append(
            replace(
                planned[0],
                n=sum(one.n for one in planned),
                skipped=tuple(skip for one in planned for skip in one.skipped),
                warnings=tuple(dict.fromkeys(warning for one in planned for warning in one.warnings)),
            )
        )
        languages[what.name] = tuple(part.lang for part in parts)
    return PlannedDataset(
        source, opened.name, opened.lang, opened.fingerprint, tuple(tasks), languages, len(distinct)
    )


def check_baseline(baseline: str, systems: Sequence[PlannedSystem]) -> None:
    """UsageError for a baseline that is not evaluated."""
    names = [system.name for system in systems if system.kind != "reference"]
    if baseline and baseline not in names:
        raise UsageError(
            f"The baseline {baseline!r} is none of the systems.",
            mend=f"Name one of {', '.join(names)}.",
        )


class Growing(WrittenBy, Protocol):
    """A source that can be asked for more runs."""

    @property
    def label(self) -> str: ...
    @property
    def is_control(self) -> bool: ...
    def seeds(self, dataset: str, runs: int, request: Any) -> tuple[int, ...]:
        """The seeds of the runs on a dataset. UsageError when there are fewer."""
        ...


class Growth:
    """The seeds of every source on every dataset so far (`seeds`), and whether there is a round to do (`grows`).

    UsageError where a source has fewer runs than were asked for.
    """

    def __init__(self, request: Any, datasets: Sequence[PlannedDataset], sources: Sequence[Growing]) -> None:
        self.request, self.sources = request, sources
        self.runs = {dataset.name: request.runs for dataset in datasets}
        self.stopped: dict[str, str] = {}
        self.seeds = self._seeds()
        self.grows = True

    def look_at(self, records: Sequence[CellRecord]) -> None:
        """Give one run more to each dataset that needs it, by the cells of the runs so far."""
        self.grows = False
        if self.request.until_ci is None:
            return
        for dataset, runs in self.runs.items():
            if more_runs_needed(self._drops(dataset, records), self.request.until_ci):
                self._grow(dataset, runs + 1)
        self.seeds = self._seeds()

    def _grow(self, dataset: str, runs: int) -> None:
        if runs > self.request.max_runs:
            self.stopped[dataset] = f"--max-runs {self.request.max_runs} is reached"
            return
        try:
            for source in self.sources:
                source.seeds(dataset, runs, self.request)
        except UsageError as error:
            self.stopped[dataset] = error.message
            return
        self.runs[dataset], self.grows = runs, True

    def _drops(
        self, dataset: str, records: Sequence[CellRecord]
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Paraphrased minus original, a row for each task, ranked system and source (no control), a column for each
        run."""
        found: dict[tuple[str, ...], list[float]] = {}
        variants = {
            source.variant(seed): source.label
            for source in self.sources
            if not source.is_control
            for seed in self.seeds[source.name, dataset]
        }
        for record in records:
            if record.dataset != dataset or record.variant not in variants or record.system in REFERENCES:
                continue
            key = (record.task, record.system, variants[record.variant])
            found.setdefault(key, []).append(_drop(record))
        return np.array(list(found.values()), dtype=np.float64).reshape(len(found), self.runs[dataset])

    def _seeds(self) -> dict[tuple[str, str], tuple[int, ...]]:
        return {
            (source.name, dataset): source.seeds(dataset, runs, self.request)
            for source in self.sources
            for dataset, runs in self.runs.items()
        }


def _drop(record: CellRecord) -> float:
    """Of a cell; NaN where it has none."""
    score, original = (record.components.get(name) for name in ("score", "original"))
    if score is None or original is None or score.value is None or original.value is None:
        return float("nan")
    return score.value - original.value
