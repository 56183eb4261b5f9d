"""What a golden run concludes: what it has brought so far, its record, and the rows and tables made from that."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median, pstdev
from typing import Any

from embassay.protocols.kernel.claims import Claim, make_count_claim, make_value_claim
from embassay.protocols.kernel.tables import (
    Column,
    ColumnTable,
    ComputedColumn,
    format_noun_count,
    number_column,
    text,
    whole_number_column,
)
from embassay.protocols.rag.golden import summary
from embassay.protocols.rag.golden.candidates import read_stored_rewrite_row
from embassay.protocols.rag.golden.corpus import GoldenRunResources
from embassay.protocols.rag.golden.grades import count_grades_of_pool, summarise_label_counts
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.stages import (
    STAGES,
    QueryStatusWithLastStage,
    QueryWithFolder,
    States,
    read_json_line_rows,
)
from embassay.protocols.rag.golden.summary import GoldenRunRecord
from embassay.protocols.rag.golden.trust import describe_passages_addressing_judge
from embassay.protocols.rag.judges import build_judge_record
from embassay.protocols.rag.ranking import JudgeOrderAnswer, PoolPassage
from embassay.protocols.rag.ranking.reliability import (
    QueryOrderAnswers,
    count_contradictions_and_circles,
    estimate_judge_noise,
    estimate_place_gains,
    list_notes_on_judge_position_bias,
)
from embassay.records import ResultRow
from embassay.stats import Estimate

Row = Mapping[str, Any]


@dataclass(frozen=True)
class QueryProgress:
    """A query as far as it has come: `rows` are its graded passages (S4) with what S6 says of those it ordered, `calls`
    the answers that S6 is made from, `tokens` of all its candidates (S3)."""

    state: QueryStatusWithLastStage
    rewrite: str = ""
    rows: Sequence[Row] = ()
    kept: int = 0
    cut_stage: int = 0
    calls: Sequence[Row] = ()
    stopped: str = ""
    claims: Mapping[str, float] = field(default_factory=dict)
    doubts: Sequence[str] = ()
    tokens: Sequence[int] = ()

    @property
    def is_in_golden_set(self) -> bool:
        """Whether it belongs to the golden set."""
        return self.state.status == "done"

    @property
    def grades(self) -> list[int]:
        """The grades of all passages that have one."""
        return [row["grade"] for row in self.rows if row["grade"] is not None]

    @property
    def list_passages_by_final_rank(self) -> list[Row]:
        """The passages that S6 ordered, best first."""
        return sorted((row for row in self.rows if "final_rank" in row), key=lambda row: int(row["final_rank"]))

    def make_query_order_answers(self) -> QueryOrderAnswers:
        """Candidates and answers as the reports of rankings take them."""

        rows = sorted(self.list_passages_by_final_rank, key=lambda row: int(row["rank_rrf"]))
        place = {row["doc_id"]: position for position, row in enumerate(rows)}
        candidates = tuple(PoolPassage(row["doc_id"], row["grade"], row["rank_rrf"]) for row in rows)
        calls = tuple(
            JudgeOrderAnswer(tuple(place[key] for key in call["shown"]), tuple(place[key] for key in call["order"]))
            for call in self.calls
        )
        return QueryOrderAnswers(candidates, calls)


def gather_query_progress(states: States, options: GoldenOptions) -> list[QueryProgress]:
    """All queries, in the order of the run."""
    return [_gather_one_query_progress(state, options) for state in states]


def _gather_one_query_progress(state: QueryStatusWithLastStage, options: GoldenOptions) -> QueryProgress:
    folder, through = state.folder, state.is_stage_done
    rewrite = read_query_rewrite_text(state) if through("S1") else ""
    if not through("S4"):
        merged = read_json_line_rows(folder.fused_list_path) if through("S3") else []
        return QueryProgress(state, rewrite, tokens=[row["tokens"] for row in merged])
    scored = read_json_line_rows(folder.scores)
    tokens = [row["tokens"] for row in scored]
    if not through("S6"):
        return QueryProgress(state, rewrite, scored, tokens=tokens)
    order = {row["doc_id"]: row for row in read_json_line_rows(folder.order)}
    rows = [{**row, **order.get(row["doc_id"], {})} for row in scored]
    checkpoint = json.loads(folder.ranking_checkpoint_path.read_text("utf-8"))
    pruned = read_json_line_rows(folder.get_path_of_best_grade_buckets(options.minimum))
    return QueryProgress(
        state, rewrite, rows, len(pruned), pruned[0]["cut_stage"] if pruned else 0,
        list(_read_logged_judge_calls(state)),
        checkpoint["stopped"], checkpoint["claims"], checkpoint.get("doubts", ()), tokens
    )  # fmt: skip


def read_query_rewrite_text(state: QueryStatusWithLastStage) -> str:
    """The rewriting of a query."""

    return str(read_stored_rewrite_row(QueryWithFolder(state.id, state.text, state.folder))["text_rewrite"])


def _read_logged_judge_calls(state: QueryStatusWithLastStage) -> Iterator[Row]:
    """The answers in the log; its first line says what they belong to."""
    return (row for row in read_json_line_rows(state.folder.calls)[1:] if "order" in row)


TITLES: Mapping[str, str] = {
    "S1": "Rewrite and embed",
    "S2": "Retrieve",
    "S3": "Merge",
    "S4": "Grade",
    "S5": "Prune",
    "S6": "Order",
}
FAILED_LOUDLY = 0.05
"""Over this share of failed queries a golden set is no longer one of the questions that were asked."""
_NOISE_QUERIES = 40
"""Queries from which the judge's noise is estimated: the model is fitted anew to each."""


