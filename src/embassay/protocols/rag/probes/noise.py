"""The noise probe: how far small talk moves a question: its cells, doing one, and its tables (spec rag 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from embassay.contracts import Similarity, Spread
from embassay.data.shapes import check_targets
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.estimates import Items
from embassay.protocols.kernel.forecast import Work
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.plan import PlannedDataset, PlannedTask, check_names
from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.rag.probes import drops, plan
from embassay.protocols.rag.probes.drops import COSINE, HEADLINE, OVERLAP, TASK, TAU, outcome
from embassay.protocols.rag.probes.plan import (
    NOISE_VERSION,
    NoiseRequest,
    Plan,
    cell_key,
    cell_of,
    effort_of,
    systems_of,
)
from embassay.protocols.rag.probes.questions import (
    NOISIEST,
    Questions,
    Rewritings,
    Variant,
    langs_of,
    level_name,
    questions,
    rewritten,
    small_talk,
)
from embassay.protocols.rag.probes.resampling import (
    CHANGE,
    DATASET,
    INTERVALS,
    LANG,
    SYSTEM,
    ProbeContext,
    Rows,
    link_table,
)
from embassay.protocols.rag.probes.similarities import MEASURES, RECALL, lost_queries
from embassay.protocols.rag.probes.small_talk import LEVELS, Lang
from embassay.protocols.rag.rewriters import open_rewriter
from embassay.records import TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear
from embassay.runs.memory import Footprint, room_for
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Job(inputs.Job):
    """All that a worker needs to do a cell; `rewriters` are identities by name, whose rewritings are in `folder`."""

    source: str
    lang: Lang
    request: NoiseRequest
    rewriters: Mapping[str, str]
    folder: Path


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request, tokenizer = job.request, open_tokenizer(job.request.tokenizer)
    own = questions(request, job.source, job.lang)
    variants = wordings(own, request, {name: _rewritings(job, name) for name in job.rewriters})
    asked = drops.asked_of(variants)
    opened = job.opened(advance, ledger=ledger, spread=spread)
    context = ProbeContext(own.dataset, tokenizer, request.seed, request.resamples)

    def calls(hear: Hear) -> bool:
        return drops.rehearse(own, asked, hear)

    need = _needed(opened.system, own, asked, request)
    with room_for(need), charged(ledger, opened.system.name) as requests:
        opened.prefetch(calls)
        opened.remember(calls)
        cosines = drops.cosines(opened.system, own, asked)
        lost = lost_queries(opened.system, own.ids, lambda q: _texts_of(own, variants, q))
        if lost.too_many:
            result = lost.without_score(HEADLINE, Items(), own.skipped)
        else:
            values = {drops.COSINE: cosines, **drops.retrieval(opened.system, own, asked)}
            for rows in values.values():
                rows[..., lost.mask] = np.nan
            result = outcome(own.ids, variants, values, context)
            result = replace(result, skipped=(*own.skipped, *lost.skipped), warnings=own.warnings)
    missing = {
        "rewritings_missing": len({lacking for one in variants for lacking in _unwritten(variants, one)})
    }
    return opened.told(result, {**requests, **missing})


def wordings(
    own: Questions, request: NoiseRequest, rewritings: Mapping[str, Mapping[str, str]]
) -> Sequence[Variant]:
    """Every wording: small talk at each level, then what each rewriter made of all of them."""
    noisy = small_talk(own, request.runs, request.seed)
    return [*noisy, *(one for name, texts in rewritings.items() for one in rewritten(noisy, name, texts))]


def rehearse_cell(request: NoiseRequest, source: str, lang: Lang, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder, as far as they are known: rewritings are taken to be as many
    texts as there are wordings."""
    own = questions(request, source, lang)
    return drops.rehearse(own, drops.asked_of(wordings(own, request, {})), hear)


