"""What follows from the cells of an HTEB run: rows, comparisons and tables, and what is told of the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from embassay.measures import edit_distances
from embassay.protocols.hteb.plan import HtebPlan, headline_of
from embassay.protocols.hteb.profiles import Profiles, RunTransformation, comparisons, profile_rows, standings
from embassay.protocols.hteb.tables import Texts, tables
from embassay.protocols.hteb.transformers import Source, is_wrong_way
from embassay.protocols.kernel.session import Conclusion
from embassay.protocols.wordings.levels import Layout, RunDataset, RunSystem, RunTask
from embassay.protocols.wordings.plan import Growth, Seeds
from embassay.protocols.wordings.protocol import PARAPHRASES
from embassay.protocols.wordings.records import Paraphrase
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import task
from embassay.records import Result
from embassay.runs.folder import CellRecord, RunFolder, slug

QUALITY = "texts"
"""The task of rows that are about transformed texts."""


def conclusion(
    plan: HtebPlan,
    folder: RunFolder,
    sources: Sequence[Source],
    seeds: Seeds,
    records: Sequence[CellRecord],
    rows: Sequence[Result],
) -> Conclusion:
    """The rows of every part on every dataset and over them, the comparisons of systems and all tables."""
    profiles = Profiles(layout_of(plan, sources, seeds), records)
    texts = list(texts_of(plan, folder, sources, seeds))
    quality = [row for one in texts for row in _quality_rows(one)]
    summary = list(profile_rows(profiles))
    compared = comparisons(profiles, plan.request.families)
    made = tuple(tables(profiles, compared, texts))
    del rows
    return Conclusion([*quality, *summary], compared, made, tuple(standings(profiles)))


def layout_of(plan: HtebPlan, sources: Sequence[Source], seeds: Seeds) -> Layout:
    """The systems, datasets, tasks and transformations of a plan, with the seeds of the runs so far."""
    chosen = [
        RunTransformation(source.name, {one.name: seeds[source.name, one.name] for one in plan.datasets})
        for source in sources
    ]
    return Layout(
        tuple(RunSystem(one.name, one.kind, one.kind == "embedding") for one in plan.systems),
        tuple(
            RunDataset(
                one.name, one.lang, tuple(part.task for part in one.tasks),
                tuple(dict.fromkeys(lang for langs in one.languages.values() for lang in langs)),
            )
            for one in plan.datasets
        ),
        tuple(RunTask(name, headline_of(name), task(name, plan.registry).vectors) for name in plan.tasks),
        tuple(one.as_source() for one in chosen),
        plan.request.baseline, plan.request.seed, plan.request.options.resamples, "hteb",
    )  # fmt: skip


def texts_of(plan: HtebPlan, folder: RunFolder, sources: Sequence[Source], seeds: Seeds) -> Iterator[Texts]:
    """What came of the texts of every transformation, dataset and run that is kept."""
    kept = ParaphraseSet.create(folder.path / PARAPHRASES)
    for source in sources:
        for dataset in plan.datasets:
            for seed in seeds[source.name, dataset.name]:
                if kept.has(source.name, dataset.name, seed):
                    rows = kept.rows(source.name, dataset.name, seed)
                    drawn = plan.languages(source, dataset, seed)
                    yield counted(rows, source, dataset.name, seed, dict(drawn.most_common()))


def counted(
    rows: Sequence[Paraphrase], source: Source, dataset: str, seed: int, languages: dict[str, int]
) -> Texts:
    """The counts over the distinct texts that are not blank."""
    own = [row for row in rows if row.text.strip()]
    usable = [row for row in own if row.usable]
    ratios = sorted(len(row.wording) / len(row.text) for row in usable)
    asked = [row for row in usable if _asks(row.text)]
    outcomes: dict[str, int] = {}
    for row in own:
        outcomes[row.outcome] = outcomes.get(row.outcome, 0) + 1
    distance = None
    if usable:
        apart = edit_distances([row.text for row in usable], [row.wording for row in usable])
        distance = float(apart.mean())
    return Texts(
        source.name, source.of.axis, dataset, seed, len(own), len(usable), outcomes,
        retried=sum(row.attempts > len(source.of.steps) for row in own),
        ratio=_median(ratios),
        wrong_way=sum(is_wrong_way(source.of.length, row.text, row.wording) for row in usable),
        questions=len(asked),
        no_question=sum(not _asks(row.wording) for row in asked),
        distance=distance,
        languages=languages,
    )  # fmt: skip


_QUESTION = ("?", "？", "؟", "՞")


def _asks(text: str) -> bool:
    return text.rstrip().endswith(_QUESTION)


def _median(ratios: Sequence[float]) -> float | None:
    n = len(ratios)
    return None if not n else (ratios[(n - 1) // 2] + ratios[n // 2]) / 2


def _quality_rows(one: Texts) -> Iterator[Result]:
    shares = {"unchanged": one.unchanged, "failed": one.texts - one.usable, "retried": one.retried}
    variant = f"{one.transformation}:seed={one.seed}"
    for measure, count in shares.items():
        value = count / one.texts if one.texts else None
        yield Result(
            "hteb", QUALITY, one.dataset, "", "", variant, one.transformation, measure, value, one.texts,
            seed=one.seed, reason="" if value is not None else "there are no texts",
        )  # fmt: skip
    yield Result(
        "hteb", QUALITY, one.dataset, "", "", variant, one.transformation, "length_ratio", one.ratio, one.usable,
        seed=one.seed, reason="" if one.ratio is not None else "no text is usable", method="median",
    )  # fmt: skip


def told(folder: RunFolder, sources: Sequence[Source], growth: Growth, plan: HtebPlan) -> dict[str, Any]:
    """Who transformed, with which seeds and prompts, and what came of the texts; why datasets got no more runs, and
    where a stored set was written for other data."""
    kept = ParaphraseSet.create(folder.path / PARAPHRASES)
    return {
        "folder": PARAPHRASES,
        "stopped": dict(growth.stopped),
        "warnings": [said for source in sources for said in _mismatches(source, plan)],
        "sample": plan.request.limit is not None,
        "sources": [
            {
                "name": source.name, "axis": source.of.axis, "transformer": source.paraphraser.name,
                "identity": source.paraphraser.identity,
                "prompt": kept.sources[source.name].prompt if source.name in kept.sources else None,
                "about": dict(kept.sources[source.name].about) if source.name in kept.sources else {},
                "slug": slug(source.name),
                "seeds": {of[1]: list(seeds) for of, seeds in growth.seeds.items() if of[0] == source.name},
                "outcomes": kept.outcomes(source.name) if source.name in kept.sources else {},
            }
            for source in sources
        ],
    }  # fmt: skip


def _mismatches(source: Source, plan: HtebPlan) -> list[str]:
    compare = getattr(source.paraphraser, "mismatches", None)
    return compare({one.name: one.fingerprint for one in plan.datasets}) if compare is not None else []
