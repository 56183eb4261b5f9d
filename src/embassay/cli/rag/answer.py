"""`embassay rag answer`: have a model answer from the passages of runs, and another one grade the answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from embassay.cli.options import Running, of_records
from embassay.protocols.rag.answers.options import AnswerRequest

if TYPE_CHECKING:
    from embassay.cli.session import Display


@of_records()
def answer(request: AnswerRequest, running: Running) -> None:
    """Tell whether answers from a run's passages are right.

    One model answers, another grades. With --distractors, each question is answered again among useless passages.

    Example: embassay rag answer -d sample --run mine.trec -g ollama:gemma3:4b -j ollama:gemma3:27b
    """
    from embassay.cli.session import do
    from embassay.protocols.rag.answers.protocol import Answering

    do(Answering(), request, running, "answers", report=False, show=_show)


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
