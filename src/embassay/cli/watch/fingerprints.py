"""The commands of `embassay watch`: record, check, compare."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import PrintOptions, add_options_from_record_parameters
from embassay.cli.terminal import format_command_line, print_view_blocks
from embassay.errors import UsageError
from embassay.protocols.kernel.request import OUTPUT, SPEED, option
from embassay.protocols.watch.options import FingerprintCheckRequest, FingerprintRequest, SystemCompareRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from embassay.document.blocks import Block
    from embassay.protocols.kernel.session import SilentListener
    from embassay.protocols.watch.plan import PlannedStepCost


@dataclass(frozen=True)
class AskingCostOptions(PrintOptions):
    """Options for what asking may cost."""

    max_cost: float | None = option(
        None, "Stop before the requests cost more than this.", least=0, value="USD", group=SPEED
    )
    dry_run: bool = option(False, "Show the plan with its cost, and exit.", name="--dry-run", group=SPEED)


@dataclass(frozen=True)
class FingerprintOutputOptions:
    """Options for where a fingerprint is written."""

    out: Path = option(Path("watch.json"), "The file to write.", value="FILE", group=OUTPUT)
    replace: bool = option(False, "Replace an existing fingerprint.", name="--replace", group=OUTPUT)


@add_options_from_record_parameters()
def record(request: FingerprintRequest, target: FingerprintOutputOptions, asking: AskingCostOptions) -> None:
    """Record how a system answers now: a fingerprint to check against.

    Sends fixed texts, and some of your own, several times. The file contains the texts that were sent. After an
    interruption, the same command resumes.

    Example: embassay watch record -s minilm --corpus docs/ --queries questions.csv --out minilm.json
    """
    from embassay.protocols.watch.answers import find_partial_answers_folder
    from embassay.protocols.watch.plan import plan_fingerprint_recording
    from embassay.protocols.watch.recording import measure_and_write_fingerprint
    from embassay.runs.folder import format_value_as_json

    if asking.dry_run:
        _show_plan_of_watch_requests(lambda: plan_fingerprint_recording(request), asking)
        return
    if target.out.exists() and not target.replace:
        raise UsageError(
            f"{target.out} already exists, and checks depend on it.", mend="Add --replace, or name another --out."
        )
    if find_partial_answers_folder(target.out).is_dir():
        typer.echo(
            f"Resuming from the answers in {find_partial_answers_folder(target.out)}; delete that folder to start "
            "over.",
            err=True,
        )
    with _open_asking_progress_listener(
        asking, f"Answers so far are kept in {find_partial_answers_folder(target.out)}."
    ) as heard:
        made = measure_and_write_fingerprint(request, target.out, max_usd=asking.max_cost, listener=heard)
    shown = {
        "file": str(target.out), **made.facts(), "system": made.fingerprint.system,
        "items": len(made.fingerprint.items), "repeats": made.fingerprint.repeat_count,
        "failed": dict(made.fingerprint.failed)
    }  # fmt: skip
    if asking.json:
        typer.echo(format_value_as_json(shown, indent=1))
        return
    noise = (
        "the answers are always the same"
        if not made.fingerprint.has_varied_answers
        else "the answers vary from call to call"
    )
    typer.echo(f"{target.out}: {shown['items']:,} items of {shown['system']}, {noise}.")
    typer.echo(f"Check it with: embassay watch check {target.out}")


@add_options_from_record_parameters()
def check(
    file: Annotated[Path, typer.Argument(help="The file written by `embassay watch record`.", metavar="FILE")],
    request: FingerprintCheckRequest,
    asking: AskingCostOptions,
) -> None:
    """Check whether a system still answers as recorded.

    If not, also checks whether your result lists change. Verdicts: same, noisier, changed, not comparable. Exit code
    1 if --fail-on
    is met; every verdict is stored next to FILE.

    Example: embassay watch check minilm.json --markdown check.md
    """
    from embassay.protocols.watch.check import check_fingerprint
    from embassay.protocols.watch.fingerprint import read_fingerprint
    from embassay.protocols.watch.history import append_watch_check, find_check_history_of_fingerprint
    from embassay.protocols.watch.plan import plan_check, read_recorded_seconds_per_item
    from embassay.protocols.watch.verdicts import format_check_as_junit, format_check_as_markdown, is_check_failed
    from embassay.report.watch.checks import watch_check_view
    from embassay.runs.folder import format_value_as_json, write_file_atomically

    fingerprint = read_fingerprint(file)
    history = request.history or find_check_history_of_fingerprint(file)
    if asking.dry_run:
        pace = read_recorded_seconds_per_item(history, fingerprint)
        _show_plan_of_watch_requests(lambda: tuple(plan_check(fingerprint, request, pace)), asking)
        return
    with _open_asking_progress_listener(asking) as heard:
        made = check_fingerprint(
            fingerprint, request, history=history, ledger=_open_spending_ledger(asking), listener=heard
        )
    append_watch_check(history, made)
    if request.junit is not None:
        write_file_atomically(request.junit, format_check_as_junit(made))
    if request.markdown is not None:
        write_file_atomically(request.markdown, format_check_as_markdown(made))
    if asking.json:
        typer.echo(format_value_as_json(made.as_dict(), indent=1))
    else:
        _print_blocks(watch_check_view(made), asking)
    if is_check_failed(made, request.fail_on):
        raise typer.Exit(1)


@add_options_from_record_parameters()
def compare(request: SystemCompareRequest, asking: AskingCostOptions) -> None:
    """Compare two systems that should be the same model.

    Reports whether they are equal, close or different, and for which texts.

    Example: embassay watch compare -s ollama:all-minilm -s minilm
    """
    from embassay.protocols.watch.compare import compare_systems
    from embassay.protocols.watch.plan import plan_system_comparison_requests
    from embassay.report.watch.checks import iterate_system_agreement_blocks
    from embassay.runs.folder import format_value_as_json

    if asking.dry_run:
        _show_plan_of_watch_requests(lambda: plan_system_comparison_requests(request), asking)
        return
    with _open_asking_progress_listener(asking) as heard:
        told = compare_systems(request, ledger=_open_spending_ledger(asking), listener=heard)
    if asking.json:
        typer.echo(format_value_as_json(told.as_dict(), indent=1))
    else:
        _print_blocks(iterate_system_agreement_blocks(told), asking)


@contextmanager
def _open_asking_progress_listener(asking: AskingCostOptions, kept: str = "") -> Iterator[SilentListener]:
    """A listener that shows what is asked; and, where something is kept, a signal that ends it in one line."""
    from embassay.cli.progress import make_progress_listener
    from embassay.cli.session import stop_on_signal

    heard = make_progress_listener(asking.json)
    try:
        command = format_command_line()
        with stop_on_signal(kept, command) if kept else nullcontext():
            yield heard
    finally:
        getattr(heard, "stop", lambda: None)()


def _open_spending_ledger(asking: AskingCostOptions) -> Any:
    from embassay.systems.remote import Ledger

    return Ledger(max_usd=asking.max_cost)


def _show_plan_of_watch_requests(make: Callable[[], Sequence[PlannedStepCost]], asking: AskingCostOptions) -> None:
    from embassay.report.watch.checks import watch_plan_view
    from embassay.runs.folder import format_value_as_json
    from embassay.systems.remote import allow_models_without_keys

    with allow_models_without_keys():
        steps = make()
    if asking.json:
        typer.echo(format_value_as_json({"plan": [step.as_dict() for step in steps]}, indent=1))
    else:
        _print_blocks(watch_plan_view(steps), asking)


def _print_blocks(blocks: Iterable[Block], asking: AskingCostOptions) -> None:

    print_view_blocks(blocks, asking.wide)
