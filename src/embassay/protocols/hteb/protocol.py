"""An HTEB run from request to finished folder, transformations alone, and what either will take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from embassay.contracts import Tokenizer
from embassay.errors import ModelError
from embassay.protocols.hteb.conclusions import conclusion, told
from embassay.protocols.hteb.options import Request
from embassay.protocols.hteb.plan import HtebPlan, datasets_of, make_plan, with_runs
from embassay.protocols.hteb.transformers import LLMTransformer, Needs, Source, TokenCounts, open_transformers
from embassay.protocols.kernel.inputs import sources
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.request import data_beside, new_folder, request_of
from embassay.protocols.kernel.session import Conclusion, Session, Silent, unknown_price
from embassay.protocols.kernel.suites import check_at_hand, in_short
from embassay.protocols.wordings.plan import Growth, PlannedDataset, Seeds
from embassay.protocols.wordings.protocol import PARAPHRASES, Worded, Writer, evaluations
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import Result
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.objects import given
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

TOLD = "texts after"
"""Before the name of a transformation, in what is shown of the progress."""


class Hteb(Worded):
    """First the texts as they are; then every transformation in every run, until there are as many runs as were asked
    for."""

    name = "hteb"
    sources: tuple[Source, ...] = ()
    growth: Growth

    def plan(self, request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> HtebPlan:
        """The cells of the texts as they are, and the transformations, opened."""
        plan = make_plan(request, cache, ledger)
        self.sources = opened(request, plan.longest, ledger)
        self.growth = Growth(request, plan.datasets, self.sources)
        return plan

    def forecast(self, plan: HtebPlan, *, measure: bool = True) -> Forecasts:
        """The cost of every transformation, then of every task on every dataset with every system, all runs."""
        seeds = self.growth.seeds
        return Forecasts(
            (
                *transformations(plan, plan.datasets, self.sources, seeds),
                *evaluations(plan, self.sources, seeds, measure=measure),
            )
        )

    def call(self, request: Request, out: Path) -> str:
        """With `embassay.hteb.run`, and the transformer."""
        return (
            f"embassay.hteb.run({list(request.systems)!r}, transformer={request.transformer!r}, "
            f"datasets={list(request.datasets)!r}, out={str(out)!r})"
        )

    def check_prices(self, plan: HtebPlan, max_usd: float | None) -> None:
        """Of systems, and of the transformer."""
        super().check_prices(plan, max_usd)
        check_price(self.sources, max_usd)

    def told(self, plan: HtebPlan) -> dict[str, Any]:
        """What there is to say of the transformations."""
        return {"transformations": told(self.folder, self.sources, self.growth, plan)}

    def work(self, session: Session, listener: Silent) -> None:
        """The texts as they are, then round after round: texts first, then what follows from them."""
        plan: Any = session.plan
        session.whole = False
        kept = ParaphraseSet.create(self.folder.path / PARAPHRASES)
        writer = Writer(kept, session.accounts.ledger, listener, TOLD)
        session.do(listener)
        while self.growth.grows:
            writer.write(plan.datasets, self.sources, self.growth.seeds, plan.asked)
            session.plan = with_runs(plan, self.folder, kept, self.sources, self.growth.seeds)
            session.do(listener)
            self.growth.look_at(session.ended())
        session.whole = True

    def told_at_the_end(self, session: Session) -> Mapping[str, Any]:
        """What became of the texts."""
        return self.told(cast(HtebPlan, session.plan))

    def conclude(self, plan: HtebPlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Scores by transformation and axis, totals, tests and tables."""
        return conclusion(plan, self.folder, self.sources, self.growth.seeds, records, rows)


def opened(request: Request, longest: int, ledger: Ledger | None) -> tuple[Source, ...]:
    """The transformations of a request."""
    return open_transformers(
        request.transformer, request.transformations, request.generation, longest=longest, ledger=ledger
    )


