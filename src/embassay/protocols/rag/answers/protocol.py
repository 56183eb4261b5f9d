"""Answers from runs, from request to finished folder: accuracy, Acc|Hit, and what planted distractors do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from embassay.data.judged_runs import read_run
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.comparisons import ALPHA, CORRECTION, METHOD, Headline, compared
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset, PlannedSystem, PlannedTask, check_names
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Conclusion, Silent, unknown_price
from embassay.protocols.kernel.tables import Column, ColumnTable, csv_text
from embassay.protocols.rag.answers.answerer import answer_messages, correct_messages
from embassay.protocols.rag.answers.evaluation import (
    HEADLINE,
    TASK,
    VERSION,
    AnswerJob,
    Prompted,
    collection_of,
    evaluate,
    models,
    prompted,
    read_ranking,
    references_of,
)
from embassay.protocols.rag.answers.options import AnswerRequest
from embassay.protocols.rag.scoring.inputs import fingerprint, named_path
from embassay.records import Result
from embassay.runs.folder import Cell, CellRecord, digest, write_atomic
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import likely_tokens


@dataclass(frozen=True, kw_only=True)
class AnswerPlan(planning.Plan):
    """The runs of a request and their questions; `settings` are what manifests say of the models."""

    settings: Mapping[str, Any]
    prices: Mapping[str, Any]


def make_plan(request: AnswerRequest, folder: Path, cache: Path | None, ledger: Ledger | None) -> AnswerPlan:
    """Read the data and the runs, and open the models. UsageError and DataError for what is wrong in them."""
    collection, references = collection_of(request), references_of(request)
    names = [named_path(run)[0] for run in request.runs]
    check_names(names)
    with models(request, cache, ledger) as (generating, judging):
        identity = [generating.identity("answer"), judging.identity("correct")]
        settings = {"generator": dict(generating.about()), "judge": dict(judging.about())}
        prices = {one.name: getattr(one.model, "price", None) for one in (generating, judging)}
    asked = list(prompted(collection, read_ranking(request.runs[0]), request.k, references))
    known = {"references": fingerprint_of(references)} if references else {}
    systems, cells = [], []
    for name, run in zip(names, request.runs, strict=True):
        print_ = fingerprint([read_run(named_path(run)[1])])
        systems.append(PlannedSystem(run, name, print_, "classical", {"summary": "a run of passages"}))
        key = digest({
            "protocol": "rag", "step": TASK, "version": VERSION, "run": [name, print_], "models": identity,
            "dataset": [collection.name, collection.fingerprint], "k": request.k, "distractors": request.distractors,
            "limit": request.limit, "seed": request.seed, "resamples": request.resamples, **known,
        })  # fmt: skip
        job = AnswerJob(request, run, str(folder), cache)
        units = len(asked) * (2 if request.distractors else 1)
        cells.append(Cell(TASK, collection.name, name, key, units, job, remote=True))
    task = PlannedTask(TASK, len(asked), len(asked), collection.skipped, collection.warnings)
    dataset = PlannedDataset(
        request.dataset, collection.name, collection.lang, collection.fingerprint, (task,)
    )
    return AnswerPlan(
        request=request, systems=tuple(systems), datasets=(dataset,), cells=tuple(cells), settings=settings,
        prices=prices,
    )  # fmt: skip


def fingerprint_of(references: Mapping[str, Sequence[str]]) -> str:
    """A digest of people's answers."""
    return digest({key: list(own) for key, own in references.items()})


