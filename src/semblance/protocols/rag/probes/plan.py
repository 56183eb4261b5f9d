"""From a request to the cells of a probe, a system in a language each, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from semblance.data.shapes import check_targets
from semblance.protocols.forecasting import Work
from semblance.protocols.planning import (
    PlannedDataset,
    PlannedSystem,
    PlannedTask,
    check_names,
    planned_systems,
)
from semblance.protocols.rag.probes.names import outcome as names_outcome
from semblance.protocols.rag.probes.names import request as names_request
from semblance.protocols.rag.probes.names import work as names_work
from semblance.protocols.rag.probes.names.bundles import Lang, Material
from semblance.protocols.rag.probes.names.material import material
from semblance.protocols.rag.probes.names.people import near_miss
from semblance.protocols.rag.probes.names.request import NamesRequest
from semblance.protocols.rag.probes.noise import outcome as noise_outcome
from semblance.protocols.rag.probes.noise import request as noise_request
from semblance.protocols.rag.probes.noise import work as noise_work
from semblance.protocols.rag.probes.noise.questions import langs_of, questions
from semblance.protocols.rag.probes.noise.request import NoiseRequest
from semblance.protocols.rag.rewriting import Rewriter, open_rewriter
from semblance.runs.cells import Cell
from semblance.runs.files import digest
from semblance.runs.rehearsal import Hear
from semblance.systems.remote import Ledger
from semblance.text import open_tokenizer

NEAR_MISS = "edit_distance_near_miss"


@dataclass(frozen=True)
class Plan:
    """Everything a probe will do, in its order. `efforts` are what each dataset takes, for forecasts; `rewriters` those
    that noisy questions are given to."""

    task: str
    request: Any
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[Cell, ...]
    tokenizer_identity: str
    efforts: tuple[Callable[[], Work], ...]
    cache: Path | None
    rewriters: tuple[Rewriter, ...] = field(default=())

    def lang(self, dataset: str) -> str:
        """The language of a dataset."""
        return next(one.lang for one in self.datasets if one.name == dataset)


def plan_names(request: NamesRequest, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """The plan of a name probe. UsageError for too few authors or topics, DataError for a list that cannot be read,
    ModelError for a system that cannot be opened."""
    tokenizer = open_tokenizer(request.tokenizer)
    systems = _systems(request, tokenizer, ledger)
    kind = "own" if request.people or request.topics else "bundled"
    datasets, cells, efforts = [], [], []
    for lang in dict.fromkeys(request.langs):
        of = material(lang, **request.files)
        if NEAR_MISS in request.asked:
            _check_names(of)
        name = f"{kind}-{lang}"
        units = _distinct(partial(names_work.rehearse, request, lang))
        planned = PlannedTask(names_outcome.TASK, request.size, units, (), _repeats(of, request.size))
        fingerprint = digest([lang, [one.name for one in of.people], list(of.topics)])
        datasets.append(PlannedDataset(kind, name, lang, fingerprint, (planned,)))
        for system in systems:
            key = _key(names_outcome.TASK, names_request.VERSION, system, fingerprint, tokenizer, request)
            job = names_work.Job(system.spec, lang, name, request, cache)
            cells.append(_cell(names_outcome.TASK, name, system, key, units, job))
        efforts.append(partial(_names_effort, request, lang, name))
    return Plan(
        names_outcome.TASK,
        request,
        systems,
        tuple(datasets),
        tuple(cells),
        tokenizer.identity,
        tuple(efforts),
        cache,
    )


def plan_noise(
    request: NoiseRequest, folder: Path, cache: Path | None = None, ledger: Ledger | None = None
) -> Plan:
    """The plan of a noise probe; rewritings are kept in `folder`. Errors as for names; UsageError also for a dataset in
    neither language."""
    check_targets(dict(request.mapping))
    tokenizer = open_tokenizer(request.tokenizer)
    systems = _systems(request, tokenizer, ledger)
    opened = [
        open_rewriter(one, ledger=ledger, seed=request.seed) for one in dict.fromkeys(request.rewriters)
    ]
    rewriters = {one.name: one.identity for one in opened}
    datasets, cells, efforts = [], [], []
    for source in dict.fromkeys(request.datasets):
        for lang in langs_of(request, source):
            own = questions(request, source, lang)
            units = len(own) * (1 + 4 * request.runs) * (1 + len(rewriters)) + len(own.corpus)
            planned = PlannedTask(noise_outcome.TASK, len(own), units, own.skipped, own.warnings)
            datasets.append(PlannedDataset(source, own.dataset, lang, own.fingerprint, (planned,)))
            for system in systems:
                key = _key(
                    noise_outcome.TASK,
                    noise_request.VERSION,
                    system,
                    own.fingerprint,
                    tokenizer,
                    request,
                    rewriters,
                )
                job = noise_work.Job(system.spec, source, lang, request, rewriters, folder, cache)
                cells.append(_cell(noise_outcome.TASK, own.dataset, system, key, units, job))
            efforts.append(partial(_noise_effort, request, source, lang, units))
    check_names(one.name for one in datasets)
    return Plan(
        noise_outcome.TASK, request, systems, tuple(datasets), tuple(cells), tokenizer.identity, tuple(efforts), cache,
        tuple(opened),
    )  # fmt: skip


def _distinct(rehearse: Callable[[Hear], bool]) -> int:
    """How many texts an encoder is asked for."""
    asked: list[int] = []
    rehearse(lambda texts, _: asked.append(len(texts)))
    return sum(asked)


def _check_names(of: Material) -> None:
    """UsageError for a name that cannot be missed by as many letters as the ablation does."""
    for person in of.people:
        near_miss(person.name, 3)


def _systems(request: Any, tokenizer: Any, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    """The systems that were named: a probe has no reference rows of its own."""
    found = planned_systems(request.systems, tokenizer, request.seed, ledger)
    return tuple(one for one in found if one.kind != "reference" or one.spec in request.systems)


def _key(
    task: str,
    version: int,
    system: PlannedSystem,
    fingerprint: str,
    tokenizer: Any,
    request: Any,
    rewriters: Mapping[str, str] | None = None,
) -> str:
    """A digest of all that the values depend on: of the arguments those that shape texts or statistics."""
    apart = ("systems", "datasets", "langs", "people", "topics", "mapping", "split")
    plain = {name: value for name, value in request.as_dict().items() if name not in apart}
    return digest(
        {
            "protocol": "rag",
            "task": task,
            "version": version,
            "system": [system.name, system.identity],
            "dataset": fingerprint,
            "tokenizer": tokenizer.identity,
            "rewriters": dict(rewriters or {}),
            "arguments": plain,
        }
    )


def _cell(task: str, dataset: str, system: PlannedSystem, key: str, units: int, job: Any) -> Cell:
    seen = units if system.kind == "embedding" else 0
    return Cell(task, dataset, system.name, key, seen, job, remote=system.remote is not None)


def _repeats(of: Material, queries: int) -> tuple[str, ...]:
    people, topics = len(set(of.people)), len(set(of.topics))
    from math import lcm

    if queries <= lcm(people, topics):
        return ()
    return (f"{queries} queries of {people} authors and {topics} topics: pairs of both occur more than once",)


def _names_effort(request: NamesRequest, lang: Lang, name: str) -> Work:
    def rehearse(hear: Hear) -> bool:
        return names_work.rehearse(request, lang, hear)

    texts, _ = names_work.made(request, lang)
    return _effort(names_outcome.TASK, name, request.size, texts.passages, rehearse, texts.right.size)


def _noise_effort(request: NoiseRequest, source: str, lang: Lang, units: int) -> Work:
    def rehearse(hear: Hear) -> bool:
        return noise_work.rehearse(request, source, lang, hear)

    own = questions(request, source, lang)
    wordings = units - len(own.corpus)
    effort = _effort(noise_outcome.TASK, own.dataset, len(own), own.corpus, rehearse, wordings)
    # A rewriting is a text that nobody has yet: each is counted as long as the question.
    return Work(
        effort.task,
        effort.dataset,
        effort.items,
        units,
        effort.tokens,
        rehearse,
        own.corpus,
        own.texts,
        "search",
    )


def _effort(
    task: str, dataset: str, items: int, texts: Sequence[str], rehearse: Callable[[Hear], bool], pairs: int
) -> Work:
    tokens = sum(len(text) for text in texts) // 4
    return Work(task, dataset, items, pairs, tokens, rehearse, texts)


def settings_of(plan: Plan) -> dict[str, Any]:
    """What only a probe's manifest has: which probe it is, and what is said of its rewriters."""
    from semblance.protocols.rag.rewriting import about

    return {"kind": plan.task, "rewriters": [dict(about(one)) for one in plan.rewriters]}
