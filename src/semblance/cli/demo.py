"""`semblance demo`: everything on the sample data with the bundled systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.cli.options import Wide, Workers

BUNDLED = ("wordllama", "bm25", "jaccard", "levenshtein", "rouge")
TOKENIZER = "words"


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the run; an unfinished one is resumed.")
    ] = Path("runs/demo"),
    workers: Workers = 1,
    wide: Wide = False,
) -> None:
    """Run SAGE on the sample data with the bundled systems, and minilm where it is installed."""
    from semblance.cli.running import Display
    from semblance.cli.sage import run_sage
    from semblance.protocols.sage import Request

    systems = list(BUNDLED)
    if (problem := _minilm_problem()) is None:
        systems.insert(0, "minilm")
    else:
        typer.echo(f"minilm is left out: {problem}", err=True)
    typer.echo(
        f"Tokens are those of --tokenizer {TOKENIZER}: the cl100k of the paper needs a file from the network.",
        err=True,
    )
    request = Request(tuple(systems), tokenizer=TOKENIZER)
    run_sage(request, out, Display(False, wide), workers=workers)


def _minilm_problem() -> str | None:
    from semblance.errors import ModelError
    from semblance.systems import open_system
    from semblance.text import open_tokenizer

    try:
        open_system("minilm", tokenizer=open_tokenizer(TOKENIZER))
    except ModelError as error:
        return str(error)
    return None