def summarise_golden_settings(work: GoldenRunResources, profile: str) -> summary.GoldenRunSettings:
    """Summarise what the run was asked for."""
    request, options = work.request, work.request.options
    return summary.GoldenRunSettings(
        corpus=request.corpus or request.dataset,
        queries=request.queries or request.dataset,
        encoder=work.encoder.name,
        rewriter=work.question_rewriter.name,
        judge=work.judge.name,
        ranking=request.ranking_engine_spec,
        seed=request.seed,
        profile=profile,
        top=options.top,
        minimum=options.minimum,
        parameters={
            "S1": {"nfc": options.nfc},
            "S2": {
                "depth": options.depth, "bm25_k1": options.bm25_k1, "bm25_b": options.bm25_b,
                "chunk": options.chunk, "overlap": options.overlap if options.chunk else None,
            },
            "S3": {"rrf_c": options.rrf_c, "tokenizer": request.tokenizer},
            "S4": {"judge_question": options.judge_question, "failed": options.failed},
        }
    )  # fmt: skip


def summarise_golden_stages(
    told: Mapping[str, Mapping[str, Any]], queries: Sequence[QueryProgress]
) -> tuple[summary.GoldenStageSummary, ...]:
    """How each stage went, with sums of what it counted."""
    counted = {
        "S1": (), "S2": ("dense", "sparse"), "S3": ("candidates", "both"), "S4": ("graded", "ungraded", "attempts"),
        "S5": ("kept",), "S6": ("ranked", "calls")
    }  # fmt: skip
    stages = []
    for name in STAGES:
        if name not in told:
            continue
        row = told[name]
        sums = {key: sum(query.state.counts.get(key, 0) for query in queries) for key in counted[name]}
        stages.append(
            summary.GoldenStageSummary(
                name, TITLES[name], row["done"], row["kept"], row["failed"], row["seconds"], sums
            )
        )
    return tuple(stages)


def make_golden_query_summary(one: QueryProgress) -> summary.GoldenQuerySummary:
    """A query in the record."""
    state = one.state
    return summary.GoldenQuerySummary(
        query_id=state.id,
        text=state.text,
        folder=state.folder.name,
        status=state.status,
        rewrite=one.rewrite,
        stage=state.stage,
        reason=state.reason,
        pool=len(one.rows),
        grades=count_grades_of_pool(state.id, one.grades).counts if one.rows else (),
        kept=one.kept,
        cut_stage=one.cut_stage,
        calls=len(one.calls),
        stopped=one.stopped,
        claims=one.claims,
        doubts=tuple(one.doubts),
    )


