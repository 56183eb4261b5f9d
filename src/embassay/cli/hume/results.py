"""`embassay hume score`: people, models and language models on the same items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.hume.study import STUDY
from embassay.cli.options import WorkerOptions, add_options_from_record_parameters, make_default_run_folder
from embassay.cli.terminal import format_command_line
from embassay.errors import UsageError
from embassay.protocols.hume.options import PublishedRequest, StudyRequest
from embassay.protocols.kernel.request import declare_label_price_option

if TYPE_CHECKING:
    from embassay.cli.session import StdoutFormatOptions
    from embassay.protocols.kernel.outcome import Run

Study = Annotated[Path | None, typer.Argument(metavar="[STUDY]", help=STUDY)]


@dataclass(frozen=True)
class HumeScoringOptions(WorkerOptions):
    """Options for how a scoring is carried out and shown."""

    price: float | None = declare_label_price_option()


@add_options_from_record_parameters(defaults={"results": ()})
def score(
    scoring: partial[StudyRequest],
    published: partial[PublishedRequest],
    running: HumeScoringOptions,
    study: Study = None,
) -> None:
    """Score people, systems and language models on the same items.

    Reads a study, or published results with --from-mteb. Repeat the command with the same --out to add people's new
    answers.

    Example: embassay hume score study -s minilm
    """

    from embassay.cli.session import StdoutFormatOptions

    out, display = running.out, StdoutFormatOptions(running.json, running.wide)
    crew = 1 if running.dry_run else running.choose_cell_workers()
    wanted = scoring.keywords
    if published.keywords["results"]:
        _refuse_unused_options(
            "--from-mteb", study=study, task=wanted.get("tasks"), answers=wanted.get("answers"),
            human_ap_mode=wanted.get("human_ap_mode"), no_give_k="give_k" in wanted, label_price=running.price
        )  # fmt: skip
        score_published_results_and_own_systems(_build_published_request(published), running, display, crew)
        return
    _refuse_unused_options("a study", llm_scores=published.keywords.get("llm_scores"))
    if study is None:
        raise UsageError(
            "There is nothing to score.", mend="Give the folder of a study, or published results with --from-mteb FILE."
        )
    request, folder = scoring(study=str(study)), out or make_default_run_folder("hume")
    if running.dry_run:
        show_study_plan(request, folder, display)
    else:
        price = running.price
        run_hume_study_request(request, folder, display, price=price, workers=crew, max_usd=running.max_cost)


def run_published_results_request(
    request: PublishedRequest, out: Path, display: StdoutFormatOptions, *, report: bool = True
) -> None:
    """Carry out a request for published results."""
    from embassay.protocols.hume.published.protocol import write_published_run as carry_out_published

    run = carry_out_published(request, out, format_command_line())
    _show_scored_run(run.path, display, report)


def score_published_results_and_own_systems(
    request: PublishedRequest, running: WorkerOptions, display: StdoutFormatOptions, crew: Any
) -> None:
    """Carry out a request for result files: with systems, evaluate these on the items that people answered and place
    them among people and published models, or show what that would take."""
    from embassay.cli.session import run_and_show_results

    out = running.out
    if not request.systems:
        _refuse_unused_options(
            "--from-mteb without -s", samples_per_label=request.samples_per_label, dry_run=running.dry_run,
            max_cost=running.max_cost
        )  # fmt: skip
        run_published_results_request(request, out or make_default_run_folder("hume"), display)
        return
    if running.dry_run:
        show_plan_for_own_systems(request, display)
        return
    from embassay.protocols.hume.published.protocol import read_published_results
    from embassay.protocols.hume.published.protocol import write_published_run as carry_out_published
    from embassay.protocols.hume.results.protocol import evaluate_systems

    if out is None:
        raise UsageError("-s with --from-mteb needs a folder.", mend="Name one with --out.")
    read_published_results(request)  # what is wrong with the files is said before anything is evaluated

    def evaluate_systems_and_score_with_people(*, out: Path, command: str, **more: Any) -> Run:
        evaluated_run = evaluate_systems(request, out, command=command, **more)
        return carry_out_published(request, out, command, evaluated_run)

    run_and_show_results(
        evaluate_systems_and_score_with_people,
        out,
        display=display,
        show=_show_scored_run,
        workers=crew,
        max_usd=running.max_cost,
    )


def show_plan_for_own_systems(request: PublishedRequest, display: StdoutFormatOptions) -> None:
    """Show what evaluating own systems would take."""
    from tempfile import TemporaryDirectory

    from embassay.cli.session import show_run_plan
    from embassay.protocols.hume.results.protocol import (
        SystemsOnlyScoringProtocol,
        make_study_request_from_published,
        write_study_of_annotated_items,
    )

    with TemporaryDirectory() as folder:
        items = Path(folder) / "items"
        for note in write_study_of_annotated_items(items, Path(folder) / "sets"):
            typer.echo(note, err=True)
        show_run_plan(
            partial(SystemsOnlyScoringProtocol().forecast_run_cost, make_study_request_from_published(request, items)),
            display,
        )


def run_hume_study_request(
    request: StudyRequest,
    out: Path,
    display: StdoutFormatOptions,
    *,
    report: bool = True,
    price: float | None = None,
    **arguments: Any,
) -> None:
    """Carry out a request for a study, and say what more labels would cost at a `price` each."""
    from embassay.cli.session import run_and_show_results
    from embassay.protocols.hume.results.protocol import StudyScoringProtocol

    run_and_show_results(
        partial(StudyScoringProtocol().carry_out, request), out, display=display, report=report,
        show=partial(_show_scored_run, price=price), **arguments
    )  # fmt: skip


def show_study_plan(request: StudyRequest, out: Path, display: StdoutFormatOptions) -> None:  # noqa: ARG001
    """Show the plan of a study request: what it would take."""
    from embassay.cli.session import show_run_plan
    from embassay.protocols.hume.results.protocol import StudyScoringProtocol

    show_run_plan(partial(StudyScoringProtocol().forecast_run_cost, request), display)


def _show_scored_run(path: Path, display: StdoutFormatOptions, report: bool, price: float | None = None) -> None:
    from embassay.cli.session import write_report_and_show_run
    from embassay.report.hume.conclusions import hume_view

    write_report_and_show_run(path, display, report, view=partial(hume_view, price=price))


def _build_published_request(published: partial[PublishedRequest]) -> PublishedRequest:
    """Build the published request; where there are systems, with the study's usual tokenizer."""
    usual = {"tokenizer": StudyRequest.tokenizer} if "systems" in published.keywords else {}
    return published(**{**usual, **published.keywords})


def _refuse_unused_options(beside: str, **arguments: Any) -> None:
    """UsageError for an option that means nothing here."""
    wrong = [name for name, value in arguments.items() if value not in (None, False, [])]
    if wrong:
        name = "STUDY" if wrong[0] == "study" else f"--{wrong[0].replace('_', '-')}"
        raise UsageError(f"{name} has no effect with {beside}.", mend="Leave one of them out.")
