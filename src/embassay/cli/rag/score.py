"""`embassay rag score`: score run files against graded judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import PrintOptions, RankMatrixPrintOptions, RunOptions, add_options_from_record_parameters
from embassay.cli.progress import make_progress_listener
from embassay.cli.terminal import format_command_line, print_table_to_fit_screen, print_view_blocks
from embassay.errors import UsageError
from embassay.protocols.kernel.request import OUTPUT, option, redeclare_option
from embassay.protocols.rag.scoring.options import ScoreRequest, SequentialLabellingRequest
from embassay.protocols.rag.sessions import (
    SessionScoringRequest,
    prepare_recorded_queries,
    read_search_sessions,
    replay_and_score_sessions,
    write_session_run_folder,
)
from embassay.runs.folder import format_value_as_json

if TYPE_CHECKING:
    from embassay.protocols.kernel.tables import ColumnTable
    from embassay.protocols.rag.scoring.protocol import FinishedScoring

_IN_JSON = (
    "verdict", "comparisons", "likeness", "sensitivity", "readings", "guidance", "notes", "runs", "judgements",
    "settings"
)  # fmt: skip


@dataclass(frozen=True)
class ScoringOutputOptions(PrintOptions):
    """Options for what is printed of a scoring, where it is kept, and what a decision may cost."""

    per_query: bool | None = option(None, "Print every query's values; --json includes them by default.", group=OUTPUT)
    out: Path | None = option(None, "Folder for the results. Default: none.", group=OUTPUT)
    max_cost: float | None = redeclare_option(RunOptions, "max_cost")
    matrix: bool = redeclare_option(RankMatrixPrintOptions, "matrix")
    dry_run: bool = redeclare_option(
        RunOptions, "dry_run", help="Send each --retriever one question, show its answer and the total cost, and exit."
    )


UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Request only grades that can still change which run is better, or whether --bar is reached.",
    ),
]


@add_options_from_record_parameters()
def score(
    scoring: partial[ScoreRequest],
    decision: partial[SequentialLabellingRequest],
    searches: partial[SessionScoringRequest],
    printing: ScoringOutputOptions,
    until_decided: UntilDecided = False,
) -> None:
    """Score retrieval runs against graded judgements.

    Shows whether the pool or the order is at fault, and which run is better.

    Example: embassay rag score --qrels qrels.jsonl --run a.trec --run b.trec
    """
    asked = decision.keywords
    if searches.keywords.get("sessions"):
        _refuse_non_session_options(scoring.keywords, until_decided)
        _score_and_show_search_sessions(searches(), printing)
        return
    if until_decided:
        _check_has_runs_to_decide(scoring.keywords)
        measure = _choose_measure_for_run_decision(
            scoring.keywords.get("measures", ()), scoring.keywords.get("cutoffs", ())
        )
        show_decision_or_next_grades(
            decision(measure=measure), printing.out, json=printing.json, wide=printing.wide,
            max_usd=printing.max_cost
        )  # fmt: skip
        return
    _refuse_options_needing_until_decided({"--bar": asked.get("bar"), "--judge": asked.get("judge")})
    request = scoring()
    if printing.dry_run:
        for line in list_preview_lines_of_retriever_answers(request):
            typer.echo(line)
        return
    _score_runs_and_print_scores(request, printing, asked.get("price"))


def _refuse_non_session_options(asked: Mapping[str, Any], until_decided: bool) -> None:
    """UsageError for what sessions have no use for."""

    clashes = {
        "--run": asked.get("runs"), "--until-decided": until_decided, "--queries": asked.get("queries"),
        "--corpus": asked.get("corpus"), "--pool": asked.get("pools"), "--measure": asked.get("measures"),
    }  # fmt: skip
    for name, value in clashes.items():
        if value:
            raise UsageError(
                f"{name} cannot be combined with --sessions, because a run has one list per question.",
                mend="Leave one of them out.",
            )


def _score_and_show_search_sessions(request: SessionScoringRequest, printing: ScoringOutputOptions) -> None:
    """Score sessions of many searches, and show or write them."""
    from embassay.document.blocks import CautionNotes

    if printing.dry_run:
        for line in list_preview_lines_of_session_replay(request):
            typer.echo(line)
        return
    heard = make_progress_listener() if request.retrievers else None
    try:
        scored = replay_and_score_sessions(request, printing.out, listener=heard, max_usd=printing.max_cost)
    finally:
        if heard is not None:
            heard.announce_run_end()
    if printing.out is not None:
        write_session_run_folder(scored, request, printing.out, format_command_line())
    if printing.json:
        typer.echo(
            format_value_as_json({"results": [row.as_dict() for row in scored.rows], "notes": list(scored.notes)})
        )
        return
    for table in scored.tables():
        printed = table.format_table_for_printing()
        typer.echo(f"{printed.title}\n")
        print_table_to_fit_screen(printed.heads, list(printed.body), wide=printing.wide)
        typer.echo(f"\n{printed.note}\n")
    print_view_blocks([CautionNotes(tuple(f"{note}." for note in scored.notes))], printing.wide)
    if printing.out is not None:
        typer.echo(f"\nReport: {_write_report_page(printing.out)}")


def list_preview_lines_of_session_replay(request: SessionScoringRequest) -> Iterator[str]:
    """Preview what each retriever answers to the first recorded query, and how many there are."""
    from embassay.data.judged_runs import AnswerTextMatcher
    from embassay.protocols.live.runs import describe_trial_of_retrievers
    from embassay.protocols.rag.scoring.inputs import parse_named_path

    if not request.retrievers:
        raise UsageError("--dry-run works only with --retriever.", mend="Leave it out.")
    recorded = read_search_sessions(parse_named_path(request.sessions[0])[1])
    questions = prepare_recorded_queries(request, recorded)
    documents = {doc: "" for calls in recorded.values() for call in calls for doc in call.documents}
    yield from describe_trial_of_retrievers(request.retrievers, questions, AnswerTextMatcher(documents, {}))


def list_preview_lines_of_retriever_answers(request: ScoreRequest) -> Iterator[str]:
    """Preview each retriever's answer to the first question, how it is read, and how many there are."""
    from embassay.protocols.live.runs import QuestionsToAsk, describe_trial_of_retrievers
    from embassay.protocols.rag.scoring.inputs import read_judged_questions, read_texts_for_hit_matching
    from embassay.protocols.rag.scoring.protocol import compute_retrieval_depth

    if not request.retrievers:
        raise UsageError("--dry-run works only with --retriever.", mend="Leave it out.")
    questions = QuestionsToAsk(read_judged_questions(request), compute_retrieval_depth(request))
    yield from describe_trial_of_retrievers(request.retrievers, questions, read_texts_for_hit_matching(request))


