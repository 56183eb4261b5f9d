"""The name probe: one right passage among impostors: its cells, doing one, and its tables (spec rag 5.1-5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import lcm
from pathlib import Path

import numpy as np

from embassay.contracts import Similarity, Spread
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import Items
from embassay.protocols.kernel.forecast import Work
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask
from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.rag.probes import margins, plan
from embassay.protocols.rag.probes.bundles import CONDITIONS, Lang, Material, material, near_miss
from embassay.protocols.rag.probes.margins import HEADLINE, TASK, Texts, all_bundles, outcome, texts_of
from embassay.protocols.rag.probes.plan import (
    NAMES_VERSION,
    NamesRequest,
    Plan,
    cell_key,
    cell_of,
    effort_of,
    systems_of,
)
from embassay.protocols.rag.probes.resampling import (
    CHANGE,
    INTERVALS,
    LANG,
    SYSTEM,
    ProbeContext,
    Rows,
    link_table,
)
from embassay.protocols.rag.probes.similarities import MEASURES, lost_queries
from embassay.records import TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.folder import digest
from embassay.runs.forecast import Hear
from embassay.runs.memory import Footprint, room_for
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Job(inputs.Job):
    """All that a worker needs to do a cell; `lang` and `dataset` are those of the cell."""

    lang: Lang
    dataset: str
    request: NamesRequest


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request = job.request
    tokenizer = open_tokenizer(request.tokenizer)
    texts, collections = made(request, job.lang)
    opened = job.opened(advance, ledger=ledger, spread=spread)
    context = ProbeContext(job.dataset, tokenizer, request.seed, request.resamples)

    def calls(hear: Hear) -> bool:
        return margins.rehearse(texts, collections, hear)

    with room_for(needed(request, job.lang, opened.system)), charged(ledger, opened.system.name) as requests:
        opened.prefetch(calls)
        opened.remember(calls)
        found = margins.margins_of(opened.system, texts)
        lost = lost_queries(opened.system, [f"{q:03d}" for q in range(request.size)], texts.of_query)
        if lost.too_many:
            result = lost.without_score(HEADLINE, Items())
        else:
            retrieval = margins.retrieval_of(opened.system, collections)
            for of_rows in (found.name, found.topic, found.both, *retrieval.values()):
                of_rows[..., lost.mask] = np.nan
            result = replace(outcome(request.asked, found, retrieval, context), skipped=lost.skipped)
    return opened.told(result, requests)


@lru_cache(maxsize=2)
def made(request: NamesRequest, lang: Lang) -> tuple[Texts, margins.Collections]:
    """The texts of the bundles in a language, and the collections of them; two stay in memory."""
    by_run = all_bundles(material(lang, **request.files), request.size, request.runs, request.seed)
    texts = texts_of(by_run, request.asked, request.seed)
    return texts, margins.collections_of(by_run, request.asked, request.seed)


def needed(request: NamesRequest, lang: Lang, system: Similarity) -> Footprint:
    """What a cell will hold."""
    texts, collections = made(request, lang)
    asked = [one for runs in collections.queries.values() for run in runs for one in run]
    stored = [one for passages in collections.passages.values() for one in passages]
    places = sum(map(len, collections.queries.values())) * request.size
    sizes = plan.Sizes(texts.right.size, places, request.size, request.resamples)
    asked, stored = (
        list(dict.fromkeys([*texts.queries, *asked])),
        list(dict.fromkeys([*texts.passages, *stored])),
    )
    return plan.memory_needed(system, asked, stored, sizes, "Use fewer --queries, --runs or conditions")


def rehearse_cell(request: NamesRequest, lang: Lang, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder."""
    return margins.rehearse(*made(request, lang), hear)


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
        units = _distinct(partial(rehearse_cell, request, lang))
        planned = PlannedTask(TASK, request.size, units, (), _repeats(of, request.size))
        fingerprint = digest([lang, [one.name for one in of.people], list(of.topics)])
        datasets.append(PlannedDataset(kind, name, lang, fingerprint, (planned,)))
        for system in systems:
            key = cell_key(TASK, NAMES_VERSION, system, fingerprint, tokenizer, request)
            job = Job(system.spec, request.seed, request.tokenizer, cache, lang, name, request)
            cells.append(cell_of(TASK, name, system, key, units, job))
        efforts.append(partial(_effort, request, lang, name))
    return Plan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, task=TASK, efforts=tuple(efforts),
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


def _repeats(of: Material, queries: int) -> tuple[str, ...]:
    people, topics = len(set(of.people)), len(set(of.topics))
    if queries <= lcm(people, topics):
        return ()
    return (f"{queries} queries of {people} authors and {topics} topics: pairs of both occur more than once",)


def _effort(request: NamesRequest, lang: Lang, name: str) -> Work:
    def rehearse(hear: Hear) -> bool:
        return rehearse_cell(request, lang, hear)

    texts, _ = made(request, lang)
    effort = effort_of(TASK, name, request.size, texts.passages, rehearse, texts.right.size)
    return replace(effort, footprint=partial(needed, request, lang))


