"""`embassay sage`: run the SAGE protocol."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.cli import options as given
from embassay.cli.options import App, column_map, default_out, settings, within_memory
from embassay.protocols.sage.options import SageOptions

if TYPE_CHECKING:
    from embassay.cli.session import Display
    from embassay.protocols.sage import Request

app = App("SAGE: preference, robustness, sensitivity, clustering, retrieval.")


@app.callback()
def group() -> None:
    """SAGE: preference, robustness, sensitivity, clustering, retrieval."""


@app.command("run")
@within_memory
@settings(SageOptions)
def run(
    system: given.Systems,
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "cl100k",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: SageOptions = SageOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Score systems on the SAGE tasks.

    Example: embassay sage run -s minilm -s bm25 -d my.jsonl
    """
    from embassay.cli.session import Display
    from embassay.protocols.sage import Request

    request = Request(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades,
        limit, seed, tokenizer, options,
    )  # fmt: skip
    display, out = Display(json, wide), out or default_out("sage")
    if dry_run:
        plan_sage(request, display)
    else:
        crew = given.crew(workers, engine, address)
        run_sage(request, out, display, workers=crew, max_usd=max_cost)


def run_sage(request: Request, out: Path, display: Display, *, report: bool = True, **arguments: Any) -> None:
    """Carry out a request."""
    from embassay.cli.session import carry_out
    from embassay.protocols.sage.protocol import Sage

    carry_out(partial(Sage().carry_out, request), out, display=display, report=report, **arguments)


def plan_sage(request: Request, display: Display) -> None:
    """Show what a request would take."""
    from embassay.cli.session import show_plan
    from embassay.protocols.sage.protocol import Sage

    show_plan(partial(Sage().foreseen, request), display)