def needed(request: NoiseRequest, source: str, lang: Lang, system: Similarity) -> Footprint:
    """What a cell will hold, as far as wordings are known: a rewriting is taken to be as long as its question."""
    own = questions(request, source, lang)
    asked = drops.asked_of(wordings(own, request, {}))
    every = 1 + len(dict.fromkeys(request.rewriters))
    return _needed(
        system,
        own,
        replace(asked, texts=asked.texts * every, places=np.tile(asked.places, (every, 1, 1))),
        request,
    )


def _needed(system: Similarity, own: Questions, asked: drops.Asked, request: NoiseRequest) -> Footprint:
    sizes = plan.Sizes(asked.places.size, asked.places.size, len(own), request.resamples)
    return plan.memory_needed(
        system, [*asked.texts, *own.references], own.corpus, sizes,
        "Probe a smaller corpus, or fewer queries (--limit)",
    )  # fmt: skip


def _rewritings(job: Job, name: str) -> Mapping[str, str]:
    return Rewritings(job.folder, job.rewriters[name]).read()


def _texts_of(own: Questions, variants: Sequence[Variant], query: int) -> Iterator[str]:
    yield own.references[query]
    for one in variants:
        yield from (run[query] or "" for run in one.texts)


def _unwritten(variants: Sequence[Variant], one: Variant) -> Iterator[tuple[str, str | None]]:
    """The texts of which a rewriter has made nothing."""
    noisy = variants[one.level]
    for run, before in zip(one.texts, noisy.texts, strict=True):
        yield from ((one.rewriter, old) for text, old in zip(run, before, strict=True) if text is None)


def plan_noise(
    request: NoiseRequest, folder: Path, cache: Path | None = None, ledger: Ledger | None = None
) -> Plan:
    """The plan of a noise probe; rewritings are kept in `folder`. Errors as for names; UsageError also for a dataset in
    neither language."""
    check_targets(dict(request.mapping))
    tokenizer = open_tokenizer(request.tokenizer)
    systems = systems_of(request, tokenizer, ledger)
    opened = [
        open_rewriter(one, ledger=ledger, seed=request.seed) for one in dict.fromkeys(request.rewriters)
    ]
    rewriters = {one.name: one.identity for one in opened}
    datasets, cells, efforts = [], [], []
    for source in dict.fromkeys(request.datasets):
        for lang in langs_of(request, source):
            own = questions(request, source, lang)
            units = len(own) * (1 + 4 * request.runs) * (1 + len(rewriters)) + len(own.corpus)
            planned = PlannedTask(TASK, len(own), units, own.skipped, own.warnings)
            datasets.append(PlannedDataset(source, own.dataset, lang, own.fingerprint, (planned,)))
            for system in systems:
                key = cell_key(
                    TASK,
                    NOISE_VERSION,
                    system,
                    own.fingerprint,
                    tokenizer,
                    request,
                    rewriters,
                )
                job = Job(
                    system.spec, request.seed, request.tokenizer, cache, source, lang, request, rewriters, folder
                )  # fmt: skip
                cells.append(cell_of(TASK, own.dataset, system, key, units, job))
            efforts.append(partial(_effort, request, source, lang, units))
    check_names(one.name for one in datasets)
    return Plan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, task=TASK, efforts=tuple(efforts),
        rewriters=tuple(opened),
    )  # fmt: skip


def _effort(request: NoiseRequest, source: str, lang: Lang, units: int) -> Work:
    def rehearse(hear: Hear) -> bool:
        return rehearse_cell(request, source, lang, hear)

    own = questions(request, source, lang)
    wordings = units - len(own.corpus)
    effort = effort_of(TASK, own.dataset, len(own), own.corpus, rehearse, wordings)
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
        footprint=partial(needed, request, source, lang),
    )


def tables(rows: Rows, systems: Sequence[str]) -> Iterator[ColumnTable]:
    """The tables of a noise probe."""
    yield _cosines(rows, systems)
    yield _drops(rows, systems)
    yield _end_to_end(rows, systems)
    yield link_table(
        rows, systems, "noise_links", "Similarity and retrieval, over queries and over levels", drops.ACROSS
    )


