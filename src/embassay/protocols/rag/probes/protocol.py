"""A probe from request to finished folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from embassay.protocols.kernel.forecast import Forecaster
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import make_request
from embassay.protocols.kernel.session import Conclusion, Session, SilentListener, make_unknown_price_error
from embassay.protocols.rag.golden.protocol import ANSWER_TOKENS
from embassay.protocols.rag.probes import names, noise, signatures
from embassay.protocols.rag.probes.names import NamesJob, plan_names
from embassay.protocols.rag.probes.noise import plan_noise
from embassay.protocols.rag.probes.options import NamesRequest, NoiseRequest
from embassay.protocols.rag.probes.plan import ProbePlan
from embassay.protocols.rag.probes.questions import Rewritings, add_small_talk, load_questions
from embassay.protocols.rag.probes.resampling import RECALL, ProbeRows
from embassay.protocols.rag.probes.signatures import SignedJob, plan_collections, signature_tables
from embassay.records import Result, TaskOutcome
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_tokens
from embassay.text import open_tokenizer


def _forecast_cells(plan: ProbePlan, *, measure: bool) -> Iterator[Forecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for effort in plan.efforts:
        yield from forecaster.cells(effort())


def _forecast_rewriting(plan: ProbePlan) -> Iterator[Forecast]:
    for rewriter in plan.rewriters:
        model: Any = getattr(rewriter, "model", None)
        for dataset in plan.datasets if model is not None else ():
            waiting = list_texts_to_rewrite(plan, dataset.name) - set(
                _read_kept_rewritings(plan, rewriter.identity)
            )
            read, written = estimate_tokens(list(waiting)), ANSWER_TOKENS["rewrite"] * len(waiting)
            read += PROMPT * len(waiting)
            price = getattr(model, "price", None)
            yield Forecast(
                "rewriting", dataset.name, rewriter.name, len(waiting), len(waiting), read + written,
                requests=len(waiting), usd=None if price is None else price.usd(read, written),
                seconds=remote_seconds(model, len(waiting), read + written, written), assumed=True
            )  # fmt: skip


PROMPT = 260
"""Tokens of the instructions that go with every question, about."""


def list_texts_to_rewrite(plan: ProbePlan, dataset: str) -> set[str]:
    """The texts of a dataset that are to be rewritten."""
    job = next(cell.job for cell in plan.cells if cell.dataset == dataset)
    posed = load_questions(plan.request, job.source, job.lang)
    noisy = add_small_talk(posed, plan.request.runs, plan.request.seed)
    return {text for variant in noisy for run in variant.texts for text in run if text is not None}


def _read_kept_rewritings(plan: ProbePlan, identity: str) -> set[str]:
    return set(Rewritings(plan.cells[0].job.folder, identity).read())


MISSING = "rewritings_missing"
TIMED = 4_000
"""Texts of a run from which its systems are timed before it begins."""


def probe_names(
    systems: Sequence[str],
    *,
    out: str | Path,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Does similarity tell authors apart, and by what? Resumes what is unfinished in `out`, and returns the run.

    Further arguments are those of `NamesRequest`: datasets (none), langs (("en", "fr")), conditions (all), mapping,
    split, grades, people, topics, queries (100), runs (15), limit, seed (1337), tokenizer ("cl100k"), resamples
    (10,000). UsageError when `out` holds a run of other arguments, BudgetExceeded at `max_usd`: what is finished is
    kept.
    """
    request = _probe_request(NamesRequest, probe_names, arguments, systems)
    return Probe().carry_out(
        request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd
    )