def summarise_candidate_tokens(queries: Sequence[QueryProgress], tokenizer: str) -> summary.TokensPerCandidate | None:
    """Tokens per candidate over all pools (spec rag 3.1); None where no pool is there."""
    counts = [count for query in queries for count in query.tokens]
    if not counts:
        return None
    # Not `stdev`, which refuses a single value: the deviation of one is 0.
    sd = pstdev(counts) * math.sqrt(len(counts) / max(1, len(counts) - 1))
    return summary.TokensPerCandidate(
        tokenizer, float(mean(counts)), float(sd), len(counts), float(median(counts)), max(counts)
    )


def summarise_golden_set_labels(queries: Sequence[QueryProgress], validated: int) -> dict[str, float | None]:
    """The label summary of the queries in the golden set, of which people have checked some."""
    done = [count_grades_of_pool(query.state.id, query.grades) for query in queries if query.is_in_golden_set]
    return summarise_label_counts(done, validated=validated)


def summarise_judge_calls_and_cost(
    work: GoldenRunResources, queries: Sequence[QueryProgress], told: Mapping[str, Mapping[str, Any]]
) -> summary.JudgeFacts:
    """Who judged, how many attempts it took, and what it cost."""
    facts, counts = build_judge_record(work.judge), getattr(work.judge, "counts", None)
    journal: Any = work.ledger.journal
    spent = journal.sum_spending_by_account().get(work.judge.name) if journal is not None else None
    grades = [row for query in queries for row in query.rows if row["grade"] is not None]
    orders = [call for query in queries for call in query.calls]
    failed = {stage: told.get(stage, {}).get("failed", 0) for stage in ("S4", "S6")}
    return summary.JudgeFacts(
        name=work.judge.name,
        identity=work.judge.identity,
        model=", ".join(sorted({row["model"] for row in grades})) or facts["model"],
        temperature=facts["temperature"],
        top_p=facts["top_p"],
        prompts=facts.get("prompts", {}),
        answers=(
            _count_judge_attempts_and_faults("grade", grades, failed["S4"]),
            _count_judge_attempts_and_faults("order", orders, failed["S6"]),
        ),
        asked=counts.asked if counts else None,
        cached=counts.cached if counts else None,
        usd=spent.usd if spent else None if counts else 0.0,
        input_tokens=spent.input_tokens if spent else 0,
        output_tokens=spent.output_tokens if spent else 0,
        requests=spent.requests if spent else 0,
        seconds=spent.seconds if spent else None,
    )


def _count_judge_attempts_and_faults(
    kind: str, rows: Sequence[Mapping[str, Any]], failed: int
) -> summary.JudgeCallCounts:
    attempts = Counter(row["attempts"] for row in rows)
    faults = Counter(text.partition(":")[0] for row in rows for text in row["rejected"])
    most = max(attempts, default=0)
    return summary.JudgeCallCounts(
        kind, len(rows), tuple(attempts[n] for n in range(1, most + 1)), dict(faults.most_common()), failed
    )


def summarise_pool_orders_and_judge(
    engine: str, queries: Sequence[QueryProgress], seed: int
) -> summary.RankingEngineRunSummary:
    """How the pools were ordered, and what the answers say of the judge."""

    done = [query for query in queries if query.is_in_golden_set]
    calls = sum(len(query.calls) for query in done)
    names = sorted({name for query in done for name in query.claims})
    claims = {name: mean(query.claims[name] for query in done if name in query.claims) for name in names}
    judged = [query.make_query_order_answers() for query in done]
    return summary.RankingEngineRunSummary(
        engine=engine,
        calls=calls,
        calls_per_query=calls / len(done) if done else None,
        stopped=dict(Counter(query.stopped for query in done).most_common()),
        claims=claims,
        doubts=dict(Counter(doubt for query in done for doubt in query.doubts).most_common()),
        contradictions=_estimate_contradictions(judged, seed) if calls else None,
        place_bias=_estimate_position_bias(judged, seed) if calls else (),
        notes=list_notes_on_judge_position_bias(judged, seed=seed),
    )


def _estimate_contradictions(judged: Sequence[Any], seed: int) -> summary.ContradictedPairShare:

    pairs = count_contradictions_and_circles(judged, seed=seed)
    noise = estimate_judge_noise(judged[:_NOISE_QUERIES], seed=seed)
    none = Estimate(None, reason="no pair of passages was shown twice")
    return summary.ContradictedPairShare(pairs.pairs, pairs.contradicted, pairs.share or none, noise)


