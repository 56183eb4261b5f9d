"""`embassay gate`: bars that a run must clear, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Json, Wide

if TYPE_CHECKING:
    from embassay.protocols.gate import Verdict


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
    from embassay.report.gating import render_gate
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
