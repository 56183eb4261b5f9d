"""`embassay compare` and `embassay gate`: how sure a difference is, and bars that a run must clear."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from embassay.cli.options import Json, Wide


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="A run; with two, one system in both.", metavar="DIR [DIR]")
    ],
    a: Annotated[str | None, typer.Option("-a", help="The first system. Default: compare all.")] = None,
    b: Annotated[str | None, typer.Option("-b", help="The second system.")] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Only this task, or overall.")
    ] = None,
    measure: Annotated[list[str] | None, typer.Option("--measure", "-m", help="Only this measure.")] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", help="Only this dataset, when comparing all systems."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1337,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Tell whether two systems, or two runs, really differ.

    Paired differences with 95% intervals, Holm-corrected p, effect sizes and the difference detectable at 80% power.
    Comparing all systems adds rank ranges and the probability of being best.

    Example: embassay compare runs/sage -a minilm -b bm25
    """
    from embassay.cli.terminal import show_blocks
    from embassay.protocols import compare as comparing
    from embassay.report.terminal import fields_view, pair_view

    found = comparing.compare(
        *folders, a=a, b=b, tasks=task or [], measures=measure or [], datasets=dataset or [], seed=seed
    )
    if found.pair is None:
        if json:
            _print({"fields": found.fields})
            return
        show_blocks(fields_view(found.fields, found.protocol), wide)
        return
    if json:
        _print({name: getattr(found.pair, name) for name in ("contrasts", "across", "pairing", "among")})
        return
    show_blocks(pair_view(found.pair, found.protocol), wide)


def _print(records: dict[str, Any]) -> None:
    from dataclasses import asdict, is_dataclass

    from embassay.runs.folder import to_json

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and value != value else value

    typer.echo(to_json(plain(records), indent=1))


Folder = Annotated[Path, typer.Argument(help="A run, or a folder above runs.", metavar="DIR")]
Bars = Annotated[
    list[str] | None,
    typer.Option(
        "--min", "--max", metavar="BAR",
        help="A bar, such as 'sage.overall[minilm]>=0.45@lower' or 'rag.score.Harm@10[bm25, dataset=qrels]<=0.3'.",
    ),
]  # fmt: skip
Base = Annotated[
    Path | None, typer.Option("--no-worse-than", help="An earlier run that no system may fall behind.")
]
Alpha = Annotated[
    float, typer.Option("--alpha", help="Chance of a false alarm over all tests of --no-worse-than.")
]
Margin = Annotated[
    float, typer.Option("--margin", min=0, help="Loss allowed by --no-worse-than, in the measure's unit.")
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="Only this system, in --no-worse-than.")
]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task, in --no-worse-than.")]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="Only this measure, in --no-worse-than.")
]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write the verdicts as JUnit XML.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write the verdicts as Markdown.")]


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
    """Fail a build when a score is too low or has dropped.

    Exit code 1 if a bar is missed or --no-worse-than finds a loss; its tests are Holm-corrected together. A bar
    may be on the score or, with @lower or @upper, on an end of its 95% interval. A score without a value or
    interval is not tested; it fails only if a bar names it, if it had a value before, or if it fell.

    Example: embassay gate runs/sage --min 'sage.overall[minilm]>=0.45@lower'
    """
    from dataclasses import asdict

    from embassay.cli.terminal import show_blocks
    from embassay.protocols import gate as gating
    from embassay.report.terminal import gate_view
    from embassay.runs.folder import to_json, write_atomic

    made = gating.gate(
        folder, *(bars or ()), no_worse_than=base, alpha=alpha, margin=margin, systems=system or (),
        tasks=task or (), measures=measure or (),
    )  # fmt: skip
    if junit is not None:
        write_atomic(junit, made.junit())
    if markdown is not None:
        write_atomic(markdown, made.markdown())
    if json:
        record = {"passed": made.passed, "met": made.met, "bars": [asdict(one) for one in made.verdicts]}
        typer.echo(to_json(record, indent=1))
    else:
        show_blocks(gate_view(made.verdicts), wide)
    if not made.passed:
        raise typer.Exit(1)
