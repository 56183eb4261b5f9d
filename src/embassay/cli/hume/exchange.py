"""`embassay hume import`, `export`: answers come in from files, and answers, tasks, scores and gold go out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import Shown, of_records
from embassay.protocols.hume.options import ExportOptions, GoldKind, ImportOptions

if TYPE_CHECKING:
    from embassay.protocols.hume.exchange.intake import Imported

Study = Annotated[Path, typer.Argument(help="A study folder from `embassay hume sample`.")]


Files = Annotated[list[Path], typer.Argument(help="Annotation files.")]


@of_records(wide=False)
def import_(study: Study, files: Files, asked: ImportOptions, shown: Shown) -> None:
    """Take annotations from files into a study.

    CSV, JSONL (as the offline page writes it), Label Studio or Argilla, all checked before anything is written.

    Example: embassay hume import study ann.answers.jsonl
    """
    from embassay.protocols.hume.exchange.intake import import_files

    form = None if asked.form == "auto" else asked.form
    done = import_files(study, files, form=form, annotator=asked.annotators, replace=asked.replace)
    if shown.json:
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


Out = Annotated[Path, typer.Option("--out", help="The file (csv, jsonl) or folder (others).")]


@of_records()
def export(study: Study, out: Out, asked: ExportOptions) -> None:
    """Write answers, tasks for other tools, scores for MTEB, or gold.

    Tasks go without answers unless --answers asks for them. Only --gold writes
    gold, and only --profiles profiles.

    Example: embassay hume export study --format csv --out answers.csv
    """
    from embassay.protocols.hume.exchange.export import export

    more: dict[str, Any] = {"tasks": asked.tasks, "answers": asked.answers, "exposed": asked.exposed}
    if asked.form is None:
        _export_gold(study, asked.gold or "original", out, **more)
        return
    done = export(study, asked.form, out, profiles=asked.profiles, revision=asked.revision, **more)
    for path in done.files:
        typer.echo(f"Written: {path}")
    if done.answers:
        typer.echo(
            f"{done.answers} answers of {len(done.annotators)} annotators: {', '.join(done.annotators)}."
        )
    if asked.form in ("label-studio", "argilla") and not asked.answers:
        typer.echo("Without anybody's answers. Take the new ones in with `embassay hume import`.")


def _export_gold(study: Path, gold: GoldKind, out: Path, **more: Any) -> None:
    from embassay.protocols.hume.adjudication import DATA, export_gold

    done = export_gold(study, gold, out, **more)
    for line in done.in_words():
        typer.echo(line)
    if done.emptied:
        typer.echo(f"Left out, since no item of theirs can be judged: {', '.join(done.emptied)}.", err=True)
    first = next(path for path in done.files if path.parent.name == DATA)
    typer.echo(
        f"Written to {out}. Use it: -d {shlex.quote(str(first))}, or embassay hume score {shlex.quote(str(out))}"
    )
