"""`embassay hume import` and `hume export`: annotations into a study and out of it, or its tasks for another tool."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from embassay.cli import options as given

if TYPE_CHECKING:
    from embassay.protocols.hume.exchange.entries import Format as Known
    from embassay.protocols.hume.exchange.intake import Imported


class Format(StrEnum):
    """Formats that are read; `auto` looks into each file."""

    auto = "auto"
    csv = "csv"
    jsonl = "jsonl"
    label_studio = "label-studio"
    argilla = "argilla"


Study = Annotated[Path, typer.Argument(help="The folder that `embassay hume sample` wrote.")]
Files = Annotated[list[Path], typer.Argument(help="Files with annotations, also of the offline page.")]
ReadForm = Annotated[Format, typer.Option("--format", help="What the files are; auto looks into each.")]
Annotator = Annotated[
    list[str] | None,
    typer.Option(
        "--annotator", metavar="NAME|OLD=NAME",
        help="Who answered, where the file does not say; or another name for one of its annotators. Repeatable.",
    ),
]  # fmt: skip
Replace = Annotated[bool, typer.Option("--replace", help="Put these answers in the place of earlier ones.")]


def import_(
    study: Study,
    files: Files,
    form: ReadForm = Format.auto,
    annotator: Annotator = None,
    replace: Replace = False,
    json: given.Json = False,
) -> None:
    """Take annotations into a study: CSV, JSONL, the offline page's file, Label Studio's or Argilla's export.

    Everything is checked before anything is written: items, values, annotators, answers given twice.
    What was taken is said, and what was left out.
    """
    from embassay.protocols.hume.exchange.intake import import_files

    chosen = None if form is Format.auto else cast("Known", form.value)
    done = import_files(study, files, form=chosen, annotator=annotator or (), replace=replace)
    if json:
        from embassay.runs.folder import to_json

        typer.echo(to_json(done.as_dict()))
        return
    _say(done)


def _say(done: Imported) -> None:
    for name, kind in done.files:
        typer.echo(f"Read {name} as {kind}.")
    for (who, task), n in done.answers.items():
        left = done.open.get((who, task), 0)
        typer.echo(f"{who}, {task}: {n} answers" + (f", {left} items open" if left else ", complete"))
    if done.impossible:
        typer.echo(f"{done.impossible} of them say that the item cannot be judged.")
    if done.replaced:
        typer.echo(f"{done.replaced} earlier answers were replaced.")
    for what, n in done.left_out.items():
        typer.echo(f"Left out: {n} {what}.")
    if done.new_annotators:
        typer.echo(f"New in this study: {', '.join(done.new_annotators)}.")
    for remark in done.remarks:
        typer.echo(f"Note: {remark}.".replace("..", "."), err=True)
    typer.echo(f"Written: {', '.join(map(str, done.written))}")


class Form(StrEnum):
    """Formats that are written."""

    csv = "csv"
    jsonl = "jsonl"
    label_studio = "label-studio"
    argilla = "argilla"
    mteb = "mteb"


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
    from embassay.protocols.hume.exchange.export import export

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
