"""`embassay rag judges`: several judges of one golden set, beside each other and people, and a panel of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from embassay.cli import options as given


class Panel(StrEnum):
    """How one grade comes of several."""

    median = "median"
    dawid_skene = "dawid_skene"


Judges = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Golden runs or files of grades, one per judge: RUN or NAME=RUN."),
]
People = Annotated[
    str | None, typer.Option("--people", metavar="FILE", help="People's grades of the same passages.")
]
Grades = Annotated[
    str | None,
    typer.Option(
        "--grades", help="Grade map of files: identity, trec3, binary, value=grade,... Default: 1 to 5."
    ),
]
By = Annotated[
    Panel, typer.Option("--panel", help="Whose grades are written: the median, or Dawid and Skene's model.")
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder of tables and the panel's qrels. Default: none.")
]


def judges(
    judge: Judges,
    people: People = None,
    grades: Grades = None,
    panel: By = Panel.median,
    seed: Seed = 1337,
    out: Out = None,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Compare judges of one golden set, and make a panel of them.

    Tells how far they agree with each other and with people, and what each costs.

    Example: embassay rag judges runs/golden-a runs/golden-b --out runs/panel
    """
    from embassay.protocols.rag.golden import panel as panels

    asked = [panels.read_judge(one, grades) for one in judge]
    found = panels.panel_of(asked, None if people is None else panels.read_judge(people, grades), seed=seed)
    written = None if out is None else panels.write_panel(out, found, panel.value)
    if json:
        from embassay.runs.folder import to_json

        typer.echo(to_json(found.as_dict()))
        return
    from embassay.cli.terminal import show_table

    typer.echo(panels.verdict(found))
    for titles, rows in panels.views(found):
        typer.echo("")
        show_table(titles, rows, wide=wide, numbers=True)
    if written is not None:
        typer.echo(f"\nThe panel's grades ({panel.value}): {written}")
