"""`embassay rag probe`: cheap diagnostics of a system: names, small talk, and versions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from embassay.cli.options import (
    PrintOptions,
    TitledCommandApp,
    WorkerOptions,
    add_memory_option,
    add_options_from_record_parameters,
    make_default_run_folder,
    stopping_at_memory,
)
from embassay.cli.session import (
    StdoutFormatOptions,
    run_and_show_results,
    run_or_plan_protocol,
    show_run_plan,
    write_report_and_show_run,
)
from embassay.protocols.kernel.request import OUTPUT, option
from embassay.protocols.rag.probes.options import DocumentVersionsProbeRequest, NamesRequest, NoiseRequest
from embassay.protocols.rag.probes.tail import RecallTailRequest, compare_index_recall_tails


@dataclass(frozen=True)
class ExactSearchCheckOptions(PrintOptions):
    """Options for where a comparison with exact search is kept."""

    out: Path | None = option(None, "Folder for the table and the worst questions. Default: none.", group=OUTPUT)


app = TitledCommandApp("Find where retrieval fails: names, small talk, old versions, rare questions.")


@app.callback()
def group() -> None:
    """Find where retrieval fails: names, small talk, old versions, rare questions."""


@app.command("names")
@add_memory_option
@add_options_from_record_parameters()
def names(request: NamesRequest, running: WorkerOptions) -> None:
    """Does similarity distinguish the right author from impostors?

    Ranks one right passage among impostors, in a base condition and ten ablations such as a masked, misspelt or
    unlabelled author.

    Example: embassay rag probe names -s minilm
    """
    _run_or_plan_probe(request, running, "names")


@app.command("noise")
@add_memory_option
@add_options_from_record_parameters()
def noise(request: NoiseRequest, running: WorkerOptions) -> None:
    """Does small talk around a question change what is retrieved?

    Adds five levels of greetings, filler, politeness and hedging to an unchanged question, with and without rewriting.

    Example: embassay rag probe noise -s minilm --rewriter rules
    """
    _run_or_plan_probe(request, running, "noise")


@app.command("versions")
@add_memory_option
@add_options_from_record_parameters(tasks=(), defaults={"datasets": ..., "tokenizer": "words"})
def versions(request: DocumentVersionsProbeRequest, running: WorkerOptions) -> None:
    """Do old versions outrank current ones, and do copies fill the list?

    Passages from your own data get an old version (number, date, status or negation changed) and copies. Results are
    shown with and without two remedies: the newest near-duplicate first, and each near-duplicate only once.

    Example: embassay rag probe versions -s minilm -d my-data
    """
    from embassay.protocols.rag.probes.versions import OldVersionsProbe

    run_or_plan_protocol(OldVersionsProbe(), request, running, "versions")


@app.command("tail")
@stopping_at_memory
@add_options_from_record_parameters()
def tail(request: RecallTailRequest, shown: ExactSearchCheckOptions) -> None:
    """On which questions does an approximate index fail?

    Compares an index's lists with exact search, question by question: mean, 5th percentile and minimum recall, also
    by tag.

    Example: embassay rag probe tail --run hnsw.trec --exact flat.trec
    """
    from embassay.cli.terminal import print_rendered_text, print_table_to_fit_screen
    from embassay.protocols.kernel.tables import write_tables
    from embassay.runs.folder import format_value_as_json, write_file_atomically

    tails = compare_index_recall_tails(request)
    if shown.out is not None:
        shown.out.mkdir(parents=True, exist_ok=True)
        write_tables(shown.out, [tails.table()])
        write_file_atomically(
            shown.out / "tail.json",
            format_value_as_json({**tails.as_dict(), "request": vars(request)}, indent=1) + "\n",
        )
    if shown.json:
        print_rendered_text(format_value_as_json(tails.as_dict(), indent=1))
        return
    for sentence in tails.describe_index_tails():
        print_rendered_text(sentence)
    printed = tails.table().format_table_for_printing()
    print_rendered_text("")
    print_table_to_fit_screen(printed.heads, [list(row) for row in printed.body], wide=shown.wide)
    for note in (printed.note, *(f"{note}." for note in tails.notes)):
        print_rendered_text(f"\n{note}")


def _run_or_plan_probe(request: NamesRequest | NoiseRequest, running: WorkerOptions, name: str) -> None:

    display, out = (StdoutFormatOptions(running.json, running.wide), running.out or make_default_run_folder(name))
    if running.dry_run:
        show_probe_plan(request, out, display)
    else:
        run_probe_request(request, out, display, workers=running.choose_cell_workers(), max_usd=running.max_cost)


def run_probe_request(
    request: NamesRequest | NoiseRequest,
    out: Path,
    display: StdoutFormatOptions,
    *,
    report: bool = True,
    **arguments: Any,
) -> None:
    """Carry out a probe's request."""
    from embassay.protocols.rag.probes.protocol import NameOrNoiseProbeProtocol
    from embassay.report.rag.probes import iterate_probe_terminal_blocks

    do = partial(NameOrNoiseProbeProtocol().carry_out, request)
    show = partial(write_report_and_show_run, view=lambda run, _: iterate_probe_terminal_blocks(run))
    run_and_show_results(do, out, display=display, report=report, show=show, **arguments)


def show_probe_plan(request: NamesRequest | NoiseRequest, out: Path, display: StdoutFormatOptions) -> None:
    """Show the plan of a probe: what its request would take."""
    from embassay.protocols.rag.probes.protocol import NameOrNoiseProbeProtocol

    show_run_plan(partial(NameOrNoiseProbeProtocol().forecast_run_cost, request, out=out), display)