def probe_noise(
    systems: Sequence[str],
    *,
    out: str | Path,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """How far does small talk move a question from what it is about, and what does rewriting bring back?

    Further arguments are those of `NoiseRequest`: datasets (("bundled",)), langs, rewriters (("rules",)), reference,
    mapping, split, grades, people, topics, queries (100), runs (3), limit, seed, tokenizer, resamples. Errors as for
    `probe_names`.
    """
    request = _probe_request(NoiseRequest, probe_noise, arguments, systems)
    return Probe().carry_out(
        request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd
    )


class Probe(Protocol):
    """Of names or of noise, whose questions are rewritten before any system sees them."""

    name = "rag"
    reads_folder = True

    def plan(
        self, request: NamesRequest | NoiseRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> ProbePlan:
        """Either probe's."""
        if isinstance(request, NamesRequest):
            self.evaluate = _evaluate_names
            return plan_collections(plan_names(request, cache, ledger))
        self.evaluate = noise.evaluate_cell
        return plan_noise(request, self.folder.path, cache, ledger)

    def forecast(self, plan: ProbePlan, *, measure: bool = True) -> Forecasts:
        """The cost of every cell, and of a language model's rewritings. To time a system on some texts takes as long as
        a small probe."""
        timed = measure and sum(cell.units for cell in plan.cells) >= TIMED
        return Forecasts((*_forecast_rewriting(plan), *_forecast_cells(plan, measure=timed)))

    def headline(self, plan: ProbePlan, record: CellRecord) -> str:
        """A margin, a drop, or the recall of a collection."""
        if record.task == signatures.TASK:
            return RECALL
        return names.HEADLINE if plan.task == names.TASK else noise.HEADLINE

    def call(self, request: NamesRequest | NoiseRequest, out: Path) -> str:
        """With `embassay.rag.probe_names` or `probe_noise`."""
        task = names.TASK if isinstance(request, NamesRequest) else noise.TASK
        return f"embassay.rag.probe_{task}({list(request.systems)!r}, out={str(out)!r})"

    def check_prices(self, plan: ProbePlan, max_usd: float | None) -> None:
        """Of systems, and of rewriters."""
        super().check_prices(plan, max_usd)
        for rewriter in plan.rewriters if max_usd is not None else ():
            model = getattr(rewriter, "model", None)
            if model is not None and getattr(model, "price", None) is None:
                raise make_unknown_price_error(rewriter.name)

    def describe_run(self, plan: ProbePlan) -> dict[str, Any]:
        """Which probe it is, and its rewriters."""
        return plan.settings

    def work(self, session: Session, listener: SilentListener) -> None:
        """Have all noisy questions rewritten, and redo cells that lacked what is there now."""
        plan: Any = session.plan
        if plan.rewriters:
            of_dataset = {
                dataset.name: list_texts_to_rewrite(plan, dataset.name) for dataset in plan.datasets
            }
            self._redo(session, of_dataset, self._rewritten(session, of_dataset, listener))
        session.do(listener)

    def conclude(self, plan: ProbePlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """The tables of either probe."""
        del records  # their rows say all
        systems = [system.name for system in plan.systems]
        signed = ProbeRows(row for row in rows if row.task == signatures.TASK)
        probed = ProbeRows(row for row in rows if row.task != signatures.TASK)
        tables = (
            [*names.name_tables(probed, systems, plan.request), *signature_tables(signed, probed, systems)]
            if plan.task == names.TASK
            else noise.noise_tables(probed, systems)
        )
        return Conclusion(tables=tuple(table for table in tables if table.rows))

    def _rewritten(
        self, session: Session, of_dataset: Mapping[str, set[str]], listener: SilentListener
    ) -> dict[str, Mapping[str, str]]:
        """Why texts were not rewritten, by rewriter and text."""
        plan: Any = session.plan
        texts = sorted({text for of_texts in of_dataset.values() for text in of_texts})
        failed: dict[str, Mapping[str, str]] = {}
        for rewriter in plan.rewriters:
            rewritings = Rewritings(self.folder.path, rewriter.identity)
            failed[rewriter.name] = rewritings.complete(rewriter, texts, listener, session.accounts.ledger)
        session.extra["rewriting_failures"] = {
            name: {"texts": len(reasons), "first": next(iter(reasons.values()), "")}
            for name, reasons in failed.items()
            if reasons
        }
        return failed

    def _redo(
        self, session: Session, of_dataset: Mapping[str, set[str]], failed: Mapping[str, Mapping[str, str]]
    ) -> None:
        for cell in session.plan.cells:
            missing = sum(text in reasons for reasons in failed.values() for text in of_dataset[cell.dataset])
            record = session.records.get(cell.key)
            if record is not None and record.counts.get(MISSING, 0) > missing:
                self.folder.cell_path(cell).unlink(missing_ok=True)
                del session.records[cell.key]


def _evaluate_names(job: NamesJob | SignedJob, advance: Callable[[int], None], **how: Any) -> TaskOutcome:
    """The outcome of a cell of bundles, or of a collection."""
    if isinstance(job, SignedJob):
        return signatures.evaluate_cell(job, advance, **how)
    return names.evaluate_cell(job, advance, **how)


T = TypeVar("T", NamesRequest, NoiseRequest)


def _probe_request(
    kind: type[T], call: Callable[..., Any], arguments: Mapping[str, Any], systems: Sequence[str]
) -> T:
    """The request of a Python call, whose mapping is a dictionary."""
    mapping = dict(arguments.get("mapping") or {})
    other = {name: value for name, value in arguments.items() if name != "mapping"}
    return make_request(kind, call, _as_tuples(other), tuple(systems), mapping=tuple(sorted(mapping.items())))


def _as_tuples(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, paths as text: a request is a value."""
    return {
        name: tuple(map(str, value))
        if isinstance(value, list | tuple)
        else str(value)
        if isinstance(value, Path)
        else value
        for name, value in arguments.items()
    }
