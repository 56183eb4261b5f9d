"""From a request to the cells of a run, and what scoring them takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from embassay.contracts import Tokenizer
from embassay.protocols.hume import models
from embassay.protocols.hume.folder import StudyFolder, Task, read_study
from embassay.protocols.hume.llms.answers import LlmAnswers, read_llm_answers
from embassay.protocols.hume.models import Settings, fingerprint_of, needed, texts_of
from embassay.protocols.hume.results.contestants import Answered, answered, fingerprint
from embassay.protocols.hume.results.options import VERSION, StudyRequest
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.forecast import Forecaster, Work
from embassay.protocols.kernel.plan import PlannedDataset, PlannedSystem, PlannedTask, planned_systems
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import Forecast, Forecasts, tokens_of
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True, kw_only=True)
class Plan(planning.Plan):
    """The cells of a study, and what people and language models answered."""

    request: StudyRequest
    folder: StudyFolder
    answered: tuple[Answered, ...]
    llms: tuple[LlmAnswers, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """What only this manifest has: the study, and a fingerprint of what was answered."""
        study = self.folder.study
        return {
            "study": {
                "name": study.name, "content": study.content, "guidelines_version": study.guidelines_version,
                "answers": fingerprint(self.answered),
                "annotators": sorted({name for one in self.answered for name in one.answers}),
                "simulated": sorted({
                    one.id for task in self.answered for one in task.workers if one.kind == "simulated"
                }),
                "llms": [{"model": one.model, "mode": one.mode, "rows": len(one.rows)} for one in self.llms],
            }
        }  # fmt: skip


def make_plan(request: StudyRequest, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """Read the study and all answers to it, and open every system: before any work is done.

    Raises DataError for a study, annotations or answers of language models that are not what they should be, and where
    nobody answered; UsageError for an unknown task or system; ModelError for a system that cannot be opened.
    """
    folder = read_study(Path(request.study))
    tasks = _tasks(folder, request)
    people = answered(folder, tasks, [Path(one) for one in request.answers])
    llms = read_llm_answers(folder)
    tokenizer = open_tokenizer(request.tokenizer)
    systems = _systems(request, tokenizer, ledger)
    settings = Settings(request.samples_per_label, request.repeats)
    datasets, cells = [], []
    for task in tasks:
        data = models.held(folder.path, folder.study.content, task.name, settings)[0] if systems else None
        texts = texts_of(data) if systems else []
        datasets.append(_dataset(folder, task, len(texts)))
        for system in systems:
            job = models.Job(
                system.spec, request.seed, request.tokenizer, cache, folder.path, folder.study.content,
                task.name, settings, request.resamples, request.neighbours,
            )  # fmt: skip
            key = _key(job, system, folder, tokenizer, fingerprint_of(data))
            units = len(texts) if system.kind == "embedding" else 0
            cells.append(
                Cell(task.family, task.name, system.name, key, units, job, remote=system.remote is not None)
            )
    return Plan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, folder=folder, answered=people, llms=llms,
    )  # fmt: skip


def _tasks(folder: StudyFolder, request: StudyRequest) -> list[Task]:
    """Those that were asked for, in the order of the study."""
    wanted = {folder.task(name).name for name in request.tasks}
    return [task for task in folder.study.tasks if not wanted or task.name in wanted]


def _systems(request: StudyRequest, tokenizer: Tokenizer, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    """The systems that were named: people stand here in place of reference rows."""
    found = planned_systems(request.systems, tokenizer, request.seed, ledger) if request.systems else []
    return tuple(one for one in found if one.kind != "reference" or one.spec in request.systems)


def _dataset(folder: StudyFolder, task: Task, texts: int) -> PlannedDataset:
    items = folder.items_of(task.name)
    fingerprint = digest([folder.study.content, task.name, [item.id for item in items]])
    planned = PlannedTask(task.family, len(items), texts, (), tuple(task.notes))
    return PlannedDataset(task.source.dataset, task.name, task.lang, fingerprint, (planned,))


def _key(
    job: models.Job, system: PlannedSystem, folder: StudyFolder, tokenizer: Tokenizer, training: str
) -> str:
    """A digest of all that a score depends on. What people answered is no part of it: systems never see that."""
    items: Sequence[Any] = [[item.id, dict(item.payload)] for item in folder.items_of(job.task)]
    gold = {
        item: list(value) if isinstance(value, tuple) else value
        for item, value in folder.gold(job.task).items()
    }
    return digest(
        {
            "protocol": "hume",
            "version": VERSION,
            "task": job.task,
            "family": folder.task(job.task).family,
            "system": [system.name, system.identity],
            "items": items,
            "gold": gold,
            "labels": [str(one.value) for one in folder.task(job.task).labels],
            "training": [training, job.settings.per_label, job.settings.repeats],
            "neighbours": job.neighbours,
            "tokenizer": tokenizer.identity,
            "seed": job.seed,
            "resamples": job.resamples,
        }
    )


TIMED = 4_000
"""Texts of a run from which its systems are timed before it begins: to time a system takes as long as a small run."""


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell. With `measure`, systems on this machine are timed on a few texts, for which they are
    loaded here."""
    return Forecasts(tuple(_cells(plan, measure=measure)) if plan.systems else ())


def _cells(plan: Plan, *, measure: bool) -> Iterator[Forecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for dataset in plan.datasets:
        job: models.Job = next(cell.job for cell in plan.cells if cell.dataset == dataset.name)
        data, family = models.held(job.study, job.content, job.task, job.settings)
        texts = texts_of(data)
        tokens, _ = tokens_of(texts, tokenizer)
        wanted = Work(
            family, dataset.name, dataset.tasks[0].n, len(texts), tokens, partial(models.rehearse, job), texts,
            kind="distances" if family == "clustering" else "pairs",
            footprint=partial(needed, data=data, resamples=job.resamples),
        )  # fmt: skip
        yield from forecaster.cells(wanted)
