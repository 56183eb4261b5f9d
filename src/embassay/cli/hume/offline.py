"""`embassay hume offline`: a study for one annotator as a file that needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def offline(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The folder that `embassay hume sample` wrote.")
    ],
    annotator: Annotated[str, typer.Option("--annotator", "-a", help="Who the file is for.")],
    out: Annotated[Path | None, typer.Option("--out", help="The file. Default: ANNOTATOR.html.")] = None,
) -> None:
    """Write the annotation pages for one person into one HTML file, which works without a server or a connection.

    Answers stay in that person's browser. At the end the page gives them as ANNOTATOR.answers.jsonl to send back, and
    `embassay hume import` reads it. The file holds the items, but no gold and nobody else's answers.
    """
    from embassay.web.annotation.page.single import write_single

    path = write_single(study, annotator, out or Path(f"{annotator}.html"))
    typer.echo(path)
    typer.echo(
        f"Send it to {annotator}. What comes back, {annotator}.answers.jsonl: embassay hume import {study} FILE",
        err=True,
    )
