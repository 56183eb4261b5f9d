"""`embassay hume export`: a study's annotations, or its tasks for another tool."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    """Formats that are written."""

    csv = "csv"
    jsonl = "jsonl"
    label_studio = "label-studio"
    argilla = "argilla"
    mteb = "mteb"


Study = Annotated[Path, typer.Argument(help="The folder that `embassay hume sample` wrote.")]
FormName = Annotated[
    Form,
    typer.Option(
        "--format", help="csv, jsonl: a file of answers. label-studio, argilla: tasks. mteb: people's scores."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The file (csv, jsonl) or folder (the others) to write.")]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task. Repeatable.")]
Answers = Annotated[
    bool, typer.Option("--answers", help="label-studio, argilla: with people's answers, not only the tasks.")
]
Exposed = Annotated[
    bool,
    typer.Option(
        "--exposed", help="Also where somebody answered in a browser that had shown another's answers."
    ),
]
Revision = Annotated[str, typer.Option("--revision", help="mteb: the revision of the baseline Human.")]


def export(
    study: Study,
    form: FormName,
    out: Out,
    task: Tasks = None,
    answers: Answers = False,
    revision: Revision = "1",
    exposed: Exposed = False,
) -> None:
    """Write a study's answers as CSV or JSONL, its tasks for Label Studio or Argilla, or people's scores for MTEB.

    Tasks go without answers unless --answers asks for them: annotators work alone. Gold is in none of it.
    """
    from embassay.protocols.hume.exchange.exporting import export

    done = export(
        study, form.value, out, tasks=tuple(task or ()), answers=answers, revision=revision, exposed=exposed
    )
    for path in done.files:
        typer.echo(f"Written: {path}")
    if done.answers:
        typer.echo(
            f"{done.answers} answers of {len(done.annotators)} annotators: {', '.join(done.annotators)}."
        )
    if form in (Form.label_studio, Form.argilla) and not answers:
        typer.echo("Without anybody's answers. Take the new ones in with `embassay hume import`.")
