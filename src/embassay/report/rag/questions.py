"""Questions about a corpus, as a page and on a terminal: how many were kept, where they are from, some of each kind."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.document.blocks import (
    Block,
    CautionNotes,
    Column,
    CommandInSentence,
    Heading,
    ParagraphBlock,
    Sentence,
    Table,
    VerdictText,
    clip_text,
    make_number_columns,
)
from embassay.document.claims import describe_first_ranked, describe_gap_of_best_two
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    Claim,
    make_count_claim,
    make_leader_claims,
    make_pair_comparison_claim,
    make_value_claim,
)
from embassay.protocols.kernel.comparisons import describe_undecided_pair
from embassay.protocols.kernel.tables import SCORE
from embassay.records import ResultRow
from embassay.report.board import SystemBoard
from embassay.report.record import RunRecord, read_run_record, shorten_names_to_labels
from embassay.report.runs import ReportRun
from embassay.runs.folder import RunFolder

_EXAMPLES = 2
"""Questions of each kind that are shown."""
_TITLES = {
    "sources": "Sources of the questions",
    "drafts": "Generated questions by outcome",
    "documents": "Questions taken from the documents",
    "no_answer": "Questions without an answer",
}


def questions_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Build the page of a run's questions; nothing before its export is written."""
    del alone
    if (run.record.path / "export" / "queries.jsonl").exists():
        yield from _question_blocks(run.record.path)


def iterate_question_terminal_blocks(run: Path, wide: bool = False) -> Iterator[Block]:
    """Show a run's questions on a terminal, whose tables need no headings."""
    del wide
    yield from (block for block in _question_blocks(run) if not isinstance(block, Heading))


def _question_blocks(run: Path) -> Iterator[Block]:
    """How many questions, where they are from, what was left out and why, and some of each kind."""
    asked = _read_json_lines(run / "export" / "queries.jsonl")
    yield _make_question_run_verdict(run, asked)
    for name, title in _TITLES.items():
        if (path := run / "tables" / f"{name}.csv").exists():
            yield Heading(title, f"questions-{name}")
            yield _make_report_table_from_csv(name, path)
    yield Heading("For example", "questions-examples")
    yield _example_questions_table(asked)
    unanswered = _read_json_lines(run / "export" / "no_answer.jsonl")
    if notes := (*_iterate_question_source_notes(asked), *_iterate_unanswerable_question_notes(unanswered)):
        yield CautionNotes(notes)
    yield ParagraphBlock(
        ("The question set, for the -d option of any command: ", CommandInSentence(str(run / "export"))), ""
    )


def iterate_answer_terminal_blocks(run: Path, wide: bool = False) -> Iterator[Block]:
    """What runs' passages are good for: which run's answers are right most often, and every figure."""
    del wide
    record = read_run_record(run)
    yield make_right_answer_share_verdict(record)
    # A table for each run: its name beside every figure would leave a terminal no room for the values.
    for place, system in enumerate(dict.fromkeys(row.system for row in record.rows.values())):
        heads: list[str | Column] = [system, "prompt", *make_number_columns("value, 95%", "n")]
        rows = [_format_answer_result_row(row) for row in record.rows.values() if row.system == system]
        yield Table.of(f"answers-{place}", heads, rows)
    yield from map(
        ParagraphBlock, (*_list_answer_speed_and_unasked_notes(record), *record.manifest.get("warnings", ()))
    )
    yield ParagraphBlock(("Answers: ", CommandInSentence(str(run / "answers"))))


def _format_answer_result_row(row: ResultRow) -> list[str]:
    value = "n/a" if row.value is None else SCORE.text(row.value)
    if row.ci_low is not None and row.ci_high is not None:
        value += f" {SCORE.interval(row.ci_low, row.ci_high)}"
    return [row.measure, row.variant or "as found", value, f"{row.n:,}"]


def make_right_answer_share_verdict(record: RunRecord, _: SystemBoard | None = None) -> VerdictText:
    """Which runs may be first by the share of right answers, and what lies between the two best."""
    scored = {
        system.name: row
        for system in record.systems
        for row in record.rows.values()
        if (row.system, row.measure, row.variant) == (system.name, ACCURACY, "") and row.value is not None
    }
    values = {name: row.value or 0.0 for name, row in scored.items()}
    if not values:
        return VerdictText(("No answer could be graded, so nothing is known",))
    scope = record.find_task_comparisons(ANSWERS)
    ranked = [name for name in scope.systems if name in values]
    if len(values) == 1:
        [(name, value)] = values.items()
        row = scored[name]
        claim = make_value_claim(name, ACCURACY, value, row.ci_low, row.ci_high)
        share = f"{numbers.format_percent(value, 1)} of {numbers.format_noun_count(row.n, 'question')}"
        return VerdictText(
            (f"{name} leads to right answers for {share}",), tuple(_say_right_share_interval(row)), (claim,)
        )
    first = tuple(name for name in scope.first if name in values)
    if not first:
        return VerdictText(("No ranking on right answers: differences cannot be tested",))
    alone = len(first) == 1 and scope.ranges[first[0]][1] == 1
    claims = make_leader_claims(ACCURACY, first, ranked, alone=alone)
    heading = describe_first_ranked(claims, str, " on right answers", every="run", noun="run", anyone="run")
    pair = scope.pair(*ranked[:2])
    if pair is None:
        return VerdictText(heading, (), claims)
    apart = pair.p_adjusted < record.alpha
    gap = make_pair_comparison_claim(ACCURACY, pair.a, pair.b, pair.difference, pair.ci_low, pair.ci_high, apart=apart)
    said = describe_undecided_pair(pair.p, pair.p_adjusted, len(scope.ranges))
    return VerdictText(
        heading, (describe_gap_of_best_two(gap, str, values.__getitem__, SCORE, said, claims),), (*claims, gap)
    )


