"""`embassay hume simulate`: scripted annotators where there are no people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embassay.cli.options import Json


def simulate(
    study: Annotated[Path, typer.Argument(help="The folder that `embassay hume sample` wrote.")],
    annotators: Annotated[int, typer.Option("--annotators", min=1, help="How many.")] = 2,
    noise: Annotated[
        float,
        typer.Option(
            "--noise",
            min=0,
            max=1,
            help="Share of labels, marks and group members that are wrong; error of ratings as a share of the scale.",
        ),
    ] = 0.15,
    seed: Annotated[int, typer.Option("--seed", help="Seed of every error.")] = 1,
    json: Json = False,
) -> None:
    """Let scripted annotators answer a study, to try it out: they read the gold and err at random. NOBODY ANNOTATED.

    Writes annotations/simulated.jsonl. Every answer is marked as simulated, and every table made of it says so.
    """  # fmt: skip
    from embassay.protocols.hume.folder import read_study, write_annotations
    from embassay.protocols.hume.simulated import KIND, check_nobody_answered, simulated_rows

    folder = read_study(study)
    check_nobody_answered(folder)
    rows = simulated_rows(folder, annotators, noise=noise, seed=seed)
    file = write_annotations(study, KIND, rows)
    if json:
        from json import dumps

        told = {"file": str(file), "annotators": annotators, "answers": len(rows), "kind": KIND}
        typer.echo(dumps(told, ensure_ascii=False))
        return
    typer.echo(f"{len(rows)} answers of {annotators} simulated annotators, noise {noise:g}: {file}")
    typer.echo(
        "Nobody annotated: these answers are the gold with known errors, and say nothing about people."
    )
