"""`embassay export` and `embassay import`: runs in the form that other tools read, and MTEB's results as a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Json

if TYPE_CHECKING:
    from embassay.interchange import Exported, Imported


class To(StrEnum):
    """The forms there are."""

    mteb = "mteb"
    csv = "csv"
    latex = "latex"
    parquet = "parquet"
    figures = "figures"
    mlflow = "mlflow"
    wandb = "wandb"


Folders = Annotated[list[Path], typer.Argument(help="Runs, or folders above runs.", metavar="DIR...")]
Form = Annotated[To, typer.Option("--to", help="What to write.")]
Out = Annotated[
    str,
    typer.Option(
        "--out", metavar="PATH",
        help="A folder or one file; for mlflow the tracking store: a folder, sqlite:///FILE or a URL.",
    ),
]  # fmt: skip
OneTable = Annotated[
    str,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Only this table (latex) or figure, such as sage_table4 or scores.",
    ),
]
Project = Annotated[
    str,
    typer.Option("--project", help="Experiment of mlflow, or project of wandb."),
]
Online = Annotated[
    bool, typer.Option("--online", help="Send to wandb now; without it, `wandb sync` sends the folder.")
]


def export(
    folders: Folders,
    to: Form,
    out: Out,
    table: OneTable = "",
    project: Project = "embassay",
    online: Online = False,
    json: Json = False,
) -> None:
    """Write runs for MTEB, CSV, LaTeX, Parquet, MLflow or W&B.

    Values keep every digit, and missing ones their reason. What a format has no place for is counted.

    Example: embassay export runs/sage --to csv --out sage.csv
    """
    if to in (To.mlflow, To.wandb):
        _log(folders, to, out, project, online=online, json=json)
        return
    from embassay.interchange import FORMS
    from embassay.interchange import export as write

    form = next(one for one in FORMS if one == to.value)
    done = write(folders, form, Path(out), table=table)
    if json:
        _print_json(done)
        return
    _left_out(done)
    typer.echo(
        f"{done.out}: {done.rows:,} results in {done.files:,} {'file' if done.files == 1 else 'files'}."
    )


def _log(folders: list[Path], to: To, out: str, project: str, *, online: bool, json: bool) -> None:
    from embassay.interchange import log_to_mlflow, log_to_wandb
    from embassay.runs.folder import to_json

    if to is To.mlflow:
        logged = log_to_mlflow(folders, out, experiment=project)
    else:
        logged = log_to_wandb(folders, Path(out), project=project, online=online)
    if json:
        typer.echo(to_json({"logged": [vars(one) for one in logged]}, indent=1))
        return
    for one in logged:
        typer.echo(f"{one.run}: {'was there already' if one.unchanged else 'logged'} as {one.id}.")


def _left_out(done: Exported) -> None:
    for one in done.left_out:
        typer.echo(f"left out: {one.run}: {one.rows:,} rows {one.reason}.", err=True)


def _print_json(done: Exported) -> None:
    from embassay.runs.folder import to_json

    left_out = [vars(one) for one in done.left_out]
    typer.echo(to_json({**vars(done), "out": str(done.out), "left_out": left_out}, indent=1))


_SHOWN = 10
_MANY = 1_000_000
Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A clone of the public results or part of it, one file, or a bundle (.json, .json.gz).",
    ),
]
RunOut = Annotated[Path, typer.Option("--out", help="Folder of the run; replaces an earlier import.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="Only this measure and main_score. Default: all."),
]
MaxMb = Annotated[int, typer.Option("--max-mb", min=1, help="Leave out files larger than this, unpacked.")]


def import_(
    source: Source, out: RunOut, measure: Measures = None, max_mb: MaxMb = 256, json: Json = False
) -> None:
    """Read published MTEB results as a run.

    `export --to mteb` gives the documents back whole. A broken file is named and left out.

    Example: embassay import results --out runs/mteb
    """
    import sys

    from embassay.cli.progress import Waiting
    from embassay.interchange import import_results
    from embassay.runs.folder import to_json

    with Waiting() as waiting:
        done = import_results(
            source, out, measures=measure or (), max_bytes=max_mb * 2**20, progress=waiting,
            command=" ".join(["embassay", *sys.argv[1:]]),
        )  # fmt: skip
    _warn(done)
    if json:
        faults = [vars(one) for one in done.faults]
        typer.echo(to_json({**vars(done), "folder": str(done.folder), "faults": faults}, indent=1))
        return
    typer.echo(
        f"{done.folder}: {done.documents:,} results of {done.systems:,} systems on {done.tasks:,} tasks, "
        f"{done.rows:,} rows."
    )


def _warn(done: Imported) -> None:
    from embassay.protocols.kernel.tables import counted

    for fault in done.faults[:_SHOWN]:
        typer.echo(f"left out: {_said(fault.path, fault.reason)}", err=True)
    if done.faults:
        more = f", {_SHOWN} shown" if len(done.faults) > _SHOWN else ""
        typer.echo(
            f"{counted(len(done.faults), 'fault')}{more}; all are in {done.folder / 'faults.jsonl'}.",
            err=True,
        )
    if done.rows > _MANY:
        typer.echo(
            f"{done.rows:,} rows are slow to read; -m main_score keeps main scores alone, and the rest stays in the "
            "documents.",
            err=True,
        )


def _said(path: str, reason: str) -> str:
    return reason if path in reason else f"{path}: {reason}"
