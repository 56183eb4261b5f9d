"""What follows from the cells of a run, originals alone or with wordings: rows, comparisons, tables and drops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.parquet import read_parquet
from embassay.protocols.kernel.session import Conclusion, kinds
from embassay.protocols.kernel.tables import Column, ColumnTable
from embassay.protocols.pteb.analysis import LengthBin, by_length, item_words, word_counts
from embassay.protocols.pteb.analysis.drops import SCORES
from embassay.protocols.pteb.plan import PtebPlan, Source
from embassay.protocols.pteb.summary import (
    Layout,
    RunDataset,
    RunSource,
    RunSystem,
    RunTask,
    standings,
    summarise,
    summarise_originals,
)
from embassay.protocols.pteb.tables import Given, tables
from embassay.protocols.pteb.tables.scores import points
from embassay.protocols.wordings.levels import ORIGINAL
from embassay.protocols.wordings.plan import Growth, PlannedDataset, Seeds
from embassay.protocols.wordings.protocol import PARAPHRASES
from embassay.protocols.wordings.records import quality_rows
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import task
from embassay.records import Result
from embassay.runs.folder import CellRecord, RunFolder, slug


def conclusion(
    plan: PtebPlan,
    folder: RunFolder,
    sources: Sequence[Source],
    seeds: Seeds,
    records: Sequence[CellRecord],
    rows: Sequence[Result],
) -> Conclusion:
    """The rows over runs, datasets and tasks, the comparisons of systems and all tables."""
    layout = layout_of(plan, sources, seeds)
    summary, comparisons = summarise(layout, records)
    quality = list(_quality(plan, folder, sources, seeds))
    every = [*rows, *quality, *summary]
    given = Given(
        every,
        kinds(plan),
        comparisons,
        words=word_counts(_texts(plan)),
        lengths=drops_by_length(plan, folder, sources, seeds, records),
        seconds=_seconds(records),
        peaks=_peaks(records),
    )
    headlines = tuple(standings(layout, records))
    return Conclusion([*quality, *summary], comparisons, tuple(tables(given)), headlines)


def conclusion_of_originals(plan: PtebPlan, records: Sequence[CellRecord]) -> Conclusion:
    """That of a run without paraphrases: scores, intervals and ranks, and one table of them."""
    rows, comparisons, standing = summarise_originals(layout_of(plan, (), {}), records)
    kind = kinds(plan)
    columns = (
        *(Column(name, "text") for name in ("task", "dataset", "kind", "system")), Column("orig"), Column("low"),
        Column("high"), Column("n", decimals=0), Column("method", "text"), Column("reason", "text"),
    )  # fmt: skip
    lines = tuple(
        (one.task, one.dataset or "all", kind[one.system], one.system, points(one.value), points(one.ci_low),
         points(one.ci_high), one.n, one.method, one.reason)
        for one in rows
    )  # fmt: skip
    table = ColumnTable(
        "scores", "Scores on the texts as they are, x 100, with 95% intervals", columns, lines
    )
    return Conclusion(rows, comparisons, (table,), tuple(standing))


def told(
    folder: RunFolder, sources: Sequence[Source], growth: Growth, datasets: Sequence[PlannedDataset]
) -> dict[str, Any]:
    """Who wrote the wordings, with which seeds, and what came of the texts; why datasets got no more runs, and where a
    stored set was written for other data."""
    paraphrases = ParaphraseSet.create(folder.path / PARAPHRASES)
    return {
        "folder": PARAPHRASES,
        "stopped": dict(growth.stopped),
        "warnings": [told for source in sources for told in _mismatches(source, datasets)],
        "sources": [
            {
                "name": source.name,
                "label": source.label,
                "paraphraser": source.paraphraser.name,
                "identity": source.paraphraser.identity,
                **_kept(paraphrases, source),
                "slug": slug(source.name),
                "seeds": {of[1]: list(seeds) for of, seeds in growth.seeds.items() if of[0] == source.name},
                "outcomes": paraphrases.outcomes(source.name) if source.name in paraphrases.sources else {},
            }
            for source in sources
        ],
    }  # fmt: skip


def _mismatches(source: Source, datasets: Sequence[PlannedDataset]) -> list[str]:
    compare = getattr(source.paraphraser, "mismatches", None)
    return compare({one.name: one.fingerprint for one in datasets}) if compare is not None else []


def _kept(paraphrases: ParaphraseSet, source: Source) -> dict[str, Any]:
    """What a model was told (None where none was asked), and what is known of it: its name at its server, licence,
    sampling."""
    kept = paraphrases.sources.get(source.name)
    return (
        {"prompt": None, "about": {}} if kept is None else {"prompt": kept.prompt, "about": dict(kept.about)}
    )


def _quality(plan: PtebPlan, folder: RunFolder, sources: Sequence[Source], seeds: Seeds) -> list[Result]:
    paraphrases = ParaphraseSet.create(folder.path / PARAPHRASES)
    found: list[Result] = []
    for source in sources:
        for dataset in plan.datasets:
            for seed in seeds[source.name, dataset.name]:
                if paraphrases.has(source.name, dataset.name, seed):
                    rows = paraphrases.rows(source.name, dataset.name, seed)
                    name, variant = source.paraphraser.name, source.variant(seed)
                    found += quality_rows(rows, dataset=dataset.name, system=name, variant=variant, seed=seed)
    return found


def _texts(plan: PtebPlan) -> dict[str, list[str]]:
    """Every dataset's texts that are paraphrased, as often as they stand in its first task."""
    return {
        dataset.name: [
            text
            for part in plan.parts(dataset, dataset.tasks[0].task)
            for _, text in task(dataset.tasks[0].task).texts(part.data)
        ]
        for dataset in plan.datasets
    }


