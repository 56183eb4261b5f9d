"""`embassay report`: write the HTML report of one run or several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs, or folders that hold runs at any depth.", metavar="DIR...")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Where to write it; report.html in the folder, or in the one that holds all."
        ),
    ] = None,
) -> None:
    """Write one report of all the runs: one self-contained file."""
    from embassay.report import write_report

    typer.echo(str(write_report(folders, out=out, tell=lambda line: typer.echo(line, err=True))))