class Answering(Protocol):
    """One attempt at the answers of several runs."""

    name = "rag"
    reads_folder = True
    evaluate = staticmethod(evaluate)

    def plan(
        self, request: AnswerRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> AnswerPlan:
        """A cell per run."""
        return make_plan(request, self.folder.path, cache, ledger)

    def forecast(self, plan: AnswerPlan, *, measure: bool = True) -> Forecasts:
        """The calls of both models; what they answered before is not asked, and not known here."""
        del measure
        request: AnswerRequest = plan.request
        collection, references = collection_of(request), references_of(request)
        cells = []
        for cell in plan.cells:
            own = list(prompted(collection, read_ranking(cell.job.run), request.k, references))
            cells.append(_forecast(cell, own, collection.texts, request))
        return Forecasts(tuple(cells))

    def headline(self, plan: AnswerPlan, record: CellRecord) -> str:
        """The share of right answers."""
        del plan, record
        return HEADLINE

    def call(self, request: AnswerRequest, out: Path) -> str:
        """With `embassay.rag.answer`."""
        return f"embassay.rag.answer({request.dataset!r}, {list(request.runs)!r}, ..., out={str(out)!r})"

    def check_prices(self, plan: AnswerPlan, max_usd: float | None) -> None:
        """UsageError for a model without a price where the cost is limited."""
        for name, price in plan.prices.items() if max_usd is not None else ():
            if price is None:
                raise unknown_price(name)

    def told(self, plan: AnswerPlan) -> dict[str, Any]:
        """Who answers and who grades."""
        return {"kind": TASK, **plan.settings}

    def conclude(self, plan: AnswerPlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Which runs can be told apart by their answers; and the grades as `rag score --answers` takes them."""
        del plan
        done = [record for record in records if record.done]
        headlines = [
            Headline.of(one.system, one.components[HEADLINE], "bootstrap over questions") for one in done
        ]
        comparisons = {
            "alpha": ALPHA, "correction": CORRECTION, "method": METHOD, "scopes": {TASK: compared(headlines)},
        }  # fmt: skip
        for record in done:
            self._write_correct(record)
        return Conclusion((), comparisons, tuple(_tables(rows)))

    def _write_correct(self, record: CellRecord) -> None:
        import polars as pl

        from embassay.parquet import read_parquet

        path = self.folder.items_path(TASK, record.dataset, record.system)
        if not path.is_file():
            return
        frame = read_parquet(path).filter((pl.col("measure") == HEADLINE) & pl.col("value").is_not_null())
        lines = [["query_id", "correct"], *frame.select("item_id", "value").rows()]
        name = f"{path.stem}.csv" if path.stem else "answers.csv"
        write_atomic(self.folder.path / "answers" / name, csv_text(lines))


def _forecast(
    cell: Cell, asked: Sequence[Prompted], texts: Sequence[str], request: AnswerRequest
) -> Forecast:
    times, some = (2 if request.distractors else 1), asked[:50]
    with models(request) as (generating, judging):
        found = []
        for one in some:
            shown = answer_messages(one.question, [texts[place] for place in one.places])
            graded = correct_messages(one.question, one.reference, "x" * 4 * generating.options.output_tokens)
            found.append([likely_tokens([m.content for m in said]) for said in (shown, graded)])
        read = np.mean(found, axis=0) if found else np.zeros(2)
        n, written = times * len(asked), generating.options.output_tokens
        usd: float | None = 0.0
        seconds = 0.0
        for who, tokens, out in ((generating, read[0], written), (judging, read[1], 8)):
            price = getattr(who.model, "price", None)
            usd = None if price is None or usd is None else usd + price.usd(round(n * tokens), n * out)
            seconds += remote_seconds(who.model, n, round(n * (tokens + out)))  # type: ignore[arg-type]
    head = Forecast(
        cell.task, cell.dataset, cell.system, len(asked), 0, round(n * (float(read.sum()) + written + 8))
    )
    return replace(head, requests=2 * n, usd=usd, seconds=seconds, assumed=True)


def _tables(rows: Sequence[Result]) -> Iterator[ColumnTable]:
    """`rag_answers`: every figure of every run."""
    columns = (
        Column("Run", "text"), Column("Measure", "text"), Column("Prompt", "text"), Column("Value", decimals=3),
        Column("95% low", decimals=3), Column("95% high", decimals=3), Column("n", decimals=0),
    )  # fmt: skip
    lines = [
        (
            row.system,
            row.measure,
            row.variant or "the run's passages",
            row.value,
            row.ci_low,
            row.ci_high,
            row.n,
        )
        for row in rows
    ]
    note = "An abstention is not right. Acc|Hit is accuracy where all useful passages were shown."
    yield ColumnTable("rag_answers", "Answers from the passages of each run", columns, tuple(lines), note)


def answer(
    dataset: str | Path,
    runs: Sequence[str | Path],
    generator: str,
    judge: str,
    *,
    out: str | Path,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Have a model answer the questions of a retrieval set from the passages of runs, and another one grade the
    answers, resuming what is unfinished in `out`.

    Further arguments are those of `AnswerRequest`: k (10), references, distractors (0), grades, mapping, split, limit,
    seed (1337), resamples. Errors as for other runs.
    """
    mapping = arguments.pop("mapping", None) or {}
    request = request_of(
        AnswerRequest, answer, arguments, str(dataset), tuple(map(str, runs)), generator, judge,
        mapping=tuple(sorted(dict(mapping).items())),
    )  # fmt: skip
    return Answering().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)