def check_price(sources: Sequence[Source], max_usd: float | None) -> None:
    """UsageError if the cost is limited and the price of a model is not known."""
    for source in sources if max_usd is not None else ():
        if isinstance(source.paraphraser, LLMTransformer) and source.paraphraser.price is None:
            raise unknown_price(source.paraphraser.name)


def transformations(
    plan: HtebPlan, datasets: Sequence[PlannedDataset], sources: Sequence[Source], seeds: Seeds
) -> Iterator[Forecast]:
    """The cost of every transformation of every dataset. An answer is taken to be as long as is usual for what was
    asked, and none to be drawn again. What two transformations ask alike (the expansion in `summarised_expansion`) is
    asked once."""
    seen: set[tuple[Any, ...]] = set()
    tokens = TokenCounts(_tokenizer(plan.request.tokenizer))
    for source in sources:
        for dataset in datasets:
            runs = seeds[source.name, dataset.name]
            asked = {seed: plan.asked(source, dataset, seed) for seed in runs}
            texts = sum(map(len, asked.values()))
            writer = source.paraphraser
            head = Forecast(source.name, dataset.name, writer.name, texts // max(1, len(runs)), texts, 0)
            if not isinstance(writer, LLMTransformer):
                yield head
                continue
            need = sum((writer.needs(slots, seed, tokens, seen) for seed, slots in asked.items()), Needs())
            model = cast(Any, writer.chat.model)
            yield replace(
                head,
                tokens=need.read + need.written,
                cached=max(0, texts - need.calls // len(source.of.steps)),
                requests=need.calls,
                usd=None if writer.price is None else writer.price.usd(need.read, need.written),
                seconds=remote_seconds(model, need.calls, need.read + need.written),
                assumed=True,
            )


def _tokenizer(name: str) -> Tokenizer | None:
    """The run's; None where it cannot be had, which must not stop a run that needs none."""
    try:
        return open_tokenizer(name)
    except ModelError:
        return None


def run(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    transformer: str = "recorded",
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems on transformed texts, resuming what is unfinished in `out`, and return the run.

    Systems may be objects of your own and datasets frames, as in `TaskProtocol.run`. Further arguments are those of
    `Request`: tasks, transformations (all), runs (3), seed (1337), until_ci, baseline, limit, tokenizer ("cl100k"),
    families, generation, options. Raises UsageError when `out` holds a run of other arguments, BudgetExceeded when
    `max_usd` is reached: what is finished is kept.
    """
    folder = Path(out) if out is not None else new_folder("hteb")
    request = request_of(
        Request, run, arguments, given(systems, workers=workers),
        datasets=sources(datasets, data_beside(folder)), transformer=transformer,
    )  # fmt: skip
    return Hteb().carry_out(request, folder, workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def transform(
    request: Request, out: Path, *, ledger: Ledger, listener: Silent | None = None
) -> ParaphraseSet:
    """Have the texts transformed and kept in `out`, without any system; what is there is not asked for again."""
    plan = transforming(request)
    check_at_hand(plan.suites)
    chosen = opened(request, plan.longest, ledger)
    check_price(chosen, ledger.max_usd)
    seeds = Growth(request, plan.datasets, chosen).seeds
    kept = ParaphraseSet.create(out / PARAPHRASES)
    Writer(kept, ledger, listener or Silent(), TOLD).write(plan.datasets, chosen, seeds, plan.asked)
    return kept


def transforming(request: Request) -> HtebPlan:
    """A plan without systems."""
    datasets, suites = datasets_of(request)
    return HtebPlan(request, (), datasets, suites=suites)


def transform_forecast(request: Request, ledger: Ledger | None = None) -> Forecasts:
    """What `transform` would take."""
    plan = transforming(request)
    chosen = opened(request, plan.longest, ledger)
    seeds = Growth(request, plan.datasets, chosen).seeds
    return Forecasts(tuple(transformations(plan, plan.datasets, chosen, seeds)), notes=in_short(plan.suites))