def _score_runs_and_print_scores(request: ScoreRequest, printing: ScoringOutputOptions, price: float | None) -> None:
    from embassay.protocols.rag.scoring.protocol import score_runs_of_request

    out, per_query = printing.out, printing.per_query
    if not printing.json:
        run_and_print_scoring(
            request, out, per_query=bool(per_query), wide=printing.wide, report=True, price=price,
            max_usd=printing.max_cost
        )  # fmt: skip
        if printing.matrix:
            from embassay.cli.session import print_rank_matrix_of_first_questions

            print_rank_matrix_of_first_questions(out, wide=printing.wide)
        return
    scored = score_runs_of_request(request, out, format_command_line(), max_usd=printing.max_cost)
    _print_score_json(scored, None if out is None else _write_report_page(out), per_query=per_query is not False)


def _check_has_runs_to_decide(asked: Mapping[str, Any]) -> None:
    """UsageError where there are no run files to decide between."""

    if asked.get("retrievers"):
        raise UsageError(
            "--until-decided needs run files, not a --retriever.",
            mend="Score the retriever once with --out OUT, then pass OUT/retrieved/NAME.jsonl as --run.",
        )
    if not asked.get("runs"):
        raise UsageError("There are no runs to compare.", mend="Name each run with --run FILE.")


def _choose_measure_for_run_decision(measures: Sequence[str], cutoffs: Sequence[int]) -> str:
    """The measure that decides. UsageError for several: each would be another question."""

    if len(measures) > 1 or len(cutoffs) > 1:
        raise UsageError("--until-decided needs exactly one measure.", mend="For example: -m Precision4+@10.")
    usual = SequentialLabellingRequest.measure
    name = measures[0] if measures else usual.partition("@")[0] if cutoffs else usual
    return name if "@" in name or not cutoffs else f"{name}@{cutoffs[0]}"


def _refuse_options_needing_until_decided(options: dict[str, object]) -> None:

    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} works only with --until-decided.", mend="Add --until-decided, or leave it out.")


