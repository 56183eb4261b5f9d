"""Runs on texts in other words: the originals first, then what is written for each run, and what all that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from embassay.contracts import Tokenizer
from embassay.protocols.kernel.forecast import Forecaster, Work, largest
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.kernel.plan import PlannedTask
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.session import Silent
from embassay.protocols.tasks.task import Context, needed
from embassay.protocols.wordings import sets, work
from embassay.protocols.wordings.plan import PlannedDataset, Seeds, WordedPlan, WrittenBy
from embassay.protocols.wordings.records import Paraphrase, SourceText
from embassay.protocols.wordings.work import task
from embassay.records import RetrievalSet
from embassay.runs.folder import CellRecord, RunFolder
from embassay.runs.forecast import Forecast, Hear, tokens_of
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

PARAPHRASES = "paraphrases"
"""The folder of a run's set."""


MOST_REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


@dataclass(frozen=True)
class _Gap:
    """Texts of one run on a dataset without a wording yet: `known` is what there is of the others."""

    dataset: PlannedDataset
    seed: int
    run: int
    asked: tuple[SourceText, ...]
    known: tuple[Paraphrase, ...]


Asked = Callable[[Any, Any, int], tuple[SourceText, ...]]
"""From a source, a dataset and the seed of a run to the distinct texts that are asked for."""


class Writer:
    """Fills the run's set. What the set has is not asked for again, but for calls that failed in an earlier session.
    `told` stands before the name of who writes, where progress is shown."""

    def __init__(
        self, paraphrases: sets.ParaphraseSet, ledger: Ledger, listener: Silent, told: str = "paraphrases by"
    ) -> None:
        self.paraphrases, self.ledger, self.listener, self.told = paraphrases, ledger, listener, told
        self._seen: set[tuple[str, str, int]] = set()

    def write(
        self, datasets: Sequence[Any], sources: Sequence[WrittenBy], seeds: Seeds, asked: Asked
    ) -> None:
        """Have every text of every run worded. BudgetExceeded when the money ends, ModelError for a paraphraser that
        cannot be had; what was answered is in the answer cache."""
        for source in sources:
            self._name(source)
            gaps = [
                gap
                for dataset in datasets
                for run, seed in enumerate(seeds[source.name, dataset.name])
                if (gap := self._gap(source, dataset, seed, run, asked)) is not None
            ]
            if gaps:
                total = sum(len(gap.asked) for gap in gaps)
                self.listener.paraphrasing(f"{self.told} {source.name}", total)
                with charged(self.ledger, source.paraphraser.name):
                    for gap in gaps:
                        self._fill(source, gap)
                self._name(source)

    def _name(self, source: WrittenBy) -> None:
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

    def _gap(self, source: WrittenBy, dataset: PlannedDataset, seed: int, run: int, by: Asked) -> _Gap | None:
        key = (source.name, dataset.name, seed)
        if key in self._seen:
            return None
        self._seen.add(key)
        asked = by(source, dataset, seed)
        if not self.paraphrases.has(*key):
            return _Gap(dataset, seed, run, asked, ())
        known = tuple(row for row in self.paraphrases.rows(*key) if row.outcome != "failed")
        had = {(row.lang, row.text, row.place) for row in known}
        missing = tuple(one for one in asked if (one.lang, one.text, one.place) not in had)
        return _Gap(dataset, seed, run, missing, known) if missing else None

    def _fill(self, source: WrittenBy, gap: _Gap) -> None:
        found: list[Paraphrase | None] = [None] * len(gap.asked)
        written = source.paraphraser.write(gap.asked, seed=gap.seed, run=gap.run, dataset=gap.dataset.name)
        for position, paraphrase in written:
            found[position] = paraphrase
            self.listener.advanced_by(1)
        rows = [*gap.known, *(one for one in found if one is not None)]
        dataset = gap.dataset
        self.paraphrases.keep(source.name, dataset.name, gap.seed, rows, fingerprint=dataset.fingerprint)


def keep_texts(plan: WordedPlan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_columns, plan, dataset, one.task))


def _columns(plan: WordedPlan, dataset: PlannedDataset, name: str) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
    for part in plan.parts(dataset, name):
        for place, text in task(name, plan.registry).texts(part.data):
            field, _, item = place.partition(":")
            for column, value in zip(columns, (item, field, text, part.lang), strict=True):
                columns[column].append(value)
    return columns


def evaluations(
    plan: WordedPlan, sources: Sequence[WrittenBy], seeds: Seeds, *, measure: bool
) -> Iterator[Forecast]:
    """The cost of every task on every dataset with every system, the originals and all runs together. With `measure`,
    systems on this machine are timed on a few texts."""
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, request.seed, plan.cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            rounds = sum(len(seeds[source.name, dataset.name]) for source in sources)
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_work(plan, dataset, planned, tokenizer, rounds))


def _work(
    plan: WordedPlan, dataset: PlannedDataset, planned: PlannedTask, tokenizer: Tokenizer, rounds: int
) -> Work:
    what, parts = task(planned.task, plan.registry), plan.parts(dataset, planned.task)
    texts = [text for part in parts for _, text in what.texts(part.data)]
    sets = [part.data for part in parts if isinstance(part.data, RetrievalSet)]
    corpus = [text for one in sets for text in one.corpus.texts]
    tokens, _ = tokens_of(corpus + texts, tokenizer)

    def rehearse(hear: Hear, *, mark: str = "") -> bool:
        if len(texts) + len(corpus) > MOST_REHEARSED:
            return False
        for part in parts:
            context = Context(part.dataset, tokenizer, plan.request.seed, plan.request.options)
            work.rehearse(what, _marked(what, part.data, mark) if mark else part.data, context, hear)
        return True

    # Other words of the same length: a mark makes a text one that no cache has.
    return Work(
        planned.task, dataset.name, planned.n, len(texts) + len(corpus), tokens, rehearse, corpus or texts,
        texts if corpus else (), KINDS.get(planned.task, "pairs"),
        again=lambda hear: rehearse(hear, mark=" \u2020"), rounds=rounds,
        footprint=lambda system: largest(
            needed(system, part.data, [text for _, text in what.texts(part.data)], plan.request.options.resamples)
            for part in parts
        ),
    )  # fmt: skip


def _marked(what: Any, data: Any, mark: str) -> Any:
    return what.reword(data, lambda _, text: text + mark).paraphrased


class Worded(Protocol):
    """A protocol over such runs."""

    reads_folder = True
    by_language = True
    evaluate = staticmethod(work.evaluate)

    def headline(self, plan: Any, record: CellRecord) -> str:
        """The task's."""
        return task(record.task, plan.registry).headline

    def keep(self, plan: Any) -> None:
        """The texts as they are."""
        keep_texts(plan, self.folder)
