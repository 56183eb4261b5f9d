"""`embassay rag sweep`: from a YAML file to measured stacks, a frontier and a recommendation."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given

if TYPE_CHECKING:
    from embassay.cli.session import Display
    from embassay.protocols.rag.sweep.config import SweepRequest

Config = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG.yaml", help="Datasets, axes, prices and rules; or `paper`, its grid, bundled."
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", "-d", metavar="DATA", help="A retrieval set, in place of the config's."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Most queries per dataset, drawn at random.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Random seed. Default: the config's.")]
Sla = Annotated[
    float | None,
    typer.Option("--sla-ms", min=0, help="Best quality within this many milliseconds per query."),
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", min=0, metavar="USD", help="Best quality within this price per 1,000 queries."),
]
Target = Annotated[
    float | None, typer.Option("--target", help="Fastest and cheapest with at least this quality.")
]
ExcludeSelf = Annotated[
    bool,
    typer.Option("--exclude-self", help="Leave a query's own document out of its ranking."),
]  # fmt: skip
Force = Annotated[bool, typer.Option("--force", help="Measure again what is done already.")]
ONCE = ("--force",)


def sweep(
    config: Config,
    dataset: Datasets = None,
    out: given.Out = None,
    limit: Limit = None,
    seed: Seed = None,
    sla_ms: Sla = None,
    budget: Budget = None,
    target: Target = None,
    exclude_self: ExcludeSelf = False,
    force: Force = False,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Find which retrieval stack to use, by quality, time and money.

    Measures every combination of the config's axes. Rules (--sla-ms, --budget, --target) and prices may change
    between sessions without measuring again.

    Example: embassay rag sweep sweep.yaml --sla-ms 200
    """
    from embassay.cli.session import Display
    from embassay.protocols.rag.sweep.config import read_config
    from embassay.protocols.rag.sweep.protocol import overridden

    request = overridden(
        read_config(config), limit=limit, seed=seed, sla_ms=sla_ms, budget=budget, target=target,
        exclude_self=exclude_self, datasets=dataset or (),
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        _show_plan(request, display)
        return
    run_sweep(request, out or given.default_out("sweep"), display, force=force, max_usd=max_cost)


def run_sweep(
    request: SweepRequest,
    out: Path,
    display: Display,
    *,
    report: bool = True,
    max_usd: float | None = None,
    **how: Any,
) -> None:
    """Carry out a request; `how` is what `Sweeping` takes."""
    from embassay.cli.session import carry_out
    from embassay.protocols.rag.sweep.protocol import Sweeping

    do = partial(Sweeping(**how).carry_out, request)
    carry_out(do, out, display=display, report=report, once=ONCE, show=_show, max_usd=max_usd)


def _show_plan(request: SweepRequest, display: Display) -> None:
    """What would be measured and what it takes; nothing is sent."""
    from embassay.protocols.rag.sweep.grid import forecast_of
    from embassay.runs.forecast import in_words, table
    from embassay.systems.remote import NoCalls, keyless

    with keyless():
        found = forecast_of(request, NoCalls())
    if display.json:
        import json

        typer.echo(json.dumps(found.as_dict(), ensure_ascii=False))
        return
    from embassay.cli.terminal import show_table

    show_table(*table(found.work), wide=display.wide, numbers=True)
    typer.echo("")
    for line in (*found.in_words(), *in_words(found.work)):
        typer.echo(line)


def _show(path: Path, display: Display, report: bool) -> None:
    """The results as JSON, or the recommendation and what stands behind it; nothing where all has failed."""
    from embassay.protocols.rag.sweep.findings import read_findings
    from embassay.protocols.rag.sweep.findings.record import FILE
    from embassay.report import write_report

    measured = (path / FILE).exists()
    written = write_report(path) if report and measured else None
    if display.json:
        _print_json(path, written)
        return
    if measured:
        from embassay.cli.terminal import show_blocks
        from embassay.report.rag.frontier import sweep_view

        show_blocks(sweep_view(read_findings(path / FILE), path, display.wide), display.wide)


def _print_json(path: Path, written: Path | None) -> None:
    import json

    from embassay.protocols.rag.sweep.protocol import read_sweep
    from embassay.runs.folder import RunFolder

    rows = [row.as_dict() for row in RunFolder(path).read_results()]
    sweep = read_sweep(path)
    per_query = [
        {
            "run": one.configuration.id, "dataset": one.dataset, "query_id": key, "measure": measure,
            "value": None if value != value else value, "reason": "undefined" if value != value else "",
        }
        for one in sweep.measured
        for measure, values in one.quality.items()
        for key, value in zip(sweep.queries[one.dataset], values.tolist(), strict=True)
    ]  # fmt: skip
    said = {"results": rows, "per_query": per_query, "report": str(written) if written else None}
    typer.echo(json.dumps(said, ensure_ascii=False))
