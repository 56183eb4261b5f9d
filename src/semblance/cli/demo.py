"""`semblance demo`: every protocol on the sample data with the bundled systems, and one report of it all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.cli.options import Wide, Workers

BUNDLED = ("wordllama", "bm25", "jaccard", "levenshtein", "rouge")
TOKENIZER = "words"
RUNS = 3


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the runs; unfinished ones are resumed.")
    ] = Path("runs/demo"),
    workers: Workers = 1,
    wide: Wide = False,
) -> None:
    """Run SAGE and PTEB on the sample data with the bundled systems, and minilm where it is installed."""
    from semblance.cli.pteb.run import run_pteb
    from semblance.cli.running import Display
    from semblance.cli.sage import run_sage
    from semblance.protocols import pteb, sage
    from semblance.report import write_report

    systems, display = _systems(), Display(False, wide)
    typer.echo(
        f"Tokens are those of --tokenizer {TOKENIZER}: the cl100k of the paper needs a file from the network. "
        f"Paraphrases are the {RUNS} of each text that come with the sample.",
        err=True,
    )
    run_sage(sage.Request(systems, tokenizer=TOKENIZER), out / "sage", display, report=False, workers=workers)
    typer.echo("")
    # Six French items of each task are too few for a score of their own.
    options = pteb.PtebOptions(languages="pooled")
    request = pteb.Request(systems, tokenizer=TOKENIZER, runs=RUNS, options=options)
    run_pteb(request, out / "pteb", display, report=False, workers=workers)
    report = write_report([out / "sage", out / "pteb"], out=out / "report.html")
    typer.echo(f"\nReport of both: {report}")


def _systems() -> tuple[str, ...]:
    """The bundled systems, minilm first where it can be had."""
    from semblance.errors import ModelError
    from semblance.systems import open_system
    from semblance.text import open_tokenizer

    try:
        open_system("minilm", tokenizer=open_tokenizer(TOKENIZER))
    except ModelError as error:
        typer.echo(f"minilm is left out: {error}", err=True)
        return BUNDLED
    return ("minilm", *BUNDLED)