def show_decision_or_next_grades(
    request: SequentialLabellingRequest,
    out: Path | None,
    *,
    json: bool = False,
    wide: bool = False,
    max_usd: float | None = None,
) -> None:
    """Say what is decided, or what to grade next."""
    from embassay.protocols.rag.decision.protocol import run_decision_study
    from embassay.report.rag.decision import make_decision_study_terminal_blocks

    decision = run_decision_study(request, out, max_usd=max_usd)
    if json:
        typer.echo(format_value_as_json(decision.as_dict()))
        return
    print_view_blocks(make_decision_study_terminal_blocks(decision), wide)
    if decision.is_open and out is not None:
        typer.echo(
            f"\nGrade the passages in {out / 'ask.jsonl'}, write the grades to {request.labels}, and run this again."
        )
        typer.echo(f"Or in the browser: embassay hume serve {out} --until-decided -a ann -a bob")


def run_and_print_scoring(
    request: ScoreRequest,
    out: Path | None,
    *,
    per_query: bool = False,
    wide: bool = False,
    report: bool = False,
    price: float | None = None,
    max_usd: float | None = None,
) -> None:
    """Carry out a request and print it as text, with a `report` of its own where there is a folder, or without."""
    from embassay.protocols.rag.scoring.protocol import score_runs_of_request

    heard = make_progress_listener() if request.retrievers else None
    try:
        scored = score_runs_of_request(request, out, format_command_line(), listener=heard, max_usd=max_usd)
    finally:
        if heard is not None:
            heard.announce_run_end()
    _show_scoring(scored, per_query=per_query, wide=wide, price=price)
    if out is not None and report:
        typer.echo(f"\nReport: {_write_report_page(out)}")


def _write_report_page(out: Path) -> Path:
    from embassay.report import write_report

    return write_report(out)


def _show_scoring(scored: FinishedScoring, *, per_query: bool, wide: bool, price: float | None = None) -> None:
    from embassay.report.rag.decision import show_outlook_of_undecided_runs
    from embassay.report.rag.tables import iterate_query_value_lines, scoring_view

    print_view_blocks(scoring_view(scored.record, wide), wide)
    if scored.by_tag is not None:
        typer.echo(f"\n{scored.by_tag.title}\n")
        print_table_to_fit_screen(*_make_score_table_header_and_rows(scored.by_tag), wide=wide)
    if scored.corrections is not None:
        from embassay.report.rag.decision import judge_corrections_view

        typer.echo("")
        print_view_blocks(judge_corrections_view(scored.corrections, scored.record.headline, price), wide)
    elif bought := list(show_outlook_of_undecided_runs(scored.record, price)):
        typer.echo("")
        print_view_blocks(bought, wide)
    if per_query:
        typer.echo("")
        for line in iterate_query_value_lines(scored.make_per_query_frame()):
            typer.echo(line)


def _make_score_table_header_and_rows(table: ColumnTable) -> tuple[list[str], list[list[str]]]:
    """Build a score table's rows: tag, run, value, difference and queries, with intervals."""
    from embassay.protocols.kernel import tables as numbers

    def format_with_interval(value: Any, low: Any, high: Any) -> str:
        if value is None:
            return numbers.NONE
        return numbers.format_score(value) + ("" if low is None else f" {numbers.format_interval(low, high)}")

    heads = [table.columns[place].name for place in (0, 1, 2, 6, 5)]
    rows = [
        [str(row[0]), str(row[1]), format_with_interval(*row[2:5]), format_with_interval(*row[6:9]), f"{row[5]:,}"]
        for row in table.rows
    ]
    return heads, rows


def _print_score_json(scored: FinishedScoring, report: Path | None, *, per_query: bool) -> None:
    """Print the scores as one JSON object; the many values per query are written by columns."""
    import json

    from embassay.protocols.rag.scoring.tables import make_score_result_rows

    record = scored.record.as_dict()
    if scored.corrections is not None:
        record["corrections"] = scored.corrections.as_dict()
    named = (*_IN_JSON, *(("corrections",) if scored.corrections is not None else ()))
    rest = {name: record[name] for name in named} | {"report": None if report is None else str(report)}
    if scored.by_tag is not None:
        titles = [column.name for column in scored.by_tag.columns]
        rest["by_tag"] = [dict(zip(titles, row, strict=True)) for row in scored.by_tag.rows]
    head = format_value_as_json({"results": [row.as_dict() for row in make_score_result_rows(scored.record)]})[:-1]
    values = scored.make_per_query_frame().write_json() if per_query else json.dumps([])
    typer.echo(f'{head}, "per_query": {values}, {format_value_as_json(rest)[1:]}')