GROUPS = {"base": "base", "identity": "identity-destroying", "orthography": "orthography and formatting",
          "layout": "layout"}  # fmt: skip


def tables(rows: Rows, systems: Sequence[str], request: NamesRequest) -> Iterator[ColumnTable]:
    """The tables of a name probe."""
    size = f"{request.size} queries x {request.runs} runs"
    yield _base_margins(rows, systems, size)
    yield _ratios(rows, systems, size)
    for dataset, lang in rows.langs.items():
        yield _ablations(rows, systems, dataset, lang, size)
    yield _recall(rows, systems)
    yield link_table(
        rows,
        systems,
        "name_links",
        "Name margin and retrieval, over queries and over conditions",
        margins.ACROSS,
    )


def _base_margins(rows: Rows, systems: Sequence[str], size: str) -> ColumnTable:
    columns = [SYSTEM, LANG]
    for measure in margins.MARGINS:
        columns += [
            Column(measure, decimals=3),
            Column(f"{measure} low", decimals=3),
            Column(f"{measure} high", decimals=3),
        ]
    columns.append(Column("SD between runs", decimals=4))
    body = []
    for dataset, lang, system in rows.each(systems):
        cells: list[Value] = [system, lang]
        for measure in margins.MARGINS:
            cells += rows.with_interval(dataset, system, "", measure)
        body.append((*cells, rows.value(dataset, system, "", margins.SD)))
    title = f"Base margins: {size}"
    return ColumnTable("rag_table10", title, tuple(columns), tuple(body), INTERVALS)


def _ratios(rows: Rows, systems: Sequence[str], size: str) -> ColumnTable:
    columns = (SYSTEM, LANG, *(Column(one, decimals=3) for one in ("name/topic", "low", "high")))
    body = [
        (system, lang, *rows.with_interval(dataset, system, "", margins.RATIO))
        for dataset, lang, system in rows.each(systems)
    ]
    title = f"Name margin over topic margin, ratio of means: {size}"
    return ColumnTable("rag_table11", title, columns, tuple(body), INTERVALS)


def _ablations(rows: Rows, systems: Sequence[str], dataset: str, lang: str, size: str) -> ColumnTable:
    columns = (
        SYSTEM, Column("group", "text"), Column("condition", "text"), Column("d_name", decimals=3),
        Column("SD between runs", decimals=4), Column("change", "signed", 3), Column("change low", "signed", 3),
        Column("change high", "signed", 3), Column("percent", "signed", 1), Column("percent low", "signed", 1),
        Column("percent high", "signed", 1), Column("percent of means", "signed", 1),
        Column("rows left out", decimals=3),
    )  # fmt: skip
    body = []
    for system in systems:
        for name in _conditions(rows):
            if rows.find(dataset, system, name, margins.HEADLINE) is None:
                continue
            body.append(
                (
                    system, GROUPS[CONDITIONS[name or "base"].group], name or "base",
                    *(rows.value(dataset, system, name, one) for one in (margins.HEADLINE, margins.SD)),
                    *rows.with_interval(dataset, system, name, margins.ABSOLUTE),
                    *rows.with_interval(dataset, system, name, margins.PERCENT),
                    rows.value(dataset, system, name, margins.OF_MEANS),
                    rows.value(dataset, system, name, margins.EXCLUDED),
                )
            )  # fmt: skip
    note = (
        "percent is the mean of the rows' changes, of rows whose base margin is 0.02 or more (the share of others is "
        f"in the last column); percent of means is the change of the means of the same rows. {INTERVALS}"
    )
    return ColumnTable(
        f"name_margin_{lang}", f"Name margin under ablations, {lang}: {size}", columns, tuple(body), note
    )


def _recall(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, LANG, Column("condition", "text"), Column("d_name", decimals=3)]
    for measure in MEASURES:
        columns += [
            Column(measure, decimals=3),
            *(Column(f"{measure} {one}", "signed", 3) for one in CHANGE),
        ]
    body = []
    for dataset, lang, system in rows.each(systems):
        for name in _conditions(rows):
            if rows.find(dataset, system, name, margins.HEADLINE) is None:
                continue
            cells: list[Value] = [
                system,
                lang,
                name or "base",
                rows.value(dataset, system, name, margins.HEADLINE),
            ]
            for measure in MEASURES:
                cells.append(rows.value(dataset, system, name, measure))
                cells += rows.with_interval(dataset, system, name, f"{measure} change")
            body.append(tuple(cells))
    note = (
        "Retrieval from a collection of all bundles' passages, ours: grade 5 right author and topic, 3 right author, "
        f"2 right topic, 1 neither. Change is against the base. {INTERVALS}"
    )
    return ColumnTable("name_retrieval", "Retrieval under ablations", tuple(columns), tuple(body), note)


def _conditions(rows: Rows) -> tuple[str, ...]:
    """The base (no variant) and the ablations that were asked for."""
    there = set(rows.variants(margins.HEADLINE))
    return tuple(one for one in ("", *CONDITIONS) if one in there)
