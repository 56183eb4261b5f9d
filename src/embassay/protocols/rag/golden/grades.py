"""S4 and S5: a grade for every passage of every question, what they look like, the best buckets (spec rag 4).

A passage that gets no grade is counted as ungraded, with the reason; nothing stands in for it, and its question goes on
without it (or, on request, is left out). What was graded before by the same judge, for the same texts, is not asked for
again.

A bucket is never cut, since nothing in its grade says which of its passages are better: far more than the minimum may
be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay
from embassay.measures.judgements import GRADES
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.protocols.rag.golden.corpus import GoldenRunResources
from embassay.protocols.rag.golden.refinement import (
    Entry,
    JudgeCallLog,
    PoolOrderingSettings,
    QuestionCandidatePool,
    RefinedPoolOrder,
    RefinementListener,
    format_judge_call_log,
    order_candidate_pools,
)
from embassay.protocols.rag.golden.stages import (
    Done,
    QueryStageOutput,
    QueryWithFolder,
    StageInputFile,
    hash_stage_input_file,
    read_json_line_rows,
)
from embassay.protocols.rag.golden.trust import FIRST, check_judge_grades_first_passages
from embassay.protocols.rag.judges import GradeVerdict, Judge, Passage, Question, build_judge_record
from embassay.protocols.rag.ranking import PoolPassage
from embassay.protocols.rag.ranking.engines import ENGINES, estimate_engine_calls
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import digest_json, format_json_lines, format_value_as_json, write_file_atomically, write_json
from embassay.systems.remote.calls import run_in_remote_loop_and_wait

Key = tuple[str, str]
"""Question id and passage id."""
Pair = tuple[Question, Passage]
Keep = Callable[[Question, Passage, GradeVerdict], None]


@dataclass(frozen=True)
class UngradedPassage:
    """A passage without a grade: why, and what was wrong with each answer to it."""

    query_id: str
    doc_id: str
    reason: str
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True)
class PassageGradeVerdicts:
    """The verdicts by question and passage, and what has none, both in the order in which they were asked for."""

    verdicts: Mapping[Key, GradeVerdict]
    ungraded: tuple[UngradedPassage, ...]

    @property
    def failed(self) -> Mapping[str, str]:
        """The questions that failed: id -> why, in one line."""
        by_query: dict[str, list[UngradedPassage]] = {}
        for passage in self.ungraded:
            by_query.setdefault(passage.query_id, []).append(passage)
        return {query: _explain_ungraded(passages) for query, passages in by_query.items()}


def make_question_passage_key(pair: Pair) -> Key:
    """The ids of a question and a passage."""
    return pair[0].id, pair[1].id


async def grade_all_pairs(
    judge: Judge,
    asked: Sequence[Pair],
    kept: Mapping[Key, GradeVerdict],
    keep: Keep,
    *,
    draw: int = 0,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> PassageGradeVerdicts:
    """A verdict for each pair that is `asked` and not `kept` already; each is given to `keep` the moment it comes.

    At most `at_once` pairs are worked on at a time; the pace of the judge decides how many requests are in flight.
    `progress` is called with 1 for each pair that was asked for. ModelError for a judge that cannot be had or cannot be
    read (see `FIRST`), BudgetExceeded at the limit of cost: both after what was in flight has been kept.
    """
    waiting = list(
        {
            make_question_passage_key(pair): pair for pair in asked if make_question_passage_key(pair) not in kept
        }.values()
    )
    verdicts: dict[Key, GradeVerdict] = {}
    ungraded: dict[Key, UngradedPassage] = {}
    # A judge that has graded before needs no trial.
    trials = FIRST if not kept and len(waiting) > sum(FIRST) else ()
    ends = (*accumulate(trials), len(waiting))
    for trial, (start, end) in enumerate(pairwise((0, *ends))):
        part = waiting[start:end]
        jobs = (partial(judge.grade, *pair, draw=draw) for pair in part)
        async for position, outcome in run_concurrent_jobs(jobs, at_once=at_once, progress=progress):
            pair = part[position]
            if isinstance(outcome, CallFailure):
                rejected = tuple(getattr(outcome.error, "rejected", ()))
                ungraded[make_question_passage_key(pair)] = UngradedPassage(
                    *make_question_passage_key(pair), outcome.reason, rejected
                )
            else:
                verdicts[make_question_passage_key(pair)] = outcome
                keep(*pair, outcome)
        if trial < len(trials):
            check_judge_grades_first_passages(judge.name, end, [passage.reason for passage in ungraded.values()])
    keys = list(dict.fromkeys(map(make_question_passage_key, asked)))
    every = {**kept, **verdicts}
    return PassageGradeVerdicts(
        {key: every[key] for key in keys if key in every}, tuple(ungraded[key] for key in keys if key in ungraded)
    )


def make_grade_verdict_json_line(pair: Pair, verdict: GradeVerdict, judge: Judge, ts: str) -> dict[str, Any]:
    """A verdict as one line of the file that grows while a question is graded; `find_reusable_verdicts` reads it
    back."""
    return {
        "qid": pair[0].id,
        "doc_id": pair[1].id,
        "grade": verdict.grade,
        "attempts": verdict.attempts,
        "rejected": list(verdict.rejected),
        "judge": digest_json(judge.identity),
        "texts": _fingerprint_pair_texts(pair),
        "ts": ts,
    }


def find_reusable_verdicts(
    rows: Iterable[Mapping[str, Any]], asked: Sequence[Pair], judge: Judge
) -> dict[Key, GradeVerdict]:
    """The verdicts of lines that the same judge (model, prompts, sampling) gave on the same texts; others are passed
    over, as are lines that are not whole."""
    pairs = {make_question_passage_key(pair): pair for pair in asked}
    by = digest_json(judge.identity)
    verdicts: dict[Key, GradeVerdict] = {}
    for row in rows:
        key = row.get("qid", ""), row.get("doc_id", "")
        grade = row.get("grade")
        if key not in pairs or row.get("judge") != by or row.get("texts") != _fingerprint_pair_texts(pairs[key]):
            continue
        # Not isinstance: JSON's true is an int to Python, and would be grade 1.
        if type(grade) is int and 1 <= grade <= 5:
            verdicts[key] = GradeVerdict(grade, int(row.get("attempts", 1)), tuple(row.get("rejected", ())))
    return verdicts


def make_graded_candidate_row(
    merged: Mapping[str, Any], verdict: GradeVerdict, judge: Judge, facts: Mapping[str, Any], ts: str
) -> dict[str, Any]:
    """A line of S4's artefact: the line of S3 as it is, with the grade and where it comes from. `facts` are
    `judges.about(judge)`."""
    return {
        **merged,
        "grade": verdict.grade,
        "model": facts["model"],
        "temperature": facts["temperature"],
        "top_p": facts["top_p"],
        "judge": digest_json(judge.identity),
        "attempts": verdict.attempts,
        "rejected": list(verdict.rejected),
        "ts": ts,
    }


def _fingerprint_pair_texts(pair: Pair) -> str:
    return digest_json([pair[0].text, pair[1].text])[:16]


def _explain_ungraded(ungraded: Sequence[UngradedPassage]) -> str:
    first = ungraded[0]
    others = f" and {len(ungraded) - 1} more" if len(ungraded) > 1 else ""
    return f"no grade for {first.doc_id}{others}: {first.reason}"


GRADES_VERSION = 1
Rows = list[dict[str, Any]]


@dataclass
class PassageGradingStage:
    """S4, which grades the passages of many questions at a time."""

    work: GoldenRunResources
    stage: str = "S4"
    _said: dict[Key, tuple[str, str]] = field(default_factory=dict)
    """When each verdict came, and from which model by its server's name."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": GRADES_VERSION,
            "judge": [work.judge.name, work.judge.identity],
            "judge_question": work.request.options.judge_question,
            "failed": work.request.options.failed,
        }

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        return (hash_stage_input_file(asked.folder.fused_list_path, self.work.run),)

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        work = self.work
        rows = {asked.id: read_json_line_rows(asked.folder.fused_list_path) for asked in waiting}
        pairs = {asked.id: self._list_question_passage_pairs(asked, rows[asked.id]) for asked in waiting}
        kept = {
            key: verdict
            for asked in waiting
            for key, verdict in self._find_earlier_verdicts_of_pairs(asked, pairs[asked.id]).items()
        }
        wanted = [pair for of_query in pairs.values() for pair in of_query]
        work.listener.stage(f"S4 grades by {work.judge.name}", len(wanted), "passages")
        work.listener.advanced_by(len(kept))
        folders = {asked.id: asked.folder for asked in waiting}
        verdicts = dict(kept)

        def store_verdict(question: Question, passage: Passage, verdict: GradeVerdict) -> None:
            verdicts[question.id, passage.id] = verdict
            self._append_verdict(folders[question.id].kept_verdicts_path, question, passage, verdict)

        try:
            with work.charge_calls_to("S4", work.judge.name):
                grading = run_in_remote_loop_and_wait(
                    lambda: grade_all_pairs(work.judge, wanted, kept, store_verdict, progress=work.listener.advanced_by)
                )
        # Whatever ended it, the limit of cost or Ctrl-C: questions that are graded whole are not lost.
        except BaseException:
            whole = [
                query
                for query in waiting
                if all(make_question_passage_key(pair) in verdicts for pair in pairs[query.id])
            ]
            self._write_graded_questions(whole, rows, PassageGradeVerdicts(verdicts, ()), done)
            raise
        return self._write_graded_questions(waiting, rows, grading, done)

    def _append_verdict(self, path: Path, question: Question, passage: Passage, verdict: GradeVerdict) -> None:
        """Write a verdict down at once."""
        ts, model = format_current_utc_time("milliseconds"), build_judge_record(self.work.judge)["model"]
        self._said[question.id, passage.id] = ts, model
        row = {**make_grade_verdict_json_line((question, passage), verdict, self.work.judge, ts), "model": model}
        path.parent.mkdir(parents=True, exist_ok=True)
        # In one write: a killed process leaves whole lines.
        with path.open("ab", buffering=0) as stream:
            stream.write((format_value_as_json(row) + "\n").encode())

    def _write_graded_questions(
        self, waiting: Sequence[QueryWithFolder], rows: Mapping[str, Rows], grading: PassageGradeVerdicts, done: Done
    ) -> Mapping[str, str]:
        """Write the artefact of every question whose passages are graded; the others have failed."""
        facts = build_judge_record(self.work.judge)
        may_lack = self.work.request.options.failed == "ungraded"
        failed = dict(grading.failed)
        for asked in waiting:
            candidates = rows[asked.id]
            verdicts = {row["doc_id"]: grading.verdicts.get((asked.id, row["doc_id"])) for row in candidates}
            if not any(verdicts.values()) or (asked.id in failed and not may_lack):
                failed.setdefault(asked.id, "no passage was graded")
                continue
            failed.pop(asked.id, None)
            scored = [self._make_graded_row(asked, row, verdicts[row["doc_id"]], facts) for row in candidates]
            graded = [row["grade"] for row in scored if row["grade"] is not None]
            counts = {f"grade_{grade}": graded.count(grade) for grade in (5, 4, 3, 2, 1)}
            attempts = sum(row["attempts"] for row in scored)
            done(
                asked,
                QueryStageOutput(
                    {asked.folder.scores: format_json_lines(scored)},
                    {"graded": len(graded), "ungraded": len(scored) - len(graded), "attempts": attempts, **counts},
                ),
            )
        return failed

    def _make_graded_row(
        self, asked: QueryWithFolder, row: Mapping[str, Any], verdict: GradeVerdict | None, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        ts, model = self._said.get((asked.id, row["doc_id"])) or (
            format_current_utc_time("milliseconds"),
            facts["model"],
        )
        source = {**facts, "model": model}
        if verdict is None:
            # The verdict stands in for the fields of the row; its grade is taken out again.
            return {**make_graded_candidate_row(row, GradeVerdict(1, 0), self.work.judge, source, ts), "grade": None}
        return make_graded_candidate_row(row, verdict, self.work.judge, source, ts)

    def _list_question_passage_pairs(self, asked: QueryWithFolder, rows: Rows) -> list[Pair]:
        question = self.work.question(asked, rows[0]["query_rewrite"])
        return [(question, Passage(row["doc_id"], row["text"])) for row in rows]

    def _find_earlier_verdicts_of_pairs(self, asked: QueryWithFolder, pairs: Sequence[Pair]) -> dict[Key, GradeVerdict]:
        """What the judge has said already of these passages: in a session that was killed, or in the artefact that
        this one replaces."""
        rows = [*self._read_earlier_graded_rows(asked), *_read_complete_verdict_rows(asked)]
        for row in rows:
            self._said[row.get("qid", ""), row.get("doc_id", "")] = row.get("ts", ""), row.get("model", "")
        return find_reusable_verdicts(rows, pairs, self.work.judge)

    def _read_earlier_graded_rows(self, asked: QueryWithFolder) -> Iterable[dict[str, Any]]:
        if not asked.folder.scores.exists():
            return
        for row in read_json_line_rows(asked.folder.scores):
            if row.get("grade") is None:
                continue
            question = self.work.question(
                QueryWithFolder(asked.id, row["question"], asked.folder), row["query_rewrite"]
            )
            verdict = GradeVerdict(row["grade"], row["attempts"], tuple(row["rejected"]))
            pair = (question, Passage(row["doc_id"], row["text"]))
            origin = {"judge": row["judge"], "model": row["model"]}
            yield {**make_grade_verdict_json_line(pair, verdict, self.work.judge, row["ts"]), **origin}


def _read_complete_verdict_rows(asked: QueryWithFolder) -> list[dict[str, Any]]:
    """The kept verdicts; a line that a kill cut in two is not there."""
    path = asked.folder.kept_verdicts_path
    if not path.exists():
        return []
    rows = []
    # A kill can cut a line within a character too.
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            row = parse_json_written_by_embassay(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


GOOD = 4
"""From this grade on a passage is one that a reader wants (spec rag 1.4)."""


@dataclass(frozen=True)
class PoolGradeCounts:
    """The graded pool of one question: how many passages of grade 1, 2, 3, 4, 5."""

    query_id: str
    counts: tuple[int, ...]

    @property
    def pool(self) -> int:
        """The size of the pool: its passages with a grade."""
        return sum(self.counts)

    @property
    def good(self) -> int:
        """The number of passages of grade 4 or 5."""
        return sum(self.counts[GOOD - 1 :])

    @property
    def good_passage_share(self) -> float | None:
        """The share of good passages in the pool; None for an empty one."""
        return self.good / self.pool if self.pool else None


def count_grades_of_pool(query_id: str, grades: Sequence[int]) -> PoolGradeCounts:
    """The counts of the grades of one question's pool (S4: all that were graded, spec rag 7.3)."""
    return PoolGradeCounts(query_id, tuple(sum(label == grade for label in grades) for grade in GRADES))


def summarise_label_counts(labels: Sequence[PoolGradeCounts], *, validated: int = 0) -> dict[str, float | None]:
    """The label summary table (spec rag 4.2) by name of the quantity, None where no question has any; `validated` are
    questions that people have checked. Prevalence is in percent, as in the paper's table."""
    five = [label.counts[4] for label in labels]
    four = [label.counts[3] for label in labels]
    good = [label.good for label in labels]
    shares = [100 * label.good_passage_share for label in labels if label.good_passage_share is not None]
    middles = {"grade5": five, "grade4": four, "grade4plus5": good}
    summary: dict[str, float | None] = {"n_queries": len(labels), "n_human_validated": validated}
    for name, values in middles.items():
        summary[f"{name}_count_median"] = float(median(values)) if values else None
        summary[f"{name}_count_mean"] = float(mean(values)) if values else None
    summary["grade4plus5_pool_prevalence_median_percent"] = float(median(shares)) if shares else None
    summary["grade4plus5_pool_prevalence_mean_percent"] = float(mean(shares)) if shares else None
    summary["pool_size_median"] = float(median([label.pool for label in labels])) if labels else None
    summary["queries_without_grade5"] = sum(not count for count in five)
    summary["queries_without_grade4plus5"] = sum(not count for count in good)
    return summary


PAPER: Mapping[str, float] = {
    "n_queries": 50,
    "n_human_validated": 20,
    "grade5_count_median": 4.0,
    "grade5_count_mean": 10.7,
    "grade4_count_median": 4.0,
    "grade4_count_mean": 7.0,
    "grade4plus5_count_median": 10.0,
    "grade4plus5_count_mean": 17.7,
    "grade4plus5_pool_prevalence_median_percent": 12.6,
}
"""What the source's own golden set has, for orientation: its corpus and questions are not ours."""


# The minimum of stage S5 in spec rag 4.
MINIMUM = 35


@dataclass(frozen=True)
class KeptRowsWithCutGrade:
    """The rows that are kept, best grade first and by place of fusion within a grade; `cut_stage` is the lowest grade
    whose bucket was taken, `kept_row_count` how many rows are kept."""

    rows: tuple[Mapping[str, Any], ...]
    cut_stage: int

    @property
    def kept_row_count(self) -> int:
        """How many rows are kept."""
        return len(self.rows)


def prune_to_best_grades(rows: Sequence[Mapping[str, Any]], minimum: int = MINIMUM) -> KeptRowsWithCutGrade:
    """The rows (each with `grade`, 1 to 5, and `rank_rrf`) of the buckets 5, 4, 3, 2, 1, each taken whole while fewer
    than `minimum` are kept; all rows where there are no more.

    >>> counts = {5: 4, 4: 4, 3: 20, 2: 30, 1: 9}
    >>> rows = [{"grade": grade, "rank_rrf": i} for grade, n in counts.items() for i in range(n)]
    >>> found = prune_to_best_grades(rows)
    >>> found.kept_row_count, found.cut_stage
    (58, 2)
    """
    kept: list[Mapping[str, Any]] = []
    stage = max(GRADES)
    for grade in sorted(GRADES, reverse=True):
        if len(kept) >= minimum:
            break
        bucket = [row for row in rows if row["grade"] == grade]
        kept += sorted(bucket, key=lambda row: (row["rank_rrf"], str(row.get("doc_id", ""))))
        stage = grade if bucket else stage
    return KeptRowsWithCutGrade(tuple(kept), stage)


def make_rows_kept_by_pruning(pruned: KeptRowsWithCutGrade, ts: str) -> list[dict[str, Any]]:
    """The lines of S5's artefact: those of S4 with where the cut was made."""
    cut = {"cut_stage": pruned.cut_stage, "cut_size": pruned.kept_row_count, "cut_ts": ts}
    return [{**row, **cut} for row in pruned.rows]


@dataclass
class PruningStage:
    """S5, which prunes the graded lists of many questions."""

    work: GoldenRunResources
    stage: str = "S5"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"version": GRADES_VERSION, "minimum": self.work.request.options.minimum}

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        return (hash_stage_input_file(asked.folder.scores, self.work.run),)

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        minimum = self.work.request.options.minimum
        for asked in waiting:
            pruned = prune_to_best_grades(read_json_line_rows(asked.folder.scores), minimum)
            rows = make_rows_kept_by_pruning(pruned, format_current_utc_time("milliseconds"))
            files = {asked.folder.get_path_of_best_grade_buckets(minimum): format_json_lines(rows)}
            done(asked, QueryStageOutput(files, {"kept": len(rows), "cut_stage": pruned.cut_stage}))
        return {}


_SHOWN = 200
"""Characters of a passage in the preview."""


def make_final_order_rows(
    refined: RefinedPoolOrder, rows: Mapping[str, Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """All candidates, best first: `final_rank` (1 = best), `final_score`, `exposures` and `info`, after what `rows`
    (by document id) says of each."""
    ranking, ids = refined.ranking, refined.pool.ids
    return [
        {
            **(rows[ids[position]] if rows is not None else {"doc_id": ids[position]}),
            "final_rank": place,
            "final_score": ranking.scores[position],
            "exposures": ranking.exposures[position],
            "info": ranking.info[position],
        }
        for place, position in enumerate(ranking.order, start=1)
    ]


def format_judge_calls_as_log(refinement: PoolOrderingSettings, refined: RefinedPoolOrder) -> str:
    """All answers by round and place, as a log that `JudgeCallLog` reads: the same whenever they came."""
    entries: list[Entry] = [*refined.failures, *refined.calls]
    entries.sort(key=lambda entry: entry.round)
    return format_judge_call_log(refinement.about(refined.pool), entries)


def format_ranker_checkpoint(refined: RefinedPoolOrder, top: int) -> str:
    """The ranker's state as JSON, with the top ids as they stand, why it stopped, and what is claimed of the order or
    why nothing is."""
    ids, ranking = refined.pool.ids, refined.ranking
    state = {
        **refined.state,
        "calls": len(refined.calls),
        "stopped": ranking.stopped,
        "top": [ids[position] for position in ranking.order[:top]],
        "claims": dict(ranking.claims),
        "doubts": list(ranking.doubts),
    }
    return format_value_as_json(state, indent=1) + "\n"


def format_ranking_preview(refined: RefinedPoolOrder, top: int) -> str:
    """The first `top` as Markdown: grade, times shown, score, and how the passage begins."""
    pool, ranking = refined.pool, refined.ranking
    stopped = f"stopped: {ranking.stopped}" if ranking.stopped else "not done yet"
    calls = len(refined.calls)
    answers = "answer" if calls == 1 else "answers"
    head = [f"# {_flatten_for_markdown(pool.question.text)}", "",
            f"Question {_flatten_for_markdown(pool.question.id)}: {calls} judge {answers}, {stopped}.", "",
            "| # | passage | grade | shown | score | text |", "|--:|---|--:|--:|--:|---|"]  # fmt: skip
    lines = [
        f"| {place} | {_flatten_for_markdown(pool.ids[i])} | {_format_grade(pool.candidates[i].grade)} "
        f"| {ranking.exposures[i]} | {ranking.scores[i]:.3f} "
        f"| {_flatten_for_markdown(_truncate_passage_text(pool.passages[i].text))} |"
        for place, i in enumerate(ranking.order[:top], start=1)
    ]
    return "\n".join([*head, *lines]) + "\n"


def _format_grade(grade: int | None) -> str:
    return "-" if grade is None else str(grade)


def _truncate_passage_text(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN].rstrip() + " ..."


def _flatten_for_markdown(text: str) -> str:
    """On one line, and nothing that a Markdown table or a browser would take for its own."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


ORDER_VERSION = 3
Wave = dict[str, str]
"""Question id -> SHA-256 of what it set out with."""


@dataclass
class PassageOrderingStage:
    """S6, which orders the passages of many questions at a time."""

    work: GoldenRunResources
    stage: str = "S6"

    @cached_property
    def pool_ordering_settings(self) -> PoolOrderingSettings:
        """Who orders, and how."""
        request = self.work.request
        engine = ENGINES.build(request.ranking_engine_spec)
        return PoolOrderingSettings(self.work.judge, engine, request.seed, request.options.top)

    @property
    def parameters(self) -> Mapping[str, Any]:
        work = self.work
        return {
            "version": ORDER_VERSION,
            "ranking": self.pool_ordering_settings.engine.name,
            "top": work.request.options.top,
            "seed": work.request.seed,
            "judge": [work.judge.name, work.judge.identity],
            "judge_question": work.request.options.judge_question,
        }

    def inputs(self, asked: QueryWithFolder) -> Sequence[StageInputFile]:
        return (hash_stage_input_file(self._pruned_rows_path(asked), self.work.run),)

    def do(self, waiting: Sequence[QueryWithFolder], done: Done) -> Mapping[str, str]:
        failed: dict[str, str] = {}
        queries = {asked.id: asked for asked in self.work.queries}
        set_out = {asked.id: self.inputs(asked)[0].sha256 for asked in waiting}
        names = {asked.id for asked in waiting}
        pools = [len(read_json_line_rows(self._pruned_rows_path(asked))) for asked in waiting]
        expected = sum(estimate_engine_calls(self.work.request.ranking_engine_spec, pool) for pool in pools)
        self.work.listener.stage(f"S6 orders by {self.work.judge.name}", expected, "expected calls")
        for wave in _read_query_waves_adding_new(self.work.run / "refinement.json", set_out):
            if names & wave.keys():
                fellows = [queries[key] for key, sha in wave.items() if self._has_unchanged_input(queries[key], sha)]
                failed |= self._order_passages_of_pool_batch(fellows, names, done)
        return failed

    def _has_unchanged_input(self, asked: QueryWithFolder, sha: str) -> bool:
        """Whether a query still has what it set out with."""
        return self._pruned_rows_path(asked).exists() and self.inputs(asked)[0].sha256 == sha

    def _order_passages_of_pool_batch(
        self, wave: Sequence[QueryWithFolder], waiting: set[str], done: Done
    ) -> dict[str, str]:
        """Order the pools of one wave; those that are done take part, but nothing is asked for them."""
        queries = {asked.id: asked for asked in wave}
        rows = {asked.id: read_json_line_rows(self._pruned_rows_path(asked)) for asked in wave}
        pools = [self._make_ranking_pool(asked, rows[asked.id]) for asked in wave]
        logs = {
            pool.question.id: JudgeCallLog(
                queries[pool.question.id].folder.calls, self.pool_ordering_settings.about(pool), self._warn_once
            )
            for pool in pools
        }

        def report_finished_query_order(key: str, refined: RefinedPoolOrder) -> None:
            if key in waiting and not queries[key].folder.stage_success_path("S6").exists():
                done(queries[key], self._make_passage_order_stage_output(queries[key], rows[key], refined))

        def write_query_checkpoint(key: str, refined: RefinedPoolOrder) -> None:
            asked = queries[key]
            if key in waiting and not asked.folder.stage_success_path("S6").exists():
                write_file_atomically(
                    asked.folder.ranking_checkpoint_path,
                    format_ranker_checkpoint(refined, self.pool_ordering_settings.top),
                )

        hooks = RefinementListener(
            self.work.listener.advanced_by, write_query_checkpoint, report_finished_query_order, self._warn_once
        )
        with self.work.charge_calls_to("S6", self.work.judge.name):
            outcomes = run_in_remote_loop_and_wait(
                lambda: order_candidate_pools(self.pool_ordering_settings, pools, logs=logs, hooks=hooks)
            )
        for key, outcome in outcomes.items():
            if isinstance(outcome, RefinedPoolOrder):
                report_finished_query_order(key, outcome)
        return {
            key: f"not ordered: {outcome.reason}"
            for key, outcome in outcomes.items()
            if isinstance(outcome, CallFailure) and key in waiting
        }

    def _make_passage_order_stage_output(
        self, asked: QueryWithFolder, rows: Sequence[Mapping[str, Any]], refined: RefinedPoolOrder
    ) -> QueryStageOutput:
        top, folder = self.pool_ordering_settings.top, asked.folder
        ordered = make_final_order_rows(refined, {str(row["doc_id"]): row for row in reversed(rows)})
        files = {
            folder.ranked(top): format_json_lines(ordered[:top]),
            folder.order: format_json_lines({name: row[name] for name in _SHORT} for row in ordered),
            folder.calls: format_judge_calls_as_log(self.pool_ordering_settings, refined),
            folder.ranking_checkpoint_path: format_ranker_checkpoint(refined, top),
            folder.ranking_preview_path: format_ranking_preview(refined, top),
        }
        return QueryStageOutput(files, {"ranked": len(ordered), "calls": len(refined.calls)})

    def _make_ranking_pool(self, asked: QueryWithFolder, rows: Sequence[Mapping[str, Any]]) -> QuestionCandidatePool:
        question = self.work.question(asked, rows[0]["query_rewrite"] if rows else "")
        return QuestionCandidatePool.of(
            question,
            (
                (PoolPassage(row["doc_id"], row["grade"], row["rank_rrf"]), Passage(row["doc_id"], row["text"]))
                for row in rows
            ),
        )

    def _pruned_rows_path(self, asked: QueryWithFolder) -> Path:
        return asked.folder.get_path_of_best_grade_buckets(self.work.request.options.minimum)

    def _warn_once(self, text: str) -> None:
        if text not in self.work.warnings:
            self.work.warnings.append(text)


_SHORT = ("qid", "doc_id", "grade", "rank_rrf", "final_rank", "final_score", "exposures", "info")


def _read_query_waves_adding_new(path: Path, set_out: Mapping[str, str]) -> list[Wave]:
    """The waves of a run, with those that set out now as the last where they are new or have changed since."""
    waves: list[Wave] = _read_query_waves(path)
    joined = {key: sha for wave in waves for key, sha in wave.items()}
    new = {key: sha for key, sha in set_out.items() if joined.get(key) != sha}
    if new:
        # A question stands in one wave only: its answers were asked for beside that wave's others.
        waves = [left for wave in waves if (left := {k: sha for k, sha in wave.items() if k not in new})]
        waves.append(new)
        write_json(path, {"waves": waves})
    return waves


def _read_query_waves(path: Path) -> list[Wave]:
    if not path.exists():
        return []
    try:
        waves = parse_json_written_by_embassay(path.read_text("utf-8"))["waves"]
        return [{str(key): str(sha) for key, sha in wave.items()} for wave in waves]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "the file cannot be read", path=path, found=str(error), mend="Redo the ranking with --from-stage S6."
        ) from error
