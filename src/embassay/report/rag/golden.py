"""A golden set, as a page and on a terminal: its questions, its cost, how sure the order is, one question in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median

from embassay.document.blocks import (
    Block,
    BulletList,
    CautionNotes,
    CollapsibleBlocks,
    Column,
    CommandInSentence,
    DrawingLegend,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    PageLink,
    ParagraphBlock,
    Part,
    Sentence,
    StyledWords,
    Table,
    TableCell,
    VerdictText,
    clip_text,
    make_number_columns,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim, make_count_claim, make_value_claim, select_claims_of_kind
from embassay.protocols.rag.golden.conclusions import make_golden_set_claims
from embassay.protocols.rag.golden.final_lists import FinalListPassage
from embassay.protocols.rag.golden.summary import GoldenQuerySummary, GoldenRunRecord, read_golden_record
from embassay.protocols.rag.golden.trust import is_judge_possibly_random, list_judge_warnings
from embassay.report.board import SystemBoard
from embassay.report.rag.decision import show_judge_assisted_means
from embassay.report.rag.labels import (
    LABELS,
    QuestionTopPassages,
    describe_poor_pool_question_counts,
    draw_grade_shares_by_question,
    estimate_bars_table,
    judge_attempts_faults_table,
    judge_reliability_bars,
    make_golden_stage_progress_table,
    make_ranking_engine_claims_table,
    make_table_of_human_judge_agreement,
    pick_typical_final_list,
    pool_grade_counts_table,
    position_bias_table,
    read_targets_of_ranking_engine,
    repeated_grades_table,
    say_repeated_judgements,
)
from embassay.report.rag.tables import (
    CLAIMS,
    DOUBTS,
    STOPPED,
    describe_failed_questions,
    explain_failed_question,
    shorten_judge_name,
)
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun
from embassay.runs.spending import format_dollars
from embassay.stats import Estimate


def say_why_judging_stopped(golden: GoldenRunRecord) -> str:
    """Why the engine asked no more, with how many questions each reason holds for."""
    ranking = golden.ranking
    if ranking is None or not ranking.stopped or ranking.engine == "grades":
        return ""
    parts = [
        f"{STOPPED.get(word, word)} ({numbers.format_noun_count(n, 'question')})" for word, n in ranking.stopped.items()
    ]
    return f"Why it stopped: {', '.join(parts)}."


def say_judge_doubts(golden: GoldenRunRecord) -> str:
    """For how many questions nothing is claimed, and what was found of the judge; empty where there are none."""
    claims = _make_unclaimed_questions_claim(golden)
    if not claims or golden.ranking is None:
        return ""
    [claim] = claims
    reasons = "; ".join(DOUBTS.get(word, word) for word in golden.ranking.doubts)
    head = f"Nothing is claimed about the order of {claim.n} of {numbers.format_noun_count(claim.of, 'question')}"
    return f"{head}, and their ordering was not stopped early, because the judge's answers do not allow it: {reasons}."


def golden_page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """The page of a run; nothing before its record is written. DataError where that is damaged."""
    record = run.record
    if not (record.path / "golden.json").exists():
        return
    golden = read_golden_record(record.path / "golden.json")
    yield _make_golden_run_facts_line(golden, record)
    yield describe_golden_verdict(golden)
    if golden.failed:
        yield _make_failed_question_notes(golden)
    if stages := make_golden_stage_progress_table(golden):
        yield Heading("From questions to ordered passages", "golden-funnel")
        yield ParagraphBlock(
            "Bars: passages left after each stage, over all questions; the axis starts at 0. S5 keeps all "
            "passages with the best grades; S6 orders them."
        )
        yield stages
        if tokens := _say_tokens_per_candidate(golden):
            yield ParagraphBlock(tokens)
    yield from _pool_blocks(golden)
    yield from _judge_blocks(golden)
    yield from _order_certainty_blocks(golden)
    yield from _human_check_blocks(golden)
    if final := pick_typical_final_list(record.path, golden):
        yield from _make_example_question_blocks(final, None if alone else 10)
    yield Heading("Every question", "golden-questions")
    yield _questions_block(golden, alone)
    yield Heading("Use or recreate the set", "golden-files")
    if golden.exports:
        yield ParagraphBlock(_export_sentence(golden.exports), "")
    yield _make_named_values_paragraph(_list_golden_settings(golden))
    yield ParagraphBlock((PageLink("The command, data and versions", f"method-command{run.mark}"),), "")


def _make_failed_question_notes(golden: GoldenRunRecord, most: int = 6) -> CautionNotes:
    """The questions that failed, each with its stage and reason."""
    failed = golden.failed
    notes = tuple(
        (
            StyledWords("✕ failed", "state failed"),
            " ",
            StyledWords(query.query_id, "bdi"),
            f" in {query.stage}: {clip_text(explain_failed_question(query, golden.settings.judge), 300)}",
        )
        for query in failed[:most]
    )
    further: Sentence = (f"and {len(failed) - most} more, under ", PageLink("Every question", "golden-questions"))
    mend = "Repeat the command to retry them."
    return CautionNotes(notes, "Not in the set.", (further, mend) if len(failed) > most else (mend,))


def _pool_blocks(golden: GoldenRunRecord) -> Iterator[Block]:
    yield Heading("What the pools contain", "golden-labels")
    yield pool_grade_counts_table(golden)
    if words := describe_poor_pool_question_counts(golden):
        yield ParagraphBlock(f"{words}.")
    if drawn := draw_grade_shares_by_question(golden):
        figure, left = drawn
        yield DrawingLegend((("q5", "grade 5"), ("q4", "4"), ("q3", "3"), ("q2", "2"), ("q0", "1")))
        yield figure
        further = f" {left} more are in the table." if left else ""
        head = "One column per question, from 0 to 100% of its pool: grade 5 at the bottom, grade 1 at the top. "
        yield ParagraphBlock(
            (f"{head}{figure.summary}{further} The counts are listed under ",
             PageLink("Every question", "golden-questions"), ".")
        )  # fmt: skip


def _judge_blocks(golden: GoldenRunRecord) -> Iterator[Block]:
    yield Heading("The judge", "golden-judge")
    yield ParagraphBlock(say_repeated_judgements(golden.repeated))
    yield from map(ParagraphBlock, golden.ranking.notes if golden.ranking is not None else ())
    if steady := judge_reliability_bars(golden):
        yield estimate_bars_table("How consistent the judge is", steady)
    if table := repeated_grades_table(golden.repeated):
        yield table
    if table := position_bias_table(golden.ranking):
        yield Heading("Does it matter in which position a passage is shown?", level=3)
        yield ParagraphBlock(
            "How many ranks above (right of the line) or below its grade a passage is placed when shown in "
            "this position. 0 means no bias. Bars: 95% intervals over questions."
        )
        yield table
    if table := judge_attempts_faults_table(golden.judge):
        yield table
    if named := _list_judge_facts(golden):
        yield _make_named_values_paragraph(named)


def _order_certainty_blocks(golden: GoldenRunRecord) -> Iterator[Block]:
    table, stopped = make_ranking_engine_claims_table(golden), say_why_judging_stopped(golden)
    if table is None and not stopped:
        return
    yield Heading("How certain the order is", "golden-order")
    expected = (
        "For each question, the engine estimates this judge's order with the noise averaged out, not the true "
        "order. Only people's labels show how well it agrees with people: "
    )
    yield ParagraphBlock(
        (expected, CommandInSentence("embassay rag check"), f". {_say_calls_per_question(golden)} {stopped}".rstrip())
    )
    if table is not None:
        yield table


def _human_check_blocks(golden: GoldenRunRecord) -> Iterator[Block]:
    if golden.human:
        yield Heading("What people say", "golden-human")
    for check in golden.human:
        blind = "; the judge’s answers were not shown" if check.blind else ""
        passages, questions = (
            numbers.format_noun_count(check.items, "passage"),
            numbers.format_noun_count(check.queries, "question"),
        )
        yield ParagraphBlock(
            f"{check.file}: {passages} of {questions}, {check.moved} moved, {check.changed} graded differently{blind}."
        )
        yield make_table_of_human_judge_agreement(check)
        yield from show_judge_assisted_means(check.corrected, check.off, "All final lists")
        for remark in check.remarks[:5]:
            text = StyledWords(clip_text(remark.text, 200), "data")
            yield ParagraphBlock((StyledWords(remark.query_id, "bdi"), f", {remark.doc_id}: ", text))


def _make_example_question_blocks(final: QuestionTopPassages, most: int | None) -> Iterator[Block]:
    yield Heading("One question in full", "golden-list")
    yield ParagraphBlock(
        (
            StyledWords(final.query_id, "bdi"),
            " is the question with the median number of passages graded 4 or 5. A single list shows what the set "
            "looks like, not how good it is.",
        )
    )
    yield ParagraphBlock(final.question, "data")
    if final.rewrite:
        yield ParagraphBlock(("Searched as: ", StyledWords(final.rewrite, "data")))
    passages = final.passages[:most]
    yield BulletList(
        tuple(map(_describe_passage_with_grade, passages)),
        "ranking finals",
        tuple(passage.place for passage in passages),
    )


def _describe_passage_with_grade(passage: FinalListPassage) -> Sentence:
    grade = f"grade {passage.grade}" if passage.grade else "no grade"
    style = "state good" if passage.grade and passage.grade >= 4 else "state"
    return (StyledWords(passage.text, "data"), " ", StyledWords(grade, style), " ", StyledWords(passage.doc_id, "bdi"))


def _questions_block(golden: GoldenRunRecord, alone: bool, most: int = 300) -> Block:
    """The table one click away; of a large set, or in a report of several runs, where it is."""
    counted = f"{numbers.format_noun_count(len(golden.queries), 'question')} with counts of grades and calls"
    if alone and len(golden.queries) <= most:
        return CollapsibleBlocks(counted, (_queries_table(golden.queries),))
    elsewhere = " and this run's own report" if len(golden.queries) <= most else ""
    return ParagraphBlock((f"{counted}: in ", CommandInSentence("tables/queries.csv"), f"{elsewhere}."))


def _export_sentence(exports: Mapping[str, str]) -> Sentence:
    files: list[Part] = []
    for name, path in exports.items():
        files += [", " if files else "", CommandInSentence(path), f" {name}"]
    if "qrels" not in exports:
        return (*files, ".")
    command = StyledWords(f"embassay rag score --qrels {exports['qrels']} --run run.trec", "command")
    return (*files, ". To score a run against it: ", command)


def _make_named_values_paragraph(values: Sequence[tuple[str, str]]) -> ParagraphBlock:
    return ParagraphBlock("\n".join(f"{name}: {value}" for name, value in values), "named")


def golden_verdict(record: RunRecord, _: SystemBoard) -> VerdictText:
    """The verdict on the golden set of a run."""
    if not (record.path / "golden.json").exists():
        return VerdictText(("Nothing finished yet",))
    return describe_golden_verdict(read_golden_record(record.path / "golden.json"))


def describe_golden_verdict(golden: GoldenRunRecord) -> VerdictText:
    """Describe a golden set: how many questions are done, what judging took, how sure the order is."""
    claims = make_golden_set_claims([query.status for query in golden.queries], golden.labels)
    done, failed = claims["done"], claims["failed"]
    have = "has" if done.of == 1 else "have"
    heading = f"{done.n} of {numbers.format_noun_count(done.of, 'question')} {have} graded"
    # The first thing that is read of a set that may be worth nothing.
    heading += " passages, but the judge may be at chance" if is_judge_possibly_random(golden) else ", ordered passages"
    lede: list[Sentence] = []
    if failed.n:
        lede.append((f"{failed.n} failed and {'is' if failed.n == 1 else 'are'} not in the set.",))
    if good := claims.get("good"):
        passages = f"{good.value:g} passage{'' if good.value == 1 else 's'}"
        lede.append((f"The median question has {passages} of grade 4 or 5.",))
    sure, unclaimed = _make_claims_on_ranking_certainty(golden), _make_unclaimed_questions_claim(golden)
    lede += [
        (text,)
        for text in (_say_judge_calls_and_cost(golden), _say_order_certainty(golden, sure), say_judge_doubts(golden))
        if text
    ]
    return VerdictText((heading,), tuple(lede), (*claims.values(), *sure, *unclaimed))


def _make_unclaimed_questions_claim(golden: GoldenRunRecord) -> tuple[Claim, ...]:
    """Of how many of the questions that are done nothing is claimed; none where the judge gives no reason."""
    if golden.ranking is None or not golden.ranking.doubts:
        return ()
    done = [query for query in golden.queries if query.status == "done"]
    return (make_count_claim("nothing claimed", sum(bool(query.doubts) for query in done), len(done)),)


def _make_claims_on_ranking_certainty(golden: GoldenRunRecord) -> tuple[Claim, ...]:
    """State how sure the engine expects the judge's order to be; none where it expects nothing."""
    ranking = golden.ranking
    if ranking is None or not ranking.claims:
        return ()
    done = [query for query in golden.queries if query.status == "done"]
    about = make_count_claim("claimed", sum(bool(query.claims) for query in done), len(done))
    expected = (
        make_value_claim(ranking.engine, name, ranking.claims[name], kind="expected")
        for name in ("overlap", "set_errors_at_most_1")
        if name in ranking.claims
    )
    return (about, *expected)


