"""What a PTEB run comes to: its summary, comparisons and tables, and what the manifest says of the wordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embassay.protocols.pteb.analysis import word_counts
from embassay.protocols.pteb.growth import Growth
from embassay.protocols.pteb.layout import layout_of
from embassay.protocols.pteb.lengths import drops_by_length
from embassay.protocols.pteb.paraphrasing.quality import quality_rows
from embassay.protocols.pteb.paraphrasing.set import ParaphraseSet
from embassay.protocols.pteb.plan import Plan, PlannedDataset, Seeds
from embassay.protocols.pteb.slices import task
from embassay.protocols.pteb.sources import Source
from embassay.protocols.pteb.summary import standings, summarise, summarise_originals
from embassay.protocols.pteb.tables import Given, tables
from embassay.protocols.pteb.tables.given import points
from embassay.protocols.session import Conclusion, kinds
from embassay.protocols.tables import Column, ColumnTable
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.files import slug
from embassay.runs.folder import RunFolder

PARAPHRASES = "paraphrases"
"""The folder of a run's set."""


def conclusion(
    plan: Plan,
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


def conclusion_of_originals(plan: Plan, records: Sequence[CellRecord]) -> Conclusion:
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


def _quality(plan: Plan, folder: RunFolder, sources: Sequence[Source], seeds: Seeds) -> list[Result]:
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


def _texts(plan: Plan) -> dict[str, list[str]]:
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
