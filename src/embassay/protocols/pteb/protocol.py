"""A PTEB run from request to finished folder, and what it will take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from embassay.contracts import Tokenizer
from embassay.protocols.kernel.forecast import Forecaster, Work, largest
from embassay.protocols.kernel.inputs import charged, sources
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedTask
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import data_beside, new_folder, request_of
from embassay.protocols.kernel.session import Conclusion, Session, Silent, unknown_price
from embassay.protocols.pteb import work
from embassay.protocols.pteb.conclusions import PARAPHRASES, conclusion, conclusion_of_originals, told
from embassay.protocols.pteb.levels import ORIGINAL
from embassay.protocols.pteb.paraphrasing import sets
from embassay.protocols.pteb.paraphrasing.paraphrasers import LLMParaphraser
from embassay.protocols.pteb.paraphrasing.records import Paraphrase, SourceText
from embassay.protocols.pteb.paraphrasing.sets import ParaphraseSet
from embassay.protocols.pteb.plan import (
    Growth,
    PlannedDataset,
    PtebPlan,
    Request,
    Seeds,
    Source,
    make_plan,
    open_sources,
    with_runs,
)
from embassay.protocols.pteb.work import task
from embassay.protocols.tasks.task import Context, needed
from embassay.records import Result, RetrievalSet
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunFolder
from embassay.runs.forecast import Forecast, Forecasts, Hear, remote_seconds, tokens_of
from embassay.systems.objects import given
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import likely_tokens
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class _Gap:
    """Texts of one run on a dataset without a wording yet: `known` is what there is of the others."""

    dataset: PlannedDataset
    seed: int
    run: int
    asked: tuple[SourceText, ...]
    known: tuple[Paraphrase, ...]


class Writer:
    """Fills the run's set. What the set has is not asked for again, but for calls that failed in an earlier session."""

    def __init__(self, paraphrases: sets.ParaphraseSet, ledger: Ledger, listener: Silent) -> None:
        self.paraphrases, self.ledger, self.listener = paraphrases, ledger, listener
        self._seen: set[tuple[str, str, int]] = set()

    def write(
        self, plan: PtebPlan, sources: Sequence[Source], seeds: Mapping[tuple[str, str], tuple[int, ...]]
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
        self, source: Source, dataset: PlannedDataset, seed: int, run: int, asked: tuple[SourceText, ...]
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


def keep_texts(plan: PtebPlan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_columns, plan, dataset, one.task))


def _columns(plan: PtebPlan, dataset: PlannedDataset, name: str) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
    for part in plan.parts(dataset, name):
        for place, text in task(name).texts(part.data):
            field, _, item = place.partition(":")
            for column, value in zip(columns, (item, field, text, part.lang), strict=True):
                columns[column].append(value)
    return columns