def _say_judge_calls_and_cost(golden: GoldenRunRecord) -> str:
    """What the judge was asked, and for how much."""
    judge = golden.judge
    if judge is None:
        return ""
    counts = {answer.kind: answer.calls for answer in judge.answers}
    calls = golden.ranking.calls_per_query if golden.ranking else None
    per = f" ({calls:.1f} per question)" if calls else ""
    grades = numbers.format_noun_count(counts.get("grade", 0), "grade")
    orders = numbers.format_noun_count(counts.get("order", 0), "ranking")
    if judge.usd is None:
        return f"The judge gave {grades} and {orders}{per}; its price is unknown."
    return f"The judge gave {grades} and {orders}{per} for {format_dollars(judge.usd)}."


def _say_order_certainty(golden: GoldenRunRecord, claims: Sequence[Claim]) -> str:
    """The claims of the engine in a sentence; empty where it makes none."""
    expected = {claim.measure: claim.value or 0.0 for claim in select_claims_of_kind(claims, "expected")}
    if not expected:
        return ""
    about, parts = claims[0], []
    if "overlap" in expected:
        parts.append(
            f"{numbers.format_percent(expected['overlap'], 1)} of the first {golden.settings.top} belong there"
        )
    if (chance := expected.get("set_errors_at_most_1")) is not None:
        parts.append(f"at most one of them does not, with probability {chance:.2f}")
    over = f"over {about.n} of {numbers.format_noun_count(about.of, 'question')}"
    expected_of_order = ", and that ".join(parts)
    return f"For the judge's own order, {claims[1].subject} expects, on average {over}, that {expected_of_order}."