def _say_right_share_interval(row: ResultRow) -> Iterator[Sentence]:
    """How far the share of right answers may be off."""
    if row.ci_low is not None and row.ci_high is not None:
        yield (f"95% interval: {numbers.format_percent(row.ci_low, 1)} to {numbers.format_percent(row.ci_high, 1)}.",)


def _list_answer_speed_and_unasked_notes(record: RunRecord) -> Iterator[str]:
    """Note how fast the generator of answers was, and which questions were not asked."""
    timed = next((cell.counts for cell in record.cells if cell.counts.get("timed")), None)
    if timed is not None:
        rate = f", then {timed['tokens_per_second']:,} tokens per second" if "tokens_per_second" in timed else ""
        alone = numbers.format_noun_count(timed["timed"], "question")
        yield f"First token after {timed['first_token_ms']:,} ms{rate} (medians of {alone} asked one at a time)."
    for cell in record.cells[:1]:
        for left in cell.skipped:
            examples = ", ".join(map(str, left["examples"]))
            yield (f"{numbers.format_noun_count(left['count'], 'question')} left out: {left['reason']} ({examples}).")


ACCURACY, ANSWERS = "accuracy", "answer"
"""The measure of answers, and the scope of its comparisons."""


def make_question_count_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """How many questions there are, and from whom."""
    return _make_question_run_verdict(record.path, _read_json_lines(record.path / "export" / "queries.jsonl"))


def _make_question_run_verdict(run: Path, asked: list[dict[str, Any]]) -> VerdictText:
    manifest = RunFolder(run).read_manifest() or {}
    # Counted are the questions of the export, which is what -d reads.
    return describe_questions_verdict(asked, {cell["variant"]: cell["status"] for cell in manifest.get("cells", ())})


def describe_questions_verdict(asked: Sequence[Mapping[str, Any]], statuses: Mapping[str, str]) -> VerdictText:
    """How many questions there are, from whom, and which kinds of them are not finished."""
    total = make_count_claim("questions", len(asked), len(asked))
    sources = tuple(
        make_count_claim("source", n, len(asked), subject=name)
        for name, n in Counter(question["source"] for question in asked).items()
    )
    unfinished = [kind for kind, status in statuses.items() if status != "done"]
    lede = []
    if sources:
        lede.append((f"Of these {', '.join(map(_say_source_share, sources))}.",))
    if unfinished:
        lede.append(("Not finished: " + ", ".join(unfinished) + ".",))
    heading = (f"{numbers.format_noun_count(total.n, 'question')} about these documents",)
    claims = (total, *sources, make_count_claim("unfinished", len(unfinished), len(statuses)))
    return VerdictText(heading, tuple(lede), claims)


def _say_source_share(claim: Claim) -> str:
    return f"{numbers.format_percent(claim.n / claim.of)} from {_name_question_source(claim.subject)}"


def _name_question_source(name: str) -> str:
    return "the documents themselves" if name == "documents" else shorten_names_to_labels([name])[name]


def _make_report_table_from_csv(name: str, path: Path) -> Table:
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    heads: list[str | Column] = [rows[0][0], *(Column(title, style="num") for title in rows[0][1:])]
    lines = [
        [shorten_names_to_labels([row[0]])[row[0]], *(f"{float(cell):.3g}" if cell else "" for cell in row[1:])]
        for row in rows[1:]
    ]
    return Table.of(name, heads, lines)


def _example_questions_table(asked: list[dict[str, Any]]) -> Table:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for question in asked:
        by_kind.setdefault(next(iter(question["tags"]), "user"), []).append(question)
    rows = [
        [kind, question["id"], clip_text(" ".join(question["text"].split()), 90)]
        for kind, questions in by_kind.items()
        for question in questions[:_EXAMPLES]
    ]
    return Table.of("examples", ["Kind", "Id", "Question"], rows)


def _iterate_question_source_notes(asked: list[dict[str, Any]]) -> Iterator[str]:
    sources = {question["source"] for question in asked}
    if "documents" in sources:
        yield (
            "Questions from the documents use their own words, which favours systems that match words; the "
            "sentences used as questions are removed from export/corpus.jsonl, so search that file, not the documents."
        )
    if sources - {"documents", "users"}:
        yield (
            "Only the passage that a question was written about is judged; others may also answer it. "
            "To grade what search finds, use `embassay rag golden`."
        )
    if "users" in sources:
        yield "Users’ questions have no judgements; create them with `embassay rag golden`."


def _iterate_unanswerable_question_notes(unanswered: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if unanswered:
        yield (
            "Questions without an answer are in export/no_answer.jsonl. Run your retriever on them too, then run "
            "`embassay calibrate --run RUN --qrels export/qrels.tsv --no-answer export/no_answer.jsonl`."
        )
    if any(row["kind"] == "near" and row["changed"] != "by a model" for row in unanswered):
        yield (
            "Near questions were checked only by their words: no passage has the new value together with the "
            "question's other words. Read some before you rely on them, or have a model check them with --llm."
        )


def _read_json_lines(path: Path) -> list[dict[str, Any]]:
    content = read_bounded_file(path, WHOLE) if path.exists() else b""
    return [parse_json_written_by_embassay(line) for line in content.split(b"\n") if line]
