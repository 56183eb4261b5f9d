"""Having the texts of a run paraphrased, and keeping them beside its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.session import Silent
from embassay.protocols.pteb.paraphrasing import sets
from embassay.protocols.pteb.paraphrasing.records import Asked, Paraphrase
from embassay.protocols.pteb.plan import Plan, PlannedDataset, Source
from embassay.protocols.pteb.slices import task
from embassay.runs.folder import RunFolder
from embassay.systems.remote import Ledger


@dataclass(frozen=True)
class _Gap:
    """Texts of one run on a dataset without a wording yet: `known` is what there is of the others."""

    dataset: PlannedDataset
    seed: int
    run: int
    asked: tuple[Asked, ...]
    known: tuple[Paraphrase, ...]


class Writer:
    """Fills the run's set. What the set has is not asked for again, but for calls that failed in an earlier session."""

    def __init__(self, paraphrases: sets.ParaphraseSet, ledger: Ledger, listener: Silent) -> None:
        self.paraphrases, self.ledger, self.listener = paraphrases, ledger, listener
        self._seen: set[tuple[str, str, int]] = set()

    def write(
        self, plan: Plan, sources: Sequence[Source], seeds: Mapping[tuple[str, str], tuple[int, ...]]
    ) -> None:
        """Have every text of every run worded. BudgetExceeded when the money ends, ModelError for a paraphraser that
        cannot be had; what was answered is in the answer cache."""
        asked = {dataset.name: tuple(plan.asked(dataset)) for dataset in plan.datasets}
        for source in sources:
            self._name(source)
            gaps = [
                gap
                for dataset in plan.datasets
                for run, seed in enumerate(seeds[source.name, dataset.name])
                if (gap := self._gap(source, dataset, seed, run, asked[dataset.name])) is not None
            ]
            if gaps:
                total = sum(len(gap.asked) for gap in gaps)
                self.listener.paraphrasing(f"paraphrases by {source.name}", total)
                with charged(self.ledger, source.paraphraser.name):
                    for gap in gaps:
                        self._fill(source, gap)
                self._name(source)

    def _name(self, source: Source) -> None:
        """Say in the set who writes; again at the end, when it is known what the server calls its model."""
        own, about = getattr(source.paraphraser, "prompt", None), dict(source.paraphraser.about())
        prompt = about.pop("prompt", None) if own is None else own.as_dict()
        self.paraphrases.add(
            sets.Source(
                name=source.name,
                paraphraser=source.paraphraser.name,
                identity=source.paraphraser.identity,
                prompt=prompt,
                about=about,
            )
        )

    def _gap(
        self, source: Source, dataset: PlannedDataset, seed: int, run: int, asked: tuple[Asked, ...]
    ) -> _Gap | None:
        key = (source.name, dataset.name, seed)
        if key in self._seen:
            return None
        self._seen.add(key)
        if not self.paraphrases.has(*key):
            return _Gap(dataset, seed, run, asked, ())
        known = tuple(row for row in self.paraphrases.rows(*key) if row.outcome != "failed")
        had = {(row.lang, row.text, row.place) for row in known}
        missing = tuple(one for one in asked if (one.lang, one.text, one.place) not in had)
        return _Gap(dataset, seed, run, missing, known) if missing else None

    def _fill(self, source: Source, gap: _Gap) -> None:
        found: list[Paraphrase | None] = [None] * len(gap.asked)
        written = source.paraphraser.write(gap.asked, seed=gap.seed, run=gap.run, dataset=gap.dataset.name)
        for position, paraphrase in written:
            found[position] = paraphrase
            self.listener.advanced_by(1)
        rows = [*gap.known, *(one for one in found if one is not None)]
        dataset = gap.dataset
        self.paraphrases.keep(source.name, dataset.name, gap.seed, rows, fingerprint=dataset.fingerprint)


def keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_columns, plan, dataset, one.task))


def _columns(plan: Plan, dataset: PlannedDataset, name: str) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
    for part in plan.parts(dataset, name):
        for place, text in task(name).texts(part.data):
            field, _, item = place.partition(":")
            for column, value in zip(columns, (item, field, text, part.lang), strict=True):
                columns[column].append(value)
    return columns