def _make_golden_run_facts_line(golden: GoldenRunRecord, record: RunRecord) -> PageFactsLine:
    datasets = [dataset["name"] for dataset in record.list_dataset_manifest_entries]
    return PageFactsLine.of(
        "golden", "RAG, golden set", *datasets, numbers.format_noun_count(len(golden.queries), "question"),
        f"judged by {shorten_judge_name(golden.settings.judge)}", f"ordered by {golden.settings.ranking}",
        *([f"profile {golden.settings.profile}"] if golden.settings.profile else [])
    )  # fmt: skip


def _say_tokens_per_candidate(golden: GoldenRunRecord) -> str:
    tokens = golden.tokens
    if tokens is None:
        return ""
    return (
        f"Tokens per candidate as the judge reads it (question and passage): mean {tokens.mean:.1f}, SD {tokens.sd:.1f}"
        + (
            f", median {tokens.median:g}, largest {numbers.format_count(tokens.largest)}"
            if tokens.median is not None and tokens.largest
            else ""
        )
        + f"; n = {numbers.format_count(tokens.n)}, tokenizer: {tokens.tokenizer}."
    )


def _list_judge_facts(golden: GoldenRunRecord) -> tuple[tuple[str, str], ...]:
    judge_facts = golden.judge
    if judge_facts is None:
        return ()
    tokens = (
        f"{numbers.format_count(judge_facts.input_tokens)}, {numbers.format_count(judge_facts.output_tokens)}"
        if judge_facts.requests
        else ""
    )
    facts = [
        ("judge", judge_facts.name),
        ("model", judge_facts.model if judge_facts.model != judge_facts.name else ""),
        (
            "temperature, top p",
            "" if judge_facts.temperature is None else f"{judge_facts.temperature:g}, {judge_facts.top_p}",
        ),
        *((f"instructions, {kind}", text) for kind, text in judge_facts.prompts.items()),
        ("tokens in, out", tokens),
        (
            "asked now, from the cache",
            f"{judge_facts.asked}, {judge_facts.cached}" if judge_facts.asked is not None else "",
        ),
        ("cost", "price not known" if judge_facts.usd is None else format_dollars(judge_facts.usd)),
    ]
    return tuple((name, value) for name, value in facts if value)