def _cosines(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    levels = [level_name(level) for level in range(len(LEVELS))]
    columns = (
        SYSTEM,
        DATASET,
        LANG,
        Column("wording", "text"),
        *(Column(f"level {i}", decimals=3) for i in range(len(LEVELS))),
    )
    body: list[tuple[Value, ...]] = []
    for dataset, lang, system in rows.each(systems):
        for rewriter in ("", *_rewriters(rows)):
            found = [rows.value(dataset, system, _named(one, rewriter), COSINE) for one in levels]
            if any(one is not None for one in found):
                body.append(
                    (system, dataset, lang, f"rewritten by {rewriter}" if rewriter else "as asked", *found)
                )
    title = "Similarity of the question to what is meant, by level of noise"
    return ColumnTable("rag_table12", title, columns, tuple(body))


def _drops(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, DATASET, LANG, Column("wording", "text")]
    columns += [Column("drop", decimals=3), Column("drop low", decimals=3), Column("drop high", decimals=3)]
    columns += [Column("drop %", decimals=1), Column("% low", decimals=1), Column("% high", decimals=1)]
    columns += [
        Column("recovered", decimals=3),
        Column("recovered low", decimals=3),
        Column("recovered high", decimals=3),
    ]
    body: list[tuple[Value, ...]] = []
    noisiest = level_name(NOISIEST)
    for dataset, lang, system in rows.each(systems):
        for rewriter in ("", *_rewriters(rows)):
            where = (dataset, system, _named(noisiest, rewriter))
            if rows.find(*where, drops.HEADLINE) is None and rewriter:
                continue
            cells = [*rows.with_interval(*where, drops.HEADLINE), *rows.with_interval(*where, drops.SHARE)]
            cells += rows.with_interval(*where, drops.RECOVERED)
            body.append(
                (system, dataset, lang, f"rewritten by {rewriter}" if rewriter else "as asked", *cells)
            )
    title = f"Drop of similarity from level 0 to level {NOISIEST}, and what rewriting brings back"
    return ColumnTable("rag_table13", title, tuple(columns), tuple(body), INTERVALS)


def _end_to_end(rows: Rows, systems: Sequence[str]) -> ColumnTable:
    columns: list[Column] = [SYSTEM, DATASET, LANG, Column("level"), Column("wording", "text")]
    columns[3] = Column("level", decimals=0)
    for measure in MEASURES:
        columns += [
            Column(measure, decimals=3),
            *(Column(f"{measure} {one}", "signed", 3) for one in CHANGE),
        ]
        columns.append(Column(f"{measure} p", "p"))
    columns += [Column(OVERLAP, decimals=3), Column(TAU, decimals=3)]
    body: list[tuple[Value, ...]] = []
    for dataset, lang, system in rows.each(systems):
        for rewriter in ("", *_rewriters(rows)):
            for level in range(len(LEVELS)):
                variant = level_name(level, rewriter)
                if rows.find(dataset, system, variant, RECALL) is None:
                    continue
                where = (dataset, system, variant)
                cells: list[Value] = [
                    system,
                    dataset,
                    lang,
                    level,
                    f"rewritten by {rewriter}" if rewriter else "as asked",
                ]
                for measure in MEASURES:
                    cells.append(rows.value(*where, measure))
                    cells += rows.with_interval(*where, f"{measure} change")
                    cells.append(rows.value(*where, f"p({measure} change)"))
                body.append((*cells, rows.value(*where, OVERLAP), rows.value(*where, TAU)))
    note = (
        "Change is against the clean question, p by the paired bootstrap; overlap and tau are with its ranking. "
        f"{INTERVALS}"
    )
    return ColumnTable("noise_retrieval", "Retrieval with noisy questions", tuple(columns), tuple(body), note)


def _rewriters(rows: Rows) -> tuple[str, ...]:
    found = (one.partition(":")[2] for one in rows.variants(COSINE))
    return tuple(dict.fromkeys(one for one in found if one))


def _named(variant: str, rewriter: str) -> str:
    return f"{variant}:{rewriter}" if rewriter else variant
