"""From a request to the cells of a run: of the originals at first, and of the runs as their wordings are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from embassay.data.shapes import check_targets
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel import request
from embassay.protocols.kernel.plan import (
    REFERENCES,
    PlannedSystem,
    check_names,
    in_order,
    joined_tasks,
    planned_systems,
    planned_task,
)
from embassay.protocols.kernel.suites import planned_datasets
from embassay.protocols.pteb import work
from embassay.protocols.pteb.levels import CONTROLS, ORIGINAL, more_runs_needed
from embassay.protocols.pteb.paraphrasing.paraphrasers import Permuted, Prompt, open_paraphraser, open_prompt
from embassay.protocols.pteb.paraphrasing.records import Generation, Paraphraser, SourceText
from embassay.protocols.pteb.paraphrasing.sets import ParaphraseSet
from embassay.protocols.pteb.work import asked_of, slices, task
from embassay.protocols.tasks import TASK_NAMES, TASKS
from embassay.protocols.tasks.task import PtebOptions
from embassay.records import Loaded, Paraphrases
from embassay.runs.folder import Cell, CellRecord, RunFolder, digest
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

VERSION = 4
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of a PTEB run. `seed` is that of the first run's paraphrases, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
    paraphrasers: tuple[str, ...] = ("recorded",)
    prompts: tuple[str, ...] = ("default",)
    runs: int = 6
    until_ci: float | None = None
    """Points: datasets get more runs until every drop is known to +- as many."""
    max_runs: int = 20
    control: bool = False
    """Whether texts with their words permuted, as far as the first paraphraser reworded them, stand beside."""
    baseline: str = ""
    on_failure: Literal["leave out", "original"] = "leave out"
    exclude_copied: bool = False
    seed_per: Literal["run", "text"] = "run"
    last_seeds: tuple[tuple[str, int], ...] = ()
    """Dataset -> the seed of its last run, in place of the usual one."""
    generation: Generation = field(default_factory=Generation)
    options: PtebOptions = field(default_factory=PtebOptions)
    original_only: bool = False
    """Whether the texts are scored as they are, and nothing is paraphrased."""

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        return plain if self.original_only else {key: plain[key] for key in plain if key != "original_only"}

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise UsageError(f"There cannot be {self.runs} runs.", mend="Ask for one or more.")
        if self.original_only:
            if self.paraphrasers or self.control or self.until_ci is not None:
                raise UsageError(
                    "--original-only paraphrases nothing, and a paraphraser, --control or --until-ci is given.",
                    mend="Leave out either.",
                )
        elif not self.paraphrasers or not self.prompts:
            raise UsageError(
                "Nobody is to paraphrase.",
                mend="Name a paraphraser, for example -p recorded, or add --original-only for plain scores.",
            )
        if self.until_ci is not None and self.until_ci <= 0:
            raise UsageError(f"--until-ci is {self.until_ci}.", mend="Give points above 0, for example 0.5.")
        if self.until_ci is not None and not 2 <= self.runs <= self.max_runs:
            raise UsageError(
                f"An interval needs two runs or more, and at most --max-runs {self.max_runs}; asked were {self.runs}.",
                mend="Give --runs and --max-runs that allow it.",
            )


Seeds = Mapping[tuple[str, str], tuple[int, ...]]
"""(source, dataset) -> the seeds of its runs."""


@dataclass(frozen=True)
class PlannedDataset(planning.PlannedDataset):
    """A dataset, its languages by task, and how many distinct texts are to be paraphrased in one run."""

    languages: Mapping[str, tuple[str, ...]]
    asked: int


@dataclass(frozen=True)
class PtebPlan(planning.Plan):
    """A PTEB run as far as it is known: more runs may follow."""

    request: Request
    datasets: tuple[PlannedDataset, ...]

    def asked(self, dataset: PlannedDataset) -> list[SourceText]:
        """The distinct texts of all the dataset's tasks that are to be paraphrased, in the order of the data."""
        by_place = self.request.seed_per == "text"
        texts = (
            asked
            for one in dataset.tasks
            for asked in asked_of(
                one.task,
                self.parts(dataset, one.task),
                by_place=by_place,
                unworded=task(one.task).unworded(self.request.options),
            )
        )
        return list({(one.lang, one.text, one.place): one for one in texts}.values())

    def recorded(self) -> dict[str, Paraphrases]:
        """The wordings that datasets bring themselves."""
        found = {one.name: opening.dataset(self.request.dataset(one.source)) for one in self.datasets}
        return {
            name: one.load("paraphrases").data
            for name, one in found.items()
            if not one.missing("paraphrases")
        }

    def parts(self, dataset: planning.PlannedDataset, name: str) -> tuple[Loaded[Any], ...]:
        """The data of a task on a dataset, by language."""
        request = self.request
        how = request.dataset(dataset.source)
        return slices(name, how, request.limit, request.seed, request.options.languages)