def _say_calls_per_question(golden: GoldenRunRecord) -> str:
    """Say how many calls the questions took."""
    calls = sorted(query.calls for query in golden.queries if query.status == "done")
    if not calls or not calls[-1]:
        return ""
    middle = calls[len(calls) // 2]
    return (
        f"Calls per question: median {middle}, range {calls[0]} to {calls[-1]}; "
        f"{numbers.format_count(sum(calls))} in all."
    )


def _queries_table(queries: Sequence[GoldenQuerySummary]) -> Table:
    """Every question with its counts."""
    columns = ("State", "Pool", "Grade 5", "4", "3", "2", "1", "Ordered", "Calls")
    return Table(
        "questions",
        "Every question",
        "Question",
        columns,
        tuple(_golden_query_row(query) for query in queries),
        digits=0,
    )


def _golden_query_row(query: GoldenQuerySummary) -> LabelledTableRow:
    counts = (query.pool, *(reversed(query.grades) if query.grades else (None,) * 5), query.kept, query.calls)
    why = f"{query.stage}: {query.reason}" if query.reason else "not there yet"
    cells = (_make_count_cell_or_reason(value, why if query.status != "done" and not value else "") for value in counts)
    return LabelledTableRow(query.query_id, (TableCell(query.status), *cells))


def _make_count_cell_or_reason(value: int | None, why: str) -> TableCell:
    if value is None or why:
        return TableCell(numbers.NONE, why=why or "no grades")
    return TableCell(numbers.format_count(value), exact=str(value))


def _list_golden_settings(golden: GoldenRunRecord) -> tuple[tuple[str, str], ...]:
    settings = golden.settings
    named = [
        ("corpus", settings.corpus),
        ("questions", settings.queries),
        ("encoder", settings.encoder),
        ("rewriter", settings.rewriter),
        ("ranking", settings.ranking),
        ("top ranks that matter", str(settings.top)),
        ("minimum passages to order", str(settings.minimum)),
        ("seed", str(settings.seed)),
    ]
    named += [
        (f"{stage} {name}", str(value))
        for stage, values in settings.parameters.items()
        for name, value in values.items()
        if value is not None
    ]
    return tuple(named)


CHECK = "human_check.csv"
TERMINAL_COLUMNS: tuple[str | Column, ...] = (
    "Quantity",
    *make_number_columns("Median", "Mean", "From", "To"),
    Column("What it is", style="wrap"),
)


def golden_set_view(golden: GoldenRunRecord, run: Path) -> Iterator[Block]:
    """A golden set: verdict, table, notes and paths."""
    yield describe_golden_verdict(golden)
    yield Table.of("golden", TERMINAL_COLUMNS, _golden_summary_rows(golden))
    yield CautionNotes(tuple(_golden_notes(golden)))
    if paths := "\n".join(_describe_exported_files(golden, run)):
        yield ParagraphBlock((CommandInSentence(paths),))


def _golden_summary_rows(golden: GoldenRunRecord) -> Iterator[list[str]]:
    """Labels, calls, claims and steadiness, one row each."""
    for name, title in LABELS:
        labels = (golden.labels.get(f"{name}_{of}") for of in ("median", "mean"))
        values = (numbers.NONE if value is None else f"{value:.1f}" for value in labels)
        yield [title, *values, "", "", "passages per question"]
    calls = [query.calls for query in golden.queries if query.status == "done"]
    if any(calls):
        spread = (f"{median(calls):g}", f"{mean(calls):.1f}", str(min(calls)), str(max(calls)))
        yield ["Calls", *spread, "ordering calls to the judge per question"]
    yield from _iterate_ranking_engine_claim_rows(golden)
    yield from _repeatability_rows(golden)


def _iterate_ranking_engine_claim_rows(golden: GoldenRunRecord) -> Iterator[list[str]]:
    """What the engine claims: that for which it has a target, or all where it has none."""
    done = [query.claims for query in golden.queries if query.status == "done"]
    wanted = read_targets_of_ranking_engine(golden.settings.ranking)
    for name in wanted or CLAIMS:
        values = [claims[name] for claims in done if name in claims]
        if values:
            figures = (median(values), mean(values), min(values), max(values))
            aim = f"; stops at {wanted[name]:g}" if wanted else ""
            words = CLAIMS[name].format(top=golden.settings.top) + aim
            yield ["Claimed", *(numbers.format_score(figure) for figure in figures), words]


def _repeatability_rows(golden: GoldenRunRecord) -> Iterator[list[str]]:
    """What was judged twice: the value and its interval."""
    repeat, ranking = golden.repeated, golden.ranking
    found: list[tuple[str, Estimate | None, str]] = []
    if repeat is not None and not repeat.reason:
        found.extend(
            (
                ("Same grade", repeat.exact, "share of passages graded twice"),
                ("Turned round", repeat.discordant, "share of pairs that a repeat orders differently"),
            )
        )
    if golden.rank_agreement is not None:
        found.append(("As the search", golden.rank_agreement, "share of pairs graded in the same order as the search"))
    if ranking is not None and ranking.contradictions is not None:
        found.append(("Contradicted", ranking.contradictions.share, "share of pairs shown twice and ordered both ways"))
    for title, figure, what in found:
        if figure is not None and figure.value is not None:
            ends = ("" if end is None else numbers.format_score(end) for end in (figure.low, figure.high))
            yield [title, "", numbers.format_score(figure.value), *ends, f"{what}; 95% interval"]


def _golden_notes(golden: GoldenRunRecord) -> Iterator[str]:
    if golden.failed:
        total = numbers.format_noun_count(len(golden.queries), "question")
        yield f"{len(golden.failed)} of {total} failed: {describe_failed_questions(golden.failed)}."
    yield from list_judge_warnings(golden)
    if note := say_why_judging_stopped(golden):
        yield note
    if note := say_judge_doubts(golden):
        yield note
    yield from golden.ranking.notes if golden.ranking is not None else ()
    if golden.repeated is None or golden.repeated.reason:
        why = golden.repeated.reason if golden.repeated is not None else "use --repeat to judge some items twice"
        yield f"Nothing was judged twice: {why}."
    if golden.tokens is not None:
        tokens = golden.tokens
        yield (
            f"Tokens per candidate ({tokens.tokenizer}): mean {tokens.mean:.1f}, SD {tokens.sd:.1f}, "
            f"n = {numbers.format_count(tokens.n)}."
        )
    yield from (note for note in golden.notes if not (golden.failed and "questions failed" in note))


def _describe_exported_files(golden: GoldenRunRecord, run: Path) -> Iterator[str]:
    if "qrels" in golden.exports:
        yield f"Judgements: {run / golden.exports['qrels']}"
    check = run / CHECK
    if check.exists():
        yield f"For a person to edit: {check}; then run embassay rag check score {run} {check}"
    report = run / "report.html"
    if report.exists():
        yield f"Report: {report}"
