"""`embassay rag questions` and `answer`: questions about documents, written by a language model or asked by themselves;
and a model that answers from the passages of runs, while another one grades the answers."""

from __future__ import annotations

from pathlib import Path

import typer

from embassay.cli.options import RunOptions, add_options_from_record_parameters
from embassay.cli.session import (
    RunOnDisk,
    StdoutFormatOptions,
    check_failed_cells,
    run_or_plan_protocol,
    write_report_and_show_run,
)
from embassay.errors import DataError
from embassay.protocols.rag.answers.options import AnswerRequest
from embassay.protocols.rag.questions.options import QuestionsRequest


@add_options_from_record_parameters()
def questions(request: QuestionsRequest, running: RunOptions) -> None:
    """Write questions about documents, each with its evidence.

    A second call checks that the passage contains the answer; copies and repeats are dropped.

    Example: embassay rag questions --corpus docs --llm ollama:gemma3:27b
    """
    from embassay.protocols.rag.questions.protocol import QuestionSetProtocol

    run_or_plan_protocol(
        QuestionSetProtocol(),
        request,
        running,
        "questions",
        show=_show_question_set_results,
        check=_check_questions_were_made,
    )


def _check_questions_were_made(run: RunOnDisk, out: Path) -> None:
    """ModelError if a cell failed, DataError if there is no question."""

    check_failed_cells(run, out)
    if not (out / "export" / "queries.jsonl").read_text("utf-8").strip():
        raise DataError(
            "No question about these documents was kept", path=run.path,
            mend="The table shows why. Use more or longer documents, another --llm, or users' "
                "questions with --queries."
        )  # fmt: skip


def _show_question_set_results(path: Path, display: StdoutFormatOptions, report: bool) -> None:
    """Show the results as JSON, or the tables and where the question set is."""
    from embassay.report.rag.questions import iterate_question_terminal_blocks

    write_report_and_show_run(path, display, report, view=iterate_question_terminal_blocks)


@add_options_from_record_parameters()
def answer(request: AnswerRequest, running: RunOptions) -> None:
    """Check whether answers from a run's passages are right.

    One model answers, and another grades. With --distractors, each question is answered again with useless passages in
    the prompt.

    Example: embassay rag answer -d sample --run mine.trec -g ollama:gemma3:4b -j ollama:gemma3:27b
    """
    from embassay.protocols.rag.answers.protocol import RagAnswerProtocol

    run_or_plan_protocol(
        RagAnswerProtocol(), request, running, "answers", report=False, show=_show_scores_with_intervals
    )


def _show_scores_with_intervals(path: Path, display: StdoutFormatOptions, report: bool) -> None:
    """Show every figure of every run, with its interval."""
    del report
    from embassay.runs.folder import RunFolder, format_value_as_json

    folder = RunFolder(path)
    rows, warnings = folder.read_results(), (folder.read_manifest() or {}).get("warnings", [])
    if display.json:
        results = [row.as_dict() for row in rows]
        typer.echo(format_value_as_json({"run": str(path), "results": results, "warnings": warnings}))
        return
    from embassay.cli.terminal import print_view_blocks
    from embassay.report.rag.questions import iterate_answer_terminal_blocks

    print_view_blocks(iterate_answer_terminal_blocks(path), display.wide)
