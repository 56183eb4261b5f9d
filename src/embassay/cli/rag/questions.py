"""`embassay rag questions`: questions about documents, written by a language model or asked by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from embassay.cli.options import Running, of_records
from embassay.protocols.rag.questions.options import QuestionsRequest

if TYPE_CHECKING:
    from embassay.cli.session import Display


@of_records()
def questions(request: QuestionsRequest, running: Running) -> None:
    """Write questions about documents, each with its evidence.

    A second call checks that the passage answers; copies and repeats go.

    Example: embassay rag questions --corpus docs --llm ollama:gemma3:27b
    """
    from embassay.cli.session import do
    from embassay.protocols.rag.questions.protocol import Questioning

    do(Questioning(), request, running, "questions", show=_show)


def _show(path: Path, display: Display, report: bool) -> None:
    """The results as JSON, or the tables and where the set is."""
    from embassay.cli.session import show_run
    from embassay.report.rag.questions import questions_view

    show_run(path, display, report, view=questions_view)