def _estimate_position_bias(judged: Sequence[Any], seed: int) -> tuple[summary.JudgePositionBias, ...]:

    places = estimate_place_gains(judged, seed=seed)
    gains: Iterable[Estimate] = places.gains if places else ()
    return tuple(
        summary.JudgePositionBias(place, gain) for place, gain in enumerate(gains, start=1) if gain.value is not None
    )


def list_golden_notes(work: GoldenRunResources, queries: Sequence[QueryProgress]) -> tuple[str, ...]:
    """What a reader should know before trusting the set."""
    notes = [f"{left.reason}: {left.count:,} ({', '.join(left.examples)})" for left in work.read.skipped]
    notes += work.read.warnings
    notes += work.warnings
    notes += _describe_ungraded_passages(queries)
    notes += describe_passages_addressing_judge(queries)
    failed = [query for query in queries if query.state.status == "failed"]
    if len(failed) > FAILED_LOUDLY * len(queries):
        notes.insert(
            0,
            f"{len(failed)} of {len(queries)} questions failed (over {FAILED_LOUDLY:.0%}), so the set "
            "does not represent the questions asked.",
        )
    return tuple(notes)


GOOD = "grade4plus5_count_median"


def make_golden_set_claims(statuses: Sequence[str], labels: Mapping[str, float | None]) -> dict[str, Claim]:
    """What became of the questions, and what those that are done hold, by kind. `statuses` are theirs."""
    done = sum(status == "done" for status in statuses)
    claims = {
        "done": make_count_claim("done", done, len(statuses)),
        "failed": make_count_claim("failed", sum(status == "failed" for status in statuses), len(statuses)),
    }
    if done and labels.get(GOOD) is not None:
        claims["good"] = make_value_claim("the median question", GOOD, labels[GOOD], kind="good")
        none = int(labels.get("queries_without_grade4plus5") or 0)
        claims["without good"] = make_count_claim("without good", none, done)
    return claims


def _describe_ungraded_passages(queries: Sequence[QueryProgress]) -> Iterator[str]:
    """How many passages of the golden set have no grade, and what that may change."""
    pools = [query.rows for query in queries if query.is_in_golden_set]
    missing = [sum(row["grade"] is None for row in rows) for rows in pools]
    if not any(missing):
        return
    total, touched = sum(map(len, pools)), sum(map(bool, missing))
    yield (
        f"{sum(missing):,} of {total:,} passages, in {touched:,} of {len(pools):,} questions, have no "
        "grade because the judge's answers could not be read. They are missing from the judgements, so measures "
        "treat them as irrelevant, and systems that find them score too low. To leave out their questions "
        "instead, use --failed leave-out."
    )


def phrase_golden_verdict(queries: Sequence[QueryProgress], labels: Mapping[str, float | None]) -> str:
    """What came out, in a sentence or two."""
    claims = make_golden_set_claims([query.state.status for query in queries], labels)
    done = claims["done"]
    if not done.n:
        return "No question has passed all stages yet."
    failed = f" {claims['failed'].n} failed." if claims["failed"].n else ""
    have = "has" if done.of == 1 else "have"
    said = f"{done.n:,} of {format_noun_count(done.of, 'question')} {have} graded and ordered passages"
    if "good" not in claims:
        return f"{said}.{failed}"
    none = claims["without good"].n
    lacking = f" {none} {'question has' if none == 1 else 'questions have'} none." if none else ""
    return f"{said}, with {claims['good'].value:g} graded 4 or 5 per question (median).{lacking}{failed}"


TASK = "golden"
HEADLINE = GOOD


def make_golden_result_rows(golden: GoldenRunRecord, dataset: str, lang: str) -> list[ResultRow]:
    """One row per quantity, the headline first."""
    quantities = dict(_list_golden_quantities(golden))
    ordered = {HEADLINE: quantities[HEADLINE], **quantities} if HEADLINE in quantities else quantities
    return [
        ResultRow(
            "rag", TASK, dataset, "", lang, "", golden.settings.judge, name, fig.value, fig.n, fig.low, fig.high,
            seed=golden.settings.seed, reason=fig.reason or ("" if fig.value is not None else "no question is done"),
        )
        for name, fig in ordered.items()
    ]  # fmt: skip


