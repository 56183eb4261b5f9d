"""From a request to the cells of a name probe: a system in a language each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import lcm
from pathlib import Path

from embassay.protocols.forecasting import Work
from embassay.protocols.planning import PlannedDataset, PlannedTask
from embassay.protocols.rag.probes.names import work
from embassay.protocols.rag.probes.names.bundles import Lang, Material
from embassay.protocols.rag.probes.names.material import material
from embassay.protocols.rag.probes.names.outcome import TASK
from embassay.protocols.rag.probes.names.people import near_miss
from embassay.protocols.rag.probes.names.request import VERSION, NamesRequest
from embassay.protocols.rag.probes.plan import Plan, cell_key, cell_of, effort_of, systems_of
from embassay.runs.files import digest
from embassay.runs.rehearsal import Hear
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

NEAR_MISS = "edit_distance_near_miss"


def plan_names(request: NamesRequest, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """The plan of a name probe. UsageError for too few authors or topics, DataError for a list that cannot be read,
    ModelError for a system that cannot be opened."""
    tokenizer = open_tokenizer(request.tokenizer)
    systems = systems_of(request, tokenizer, ledger)
    kind = "own" if request.people or request.topics else "bundled"
    datasets, cells, efforts = [], [], []
    for lang in dict.fromkeys(request.langs):
        of = material(lang, **request.files)
        if NEAR_MISS in request.asked:
            _check_names(of)
        name = f"{kind}-{lang}"
        units = _distinct(partial(work.rehearse, request, lang))
        planned = PlannedTask(TASK, request.size, units, (), _repeats(of, request.size))
        fingerprint = digest([lang, [one.name for one in of.people], list(of.topics)])
        datasets.append(PlannedDataset(kind, name, lang, fingerprint, (planned,)))
        for system in systems:
            key = cell_key(TASK, VERSION, system, fingerprint, tokenizer, request)
            job = work.Job(system.spec, lang, name, request, cache)
            cells.append(cell_of(TASK, name, system, key, units, job))
        efforts.append(partial(_effort, request, lang, name))
    return Plan(
        TASK,
        request,
        systems,
        tuple(datasets),
        tuple(cells),
        tokenizer.identity,
        tuple(efforts),
        cache,
    )


def _distinct(rehearse: Callable[[Hear], bool]) -> int:
    """How many texts an encoder is asked for."""
    asked: list[int] = []
    rehearse(lambda texts, _: asked.append(len(texts)))
    return sum(asked)


def _check_names(of: Material) -> None:
    """UsageError for a name that cannot be missed by as many letters as the ablation does."""
    for person in of.people:
        near_miss(person.name, 3)


def _repeats(of: Material, queries: int) -> tuple[str, ...]:
    people, topics = len(set(of.people)), len(set(of.topics))
    if queries <= lcm(people, topics):
        return ()
    return (f"{queries} queries of {people} authors and {topics} topics: pairs of both occur more than once",)


def _effort(request: NamesRequest, lang: Lang, name: str) -> Work:
    def rehearse(hear: Hear) -> bool:
        return work.rehearse(request, lang, hear)

    texts, _ = work.made(request, lang)
    effort = effort_of(TASK, name, request.size, texts.passages, rehearse, texts.right.size)
    return replace(effort, footprint=partial(work.needed, request, lang))
