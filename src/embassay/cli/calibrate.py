"""`embassay calibrate`: what a similarity means, thresholds that keep a promise, and one model's in another's scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import (
    WorkerOptions,
    add_memory_option,
    add_options_from_record_parameters,
    make_default_run_folder,
)
from embassay.cli.terminal import format_command_line, print_rendered_text, print_view_blocks
from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationRequest
from embassay.protocols.kernel.request import DATA, DETAILS, declare_label_price_option, option, redeclare_option
from embassay.protocols.live import RetrieverOption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from embassay.cli.session import RunOnDisk, StdoutFormatOptions
    from embassay.protocols.rag.scoring.options import RetrievalScoreCalibrationRequest


@dataclass(frozen=True)
class SearchRunCalibrationOptions:
    """What is calibrated instead of systems, and a threshold that is translated."""

    # As of `rag score`, whose records are not read for the sake of a help text.
    runs: tuple[str, ...] = option(
        (), "Search results in a file, instead of a system, to find the score above which to answer.",
        name="--run", value="FILE", group=DATA
    )  # fmt: skip
    retrievers: tuple[str, ...] = redeclare_option(
        RetrieverOption,
        "retrievers",
        help="A retriever to query now instead of --run: SPEC or NAME=SPEC, as in rag score.",
    )
    queries: str = option("", "With --retriever: a file of judged questions.", value="FILE", group=DATA)
    qrels: str | None = option(None, "With --run: relevance grades of the passages.", value="FILE", group=DATA)
    cutoff: int = option(10, "With --run: number of passages per answer.", name="-k", least=1)
    no_answer: str | None = option(
        None, "With --run: questions that the documents don't answer (rag questions --no-answer), to find the score "
        "below which to give no answer.", name="--no-answer", value="FILE", group=DATA
    )  # fmt: skip
    reranked: str | None = option(
        None, "With --no-answer: a reranker's scores for the same questions, as a second signal.",
        value="FILE", group=DATA
    )  # fmt: skip
    silent: float = option(0.9, "With --no-answer: share of each kind of these questions that must get no answer.")
    answered: float = option(0.5, "With --no-answer: share of questions with evidence that must still get an answer.")
    positive: str | None = option(
        None, "Label of the pairs that mean the same. Default: 1, yes or true.",
        value="VALUE"
    )  # fmt: skip
    origin: str | None = option(
        None, "A system's threshold, to convert to the other systems' scales.",
        name="--from", value="SYSTEM=SCORE", group=DETAILS
    )  # fmt: skip
    price: float | None = declare_label_price_option()
    targets: tuple[str, ...] = option(
        (), "Systems to convert the threshold to. Default: all others.",
        name="--to", value="SYSTEM", group=DETAILS
    )  # fmt: skip


CHECK = "check"
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[check FILE]",
        help="Compare the pairs of -d with those of a saved calibration; exit code 1 if they differ.",
        show_default=False,
    ),
]


@add_memory_option
@add_options_from_record_parameters(tasks=(), defaults={"systems": ()})
def calibrate(
    request: CalibrationRequest, running: WorkerOptions, retrieved: SearchRunCalibrationOptions, words: Words = None
) -> None:
    """Find what a similarity means, and where to set a threshold.

    Uses labelled or graded pairs. With a run and its relevance judgements, finds the score above which to answer.

    Example: embassay calibrate -s wordllama -d pairs.jsonl --precision 0.9
    """
    from embassay.cli.session import run_or_plan_protocol
    from embassay.protocols.calibration.protocol import CalibrationProtocol

    if words:
        _exit_if_calibration_unusable(words, request, running)
        return
    asked = _parse_system_threshold(retrieved.origin) if retrieved.origin else None
    lists = (*retrieved.runs, *retrieved.retrievers)
    check_systems_or_runs_given(request.systems, lists, retrieved.qrels)
    if retrieved.no_answer and not lists:
        raise UsageError("--no-answer needs --run.", mend="Add --run FILE, with results for these questions too.")
    _check_threshold_conversion_options(request.systems, asked and asked[0], retrieved.targets)
    if retrieved.positive is not None:
        request = replace(request, mapping={**request.mapping, "same": retrieved.positive})
    if lists:
        out = _calibrate_runs_into_folder(request, retrieved, running)
    else:
        done = run_or_plan_protocol(
            CalibrationProtocol.of(request.options),
            request,
            running,
            "calibration",
            show=_make_run_printer_with_label_cost(retrieved.price),
            check=_check_cells_calibrated,
        )
        out = None if done is None else done.path
    if out is not None and asked is not None and not running.json:
        _show_translated_thresholds(out, *asked, retrieved.targets, running.wide)


def _exit_if_calibration_unusable(words: Sequence[str], request: CalibrationRequest, running: WorkerOptions) -> None:
    """Say whether a calibration can be used on the request's pairs; exit with code 1 if it cannot."""
    from embassay.protocols.calibration.check import check_calibration_on_new_pairs
    from embassay.report.calibration.thresholds import calibration_check_view
    from embassay.runs.folder import format_value_as_json

    if words[0] != CHECK or len(words) != 2:
        raise UsageError(
            f"Unexpected argument {' '.join(words)!r}.",
            mend="Write `embassay calibrate check FILE -d NEW`, or name systems with -s.",
        )
    if len(request.datasets) != 1 or request.systems:
        raise UsageError(
            "A check needs one file and one dataset.", mend="Write `embassay calibrate check FILE -d NEW`."
        )
    checked = check_calibration_on_new_pairs(
        words[1], request.datasets[0], mapping=request.mapping, split=request.split
    )
    if running.json:
        print_rendered_text(format_value_as_json(checked.as_dict(), indent=1))
    else:
        print_view_blocks(calibration_check_view(checked), running.wide)
    if not checked.is_calibration_usable:
        raise typer.Exit(1)