def _list_golden_quantities(golden: GoldenRunRecord) -> Iterator[tuple[str, Estimate]]:
    done = sum(query.status == "done" for query in golden.queries)
    for name, value in golden.labels.items():
        yield name, Estimate(value, n=done)
    yield "queries_failed", Estimate(float(len(golden.failed)), n=len(golden.queries))
    if golden.tokens is not None:
        yield "tokens_per_candidate_mean", Estimate(golden.tokens.mean, n=golden.tokens.n)
        yield "tokens_per_candidate_sd", Estimate(golden.tokens.sd, n=golden.tokens.n)
    if golden.ranking is not None:
        yield "calls_per_query", Estimate(golden.ranking.calls_per_query, n=done)
        for name, value in golden.ranking.claims.items():
            yield f"claimed_{name}", Estimate(value, n=done)
        if golden.ranking.contradictions is not None:
            yield "contradicted_pairs", golden.ranking.contradictions.share
            if golden.ranking.contradictions.noise is not None:
                yield "judge_noise", golden.ranking.contradictions.noise
    yield from _list_judge_quantities(golden)


def _list_judge_quantities(golden: GoldenRunRecord) -> Iterator[tuple[str, Estimate]]:
    if golden.rank_agreement is not None:
        yield "rank_agreement", golden.rank_agreement
    if golden.repeated is not None and not golden.repeated.reason:
        for name in ("exact", "within_one", "kappa", "shift", "discordant"):
            agreement = getattr(golden.repeated, name)
            if agreement is not None:
                yield f"repeat_{name}", agreement


def build_golden_tables(golden: GoldenRunRecord) -> list[ColumnTable]:
    """The label summary, tokens per candidate (the source's table 14), stages, queries, and the judge's repeats."""
    tables = [
        _make_label_summary_table(golden.labels),
        _make_stages_table(golden),
        _make_golden_questions_table(golden),
    ]
    if golden.tokens is not None:
        tables.append(_make_candidate_tokens_table(golden))
    if golden.repeated is not None and golden.repeated.table:
        tables.append(_build_judge_regrading_table(golden.repeated.table))
    return tables


def _make_label_summary_table(labels: Mapping[str, float | None]) -> ColumnTable:
    return ColumnTable.of(
        "label_summary", "Golden set labels", labels, text("quantity", str), number_column("value", labels.get)
    )


def _make_stages_table(golden: GoldenRunRecord) -> ColumnTable:
    return ColumnTable.of(
        "stages", "Stages", golden.stages, text("stage", "name"), text("does", "title"),
        whole_number_column("done"), whole_number_column("kept"),
        whole_number_column("failed"), number_column("seconds", decimals=1),
        text("counts", lambda stage: _phrase_counts(stage.counts))
    )  # fmt: skip


def _make_golden_questions_table(golden: GoldenRunRecord) -> ColumnTable:
    return ColumnTable.of(
        "queries", "Questions", golden.queries, text("query_id"), text("status"), whole_number_column("pool"),
        *map(_make_grade_count_field, (5, 4, 3, 2, 1)), whole_number_column("kept"),
        whole_number_column("calls"), text("stopped"), text("reason")
    )  # fmt: skip


def _make_grade_count_field(grade: int) -> ComputedColumn:
    """How many passages of a question have the grade; None where none is graded."""
    return whole_number_column(f"grade {grade}", lambda query: query.grades[grade - 1] if query.grades else None)


def _make_candidate_tokens_table(golden: GoldenRunRecord) -> ColumnTable:
    return ColumnTable.of(
        "rag_table14", "Tokens per candidate (question plus passage)", [golden.tokens], text("tokenizer"),
        whole_number_column("candidates", "n"), number_column("mean", decimals=1),
        number_column("sd", decimals=1), whole_number_column("median"),
        whole_number_column("largest")
    )  # fmt: skip


def _build_judge_regrading_table(table: tuple[tuple[int, ...], ...]) -> ColumnTable:
    columns = (Column("first grade", decimals=0), *(Column(f"then {grade}", decimals=0) for grade in range(1, 6)))
    rows = tuple((grade, *row) for grade, row in enumerate(table, start=1))
    return ColumnTable("judge_repeats", "Passages graded twice", columns, rows)


def _phrase_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
