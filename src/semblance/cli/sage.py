"""`semblance sage`: run the SAGE protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.cli.options import Json, Wide, Workers, column_map, default_out, settings
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
    system: Annotated[list[str], typer.Option("--system", "-s", help="A system: see `semblance list systems`. Repeatable.")],
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="A task: see `semblance list tasks`. Default: all the data allow. Repeatable."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", help="A catalogue name or a path. Default: sample. Repeatable."),
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="Columns of your files: text=body,label=topic. Repeatable.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Use only rows of this split.")] = None,
    grades: Annotated[str | None, typer.Option("--grades", help="Map relevance codes to gains: 1=4,2=3.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Draw at most this many items per dataset.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of every random choice.")] = 1337,
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="Tokens of lexical systems and edits: cl100k, words.")
    ] = "cl100k",
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the run; an unfinished one is resumed.")] = None,
    workers: Workers = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run and what it takes, then stop.")] = False,
    json: Json = False,
    wide: Wide = False,
    options: SageOptions = SageOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Evaluate systems on datasets. The same command with the same --out resumes a run that was cut short."""
    from semblance.cli.running import Display, run_sage
    from semblance.protocols.sage import Request

    request = Request(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades,
        limit, seed, tokenizer, options,
    )  # fmt: skip
    run_sage(request, out or default_out("sage"), workers=workers, dry_run=dry_run, display=Display(json, wide))
