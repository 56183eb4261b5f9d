"""`embassay compare`: how sure a difference is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import Json, Wide

if TYPE_CHECKING:
    from embassay.protocols.compare import PairOfSystems, RunValues


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Folder of a run; two compare a system in both.", metavar="DIR [DIR]")
    ],
    a: Annotated[
        str | None, typer.Option("-a", help="A system. Without -a and -b: all that the run ranks.")
    ] = None,
    b: Annotated[str | None, typer.Option("-b", help="The system it is compared with.")] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Only this task, or overall. Repeatable.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="Only this measure. Repeatable.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", help="With all systems: only this dataset. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random swaps.")] = 1337,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Compare two systems of a run, one system in two runs, or all systems of a run.

    Paired differences with intervals, p corrected by Holm, effect sizes and the difference that is detectable with 80%
    power; of all systems the ranks they may hold, the probability of being best and who cannot be told apart.
    """
    from embassay.errors import UsageError
    from embassay.protocols.compare import compare_systems, read_values

    if len(folders) > 2:
        raise UsageError(f"{len(folders)} folders are given.", mend="Give one run, or two.")
    runs = [read_values(folder) for folder in folders]
    if a is None and b is None and len(runs) == 1:
        _all(runs[0], task or [], dataset or [], measure or [], json=json, wide=wide)
        return
    if dataset:
        raise UsageError(
            "--dataset is for all systems of a run.", mend="Leave it out, or leave out -a and -b."
        )
    if a is None:
        raise UsageError("-a is missing.", mend="Name the system to compare, or leave out -b as well.")
    if b is None and len(runs) == 1:
        raise UsageError("-b is missing.", mend="Name the system to compare with, or give a second run.")
    found = compare_systems(
        runs[0], a, b or a, *runs[1:], tasks=task or [], measures=measure or [], seed=seed
    )
    _show_pair(found, runs[0].protocol, json=json, wide=wide)


def _show_pair(found: PairOfSystems, protocol: str, *, json: bool, wide: bool) -> None:
    from embassay.cli.terminal import screen, show
    from embassay.report.comparing import render_pair

    if json:
        _print(
            {
                "contrasts": found.contrasts,
                "across": found.across,
                "pairing": found.pairing,
                "among": found.among,
            }
        )
        return
    here = screen()
    show(render_pair(found, protocol, width=here.width, wide=wide, unicode=here.unicode))


def _all(
    run: RunValues, tasks: list[str], datasets: list[str], measures: list[str], *, json: bool, wide: bool
) -> None:
    from embassay.cli.terminal import screen, show
    from embassay.protocols.compare import fields
    from embassay.report.comparing import render_fields

    found = list(fields(run, tasks, datasets, measures))
    if json:
        _print({"fields": found})
        return
    here = screen()
    show(render_fields(found, run.protocol, width=here.width, wide=wide, unicode=here.unicode))


def _print(records: dict[str, Any]) -> None:
    from dataclasses import asdict, is_dataclass

    from embassay.runs.files import to_json

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and value != value else value

    typer.echo(to_json(plain(records), indent=1))
