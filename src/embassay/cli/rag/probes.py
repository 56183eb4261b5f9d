"""`embassay rag probe`: cheap diagnostics of a system: names, small talk, and versions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.cli.options import (
    App,
    WorkerOptions,
    add_memory_option,
    add_record_options,
    make_default_folder,
)
from embassay.protocols.rag.probes.options import NamesRequest, NoiseRequest, VersionsRequest

if TYPE_CHECKING:
    from embassay.cli.session import Display

app = App("Probe why retrieval fails: on names, small talk, or old versions and copies.")


@app.callback()
def group() -> None:
    """Probe why retrieval fails: on names, small talk, or old versions and copies."""


@app.command("names")
@add_memory_option
@add_record_options()
def names(request: NamesRequest, running: WorkerOptions) -> None:
    """Does similarity tell the right author from impostors?

    One right passage among impostors, under a base condition and ten ablations such as a masked, misspelt or
    unlabelled author.

    Example: embassay rag probe names -s minilm
    """
    _run_named(request, running, "names")


@app.command("noise")
@add_memory_option
@add_record_options()
def noise(request: NoiseRequest, running: WorkerOptions) -> None:
    """Does small talk around a question change what is retrieved?

    Five levels of greetings, filler, politeness and hedging around an unchanged question, before and after
    rewriting.

    Example: embassay rag probe noise -s minilm --rewriter rules
    """
    _run_named(request, running, "noise")


@app.command("versions")
@add_memory_option
@add_record_options(tasks=(), defaults={"datasets": ...})
def versions(request: VersionsRequest, running: WorkerOptions) -> None:
    """Do old versions outrank current ones, and copies fill the list?

    Passages of your own data get an old version (number, date, status or negation changed) and copies. Shown with and
    without two remedies: the newest of near-duplicates first, and near-duplicates once.

    Example: embassay rag probe versions -s minilm -d my-data
    """
    from embassay.cli.session import run_session
    from embassay.protocols.rag.probes.versions import VersionsProbe

    run_session(VersionsProbe(), request, running, "versions")


def _run_named(request: NamesRequest | NoiseRequest, running: WorkerOptions, name: str) -> None:
    from embassay.cli.session import Display

    display, out = Display(running.json, running.wide), running.out or make_default_folder(name)
    if running.dry_run:
        plan_probe(request, out, display)
    else:
        run_probe(request, out, display, workers=running.crew(), max_usd=running.max_cost)


def run_probe(
    request: NamesRequest | NoiseRequest,
    out: Path,
    display: Display,
    *,
    report: bool = True,
    **arguments: Any,
) -> None:
    """Carry out a request."""
    from embassay.cli.session import carry_out, show_run
    from embassay.protocols.rag.probes.protocol import Probe
    from embassay.report.rag.probes import probe_view

    do = partial(Probe().carry_out, request)
    show = partial(show_run, view=lambda run, _: probe_view(run))
    carry_out(do, out, display=display, report=report, show=show, **arguments)


def plan_probe(request: NamesRequest | NoiseRequest, out: Path, display: Display) -> None:
    """Show what a request would take."""
    from embassay.cli.session import show_plan
    from embassay.protocols.rag.probes.protocol import Probe

    show_plan(partial(Probe().foreseen, request, out=out), display)