def check_systems_or_runs_given(systems: Sequence[str], run: Sequence[str] | None, qrels: str | None) -> None:
    """UsageError unless there are systems, or runs with judgements."""
    if run and not qrels:
        raise UsageError("--run needs relevance judgements.", mend="Add --qrels FILE.")
    if run and systems:
        raise UsageError("--run and --system cannot be combined.", mend="Leave one of them out.")
    if qrels and not run:
        raise UsageError("--qrels needs --run.", mend="Add --run FILE.")
    if not run and not systems:
        raise UsageError("There is nothing to calibrate.", mend="Name a --system, or a --run with --qrels.")


def _check_threshold_conversion_options(systems: Sequence[str], origin: str | None, targets: Sequence[str]) -> None:
    """UsageError for a translation that is sure to fail, before any work. A system may be called by a part of what it
    was asked for by."""
    if targets and origin is None:
        raise UsageError("--to needs a threshold to convert.", mend="Add --from SYSTEM=SCORE.")
    for name in [*([origin] if origin else []), *targets] if systems else []:
        if not any(name in system for system in systems):
            raise UsageError(f"No -s option names {name!r}.", mend=f"Use one of these: {', '.join(systems)}.")
    if origin and len(systems) == 1:
        raise UsageError("--from needs a second system to convert to.", mend="Name another system with -s.")


def _preview_retriever_answers(wanted: RetrievalScoreCalibrationRequest) -> None:
    """Ask each retriever one question, and show how its answer is read."""
    from embassay.protocols.live.runs import describe_trial_of_retrievers
    from embassay.protocols.rag.scoring.inputs import read_texts_for_hit_matching
    from embassay.protocols.rag.scoring.threshold import gather_calibration_questions

    files = wanted.files
    if not files.retrievers:
        raise UsageError(
            "There is nothing to estimate, because calibrating a run file sends no requests.",
            mend="Leave --dry-run out.",
        )
    for line in describe_trial_of_retrievers(
        files.retrievers, gather_calibration_questions(wanted), read_texts_for_hit_matching(files)
    ):
        typer.echo(line)


def _calibrate_runs_into_folder(
    request: CalibrationRequest, retrieved: SearchRunCalibrationOptions, running: WorkerOptions
) -> Path | None:
    """Calibrate what was retrieved, show it, and say where it is; None where it was only tried."""

    from embassay.cli.progress import make_progress_listener
    from embassay.cli.session import StdoutFormatOptions
    from embassay.protocols.calibration.protocol import check_any_calibrated
    from embassay.protocols.rag.scoring.options import RetrievalScoreCalibrationRequest, ScoreRequest
    from embassay.protocols.rag.scoring.threshold import calibrate_run_scores_into_folder

    files = ScoreRequest(
        retrieved.qrels or "", retrieved.runs, retrievers=retrieved.retrievers, queries=retrieved.queries,
        grades=request.grades, seed=request.seed, split=request.split,
        mapping=request.mapping
    )  # fmt: skip
    out = running.out or make_default_run_folder("calibration")
    wanted = RetrievalScoreCalibrationRequest(
        files, retrieved.cutoff, request.options, retrieved.no_answer, retrieved.reranked, retrieved.silent,
        retrieved.answered
    )  # fmt: skip
    if running.dry_run:
        _preview_retriever_answers(wanted)
        return None
    heard = make_progress_listener() if retrieved.retrievers else None
    command = format_command_line()
    try:
        calibrate_run_scores_into_folder(wanted, out, command, listener=heard, max_usd=running.max_cost)
    finally:
        if heard is not None:
            heard.announce_run_end()
    _make_run_printer_with_label_cost(retrieved.price)(out, StdoutFormatOptions(running.json, running.wide), True)
    check_any_calibrated(out)
    return out


def _check_cells_calibrated(run: RunOnDisk, out: Path) -> None:
    """ModelError if a cell failed, DataError if none has a curve."""
    from embassay.cli.session import check_failed_cells
    from embassay.protocols.calibration.protocol import check_any_calibrated

    check_failed_cells(run, out)
    check_any_calibrated(out)


def _make_run_printer_with_label_cost(price: float | None) -> Callable[[Path, StdoutFormatOptions, bool], None]:
    """What shows a run, with what more labels would cost."""
    from embassay.cli.session import write_report_and_show_run
    from embassay.report.terminal import make_run_terminal_blocks

    return partial(write_report_and_show_run, view=partial(make_run_terminal_blocks, price=price))


def _parse_system_threshold(text: str) -> tuple[str, float]:
    """
    >>> _parse_system_threshold("st:a/b?dims=64=0.62")
    ('st:a/b?dims=64', 0.62)
    """
    # From the right, because the parameters of a system are written with = too.
    name, equals, value = text.rpartition("=")
    try:
        if name and equals:
            return name, float(value)
    except ValueError:
        pass
    raise UsageError(f"--from must be SYSTEM=SCORE, but it is {text!r}.", mend="For example: --from minilm=0.62.")


def _show_translated_thresholds(out: Path, origin: str, score: float, targets: Sequence[str], wide: bool) -> None:
    from embassay.protocols.calibration.probability import translate_thresholds
    from embassay.report.calibration.thresholds import threshold_translation_view

    print_view_blocks(threshold_translation_view(translate_thresholds(out, origin, score, targets)), wide)
