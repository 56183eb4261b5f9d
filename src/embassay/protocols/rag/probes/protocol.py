"""A probe from request to finished folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from embassay.protocols.kernel.forecast import TaskCostForecaster
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener, make_unknown_price_error
from embassay.protocols.rag.golden.protocol import ANSWER_TOKENS
from embassay.protocols.rag.probes import names, noise, signatures
from embassay.protocols.rag.probes.names import NameProbeJob, plan_names_probe
from embassay.protocols.rag.probes.noise import plan_noise_probe
from embassay.protocols.rag.probes.options import NamesRequest, NoiseRequest
from embassay.protocols.rag.probes.plan import ProbePlan
from embassay.protocols.rag.probes.questions import (
    RewritingStore,
    add_small_talk_at_all_levels,
    load_noise_probe_questions,
)
from embassay.protocols.rag.probes.resampling import RECALL, ProbeResultRows
from embassay.protocols.rag.probes.signatures import (
    NameSignatureProbeJob,
    add_collection_cells,
    build_probe_signature_tables,
)
from embassay.records import ResultRow, TaskOutcome
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import estimate_server_tokens
from embassay.text import open_tokenizer


def _forecast_cells(plan: ProbePlan, *, measure: bool) -> Iterator[CellForecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = TaskCostForecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for effort in plan.efforts:
        yield from forecaster.cells(effort())


def _forecast_rewriting(plan: ProbePlan) -> Iterator[CellForecast]:
    for rewriter in plan.rewriters:
        model: Any = getattr(rewriter, "model", None)
        for dataset in plan.datasets if model is not None else ():
            waiting = list_texts_to_rewrite(plan, dataset.name) - set(
                _list_texts_with_kept_rewriting(plan, rewriter.identity)
            )
            read, written = estimate_server_tokens(list(waiting)), ANSWER_TOKENS["rewrite"] * len(waiting)
            read += PROMPT * len(waiting)
            price = getattr(model, "price", None)
            yield CellForecast(
                "rewriting", dataset.name, rewriter.name, len(waiting), len(waiting), read + written,
                requests=len(waiting), usd=None if price is None else price.usd(read, written),
                seconds=estimate_server_seconds(model, len(waiting), read + written, written), assumed=True
            )  # fmt: skip


PROMPT = 260
"""Tokens of the instructions that go with every question, about."""


def list_texts_to_rewrite(plan: ProbePlan, dataset: str) -> set[str]:
    """The texts of a dataset that are to be rewritten."""
    job = next(cell.job for cell in plan.cells if cell.dataset == dataset)
    posed = load_noise_probe_questions(plan.request, job.source, job.lang)
    noisy = add_small_talk_at_all_levels(posed, plan.request.runs, plan.request.seed)
    return {text for variant in noisy for run in variant.texts for text in run if text is not None}


def _list_texts_with_kept_rewriting(plan: ProbePlan, identity: str) -> set[str]:
    return set(RewritingStore(plan.cells[0].job.folder, identity).read())


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
    """Probe whether similarity tells authors apart; resumes what is unfinished in `out`.

    Further arguments are those of `NamesRequest`: datasets (none), langs (("en", "fr")), conditions (all), mapping,
    split, grades, people, topics, queries (100), runs (15), limit, seed (1337), tokenizer ("cl100k"), resamples
    (10,000). UsageError when `out` holds a run of other arguments, BudgetExceeded at `max_usd`: what is finished is
    kept.
    """
    request = _make_probe_request(NamesRequest, probe_names, arguments, systems)
    return NameOrNoiseProbeProtocol().carry_out(
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
    request = _make_probe_request(NoiseRequest, probe_noise, arguments, systems)
    return NameOrNoiseProbeProtocol().carry_out(
        request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd
    )


class NameOrNoiseProbeProtocol(EvaluationProtocol):
    """A probe of names or of noise, whose questions are rewritten before any system sees them."""

    name = "rag"
    reads_folder = True

    def plan_run(
        self, request: NamesRequest | NoiseRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> ProbePlan:
        """Plan a run of either probe."""
        if isinstance(request, NamesRequest):
            self.evaluate = _evaluate_name_probe_cell
            return add_collection_cells(plan_names_probe(request, cache, ledger))
        self.evaluate = noise.evaluate_cell
        return plan_noise_probe(request, self.folder.path, cache, ledger)

    def forecast_cost(self, plan: ProbePlan, *, measure: bool = True) -> RunForecast:
        """The cost of every cell, and of a language model's rewritings. To time a system on some texts takes as long as
        a small probe."""
        timed = measure and sum(cell.units for cell in plan.cells) >= TIMED
        return RunForecast((*_forecast_rewriting(plan), *_forecast_cells(plan, measure=timed)))

    def headline(self, plan: ProbePlan, record: CellRecord) -> str:
        """The headline measure of a cell: a margin, a drop, or the recall of a collection."""
        if record.task == signatures.TASK:
            return RECALL
        return names.HEADLINE if plan.task == names.TASK else noise.HEADLINE

    def format_python_call(self, request: NamesRequest | NoiseRequest, out: Path) -> str:
        """Format the call of `embassay.rag.probe_names` or `probe_noise` that makes the run."""
        task = names.TASK if isinstance(request, NamesRequest) else noise.TASK
        return f"embassay.rag.probe_{task}({list(request.systems)!r}, out={str(out)!r})"

    def check_prices_known(self, plan: ProbePlan, max_usd: float | None) -> None:
        """Check that the prices of systems and of rewriters are known where the cost is limited."""
        super().check_prices_known(plan, max_usd)
        for rewriter in plan.rewriters if max_usd is not None else ():
            model = getattr(rewriter, "model", None)
            if model is not None and getattr(model, "price", None) is None:
                raise make_unknown_price_error(rewriter.name)

    def list_own_manifest_fields(self, plan: ProbePlan) -> dict[str, Any]:
        """Which probe it is, and its rewriters."""
        return plan.probe_manifest_settings

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Have noisy questions rewritten, redo cells that lacked rewritings, and run the cells."""
        plan: Any = session.plan
        if plan.rewriters:
            of_dataset = {dataset.name: list_texts_to_rewrite(plan, dataset.name) for dataset in plan.datasets}
            self._redo_cells_lacking_rewritings(
                session, of_dataset, self._rewrite_texts_with_failures(session, of_dataset, listener)
            )
        session.do(listener)

    def draw_conclusions(
        self, plan: ProbePlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw the run's conclusions: the tables of either probe."""
        del records  # their rows say all
        systems = [system.name for system in plan.systems]
        signed = ProbeResultRows(row for row in rows if row.task == signatures.TASK)
        probed = ProbeResultRows(row for row in rows if row.task != signatures.TASK)
        tables = (
            [
                *names.build_name_probe_tables(probed, systems, plan.request),
                *build_probe_signature_tables(signed, probed, systems),
            ]
            if plan.task == names.TASK
            else noise.build_noise_probe_tables(probed, systems)
        )
        return RunConclusions(tables=tuple(table for table in tables if table.rows))

    def _rewrite_texts_with_failures(
        self, session: CellRunAttempt, of_dataset: Mapping[str, set[str]], listener: SilentListener
    ) -> dict[str, Mapping[str, str]]:
        """Have texts rewritten; returns why some were not, by rewriter and text."""
        plan: Any = session.plan
        texts = sorted({text for of_texts in of_dataset.values() for text in of_texts})
        failed: dict[str, Mapping[str, str]] = {}
        for rewriter in plan.rewriters:
            rewritings = RewritingStore(self.folder.path, rewriter.identity)
            failed[rewriter.name] = rewritings.complete(rewriter, texts, listener, session.accounts.ledger)
        session.extra["rewriting_failures"] = {
            name: {"texts": len(reasons), "first": next(iter(reasons.values()), "")}
            for name, reasons in failed.items()
            if reasons
        }
        return failed

    def _redo_cells_lacking_rewritings(
        self, session: CellRunAttempt, of_dataset: Mapping[str, set[str]], failed: Mapping[str, Mapping[str, str]]
    ) -> None:
        for cell in session.plan.cells:
            missing = sum(text in reasons for reasons in failed.values() for text in of_dataset[cell.dataset])
            record = session.records.get(cell.key)
            if record is not None and record.counts.get(MISSING, 0) > missing:
                self.folder.get_cell_record_path(cell).unlink(missing_ok=True)
                del session.records[cell.key]


def _evaluate_name_probe_cell(
    job: NameProbeJob | NameSignatureProbeJob, advance: Callable[[int], None], **how: Any
) -> TaskOutcome:
    """The outcome of a cell of bundles, or of a collection."""
    if isinstance(job, NameSignatureProbeJob):
        return signatures.evaluate_cell(job, advance, **how)
    return names.evaluate_cell(job, advance, **how)


T = TypeVar("T", NamesRequest, NoiseRequest)


def _make_probe_request(
    kind: type[T], call: Callable[..., Any], arguments: Mapping[str, Any], systems: Sequence[str]
) -> T:
    """The request of a Python call, whose mapping is a dictionary."""
    mapping = dict(arguments.get("mapping") or {})
    other = {name: value for name, value in arguments.items() if name != "mapping"}
    return make_request_from_call(
        kind, call, _make_argument_values_immutable(other), tuple(systems), mapping=tuple(sorted(mapping.items()))
    )


def _make_argument_values_immutable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, paths as text: a request is a value."""
    return {
        name: tuple(map(str, value))
        if isinstance(value, list | tuple)
        else str(value)
        if isinstance(value, Path)
        else value
        for name, value in arguments.items()
    }
