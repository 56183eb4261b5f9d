"""`embassay hume import` and `hume export`: annotations into a study and out of it, or its tasks for another tool."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from embassay.cli import options as given

if TYPE_CHECKING:
    from embassay.protocols.hume.collection import Format as Known
    from embassay.protocols.hume.exchange.intake import Imported


class Format(StrEnum):
    """Formats that are read; `auto` looks into each file."""

    auto = "auto"
    csv = "csv"
    jsonl = "jsonl"
    label_studio = "label-studio"
    argilla = "argilla"


Study = Annotated[Path, typer.Argument(help="A study folder from `embassay hume sample`.")]
Files = Annotated[list[Path], typer.Argument(help="Annotation files.")]
ReadForm = Annotated[Format, typer.Option("--format", help="Format of the files; auto detects it.")]
Annotator = Annotated[
    list[str] | None,
    typer.Option(
        "--annotator", metavar="NAME|OLD=NAME",
        help="Who answered, or a new name for one of the file's annotators.",
    ),
]  # fmt: skip
Replace = Annotated[bool, typer.Option("--replace", help="Replace earlier answers by these.")]


def import_(
    study: Study,
    files: Files,
    form: ReadForm = Format.auto,
    annotator: Annotator = None,
    replace: Replace = False,
    json: given.Json = False,
) -> None:
    """Take annotations from files into a study.

    CSV, JSONL (as the offline page writes it), Label Studio or Argilla, all checked before anything is written.

    Example: embassay hume import study ann.answers.jsonl
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
        "--format", help="Answers (csv, jsonl), tasks (label-studio, argilla) or people's scores (mteb)."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The file (csv, jsonl) or folder (others).")]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task.")]
Answers = Annotated[
    bool, typer.Option("--answers", rich_help_panel="Output", help="Add people's answers to the tasks.")
]
Exposed = Annotated[
    bool,
    typer.Option("--exposed", help="Include answers from a browser that had shown another person's."),
]
Revision = Annotated[str, typer.Option("--revision", help="Revision of the MTEB baseline Human.")]


def export(
    study: Study,
    form: FormName,
    out: Out,
    task: Tasks = None,
    answers: Answers = False,
    revision: Revision = "1",
    exposed: Exposed = False,
) -> None:
    """Write answers, tasks for other tools, or scores for MTEB.

    Tasks go without answers unless --answers asks for them. Gold is in none of it.

    Example: embassay hume export study --format csv --out answers.csv
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
