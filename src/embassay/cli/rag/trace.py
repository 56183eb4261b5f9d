"""`embassay rag trace`: where a pipeline loses the passages that questions need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from embassay.cli.options import PrintOptions, RunOptions, add_options_from_record_parameters
from embassay.cli.terminal import format_command_line, print_view_blocks
from embassay.protocols.kernel.request import OUTPUT, SPEED, option, redeclare_option
from embassay.protocols.rag.trace.options import PipelineTraceRequest


@dataclass(frozen=True)
class TracePrintOptions(PrintOptions):
    """Options for what is printed of a trace, and what it may cost."""

    each: bool = option(
        False, "Also show each needed passage with its rank after every stage.", name="--per-passage", group=OUTPUT
    )
    max_cost: float | None = option(
        None, "Stop before a reranker costs more than this.", least=0, value="USD", group=SPEED
    )
    out: Path | None = redeclare_option(
        RunOptions, "out", help="Folder for the trace and its report; repeat the command to resume it. Default: none."
    )
    dry_run: bool = redeclare_option(
        RunOptions, "dry_run", help="With -d: show what would be searched and reranked, and exit."
    )


@add_options_from_record_parameters()
def trace(request: PipelineTraceRequest, printing: TracePrintOptions) -> None:
    """Show at which stage needed passages are lost.

    Give the list after each stage as a run file, or name a dataset and a system to build the lists now.

    Example: embassay rag trace --qrels qrels.tsv --search words=bm25.trec --search vectors=dense.trec
    --stage fused=fused.trec --stage reranked=final.trec
    """
    from embassay.cli.progress import make_progress_listener
    from embassay.protocols.kernel.session import SilentListener
    from embassay.protocols.rag.trace.pipeline import run_pipeline_trace
    from embassay.protocols.rag.trace.protocol import describe_trace_plan, trace_pipeline_into_folder
    from embassay.report import write_report
    from embassay.report.rag.trace import retrieval_trace_view
    from embassay.runs.folder import format_value_as_json
    from embassay.systems.remote import Ledger

    out = printing.out
    if printing.dry_run:
        for line in describe_trace_plan(request, out):
            typer.echo(line)
        return
    heard = make_progress_listener() if request.dataset else SilentListener()
    try:
        if out is None:
            traced = run_pipeline_trace(request, ledger=Ledger(max_usd=printing.max_cost), listener=heard)
        else:
            command = format_command_line()
            traced = trace_pipeline_into_folder(request, out, command, listener=heard, max_usd=printing.max_cost)
    finally:
        heard.announce_run_end()
    written = None if out is None else write_report(out)
    if printing.json:
        typer.echo(format_value_as_json(traced.as_dict(), indent=1))
        return
    print_view_blocks(retrieval_trace_view(traced, each=printing.each), printing.wide)
    if written is not None:
        typer.echo(f"\nReport: {written}")
