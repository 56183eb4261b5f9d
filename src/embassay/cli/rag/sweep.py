"""`embassay rag sweep`: from a YAML file to measured stacks, a frontier and a recommendation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import (
    RankMatrixPrintOptions,
    RunOptions,
    add_options_from_record_parameters,
    make_default_run_folder,
)
from embassay.cli.session import (
    StdoutFormatOptions,
    print_rank_matrix_of_first_questions,
    print_results_json,
    run_and_show_results,
)
from embassay.cli.terminal import print_as_json, print_table_to_fit_screen, print_view_blocks
from embassay.protocols.kernel.request import SPEED, RunRequest, declare_label_price_option, option, redeclare_option
from embassay.protocols.live import RetrieverOption

if TYPE_CHECKING:
    from embassay.protocols.rag.sweep.config import SweepRequest

Config = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG.yaml",
        help="File of datasets, axes, prices and rules, or `paper` (the paper's grid) or `paper-wide`.",
    ),
]


@dataclass(frozen=True)
class SweepOverrides:
    """Settings that override the config's: datasets, queries per dataset, the seed, and rules."""

    datasets: tuple[str, ...] = redeclare_option(
        RunRequest, "datasets", default=(), help="A retrieval set, instead of the config's.", value="DATA"
    )
    limit: int | None = redeclare_option(RunRequest, "limit", help="Maximum queries per dataset, drawn at random.")
    seed: int | None = redeclare_option(RunRequest, "seed", default=None, help="Random seed. Default: the config's.")
    sla_ms: float | None = option(None, "Find the best quality within this many milliseconds per query.", least=0)
    budget: float | None = option(
        None, "Find the best quality within this price per 1,000 queries.", least=0, value="USD"
    )
    target: float | None = option(None, "Find the fastest and cheapest stack with at least this quality.")
    exclude_self: bool = option(False, "Leave a query's own document out of its results.", name="--exclude-self")
    retrievers: tuple[str, ...] = redeclare_option(
        RetrieverOption,
        "retrievers",
        help="A retriever to include as one stack, with its time and price: SPEC or NAME=SPEC.",
    )


@dataclass(frozen=True)
class SweepRunOptions(RunOptions):
    """Options for how a sweep is carried out."""

    force: bool = option(False, "Repeat finished measurements.", name="--force", group=SPEED)
    price: float | None = declare_label_price_option()
    matrix: bool = redeclare_option(RankMatrixPrintOptions, "matrix")


ONCE = ("--force",)


@add_options_from_record_parameters()
def sweep(config: Config, asked: SweepOverrides, running: SweepRunOptions) -> None:
    """Find which retrieval stack to use, by quality, time and money.

    Measures every combination of the config's axes. Rules (--sla-ms, --budget, --target) and prices can change
    between sessions without new measurements.

    Example: embassay rag sweep sweep.yaml --sla-ms 200
    """
    from embassay.protocols.rag.sweep.config import read_sweep_request_from_config
    from embassay.protocols.rag.sweep.protocol import override_sweep_request

    request = override_sweep_request(read_sweep_request_from_config(config), **vars(asked))
    display = StdoutFormatOptions(running.json, running.wide)
    if running.dry_run:
        _show_sweep_plan(request, display)
        if request.retriever and not running.json:
            _preview_retriever_answers(request)
        return
    out = running.out or make_default_run_folder("sweep")
    run_sweep_request(request, out, display, force=running.force, max_usd=running.max_cost, price=running.price)
    if running.matrix and not running.json:
        print_rank_matrix_of_first_questions(out, wide=running.wide)