def make_plan(request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> PtebPlan:
    """Open every system and dataset; the cells are those of the texts as they are.

    Raises UsageError for a dataset that joins none of the requested tasks or a baseline that is not evaluated, and
    ModelError for a system that cannot be opened: before any work is done.
    """
    for name in request.tasks:
        TASKS.get(name)
    check_targets(request.mapping)
    tokenizer = open_tokenizer(request.tokenizer)
    systems = planned_systems(request.systems, tokenizer, request.seed, ledger)
    _check_baseline(request, systems)
    asked = in_order(request.tasks or TASK_NAMES, TASK_NAMES)
    datasets, suites = planned_datasets(request, asked, lambda source: _planned_dataset(source, request))
    check_names(dataset.name for dataset in datasets)
    _check_last_seeds(request, datasets)
    plan = PtebPlan(
        request,
        tuple(systems),
        datasets,
        (),
        tokenizer.identity,
        cache=cache,
        paper=TASK_NAMES,
        suites=suites,
    )
    return replace(plan, cells=tuple(_originals(plan)))


def with_runs(
    plan: PtebPlan, folder: RunFolder, paraphrases: ParaphraseSet, sources: tuple[Source, ...], seeds: Seeds
) -> PtebPlan:
    """The plan with the cells of all runs whose wordings are kept: `seeds` of each source and dataset."""
    originals = {(cell.task, cell.dataset, cell.system): cell for cell in _originals(plan)}
    cells = list(originals.values())
    for original in originals.values():
        for source in sources:
            for seed in seeds[source.name, original.dataset]:
                run = work.SourceRun(
                    paraphrases.path, source.name, original.dataset, seed,
                    paraphrases.digest(source.name, original.dataset, seed),
                    plan.request.on_failure, plan.request.exclude_copied,
                )  # fmt: skip
                cells.append(_reworded(original, source.variant(seed), run, folder))
    order = {name: place for place, name in enumerate(plan.tasks)}
    return replace(plan, cells=tuple(sorted(cells, key=lambda cell: order[cell.task])))


def _originals(plan: PtebPlan) -> list[Cell]:
    return [
        _original(plan, system, dataset, one.task, one.texts)
        for name in plan.tasks
        for dataset in plan.datasets
        for one in dataset.tasks
        if one.task == name
        for system in plan.systems
    ]


def _original(plan: PtebPlan, system: PlannedSystem, dataset: PlannedDataset, name: str, texts: int) -> Cell:
    request = plan.request
    job = work.PtebJob(
        system.spec, request.seed, request.tokenizer, plan.cache, name, request.dataset(dataset.source),
        request.limit, request.options, ORIGINAL,
    )  # fmt: skip
    depends = {
        "protocol": "pteb",
        "version": VERSION,
        "task": name,
        "system": [system.name, system.identity],
        "dataset": [dataset.name, dataset.fingerprint],
        "tokenizer": plan.tokenizer_identity,
        "limit": request.limit,
        "seed": request.seed,
        "options": asdict(request.options),
    }
    units = texts if system.kind == "embedding" else 0
    return Cell(
        name, dataset.name, system.name, digest(depends), units, job,
        remote=system.remote is not None, variant=ORIGINAL,
    )  # fmt: skip


def _reworded(original: Cell, variant: str, run: work.SourceRun, folder: RunFolder) -> Cell:
    """The cell of the same system on the same data in the wordings of a run."""
    depends = [original.key, variant, run.digest, run.on_failure, run.exclude_copied]
    job = replace(original.job, variant=variant, run=run, original=folder.cell_path(original))
    return replace(original, key=digest(depends), variant=variant, job=job)


def _planned_dataset(source: str, request: Request) -> PlannedDataset:
    how = request.dataset(source)
    opened = opening.dataset(how)
    wanted = [task(name) for name in in_order(request.tasks or TASK_NAMES, TASK_NAMES)]
    tasks, languages, distinct = [], {}, set[tuple[str, str, str]]()
    for what in joined_tasks(source, opened, wanted, "pteb", TASKS):
        parts = slices(what.name, how, request.limit, request.seed, request.options.languages)
        texts = 0
        kept, by_place = what.unworded(request.options), request.seed_per == "text"
        for asked in asked_of(what.name, parts, by_place=by_place, unworded=kept):
            texts += 1
            distinct.add((asked.lang, asked.text, asked.place))
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


def _check_baseline(request: Request, systems: list[PlannedSystem]) -> None:
    names = [system.name for system in systems if system.kind != "reference"]
    if request.baseline and request.baseline not in names:
        raise UsageError(
            f"The baseline {request.baseline!r} is none of the systems.",
            mend=f"Name one of {', '.join(names)}.",
        )


def _check_last_seeds(request: Request, datasets: Sequence[PlannedDataset]) -> None:
    names = [dataset.name for dataset in datasets]
    for name, _ in request.last_seeds:
        if name not in names:
            raise UsageError(
                f"The last seed is given for {name!r}, which is none of the datasets.",
                mend=f"Name one of {', '.join(names)}.",
            )


CONTROL = "permuted"


@dataclass(frozen=True)
class Source:
    """A paraphraser with a prompt. `label` tells several sources of a run apart (`by=NAME`, `prompt=NAME`); `name` is
    what the run's set of paraphrases calls it."""

    label: str
    name: str
    paraphraser: Paraphraser
    prompt: Prompt

    @property
    def is_control(self) -> bool:
        """Whether it stands beside the others, and is no part of the mean over sources."""
        return self.paraphraser.name.partition(":")[0] in CONTROLS

    def variant(self, seed: int) -> str:
        """The variant of the cells of one run: `paraphrase:seed=1337`, `paraphrase:by=NAME,seed=1337`."""
        return "paraphrase:" + ",".join(filter(None, (self.label, f"seed={seed}")))

    def seeds(self, dataset: str, runs: int, request: Request) -> tuple[int, ...]:
        """The seeds of the runs on a dataset. UsageError when the paraphraser has fewer."""
        seeds = self.paraphraser.seeds(runs, request.seed, dataset=dataset)
        last = dict(request.last_seeds).get(dataset)
        return (
            seeds
            if last is None or runs < request.runs
            else (*seeds[: request.runs - 1], last, *seeds[request.runs :])
        )


def open_sources(
    request: Request,
    recorded: Mapping[str, Paraphrases],
    longest: int,
    *,
    ledger: Ledger | None = None,
) -> tuple[Source, ...]:
    """Every paraphraser with every prompt, opened. `longest` is the bytes of the longest text. UsageError for names
    that are unknown or given twice."""
    prompts = [open_prompt(name) for name in request.prompts]
    _check_distinct("paraphraser", (*request.paraphrasers, *([CONTROL] if request.control else [])))
    _check_distinct("prompt", [prompt.name for prompt in prompts])
    found = []
    for text in request.paraphrasers:
        for prompt in prompts:
            paraphraser = open_paraphraser(
                text, prompt=prompt, generation=request.generation, ledger=ledger,
                recorded=recorded, longest=longest,
            )  # fmt: skip
            parts = [f"by={paraphraser.name}"] if len(request.paraphrasers) > 1 else []
            parts += [f"prompt={prompt.name}"] if len(prompts) > 1 else []
            name = paraphraser.name if len(prompts) == 1 else f"{paraphraser.name} {prompt.name}"
            found.append(Source(",".join(parts), name, paraphraser, prompt))
    if request.control:
        found.append(Source(f"by={CONTROL}", CONTROL, Permuted(CONTROL, found[0].paraphraser), prompts[0]))
    return tuple(found)


def _check_distinct(what: str, names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise UsageError(f"The {what} {name!r} is named twice.", mend="Name each once.")


class Growth:
    """The seeds of every source on every dataset so far (`seeds`), and whether there is a round to do (`grows`).

    UsageError where a source has fewer runs than were asked for.
    """

    def __init__(
        self, request: Request, datasets: Sequence[PlannedDataset], sources: Sequence[Source]
    ) -> None:
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