def _seconds(records: Sequence[CellRecord]) -> dict[str, float]:
    """How long each system took for one run of the STS datasets (table 8): the mean over the runs, of each summed."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record.task == "sts" and record.done and record.variant != "original":
            found.setdefault(record.system, {}).setdefault(record.dataset, []).append(record.seconds)
    return {
        system: sum(sum(times) / len(times) for times in by_dataset.values())
        for system, by_dataset in found.items()
    }


def _peaks(records: Sequence[CellRecord]) -> dict[str, int]:
    """The most memory that a process held while it did an STS cell of each system."""
    found: dict[str, int] = {}
    for record in records:
        if record.task == "sts" and record.peak_bytes is not None:
            found[record.system] = max(record.peak_bytes, found.get(record.system, 0))
    return found


def layout_of(
    plan: PtebPlan, sources: Sequence[Source], seeds: Mapping[tuple[str, str], tuple[int, ...]]
) -> Layout:
    """The systems, datasets, tasks and sources of a plan, with the seeds of the runs so far."""
    request = plan.request
    return Layout(
        tuple(RunSystem(one.name, one.kind, one.kind == "embedding") for one in plan.systems),
        tuple(
            RunDataset(
                one.name, one.lang, tuple(part.task for part in one.tasks),
                tuple(dict.fromkeys(lang for langs in one.languages.values() for lang in langs)),
            )
            for one in plan.datasets
        ),
        tuple(RunTask(name, task(name).headline, task(name).vectors) for name in plan.tasks),
        tuple(
            RunSource(
                source.label, {one.name: seeds[source.name, one.name] for one in plan.datasets},
                control=source.is_control,
            )
            for source in sources
        ),
        request.baseline,
        request.seed,
        request.options.resamples,
    )  # fmt: skip


Floats = NDArray[np.float64]
VALUES = {
    "sts": ("similarity", "gold"),
    "pair_classification": ("similarity", "gold"),
    "summarization": ("similarity", "gold"),
    "classification": ("correct", ""),
    "reranking": ("ap", ""),
    "retrieval": ("ndcg@10", ""),
}
"""Task -> the item measure that is compared, and the gold beside it."""


def drops_by_length(
    plan: PtebPlan, folder: RunFolder, sources: Sequence[Source], seeds: Seeds, records: Sequence[CellRecord]
) -> dict[tuple[str, str, str], Sequence[LengthBin]]:
    """(task, dataset, system) -> the bins, for systems whose cells are all done; references are left out."""
    done = {(record.task, record.dataset, record.system, record.variant) for record in records if record.done}
    found: dict[tuple[str, str, str], Sequence[LengthBin]] = {}
    for name, dataset in _cells(plan):
        variants = [source.variant(seed) for source in sources for seed in seeds[source.name, dataset.name]]
        words = _words(plan, name, dataset)
        for system in plan.systems:
            where = (name, dataset.name, system.name)
            if system.kind == "reference" or not all((*where, one) in done for one in (ORIGINAL, *variants)):
                continue
            if (bins := _bins(folder, where, variants, words)) is not None:
                found[where] = bins
    return found


def _cells(plan: PtebPlan) -> Iterator[tuple[str, PlannedDataset]]:
    for dataset in plan.datasets:
        for one in dataset.tasks:
            if one.task in SCORES:
                yield one.task, dataset


def _words(plan: PtebPlan, name: str, dataset: PlannedDataset) -> dict[tuple[str, str], float]:
    """(language or "", item) -> the mean number of words of the texts it is scored by."""
    parts = plan.parts(dataset, name)
    texts: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        lang = part.lang if len(parts) > 1 else ""
        for place, text in task(name).texts(part.data):
            for item in _items_of(place):
                texts.setdefault((lang, item), []).append(text)
    return dict(zip(texts, item_words(list(texts.values())).tolist(), strict=True))


def _items_of(place: str) -> tuple[str, ...]:
    """The items whose score a text may be part of: `summary:D:3` is the item `D:3`, `query:Q:0` the item `Q`."""
    item = place.partition(":")[2]
    return (item, item.rpartition(":")[0]) if ":" in item else (item,)


def _bins(
    folder: RunFolder, where: tuple[str, str, str], variants: Sequence[str], words: Any
) -> tuple[LengthBin, ...] | None:
    measure, gold = VALUES[where[0]]
    original = _values(folder, where, ORIGINAL, measure)
    keys = [key for key in original if key in words]
    if not keys:
        return None
    runs = [_values(folder, where, variant, measure) for variant in variants]
    golds = _values(folder, where, ORIGINAL, gold) if gold else None
    return by_length(
        SCORES[where[0]],
        np.array([words[key] for key in keys]),
        _column(original, keys),
        [_column(run, keys) for run in runs],
        _column(golds, keys) if golds is not None else None,
    )


def _values(
    folder: RunFolder, where: tuple[str, str, str], variant: str, measure: str
) -> dict[tuple[str, str], float]:
    import polars as pl

    table = read_parquet(folder.items_path(*where, variant=variant)).filter(pl.col("measure") == measure)
    keys = zip(table["variant"], table["item_id"], strict=True)
    return {
        key: float("nan") if value is None else value for key, value in zip(keys, table["value"], strict=True)
    }


def _column(values: dict[tuple[str, str], float], keys: Sequence[tuple[str, str]]) -> Floats:
    return np.array([values.get(key, np.nan) for key in keys], dtype=np.float64)
