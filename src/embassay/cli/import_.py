"""`embassay import`: published results of MTEB as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Json

if TYPE_CHECKING:
    from embassay.interchange import Imported

_SHOWN = 10
_MANY = 1_000_000
Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A clone of the public results (results/org__model/revision/Task.json) or a part of it, one file, or "
        "a bundle (.json, .json.gz).",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder of the run; an earlier import is replaced.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help="Beside main_score make rows of this number only. Default: all. Repeatable."
    ),
]
MaxMb = Annotated[int, typer.Option("--max-mb", min=1, help="Leave out files larger than this, unpacked.")]


def import_(
    source: Source, out: Out, measure: Measures = None, max_mb: MaxMb = 256, json: Json = False
) -> None:
    """Make a run of published results of MTEB, for `compare`, `gate`, `serve` and `export`.

    The documents are kept whole in the run, so that `export --to mteb` gives them back. A broken file is named and left
    out.
    """
    import sys

    from embassay.cli.waiting import Waiting
    from embassay.interchange import import_results
    from embassay.runs.files import to_json

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
    from embassay.protocols.numbers import counted

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
