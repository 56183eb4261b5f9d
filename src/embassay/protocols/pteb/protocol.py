"""A PTEB run from request to finished folder, and what it will take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any, cast

from embassay.data import open_dataset
from embassay.protocols.kernel.inputs import write_frames_and_list_dataset_sources
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.request import choose_new_run_folder, data_frames_folder, make_request_from_call
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener, make_unknown_price_error
from embassay.protocols.kernel.tables import ColumnTable
from embassay.protocols.pteb.conclusions import build_paraphrasing_record, conclude_run, conclude_run_of_originals
from embassay.protocols.pteb.freshness import find_fresh_datasets, make_freshness_tables
from embassay.protocols.pteb.options import Request
from embassay.protocols.pteb.paraphrasing import LLMParaphraser
from embassay.protocols.pteb.plan import (
    ParaphraserWithPrompt,
    PtebPlan,
    add_cells_of_reworded_runs,
    make_plan,
    open_paraphrase_sources,
)
from embassay.protocols.pteb.validity.conclusions import (
    RatedRun,
    make_valid_change_table,
    make_validity_checked_change_rows,
)
from embassay.protocols.pteb.validity.sheet import (
    RatingSheetLine,
    collect_sheet_ratings,
    make_blank_rating_sheet,
    order_rating_units_randomly,
    read_rating_sheet,
)
from embassay.protocols.wordings.protocol import (
    PARAPHRASES,
    AdaptiveRunSeeds,
    ParaphraseSetFiller,
    Seeds,
    WordedProtocol,
    forecast_evaluation_costs,
)
from embassay.protocols.wordings.records import TextToParaphrase
from embassay.protocols.wordings.scores import ORIGINAL
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.records import ResultRow
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.systems.objects import register_systems_and_list_specs
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens


def run(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    paraphraser: str | Sequence[str] | None = None,
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems on fresh paraphrases, resuming what is unfinished in `out`, and return the run.

    Systems may be objects of your own and datasets frames, as in `TaskProtocol.run`. Further arguments are those of
    `Request`: tasks, runs (6), seed (1337), prompts, until_ci, baseline, limit,
    tokenizer ("cl100k"), generation, options; `original_only` scores the texts as they are, and needs no paraphraser.
    Without one the paraphrases that the datasets record are taken; where one has none, the texts as they are alone,
    with a warning.
    Raises UsageError when `out` holds a run of other arguments, BudgetExceeded when `max_usd` is reached: what is
    finished is kept.
    """
    folder = Path(out) if out is not None else choose_new_run_folder("pteb")
    sources = write_frames_and_list_dataset_sources(datasets, data_frames_folder(folder))
    if paraphraser is None:
        without = (
            None if arguments.get("original_only") else _find_first_dataset_lacking_paraphrases(sources, arguments)
        )
        if without is not None:
            warnings.warn(
                f"No paraphraser was given and {without} has no paraphrases, so only original texts get scores. "
                "Pass one, such as paraphraser='ollama:gemma3:27b'.", stacklevel=2
            )  # fmt: skip
            arguments["original_only"] = True
        paraphraser = () if arguments.get("original_only") else "recorded"
    request = make_request_from_call(
        Request, run, arguments, register_systems_and_list_specs(systems, workers=workers),
        datasets=sources, paraphrasers=(paraphraser,) if isinstance(paraphraser, str) else tuple(paraphraser)
    )  # fmt: skip
    return PtebProtocol().carry_out(request, folder, workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def _find_first_dataset_lacking_paraphrases(sources: Sequence[str], arguments: Mapping[str, Any]) -> str | None:
    """The first dataset that has no column of paraphrases; None where all have."""
    for source in sources:
        dataset = open_dataset(source, mapping=arguments.get("mapping") or {}, split=arguments.get("split"))
        if dataset.missing("paraphrases"):
            return dataset.name
    return None


class PtebProtocol(WordedProtocol):
    """First the texts as they are, which costs the least and shows whether the systems work; then run after run in
    other words, until there are as many as were asked for. Or the texts as they are, and no more."""

    name = "pteb"
    sources: tuple[ParaphraserWithPrompt, ...] = ()
    growth: AdaptiveRunSeeds | None = None
    """The runs of every source on every dataset; None for the texts as they are."""
    rated: Sequence[RatingSheetLine] = ()
    """The lines of filled-in sheets."""

    def plan_run(self, request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> PtebPlan:
        """Plan the cells of the texts as they are, and open the sources of their wordings."""
        plan = make_plan(request, cache, ledger)
        find_fresh_datasets(plan)  # a wrong one is told before any work
        self.rated = [line for path in request.ratings for line in read_rating_sheet(Path(path))]
        if not request.original_only:
            texts = (text.text for data in plan.datasets for text in plan.list_texts_to_rewrite(data))
            longest = max((len(text.encode()) for text in texts), default=0)
            self.sources = open_paraphrase_sources(request, plan.collect_dataset_paraphrases(), longest, ledger=ledger)
            self.growth = AdaptiveRunSeeds(request, plan.datasets, self.sources)
        return plan

    @property
    def seeds_of_runs_so_far(self) -> Seeds:
        """Those of the runs so far."""
        return self.growth.seeds if self.growth else {}

    def forecast_cost(self, plan: PtebPlan, *, measure: bool = True) -> RunForecast:
        """The cost of every source's wordings, then of every task on every dataset with every system, all runs
        together."""
        return forecast_pteb_cost(plan, self.sources, self.seeds_of_runs_so_far, measure=measure)

    def format_python_call(self, request: Request, out: Path) -> str:
        """Format the call of `embassay.pteb.run` that makes the run, with the paraphrasers."""
        how = "original_only=True" if request.original_only else f"paraphraser={list(request.paraphrasers)!r}"
        return (
            f"embassay.pteb.run({list(request.systems)!r}, {how}, datasets={list(request.datasets)!r}, "
            f"out={str(out)!r})"
        )

    def check_prices_known(self, plan: PtebPlan, max_usd: float | None) -> None:
        """Check that the prices of systems and of paraphrasers are known where the cost is limited."""
        super().check_prices_known(plan, max_usd)
        for source in self.sources if max_usd is not None else ():
            if isinstance(source.paraphraser, LLMParaphraser) and source.paraphraser.token_price is None:
                raise make_unknown_price_error(source.name)

    def list_own_manifest_fields(self, plan: PtebPlan) -> dict[str, Any]:
        """Which step it is, and what there is to say of the wordings."""
        if self.growth is None:
            return {"step": ORIGINAL}
        return {
            "step": "run",
            "paraphrases": build_paraphrasing_record(self.folder, self.sources, self.growth, plan.datasets),
        }

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Run the cells of the texts as they are, then of round after round of wordings."""
        if self.growth is None:
            session.do(listener)
            return
        plan: Any = session.plan
        session.whole = False
        paraphrases = ParaphraseSet.open_or_create_in_folder(self.folder.path / PARAPHRASES)
        writer = ParaphraseSetFiller(paraphrases, session.accounts.ledger, listener)
        session.do(listener)
        asked = {dataset.name: tuple(plan.list_texts_to_rewrite(dataset)) for dataset in plan.datasets}
        while self.growth.grows:
            writer.write(
                plan.datasets, self.sources, self.seeds_of_runs_so_far, lambda _, dataset, __: asked[dataset.name]
            )
            session.plan = add_cells_of_reworded_runs(
                plan, self.folder, paraphrases, self.sources, self.seeds_of_runs_so_far
            )
            session.do(listener)
            self.growth.add_needed_runs(session.list_ended_cells())
        session.whole = True

    def list_closing_manifest_fields(self, session: CellRunAttempt) -> Mapping[str, Any]:
        """What closing manifests say besides: what became of the wordings."""
        return self.list_own_manifest_fields(cast(PtebPlan, session.plan))

    def draw_conclusions(
        self, plan: PtebPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw the run's conclusions: scores, drops, ranks and tables; of originals, their scores."""
        if self.growth is None:
            return conclude_run_of_originals(plan, records)
        concluded = conclude_run(plan, self.folder, self.sources, self.seeds_of_runs_so_far, records, rows)
        fresh = tuple(make_freshness_tables(plan, self.folder, self.sources, self.seeds_of_runs_so_far, records))
        rated, tables = self._make_rating_sheet_and_conclude(plan, records, concluded.rows)
        return replace(concluded, rows=[*concluded.rows, *rated], tables=(*concluded.tables, *fresh, *tables))

    def _make_rating_sheet_and_conclude(
        self, plan: PtebPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> tuple[list[ResultRow], list[ColumnTable]]:
        """Make the rating sheet for people and conclude from their ratings, where either is wanted."""
        request = plan.request
        if not (request.to_rate or self.rated):
            return [], []
        paraphrases = ParaphraseSet.open_or_create_in_folder(self.folder.path / PARAPHRASES)
        drawn = order_rating_units_randomly(plan, paraphrases, self.sources, self.seeds_of_runs_so_far)
        tables = [make_blank_rating_sheet(drawn, request.to_rate)] if request.to_rate else []
        if not self.rated:
            return [], tables
        ratings = collect_sheet_ratings(self.rated, drawn)
        lines = RatedRun(plan, self.folder, self.sources, records, drawn, ratings).lines(rows)
        langs = {dataset.name: dataset.lang for dataset in plan.datasets}
        return list(make_validity_checked_change_rows(lines, langs, request.seed)), [
            *tables,
            make_valid_change_table(lines),
        ]


def forecast_pteb_cost(
    plan: PtebPlan, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds, *, measure: bool = True
) -> RunForecast:
    """The cost of every source's wordings, then of every task on every dataset with every system, all runs together.

    Wordings are taken to be as long as their texts, and none to be drawn again. With `measure`, systems on this machine
    are timed on a few texts.
    """
    return RunForecast(
        (
            *_forecast_paraphrases(plan, sources, seeds),
            *forecast_evaluation_costs(plan, sources, seeds, measure=measure),
        )
    )


def _forecast_paraphrases(
    plan: PtebPlan, sources: Sequence[ParaphraserWithPrompt], seeds: Seeds
) -> Iterator[CellForecast]:
    for source in sources:
        for dataset in plan.datasets:
            runs = seeds[source.name, dataset.name]
            head = CellForecast("paraphrases", dataset.name, source.name, dataset.asked, dataset.asked * len(runs), 0)
            writer = source.paraphraser
            yield (
                _add_paraphrase_answer_cost(head, writer, plan.list_texts_to_rewrite(dataset), runs)
                if isinstance(writer, LLMParaphraser)
                else head
            )


def _add_paraphrase_answer_cost(
    head: CellForecast, writer: LLMParaphraser, asked: Sequence[TextToParaphrase], runs: Sequence[int]
) -> CellForecast:
    """`head` with what the answers come to that the cache does not have."""
    missing = [(text, seed) for seed in runs for text in asked if not writer.is_text_free_of_cost(text, seed)]
    written = estimate_server_tokens([text.text for text, _ in missing])
    questions = list(starmap(writer.question, missing))
    read = estimate_server_tokens([message.content for question in questions for message in question.messages])
    model: Any = writer.chat.model
    return replace(
        head,
        tokens=read + written,
        cached=head.texts - len(missing),
        requests=len(missing),
        usd=None if writer.token_price is None else writer.token_price.usd(read, written),
        seconds=estimate_server_seconds(model, len(missing), read + written, written),
        assumed=True,
    )
