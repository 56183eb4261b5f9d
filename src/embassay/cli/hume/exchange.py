"""`embassay hume import`, `export`: answers come in from files, and answers, tasks, scores and gold go out."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from embassay.cli import options as given
from embassay.errors import UsageError

if TYPE_CHECKING:
    from embassay.protocols.hume.collection import Format as Known
    from embassay.protocols.hume.exchange.intake import Imported

Study = Annotated[Path, typer.Argument(help="A study folder from `embassay hume sample`.")]


class Format(StrEnum):
    """Formats that are read; `auto` looks into each file."""

    auto = "auto"
    csv = "csv"
    jsonl = "jsonl"
    label_studio = "label-studio"
    argilla = "argilla"


Files = Annotated[list[Path], typer.Argument(help="Annotation files.")]
ReadForm = Annotated[Format, typer.Option("--format", help="Format of the files; auto detects it.")]
Annotator = Annotated[
    list[str] | None,
    typer.Option(
        "--annotator", metavar="NAME|OLD=NAME",
        help="Who answered, or a new name for one of the file's annotators.",
    ),
]  # fmt: skip
ReplaceRows = Annotated[bool, typer.Option("--replace", help="Replace earlier answers by these.")]


def import_(
    study: Study,
    files: Files,
    form: ReadForm = Format.auto,
    annotator: Annotator = None,
    replace: ReplaceRows = False,
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
    _say_imported(done)


def _say_imported(done: Imported) -> None:
    for name, kind in done.files:
        typer.echo(f"Read {name} as {kind}.")
    for (who, task), n in done.answers.items():
        left = done.open.get((who, task), 0)
        typer.echo(f"{who}, {task}: {n} answers" + (f", {left} items open" if left else ", complete"))
    for (who, task), n in done.decisions.items():
        typer.echo(f"{who}, {task}: {n} decisions")
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


class GoldName(StrEnum):
    """Which gold is written."""

    original = "original"
    adjudicated = "adjudicated"
    consensus = "consensus"


Gold = Annotated[
    GoldName | None,
    typer.Option(
        "--gold",
        help="Write a dataset and a study with gold: as it was, decided by adjudicators, or also unanimous.",
    ),
]
ProfilesToo = Annotated[
    bool, typer.Option("--profiles", help="Add what annotators said of themselves (csv, jsonl).")
]
FormName = Annotated[
    Form | None,
    typer.Option(
        "--format", help="Answers (csv, jsonl), tasks (label-studio, argilla) or people's scores (mteb)."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The file (csv, jsonl) or folder (others).")]
ExportedTasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task.")]
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
    out: Out,
    form: FormName = None,
    gold: Gold = None,
    task: ExportedTasks = None,
    answers: Answers = False,
    profiles: ProfilesToo = False,
    revision: Revision = "1",
    exposed: Exposed = False,
) -> None:
    """Write answers, tasks for other tools, scores for MTEB, or gold.

    Tasks go without answers unless --answers asks for them. Gold is in what --gold writes alone, and profiles
    are in nothing without --profiles.

    Example: embassay hume export study --format csv --out answers.csv
    """
    from embassay.protocols.hume.exchange.export import export

    tasks = tuple(task or ())
    if gold is not None:
        _export_gold(study, gold, out, tasks, form=form, profiles=profiles, answers=answers, exposed=exposed)
        return
    if form is None:
        raise UsageError("There is nothing to write.", mend="Say what: --format csv, or --gold adjudicated.")
    done = export(
        study,
        form.value,
        out,
        tasks=tasks,
        answers=answers,
        profiles=profiles,
        revision=revision,
        exposed=exposed,
    )
    for path in done.files:
        typer.echo(f"Written: {path}")
    if done.answers:
        typer.echo(
            f"{done.answers} answers of {len(done.annotators)} annotators: {', '.join(done.annotators)}."
        )
    if form in (Form.label_studio, Form.argilla) and not answers:
        typer.echo("Without anybody's answers. Take the new ones in with `embassay hume import`.")


def _export_gold(
    study: Path,
    gold: GoldName,
    out: Path,
    tasks: tuple[str, ...],
    *,
    form: Form | None,
    profiles: bool,
    **more: bool,
) -> None:
    from embassay.protocols.hume.exchange.gold import DATA, export_gold

    if form is not None or profiles:
        raise UsageError(
            f"{'--format' if form else '--profiles'} means nothing beside --gold.",
            mend="Leave one of the two out.",
        )
    done = export_gold(study, gold.value, out, tasks=tasks, **more)
    for line in done.in_words():
        typer.echo(line)
    if done.emptied:
        typer.echo(f"Left out, since no item of theirs can be judged: {', '.join(done.emptied)}.", err=True)
    first = next(path for path in done.files if path.parent.name == DATA)
    typer.echo(
        f"Written to {out}. Use it: -d {shlex.quote(str(first))}, or embassay hume score {shlex.quote(str(out))}"
    )
