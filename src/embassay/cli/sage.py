"""`embassay sage`: run the SAGE protocol."""

from __future__ import annotations

from embassay.cli.options import TitledCommandApp, WorkerOptions, add_memory_option, add_options_from_record_parameters
from embassay.protocols.sage.options import Request

app = TitledCommandApp("SAGE: preference, robustness, sensitivity, clustering, retrieval.")


@app.callback()
def group() -> None:
    """SAGE: preference, robustness, sensitivity, clustering, retrieval."""


@app.command("run")
@add_memory_option
@add_options_from_record_parameters()
def run(request: Request, running: WorkerOptions) -> None:
    """Score systems on the SAGE tasks.

    Example: embassay sage run -s minilm -s bm25 -d my.jsonl
    """
    from embassay.cli.session import run_or_plan_protocol
    from embassay.protocols.sage.protocol import SageProtocol

    run_or_plan_protocol(SageProtocol(), request, running, "sage")
