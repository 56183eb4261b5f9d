"""`embassay rag answer`: have a model answer from the passages of runs, and another one grade the answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import default_out
from embassay.protocols.kernel.request import column_map

if TYPE_CHECKING:
    from embassay.cli.session import Display

Data = Annotated[
    str, typer.Option("--dataset", "-d", metavar="DATA", help="A retrieval set with its judgements.")
]
Runs = Annotated[
    list[str],
    typer.Option("--run", help="A run as FILE or NAME=FILE: TREC, JSONL, CSV or Parquet.", metavar="FILE"),
]
Generator = Annotated[str, typer.Option("--generator", "-g", help="The chat model that answers.")]
Judge = Annotated[str, typer.Option("--judge", "-j", help="The chat model that grades the answers.")]
Passages = Annotated[int, typer.Option("-k", min=1, help="Passages of a prompt.")]
References = Annotated[
    str | None,
    typer.Option(
        "--references", metavar="FILE",
        help="People's answers: `query_id`, `answer`. Default: the passages of grade 4 and 5.",
    ),
]  # fmt: skip
Distractors = Annotated[
    int,
    typer.Option(
        "--distractors", min=0, help="Useless passages put first, in a second answer to each question."
    ),
]
Grades = Annotated[
    str | None,
    typer.Option("--grades", help="Grade map: identity, binary, trec3, cranfield, or value=grade,..."),
]


def answer(
    dataset: Data,
    run: Runs,
    generator: Generator,
    judge: Judge,
    k: Passages = 10,
    references: References = None,
    distractors: Distractors = 0,
    grades: Grades = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    out: given.Out = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Check whether answers from a run's passages are right.

    One model answers, another grades. With --distractors, each question is answered again among useless passages.

    Example: embassay rag answer -d sample --run mine.trec -g ollama:gemma3:4b -j ollama:gemma3:27b
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.rag.answers.evaluation import AnswerRequest
    from embassay.protocols.rag.answers.protocol import Answering

    request = AnswerRequest(
        dataset, tuple(run), generator, judge, k=k, references=references, distractors=distractors, grades=grades,
        mapping=tuple(sorted(column_map(mapping).items())), split=split, limit=limit, seed=seed,
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(Answering().foreseen, request), display)
        return
    carry_out(
        partial(Answering().carry_out, request), out or default_out("answers"), display=display, report=False,
        show=_show, max_usd=max_cost,
    )  # fmt: skip


def _show(path: Path, display: Display, report: bool) -> None:
    """Every figure of every run, with its interval."""
    del report
    from embassay.runs.folder import RunFolder, to_json

    rows = RunFolder(path).read_results()
    if display.json:
        typer.echo(to_json({"run": str(path), "results": [row.as_dict() for row in rows]}))
        return
    from embassay.cli.terminal import show_table
    from embassay.protocols.kernel.tables import interval, score

    lines = [
        [
            row.system, row.measure, row.variant or "as found", "n/a" if row.value is None else score(row.value),
            "" if row.ci_low is None or row.ci_high is None else interval(row.ci_low, row.ci_high), f"{row.n:,}",
        ]
        for row in rows
    ]  # fmt: skip
    show_table(["run", "measure", "prompt", "value", "95%", "n"], lines, wide=display.wide, numbers=True)
    typer.echo(f"\nAnswers: {path / 'answers'}")