def run(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    paraphraser: str | Sequence[str] = "recorded",
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems on fresh paraphrases, resuming what is unfinished in `out`, and return the run.

    Systems may be objects of your own and datasets frames, as in `TaskProtocol.run`. Further arguments are those of
    `Request`: tasks, runs (6), seed (1337), prompts, until_ci, baseline, limit,
    tokenizer ("cl100k"), generation, options; `original_only` scores the texts as they are, and needs no paraphraser.
    Raises UsageError when `out` holds a run of other arguments, BudgetExceeded when `max_usd` is reached: what is
    finished is kept.
    """
    paraphrasers = (paraphraser,) if isinstance(paraphraser, str) else tuple(paraphraser)
    if arguments.get("original_only") and paraphraser == "recorded":
        paraphrasers = ()
    folder = Path(out) if out is not None else new_folder("pteb")
    request = request_of(
        Request, run, arguments, given(systems, workers=workers),
        datasets=sources(datasets, data_beside(folder)), paraphrasers=paraphrasers,
    )  # fmt: skip
    return Pteb().carry_out(request, folder, workers=workers, cache=cache, listener=listener, max_usd=max_usd)


class Pteb(Protocol):
    """First the texts as they are, which costs the least and shows whether the systems work; then run after run in
    other words, until there are as many as were asked for. Or the texts as they are, and no more."""

    name = "pteb"
    reads_folder = True
    by_language = True
    evaluate = staticmethod(work.evaluate)
    sources: tuple[Source, ...] = ()
    growth: Growth | None = None
    """The runs of every source on every dataset; None for the texts as they are."""

    def plan(self, request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> PtebPlan:
        """The cells of the texts as they are, and the sources of their wordings, opened."""
        plan = make_plan(request, cache, ledger)
        if not request.original_only:
            longest = max(len(one.text.encode()) for dataset in plan.datasets for one in plan.asked(dataset))
            self.sources = open_sources(request, plan.recorded(), longest, ledger=ledger)
            self.growth = Growth(request, plan.datasets, self.sources)
        return plan

    @property
    def seeds(self) -> Seeds:
        """Those of the runs so far."""
        return self.growth.seeds if self.growth else {}

    def forecast(self, plan: PtebPlan, *, measure: bool = True) -> Forecasts:
        """The cost of every source's wordings, then of every task on every dataset with every system, all runs
        together."""
        return forecast(plan, self.sources, self.seeds, measure=measure)

    def headline(self, plan: PtebPlan, record: CellRecord) -> str:
        """The task's."""
        del plan
        return task(record.task).headline

    def call(self, request: Request, out: Path) -> str:
        """With `embassay.pteb.run`, and the paraphrasers."""
        how = "original_only=True" if request.original_only else f"paraphraser={list(request.paraphrasers)!r}"
        return (
            f"embassay.pteb.run({list(request.systems)!r}, {how}, datasets={list(request.datasets)!r}, "
            f"out={str(out)!r})"
        )

    def check_prices(self, plan: PtebPlan, max_usd: float | None) -> None:
        """Of systems, and of paraphrasers."""
        super().check_prices(plan, max_usd)
        for source in self.sources if max_usd is not None else ():
            if isinstance(source.paraphraser, LLMParaphraser) and source.paraphraser.price is None:
                raise unknown_price(source.name)

    def told(self, plan: PtebPlan) -> dict[str, Any]:
        """Which step it is, and what there is to say of the wordings."""
        if self.growth is None:
            return {"step": ORIGINAL}
        return {"step": "run", "paraphrases": told(self.folder, self.sources, self.growth, plan.datasets)}

    def keep(self, plan: PtebPlan) -> None:
        """The texts as they are."""
        keep_texts(plan, self.folder)

    def work(self, session: Session, listener: Silent) -> None:
        """The texts as they are, then round after round: wordings first, then what follows from them."""
        if self.growth is None:
            session.do(listener)
            return
        plan: Any = session.plan
        session.whole = False
        paraphrases = ParaphraseSet.create(self.folder.path / PARAPHRASES)
        writer = Writer(paraphrases, session.accounts.ledger, listener)
        session.do(listener)
        while self.growth.grows:
            writer.write(plan, self.sources, self.seeds)
            session.plan = with_runs(plan, self.folder, paraphrases, self.sources, self.seeds)
            session.do(listener)
            self.growth.look_at(session.ended())
        session.whole = True

    def told_at_the_end(self, session: Session) -> Mapping[str, Any]:
        """What became of the wordings."""
        return self.told(cast(PtebPlan, session.plan))

    def conclude(self, plan: PtebPlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Scores, drops, ranks and tables; of the texts as they are, their scores."""
        if self.growth is None:
            return conclusion_of_originals(plan, records)
        return conclusion(plan, self.folder, self.sources, self.seeds, records, rows)


MOST_REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


def forecast(plan: PtebPlan, sources: Sequence[Source], seeds: Seeds, *, measure: bool = True) -> Forecasts:
    """The cost of every source's wordings, then of every task on every dataset with every system, all runs together.

    Wordings are taken to be as long as their texts, and none to be drawn again. With `measure`, systems on this machine
    are timed on a few texts.
    """
    return Forecasts((*_wordings(plan, sources, seeds), *_evaluations(plan, sources, seeds, measure=measure)))


def _wordings(plan: PtebPlan, sources: Sequence[Source], seeds: Seeds) -> Iterator[Forecast]:
    for source in sources:
        for dataset in plan.datasets:
            runs = seeds[source.name, dataset.name]
            head = Forecast(
                "paraphrases", dataset.name, source.name, dataset.asked, dataset.asked * len(runs), 0
            )
            writer = source.paraphraser
            yield (
                _by_model(head, writer, plan.asked(dataset), runs)
                if isinstance(writer, LLMParaphraser)
                else head
            )


def _by_model(
    head: Forecast, writer: LLMParaphraser, asked: Sequence[SourceText], runs: Sequence[int]
) -> Forecast:
    """`head` with what the answers come to that the cache does not have."""
    missing = [(one, seed) for seed in runs for one in asked if not writer.kept(one, seed)]
    written = likely_tokens([one.text for one, _ in missing])
    questions = [writer.question(one, seed) for one, seed in missing]
    read = likely_tokens([message.content for question in questions for message in question.messages])
    model: Any = writer.chat.model
    return replace(
        head,
        tokens=read + written,
        cached=head.texts - len(missing),
        requests=len(missing),
        usd=None if writer.price is None else writer.price.usd(read, written),
        seconds=remote_seconds(model, len(missing), read + written),
        assumed=True,
    )


def _evaluations(
    plan: PtebPlan, sources: Sequence[Source], seeds: Seeds, *, measure: bool
) -> Iterator[Forecast]:
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, request.seed, plan.cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            rounds = sum(len(seeds[source.name, dataset.name]) for source in sources)
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_work(plan, dataset, planned, tokenizer, rounds))


def _work(
    plan: PtebPlan, dataset: PlannedDataset, planned: PlannedTask, tokenizer: Tokenizer, rounds: int
) -> Work:
    what, parts = task(planned.task), plan.parts(dataset, planned.task)
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
