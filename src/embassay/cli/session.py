"""From a request to what the user sees: run, report, verdict, exit code; and `embassay run` for any protocol."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from embassay.cli.options import (
    RunOptions,
    WorkerOptions,
    add_memory_option,
    add_options_from_record_parameters,
    make_default_run_folder,
)
from embassay.cli.progress import announce_slow_opening
from embassay.cli.progress import make_progress_listener as progress
from embassay.cli.terminal import (
    format_command_line,
    make_name_shortener,
    print_as_json,
    print_table_to_fit_screen,
    print_view_blocks,
)
from embassay.errors import BudgetExceeded, DataError, EmbassayError, Interrupted, ModelError, UsageError
from embassay.limits import advise_on_denied_reading, find_path_blocking_access
from embassay.machine import HANGUP
from embassay.protocols.kernel.request import TaskRequest
from embassay.runs.folder import RunFolder
from embassay.runs.spending import summarise_spending

if TYPE_CHECKING:
    from embassay.document.blocks import Block
    from embassay.runs.forecast import RunForecast
    from embassay.systems.remote import Ledger


@dataclass(frozen=True)
class StdoutFormatOptions:
    """Options for stdout: the table, wide or not, or one JSON object; `brief` says what was found."""

    json: bool
    wide: bool
    brief: bool = False


class RunOnDisk(Protocol):
    """A run on disk."""

    @property
    def path(self) -> Path: ...
    @property
    def manifest(self) -> dict[str, Any]: ...


def run_and_show_results(
    do: Callable[..., RunOnDisk],
    out: Path,
    *,
    display: StdoutFormatOptions,
    report: bool = True,
    once: Sequence[str] = (),
    check: Callable[[RunOnDisk, Path], None] | None = None,
    show: Callable[[Path, StdoutFormatOptions, bool], None] | None = None,
    **arguments: Any,
) -> RunOnDisk:
    """Do a run and show it, with a `report` of its own or without. `do` is called with `arguments`, a listener and the
    command that resumes it: the present one, without the flags that must be given only `once`. `check` raises for what
    went wrong in a run that came to its end; by default, for failed cells. `show` prints it in its own way.

    Raises Interrupted on Ctrl-C, BudgetExceeded at the limit of cost and ModelError when a system failed.
    """
    command = add_out_to_command(format_command_line(_drop_command_line_flags(sys.argv[1:], once)), out)
    heard = progress(display.brief)
    try:
        with _explain_full_disk_errors(out, command), stop_on_signal(f"Finished work is kept in {out}.", command):
            run = do(out=out, listener=heard, command=command, **arguments)
        heard.announce_run_end()
    except BudgetExceeded as error:
        raise BudgetExceeded(
            f"{error.message} Finished work is kept in {out}.", mend=f"Resume with a higher --max-cost: {command}"
        ) from None
    finally:
        getattr(heard, "stop", lambda: None)()
    with _explain_full_disk_errors(out, command):
        if display.brief:
            show_run_verdict(run.path)
        else:
            (show or write_report_and_show_run)(run.path, display, report)
    if paid := summarise_spending(run.manifest["spent"]):
        typer.echo(paid, err=True)
    (check or check_failed_cells)(run, out)
    return run


@contextmanager
def _explain_full_disk_errors(out: Path, command: str) -> Iterator[None]:
    """A disk that takes no more ends a run in one line, with what is kept and how to go on."""
    try:
        yield
    except BrokenPipeError:
        # A kind of OSError, but no full disk: whoever read the output has gone.
        raise
    except OSError as error:
        readable = make_file_access_error(error)
        if not (out / "cells").is_dir():
            raise readable from error
        readable.message = f"{readable.message} Finished work is kept in {out}."
        readable.mend = f"{readable.mend} Then resume with: {command}".strip()
        raise readable from error


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FILES = (errno.EMFILE, errno.ENFILE)


def make_file_access_error(error: OSError) -> EmbassayError:
    """Make a one-line error of what the system said of a file: full, or cannot be made, read, found."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if error.errno in (errno.EACCES, errno.EPERM) and path is not None:
        blocked = find_path_blocking_access(path)
        if blocked is not None:
            return DataError(
                "You do not have permission to read it", path=blocked, mend=advise_on_denied_reading(blocked)
            )
    reason = error.strerror or str(error) or type(error).__name__
    where = f"{error.filename}: " if error.filename else ""
    if error.errno in _FULL:
        mend = "Free some space."
    elif error.errno == errno.EFBIG:
        mend = "Allow larger files (ulimit -f), or use another disk."
    elif error.errno in _FILES:
        mend = "Allow more open files: ulimit -n 4096."
    elif path is not None:
        return DataError(reason, path=path, mend="Check the path and your permission to write there.")
    else:
        mend = ""
    return EmbassayError(f"{where}{reason}.", mend=mend)


