"""`embassay compare` and `embassay gate`: how sure a difference is, and bars that a run must clear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import Json, Wide

if TYPE_CHECKING:
    from embassay.protocols.compare import PairOfSystems, RunValues
    from embassay.protocols.gate import Verdict


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
    from embassay.report.comparisons import render_pair

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
    from embassay.report.comparisons import render_fields

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


Folder = Annotated[Path, typer.Argument(help="Folder of a run, or one that holds runs.", metavar="DIR")]
Bars = Annotated[
    list[str] | None,
    typer.Option(
        "--min", "--max", metavar="BAR",
        help="A bar such as 'sage.overall[minilm]>=0.45@lower' or "
        "'rag.score.Harm@10[bm25, dataset=qrels]<=0.3'. Repeatable.",
    ),
]  # fmt: skip
Base = Annotated[
    Path | None, typer.Option("--no-worse-than", help="An earlier run: no system may have become worse.")
]
Alpha = Annotated[
    float, typer.Option("--alpha", help="Chance of a false alarm over all tests of --no-worse-than.")
]
Margin = Annotated[
    float, typer.Option("--margin", min=0, help="How much worse is allowed, in the measure's unit.")
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="--no-worse-than: only this system. Repeatable.")
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", "-t", help="--no-worse-than: only this task. Repeatable.")
]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="--no-worse-than: only this measure. Repeatable.")
]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write the verdicts as JUnit XML.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write them as Markdown.")]


def gate(
    folder: Folder,
    bars: Bars = None,
    base: Base = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    system: Systems = None,
    task: Tasks = None,
    measure: Measures = None,
    junit: Junit = None,
    markdown: Markdown = None,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Hold a run against bars: exit code 0 where none is missed, 1 with a table where one is.

    A score without a value, or without the interval that a test needs, is not tested: neither met nor missed. The exit
    code is 1 for it where a bar names it, where it had a value before, or where it fell.

    A bar is on a score, or with @lower or @upper on an end of its 95% interval. --no-worse-than compares with an
    earlier run by paired tests, corrected by Holm over all of them.
    """
    from embassay.errors import UsageError
    from embassay.protocols.gate import as_junit, as_markdown, judged_bars, read_bar, read_rows
    from embassay.runs.files import write_atomic

    if not bars and base is None:
        raise UsageError(
            "There is no bar.", mend="Give --min 'sage.overall[SYSTEM]>=0.45', or --no-worse-than RUN."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha is {alpha:g}.", mend="Give a number between 0 and 1.")
    read = [read_bar(text) for text in bars or ()]
    verdicts = list(judged_bars(read, read_rows(folder))) if read else []
    if base is not None:
        verdicts += _against(folder, base, alpha, margin, (system or [], task or [], measure or []))
    for path, made in ((junit, as_junit), (markdown, as_markdown)):
        if path is not None:
            write_atomic(path, made(verdicts))
    _show(verdicts, json=json, wide=wide)
    if any(one.stops for one in verdicts):
        raise typer.Exit(1)


def _against(
    folder: Path, base: Path, alpha: float, margin: float, names: tuple[list[str], list[str], list[str]]
) -> list[Verdict]:
    from embassay.protocols.compare import read_values
    from embassay.protocols.gate import judged_against

    systems, tasks, measures = names
    found = judged_against(
        read_values(folder), read_values(base), alpha=alpha, margin=margin, systems=systems, tasks=tasks,
        measures=measures,
    )  # fmt: skip
    return list(found)


def _show(verdicts: list[Verdict], *, json: bool, wide: bool) -> None:
    from dataclasses import asdict

    from embassay.cli.terminal import screen, show
    from embassay.report.comparisons import render_gate
    from embassay.runs.files import to_json

    if json:
        met = all(one.met for one in verdicts)
        passed = not any(one.stops for one in verdicts)
        typer.echo(
            to_json({"passed": passed, "met": met, "bars": [asdict(one) for one in verdicts]}, indent=1)
        )
        return
    here = screen()
    show(render_gate(verdicts, width=here.width, wide=wide, unicode=here.unicode))
