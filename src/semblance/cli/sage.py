"""`semblance sage`: run the SAGE protocol."""

from __future__ import annotations

import typer

from semblance.cli import options as given
from semblance.cli.options import column_map, default_out, settings
from semblance.protocols.sage.options import SageOptions

app = typer.Typer(
    help="SAGE: preference, robustness, sensitivity, clustering and retrieval.", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.callback()
def group() -> None:
    """SAGE: preference, robustness, sensitivity, clustering and retrieval under corruption."""


@app.command("run")
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
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: SageOptions = SageOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Evaluate systems on datasets. The same command with the same --out resumes a run that was cut short."""
    from semblance.cli.running import Display, run_sage
    from semblance.protocols.sage import Request

    request = Request(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades,
        limit, seed, tokenizer, options,
    )  # fmt: skip
    run_sage(
        request, out or default_out("sage"), workers=workers, dry_run=dry_run, display=Display(json, wide),
        max_usd=max_cost,
    )  # fmt: skip