def check_failed_cells(run: RunOnDisk, out: Path) -> None:
    """ModelError if a cell failed."""
    failed = [cell for cell in run.manifest["cells"] if cell["status"] != "done"]
    if failed:
        first = failed[0]
        raise ModelError(
            f"{len(failed)} of {len(run.manifest['cells'])} cells failed. First failure: {first['task']} on "
            f"{first['dataset']} with {first['system']}: {first['reason']}",
            mend=f"The rest is kept in {out}; repeat the command to retry the failed cells.",
        )


def write_report_and_show_run(
    path: Path,
    display: StdoutFormatOptions,
    report: bool,
    *,
    view: Callable[[Path, bool], Iterable[Block]] | None = None,
) -> None:
    """Write the report if it is wanted, and print the results as JSON, or as `view` (by default
    `make_run_terminal_blocks`) shows the folder."""
    from embassay.report import write_report
    from embassay.report.terminal import make_run_terminal_blocks

    written = write_report(path) if report else None
    if display.json:
        print_results_json(path, written)
        return
    print_view_blocks((view or make_run_terminal_blocks)(path, display.wide), display.wide)


def print_rank_matrix_of_first_questions(path: Path | None, *, wide: bool) -> None:
    """Print the first questions of a run's matrix. UsageError where there is no folder that it could be in."""
    from embassay.report.matrix import question_matrix_view

    if path is None:
        raise UsageError("--matrix needs a results folder.", mend="Add --out FOLDER.")
    print_view_blocks(question_matrix_view(path), wide)


def show_run_verdict(path: Path) -> None:
    """Print what a run found, in a line or two: runs that follow each other have one end for all."""
    from embassay.report.terminal import iterate_run_verdict_blocks

    print_view_blocks(iterate_run_verdict_blocks(path, sentences=1))


def show_run_plan(
    forecast: Callable[[Ledger], RunForecast], display: StdoutFormatOptions, systems: Sequence[str] = ()
) -> None:
    """Show what would run and what it takes; meanwhile that `systems` and data are opened. `forecast` gets a ledger
    that lets no request through."""
    from embassay.runs.forecast import build_forecast_table, describe_forecasts
    from embassay.systems.remote import NoCallsLedger, allow_models_without_keys

    with allow_models_without_keys(), announce_slow_opening(systems):
        forecasts = forecast(NoCallsLedger())
    if display.json:
        print_as_json(forecasts.as_dict())
        return
    shorten = make_name_shortener([cell.system for cell in forecasts.cells]) if not display.wide else str
    if forecasts.cells:
        print_table_to_fit_screen(*build_forecast_table(forecasts), wide=display.wide, numbers=True)
        typer.echo("")
    for line in describe_forecasts(forecasts):
        typer.echo(shorten(line))


def _drop_command_line_flags(words: Sequence[str], once: Sequence[str]) -> list[str]:
    """Drop these flags from the words; one that ends in `=` takes a value."""
    rest: list[str] = []
    skip = False
    for word in words:
        flag = next((name for name in once if word.partition("=")[0] == name.rstrip("=")), None)
        if not skip and flag is None:
            rest.append(word)
        skip = not skip and flag is not None and flag.endswith("=") and "=" not in word
    return rest


def print_results_json(path: Path, written: Path | None, **more: Any) -> None:
    """Print the results of a run as JSON, with `more` and where its report was written."""
    rows = [row.as_dict() for row in RunFolder(path).read_results()]
    facts = {"results": rows, **more, "report": str(written) if written else None}
    print_as_json(facts)


