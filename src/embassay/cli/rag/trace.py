"""`embassay rag trace`: where a pipeline loses the passages that questions need."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from embassay.cli.options import PrintOptions, add_record_options
from embassay.protocols.kernel.request import OUTPUT, SPEED, option
from embassay.protocols.rag.trace.options import TraceRequest


@dataclass(frozen=True)
class TracePrinting(PrintOptions):
    """What is printed of a trace, and what it may cost."""

    each: bool = option(
        False,
        "Also show each needed passage with its rank after every stage.",
        name="--per-passage",
        group=OUTPUT,
    )
    max_cost: float | None = option(
        None, "Stop before a reranker costs more than this.", least=0, value="USD", group=SPEED
    )


@add_record_options()
def trace(request: TraceRequest, printing: TracePrinting) -> None:
    """Show at which stage needed passages are lost.

    Give the list after each stage as a run file, or a dataset and a system to make the lists here.

    Example: embassay rag trace --qrels qrels.tsv --search words=bm25.trec --search vectors=dense.trec
    --stage fused=fused.trec --stage reranked=final.trec
    """
    from embassay.cli.terminal import show_blocks
    from embassay.protocols.rag.trace.pipeline import run_trace
    from embassay.report.rag.trace import trace_view
    from embassay.runs.folder import to_json
    from embassay.systems.remote import Ledger

    traced = run_trace(request, ledger=Ledger(max_usd=printing.max_cost))
    if printing.json:
        typer.echo(to_json(traced.as_dict(), indent=1))
    else:
        show_blocks(trace_view(traced, each=printing.each), printing.wide)