def _preview_retriever_answers(request: SweepRequest) -> None:
    """Ask each one question of each dataset, and show how its answer is read."""
    from embassay.data.judged_runs import AnswerTextMatcher
    from embassay.protocols.live.runs import QuestionsToAsk, describe_trial_of_retrievers
    from embassay.protocols.rag.sweep.collection import read_retrieval_collection
    from embassay.protocols.rag.sweep.retriever import compute_retrieval_depth

    for dataset in request.datasets:
        collection = read_retrieval_collection(dataset, request)
        questions = dict(zip(collection.query_ids, collection.queries, strict=True))
        known = AnswerTextMatcher(dict(zip(collection.ids, collection.texts, strict=True)), questions)
        typer.echo(f"\n{collection.name}")
        asked = QuestionsToAsk(questions, compute_retrieval_depth(request))
        for line in describe_trial_of_retrievers(request.retriever, asked, known):
            typer.echo(line)


def run_sweep_request(
    request: SweepRequest,
    out: Path,
    display: StdoutFormatOptions,
    *,
    report: bool = True,
    max_usd: float | None = None,
    price: float | None = None,
    **how: Any,
) -> None:
    """Carry out a request, and say what more labels would cost at a `price` each; `how` is what `Sweeping` takes."""
    from embassay.protocols.rag.sweep.protocol import SweepProtocol

    do = partial(SweepProtocol(**how).carry_out, request)
    show = (
        _show_sweep_results
        if price is None
        else partial(_show_sweep_results, labels=_average_labels_per_query(request), price=price)
    )
    run_and_show_results(do, out, display=display, report=report, once=ONCE, show=show, max_usd=max_usd)


def _average_labels_per_query(request: SweepRequest) -> float:
    """Average how many judged passages a query has, over the datasets."""
    from embassay.protocols.rag.sweep.evidence import open_judged_collection

    collections = [open_judged_collection(dataset, request) for dataset in request.datasets]
    grades = [grade for collection in collections for grade in collection.grades]
    return sum(map(len, grades)) / max(len(grades), 1)


def _show_sweep_plan(request: SweepRequest, display: StdoutFormatOptions) -> None:
    """Show what a sweep would measure and what it takes; nothing is sent."""
    from embassay.protocols.rag.sweep.forecasts import forecast_sweep
    from embassay.runs.forecast import build_forecast_table, describe_forecasts
    from embassay.systems.remote import NoCallsLedger, allow_models_without_keys

    with allow_models_without_keys():
        forecast = forecast_sweep(request, NoCallsLedger())
    if display.json:
        print_as_json(forecast.as_dict())
        return

    print_table_to_fit_screen(*build_forecast_table(forecast.work), wide=display.wide, numbers=True)
    typer.echo("")
    for line in (*forecast.describe_forecast(), *describe_forecasts(forecast.work)):
        typer.echo(line)


def _show_sweep_results(
    path: Path, display: StdoutFormatOptions, report: bool, *, labels: float = 0.0, price: float | None = None
) -> None:
    """Show the results as JSON, or the recommendation and its grounds; nothing where all failed."""
    from embassay.protocols.rag.sweep.findings import read_findings
    from embassay.protocols.rag.sweep.findings.record import FILE
    from embassay.report import write_report

    measured = (path / FILE).exists()
    written = write_report(path) if report and measured else None
    if display.json:
        _print_sweep_json(path, written)
        return
    if measured:
        from embassay.report.rag.frontier import sweep_view

        findings = read_findings(path / FILE)
        print_view_blocks(sweep_view(findings, path, display.wide, labels, price), display.wide)


def _print_sweep_json(path: Path, written: Path | None) -> None:

    from embassay.protocols.rag.sweep.protocol import read_sweep_measurements

    sweep = read_sweep_measurements(path)
    per_query = [
        {
            "run": quality.configuration.id, "dataset": quality.dataset, "query_id": key, "measure": measure,
            # NaN, which JSON does not have, is the value of a query that the measure is not defined for.
            "value": None if value != value else value, "reason": "undefined" if value != value else "",
        }
        for quality in sweep.measured
        for measure, values in quality.quality.items()
        for key, value in zip(sweep.queries[quality.dataset], values.tolist(), strict=True)
    ]  # fmt: skip
    print_results_json(path, written, per_query=per_query)
