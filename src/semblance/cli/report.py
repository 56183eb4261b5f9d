"""`semblance report`: write the HTML report of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs.", metavar="DIR...")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; for a single run.")] = None,
) -> None:
    """Write report.html of each run: one self-contained file."""
    from semblance.errors import UsageError
    from semblance.report import write_report

    if out is not None and len(folders) > 1:
        raise UsageError("--out takes the report of one run.", mend="Leave it out, or name one run.")
    for folder in folders:
        typer.echo(str(write_report(folder, out=out)))