def add_out_to_command(command: str, out: Path) -> str:
    """The command with its --out, so that it resumes."""
    return command if "--out" in command else f"{command} --out {shlex.quote(str(out))}"


PATIENCE = 10
"""For so many seconds after the first Ctrl-C, more of them change nothing: what is finished is being kept."""


@contextmanager
def stop_on_signal(kept: str, command: str) -> Iterator[None]:
    """Inside, Ctrl-C, TERM and a terminal that closes (HUP) stop the work: Interrupted says what is `kept`, and the
    `command` that goes on.

    The first is obeyed. Those that follow it within PATIENCE seconds, and any after the work has ended, do not break
    off the keeping; later ones do. Of the main thread only.
    """
    import polars  # noqa: F401 - which takes Ctrl-C over as it is imported, and would break off any table of ours

    stop = _StopSignalHandler()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, *HANGUP)}
    signal.signal(signal.SIGTERM, stop.answer_terminate)
    for number in HANGUP:
        if before[number] != signal.SIG_IGN:  # under nohup the run outlives its terminal
            signal.signal(number, stop.answer_terminate)
    if before[signal.SIGINT] != signal.SIG_IGN:  # a shell's job in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, stop.answer_interrupt)
    try:
        yield
    except KeyboardInterrupt:
        # What is left is to say so; a second signal would kill Python's own end.
        for number in before if stop.is_stop_requested else ():
            signal.signal(number, signal.SIG_IGN)
        raise Interrupted(f"Stopped. {kept}", mend=f"Resume with: {command}") from None
    finally:
        if not stop.is_stop_requested:
            for number, answer in before.items():
                signal.signal(number, answer)


class _StopSignalHandler:
    """Answers Ctrl-C as it was answered before, TERM and HUP likewise, and neither while the first is being obeyed."""

    def __init__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        self._first: float | None = None
        self._told = False

    @property
    def is_stop_requested(self) -> bool:
        """Whether it was to stop."""
        return self._first is not None

    def answer_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Answer Ctrl-C."""
        if callable(self._before) and self._note_signal_and_decide_to_stop():
            self._before(number, frame)

    def answer_terminate(self, *_: object) -> None:
        """Answer TERM, or HUP."""
        if self._note_signal_and_decide_to_stop():
            raise KeyboardInterrupt

    def _note_signal_and_decide_to_stop(self) -> bool:
        if self._first is None:
            self._first = monotonic()
            return True
        if not self._told:
            self._told = True
            # Not by the stream: the signal may have come in the midst of a write to it.
            with suppress(OSError):
                os.write(2, b"\nStopping; what is finished is being kept.\n")
        return monotonic() - self._first > PATIENCE


def run_or_plan_protocol(protocol: Any, request: Any, running: RunOptions, name: str, **shown: Any) -> RunOnDisk | None:
    """Have a protocol do what was asked, as the command said; None where its plan alone was. `shown` is as in
    `run_and_show_results`."""
    display, out = (StdoutFormatOptions(running.json, running.wide), running.out or make_default_run_folder(name))
    if running.dry_run:
        systems = [str(name) for name in getattr(request, "systems", ())]
        show_run_plan(partial(protocol.forecast_run_cost, request, out=out), display, systems)
        if getattr(request, "retrievers", ()) and not display.json:
            typer.echo("")
            for line in protocol.describe_retriever_trial(request, out):
                typer.echo(line)
        return None
    return run_and_show_results(
        partial(protocol.carry_out, request), out, display=display, workers=running.choose_cell_workers(),
        max_usd=running.max_cost, **shown
    )  # fmt: skip


Name = Annotated[str, typer.Argument(help="A protocol from `embassay list protocols`.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the protocol.")
]


@add_memory_option
@add_options_from_record_parameters(options=None)
def run(protocol: Name, request: TaskRequest, running: WorkerOptions, option: Options = None) -> None:
    """Run any protocol by name, including another package's.

    Example: embassay run sage -s minilm -s bm25 -d my.jsonl
    """
    from embassay.protocols.kernel.evaluation import PROTOCOLS
    from embassay.protocols.kernel.request import parse_options_from_texts

    built = PROTOCOLS.build(protocol)
    run_or_plan_protocol(
        built, replace(request, options=parse_options_from_texts(built.options, option or ())), running, protocol
    )
