"""A scoring from inputs to its record and its folder, and from Python: paths or objects in, frames out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.data.rows import escape_spreadsheet_formula
from embassay.errors import UsageError
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.kernel.outcome import make_manifest_of_file_based_run
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import SilentListener, check_same_run_arguments
from embassay.protocols.kernel.tables import replace_control_characters, write_tables
from embassay.protocols.live.runs import LiveRetrieverRunOutcome, QuestionsToAsk, ask_retrievers_for_runs
from embassay.protocols.rag.matrices import make_question_matrix_from_scored_runs
from embassay.protocols.rag.scoring import conclusions
from embassay.protocols.rag.scoring.conclusions import (
    make_advice_on_runs,
    make_run_interpretations,
    phrase_score_lede,
    phrase_score_verdict,
)
from embassay.protocols.rag.scoring.correction import (
    CORRECTED,
    JudgeCorrectionResults,
    JudgeCorrector,
    build_passages_to_grade_table,
    explain_uncorrected_headline,
    make_judge_correction_results,
    put_corrected_values_in_scoring_record,
)
from embassay.protocols.rag.scoring.facets import list_facet_notes_of_scoring
from embassay.protocols.rag.scoring.identity import describe_nearly_unanswered_runs, iterate_notes_on_document_id_match
from embassay.protocols.rag.scoring.inputs import (
    JudgementGrades1To5,
    ScoringInputs,
    count_documents_by_grade,
    count_queries_ranking_own_document_first,
    drop_own_documents_from_inputs,
    group_related_queries,
    list_answer_correctness_by_query,
    list_manifest_systems_and_datasets,
    make_run_names_distinct,
    make_scoring_inputs,
    map_judgement_grades,
    parse_named_path,
    read_answer_correctness_file,
    read_judged_questions,
    read_question_tags,
    read_question_texts,
    read_scoring_inputs,
)
from embassay.protocols.rag.scoring.options import ScoreRequest
from embassay.protocols.rag.scoring.placement import (
    ColumnsToResampleByRun,
    RunOnJudgedQueries,
    RunsOnJudgedQueries,
    align_runs_with_judged_queries,
    compute_columns_for_run_resampling,
    compute_ra_nwg_sensitivity,
)
from embassay.protocols.rag.scoring.quantities import CONFIDENCE, ResampledRunQuantities, estimate_measures_of_runs
from embassay.protocols.rag.scoring.score import (
    JudgementCounts,
    MeasuredRun,
    RequestedMeasure,
    RunComparisonByMeasure,
    RunReadingStatistics,
    ScoringNote,
    ScoringRecord,
    ScoringSettings,
    blank_values_of_measured_run,
    drop_failed_queries,
    measure_run,
    parse_requested_measures,
    per_query,
    write_scoring_record,
)
from embassay.protocols.rag.scoring.tables import (
    ALPHA,
    PROTOCOL,
    TASK,
    TESTS,
    build_score_tables,
    build_tag_score_table,
    compare_all_run_pairs,
    make_comparisons_json_by_measure,
    make_score_result_rows,
    measure_run_likeness,
    run_randomization_tests,
)
from embassay.protocols.rag.scoring.uneven import compute_unjudged_shares, withdraw_losses_from_missing_grades
from embassay.runs.folder import RunFolder, write_file_atomically, write_json
from embassay.runs.matrix import write_question_matrices
from embassay.stats.resampling import Groups
from embassay.systems.retrievers.function import FunctionRetriever

if TYPE_CHECKING:
    import polars as pl

    from embassay.protocols.kernel.tables import ColumnTable

TIES = "highest score first, equal scores by document id, highest first (trec_eval's rule)"


def count_queries_documents_and_grades(
    inputs: ScoringInputs, judgements: JudgementGrades1To5, board: RunsOnJudgedQueries, groups: Groups | None = None
) -> JudgementCounts:
    """Count the queries, documents and grades of the judgements."""
    return JudgementCounts(
        inputs.name, inputs.qrels.path, inputs.qrels.format, judgements.grade_map, len(board.queries),
        len(judgements.frame), count_documents_by_grade(judgements.frame["grade"].to_numpy()), judgements.dropped,
        0 if groups is None else int(groups.max()) + 1
    )  # fmt: skip


def build_run_count_facts(
    inputs: ScoringInputs, board: RunsOnJudgedQueries, cutoffs: Sequence[int]
) -> tuple[RunReadingStatistics, ...]:
    """Build the counts of every run."""
    # Kept of a single run too: another scoring may be compared with it.
    shares = compute_unjudged_shares(board, cutoffs)
    facts = (
        _build_run_facts(
            run,
            entries.path,
            entries.format,
            None if pool is None else pool.path,
            int(_make_mask_of_failed_queries(inputs, run.name, board).sum()),
        )
        for run, entries, pool in zip(board.runs, inputs.runs.values(), inputs.pools, strict=True)
    )
    return tuple(
        replace(run, ungraded={str(k): of_runs[run.name] for k, of_runs in shares.items() if run.name in of_runs})
        for run in facts
    )


def _make_mask_of_failed_queries(inputs: ScoringInputs, run: str, board: RunsOnJudgedQueries) -> NDArray[np.bool_]:
    """Whether the retriever of a run failed on each judged query, (q,)."""
    failed = inputs.live[run].failed if run in inputs.live else {}
    return np.array([query in failed for query in board.queries], dtype=bool)


def make_scoring_settings(request: ScoreRequest, cutoffs: Iterable[int]) -> ScoringSettings:
    """Make the settings that say how the scoring is done."""
    return ScoringSettings(
        request.grades or "identity", request.unjudged, request.seed, request.resamples, TESTS[request.test],
        "holm", ALPHA, CONFIDENCE, TIES, tuple(cutoffs)
    )  # fmt: skip


def _build_run_facts(
    run: RunOnJudgedQueries, path: str, format_: str, pool: str | None, failed: int
) -> RunReadingStatistics:
    answered = run.sizes[run.sizes > 0]
    depth = int(answered.min()), float(np.median(answered)), int(answered.max())
    listed = f"its own list of {'' if depth[0] == depth[2] else 'up to '}{depth[2]:,}"
    return RunReadingStatistics(
        run.name, path, format_, run.lines, len(answered), int((run.sizes == 0).sum()) - failed, run.unknown,
        run.repeated, run.tied, depth, listed if pool is None else f"the pool {pool}"
    )  # fmt: skip


@dataclass(frozen=True)
class FinishedScoring:
    """A finished scoring: its record, the values per query of every run, and the runs on the judged queries."""

    record: ScoringRecord
    measures: tuple[RequestedMeasure, ...]
    measured: tuple[MeasuredRun, ...]
    board: RunsOnJudgedQueries
    by_tag: ColumnTable | None = None
    """The headline by tag of the questions, where that was asked for."""
    corrections: JudgeCorrectionResults | None = None
    groups: Groups | None = None
    """Which queries are drawn together, (q,); None where each is by itself."""
    to_grade: ColumnTable | None = None
    """What people should grade, where a measure has no corrected value."""

    def make_per_query_frame(self) -> pl.DataFrame:
        """`run`, `query_id`, `measure`, `value` and `reason` (why there is no value), a row for each."""
        return per_query(self.board.queries, self.measures, self.measured)

    def map_queries_to_groups(self) -> dict[str, str]:
        """Map each query to the first query of its group; empty where every query is drawn by itself."""
        if self.groups is None:
            return {}
        first: dict[int, str] = {}
        pairs = zip(self.board.queries, self.groups.tolist(), strict=True)
        return {query: first.setdefault(group, query) for query, group in pairs}


def score_all_runs(
    inputs: ScoringInputs, request: ScoreRequest, answers: Mapping[str, float] | None = None
) -> FinishedScoring:
    """Score all runs of `inputs` as `request` says; its paths are not looked at.

    Raises DataError for judgements that do not fit, runs without a judged query, and ungraded documents where they are
    an error; UsageError for measures that are none of rankings.
    """
    if inputs.judge is not None:
        return _score_by_judge_corrected_by_people(inputs, inputs.judge, request, answers)
    inputs, gone = drop_own_documents_from_inputs(inputs) if request.exclude_self else (inputs, {})
    has = {"answers": answers is not None, "facets": inputs.facets is not None}
    measures = parse_requested_measures(request.measures, request.cutoffs, **has)
    judgements = map_judgement_grades(inputs.qrels, request.grades)
    before = [*_note_own_documents(gone, inputs, judgements), *_note_live_runs(inputs)]
    before += list_facet_notes_of_scoring(inputs, judgements)
    separator = request.separator if any(measure.needs_document_sources for measure in measures) else None
    board = align_runs_with_judged_queries(inputs, judgements, separator)
    # Spans are held against places, which are known or not whatever the ids.
    has_ids = inputs.qrels.format != "spans"
    told = [*iterate_notes_on_document_id_match(inputs.runs, judgements.frame, inputs.corpus)] if has_ids else []
    right = _align_answer_correctness(answers, board, request)
    taken = _measure_runs(inputs, board, measures, request, right)
    untested = {run.run for run in taken if run.reason}
    tested = replace(board, runs=tuple(run for run in board.runs if run.name not in untested))
    ks = tuple(sorted({one.facts.cutoff for one in measures if one.facts.cutoff})) or request.cutoffs
    extra = compute_columns_for_run_resampling(tested, ks, request.unjudged)
    groups = group_related_queries(judgements, board.queries, inputs.questions)
    resampled = _resample_scoring(taken, measures, extra, request, groups)
    compared = _compare_runs(resampled, taken, measures, request, groups)
    facts = build_run_count_facts(inputs, board, ks)
    record = ScoringRecord(
        make_scoring_settings(request, ks),
        count_queries_documents_and_grades(inputs, judgements, board, groups),
        facts,
        tuple(measure.facts for measure in measures),
        measures[0].name,
        estimate_measures_of_runs(resampled, taken, measures, total=len(board.queries), resamples=request.resamples),
        withdraw_losses_from_missing_grades(compared, board, measures, ks, request.unjudged, right),
        measure_run_likeness(tested, ks, resamples=request.resamples, seed=request.seed, groups=groups),
        compute_ra_nwg_sensitivity(tested, ks, request.unjudged) if request.sensitivity and tested.runs else (),
        readings=make_run_interpretations(tested, facts, ks, resampled),
        guidance=make_advice_on_runs(tested, ks, extra, resampled)
    )  # fmt: skip
    lost = {name: int(_make_mask_of_failed_queries(inputs, name, board).sum()) for name in inputs.live}
    notes = (
        *before, *(ScoringNote("reading", text) for text in (*inputs.notes, *told)),
        *_list_scoring_notes(record, judgements, board, taken, measures, right, request, lost)
    )  # fmt: skip
    record = replace(record, notes=notes)
    record = replace(record, verdict=phrase_score_verdict(record), lede=phrase_score_lede(record))
    by_tag = _build_headline_by_tag_table(taken, board, measures[0], request, groups) if request.tags else None
    return FinishedScoring(record, measures, taken, board, by_tag, groups=groups)


def _align_answer_correctness(
    answers: Mapping[str, float] | None, board: RunsOnJudgedQueries, request: ScoreRequest
) -> NDArray[np.float64] | None:
    if answers is None:
        return None
    return list_answer_correctness_by_query(answers, board.queries, request.answers or "answers")


def _measure_runs(
    inputs: ScoringInputs,
    board: RunsOnJudgedQueries,
    measures: Sequence[RequestedMeasure],
    request: ScoreRequest,
    right: NDArray[np.float64] | None,
) -> tuple[MeasuredRun, ...]:
    """All values of every run; none of a run that hardly has a query, and of questions on which a retriever failed."""
    failed = {run.name: _make_mask_of_failed_queries(inputs, run.name, board) for run in board.runs}
    # A question that failed was asked all the same.
    asked = {run.name: int(((run.sizes > 0) | failed[run.name]).sum()) for run in board.runs}
    idle = describe_nearly_unanswered_runs(asked, len(board.queries))
    measured = (measure_run(run.name, run.graded, measures, request.unjudged, right) for run in board.runs)
    return tuple(
        blank_values_of_measured_run(run, idle[run.run])
        if run.run in idle
        else drop_failed_queries(run, failed[run.run], MOST_LOST)
        for run in measured
    )


def _note_live_runs(inputs: ScoringInputs) -> Iterator[ScoringNote]:
    """Note what is to be said of runs of asked retrievers: how they answered, and short lists."""
    for name, run in inputs.live.items():
        total = len(run.failed) + len(run.seconds)
        for text in run.notes():
            yield ScoringNote("live", f"{name}: {text}.", name, len(run.failed), total)
        lengths = inputs.runs[name].frame["query"].value_counts()["count"]
        short = len(run.seconds) - int((lengths >= run.depth).sum())
        if short > 0:
            text = f"{name}: {short:,} of {len(run.seconds):,} lists contain fewer than {run.depth} documents."
            yield ScoringNote("live", text, name, short, total)


def _build_headline_by_tag_table(
    taken: Sequence[MeasuredRun],
    board: RunsOnJudgedQueries,
    headline: RequestedMeasure,
    request: ScoreRequest,
    groups: Groups | None,
) -> ColumnTable:
    """The headline by the tags of questions."""
    return build_tag_score_table(taken, board.queries, read_question_tags(request.queries), headline, request, groups)


def _note_own_documents(
    gone: Mapping[str, int], inputs: ScoringInputs, judgements: JudgementGrades1To5
) -> Iterator[ScoringNote]:
    """Note what was left out of queries' own documents, and which runs have them first."""
    yield from conclusions.note_excluded_own_documents(gone)
    yield from conclusions.note_runs_finding_own_document(
        count_queries_ranking_own_document_first(inputs, judgements.frame)
    )


def _score_by_judge_corrected_by_people(
    inputs: ScoringInputs, judge: RunOrQrelsEntries, request: ScoreRequest, answers: Mapping[str, float] | None
) -> FinishedScoring:
    """Correct a scoring by the judge by the grades of people."""
    by_judge = score_all_runs(replace(inputs, qrels=judge, judge=None), replace(request, sensitivity=False), answers)
    corrector = JudgeCorrector(
        inputs, map_judgement_grades(inputs.qrels, request.grades or "identity"),
        map_judgement_grades(judge, request.grades or "identity"),
        by_judge.measures, by_judge.measured, by_judge.board.queries, request.seed
    )  # fmt: skip
    corrections = make_judge_correction_results(corrector, judge, by_judge.record.headline)
    record = put_corrected_values_in_scoring_record(by_judge.record, corrections)
    heading, sentences = explain_uncorrected_headline(corrections, record.headline) or (
        phrase_score_verdict(record),
        phrase_score_lede(record),
    )
    return replace(
        by_judge, record=replace(record, verdict=heading, lede=sentences), corrections=corrections,
        to_grade=build_passages_to_grade_table(corrector)
    )  # fmt: skip


def _resample_scoring(
    taken: Sequence[MeasuredRun],
    measures: Iterable[RequestedMeasure],
    extra: ColumnsToResampleByRun,
    request: ScoreRequest,
    groups: Groups | None,
) -> ResampledRunQuantities:
    """Resample all that is asked for and all that readings need, over one set of resamples."""
    whole = [extra.add_columns_to_measured_run(run) for run in taken]
    resampled = ResampledRunQuantities(whole, n_resamples=request.resamples, seed=request.seed, groups=groups)
    for measure in measures:
        for run in taken:
            resampled.add_run_quantity_to_resampling(measure.name, run.run)
        for a, b in combinations(taken, 2):
            resampled.add_run_quantity_to_resampling(measure.name, a.run, b.run)
            resampled.add_run_quantity_to_resampling(measure.name, b.run, a.run)
    for name, column, other in extra.wanted:
        resampled.add_run_quantity_to_resampling(column, name, other)
    resampled.resample_requested_quantities()
    return resampled


def _compare_runs(
    resampled: ResampledRunQuantities,
    taken: Sequence[MeasuredRun],
    measures: Sequence[RequestedMeasure],
    request: ScoreRequest,
    groups: Groups | None,
) -> tuple[RunComparisonByMeasure, ...]:
    if len(taken) < 2:
        return ()
    tests = (
        run_randomization_tests(taken, measures, n_resamples=request.resamples, seed=request.seed, groups=groups)
        if request.test == "randomization"
        else None
    )
    runs = [run.run for run in taken]
    return tuple(compare_all_run_pairs(resampled, runs, measure, tests) for measure in measures)


def _list_scoring_notes(
    record: ScoringRecord,
    judgements: JudgementGrades1To5,
    board: RunsOnJudgedQueries,
    taken: Sequence[MeasuredRun],
    measures: Sequence[RequestedMeasure],
    right: NDArray[np.float64] | None,
    request: ScoreRequest,
    lost: Mapping[str, int],
) -> Iterable[ScoringNote]:
    total = len(board.queries)
    yield from conclusions.note_input_oddities(judgements, record.runs, total)
    idle = {run.run for run in taken if run.reason}
    yield from conclusions.note_undefined_queries(
        board, measures, [value for value in record.values if value.run not in idle], lost
    )
    yield from conclusions.note_unjudged_and_odd_values(board, taken, measures, record.settings.unjudged)
    yield from conclusions.note_too_few_resamples(len(taken), record.settings.resamples, request.test)
    if right is not None:
        yield from conclusions.note_answered_queries(record.values, int((~np.isnan(right)).sum()), total)


def run_and_write_scoring(
    out: Path, request: ScoreRequest, score: Callable[[], tuple[ScoringInputs, FinishedScoring]], command: str = ""
) -> FinishedScoring:
    """Do a scoring and write it to the folder `out`; once more with the same arguments writes it anew.

    UsageError if the folder holds a run of other arguments; nothing is read or measured then.
    """
    folder = RunFolder(out)
    check_same_run_arguments(folder, request)
    inputs, scored = score()
    # After the scoring, which may take minutes: only writing has to be alone.
    with folder.hold_folder_lock():
        _write_scoring_folder(folder, request, inputs, scored, command)
    return scored


def _write_scoring_folder(
    folder: RunFolder, request: ScoreRequest, inputs: ScoringInputs, scored: FinishedScoring, command: str
) -> None:
    score = scored.record
    frame = scored.make_per_query_frame()
    for run in score.runs:
        rows = frame.filter(frame["run"] == run.name)
        _write_query_values(
            folder.locate_cell_items(TASK, score.judgements.name, run.name), rows, scored.map_queries_to_groups()
        )
    folder.write_results(make_score_result_rows(score))
    write_json(folder.path / "comparisons.json", make_comparisons_json_by_measure(score))
    more = [table for table in (scored.by_tag, scored.to_grade) if table is not None]
    write_tables(folder.path, [*build_score_tables(score), *more])
    write_file_atomically(
        folder.path / "tables" / "rag_per_query.csv",
        _format_frame_as_formula_safe_csv(_pivot_measures_to_columns(frame)),
    )
    write_scoring_record(folder.path / "score.json", score)
    judgements = map_judgement_grades(inputs.qrels, request.grades)
    tags = read_question_tags(request.queries) if request.tags else {}
    write_question_matrices(
        folder.path, [make_question_matrix_from_scored_runs(inputs, judgements, tags, request.separator)]
    )
    if scored.corrections is not None:
        write_json(folder.path / CORRECTED, scored.corrections.as_dict())
    folder.write_manifest(_make_scoring_manifest(folder, request, inputs, score, command))


def _write_query_values(path: Path, frame: pl.DataFrame, groups: Mapping[str, str]) -> None:
    """Write the values of a run; with the group of each query where some are drawn together."""
    import polars as pl

    buffer = io.BytesIO()
    query = pl.col("query_id")
    group = [query.replace_strict(groups, return_dtype=pl.String).alias("group")] if groups else []
    frame.select(
        query.alias("item_id"), pl.lit("").alias("variant"), "measure", "value", "reason", *group
    ).write_parquet(buffer, compression="zstd", statistics=False)
    write_file_atomically(path, buffer.getvalue())


def _format_frame_as_formula_safe_csv(frame: pl.DataFrame) -> str:
    """Format a frame as CSV in which no name is a formula."""
    import polars as pl

    names = pl.col("run", "query_id")
    safe = names.map_elements(
        lambda name: replace_control_characters(escape_spreadsheet_formula(name)), return_dtype=pl.String
    )
    return frame.with_columns(safe).write_csv()


def _pivot_measures_to_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Pivot measures to columns: a row per run and query, a column per measure."""
    return frame.pivot("measure", index=["run", "query_id"], values="value")


def _make_scoring_manifest(
    folder: RunFolder, request: ScoreRequest, inputs: ScoringInputs, score: ScoringRecord, command: str
) -> dict[str, Any]:
    judged = score.judgements
    systems, datasets = list_manifest_systems_and_datasets(inputs, TASK, judged.queries, judged.path)
    cells = (_make_manifest_cell_of_run(score, run.name) for run in score.runs)
    return make_manifest_of_file_based_run(
        folder, PROTOCOL, command, request.as_dict(), kind=TASK, systems=systems, datasets=datasets, cells=cells
    )


def _make_manifest_cell_of_run(score: ScoringRecord, run: str) -> dict[str, Any]:
    facts = next(row for row in score.runs if row.name == run)
    warnings = [note.text for note in score.notes if note.run == run]
    return {
        "key": run, "task": TASK, "dataset": score.judgements.name, "system": run, "status": "done", "reason": "",
        "seconds": None, "counts": {"lines": facts.lines, "queries": facts.queries, "missing": facts.missing},
        "skipped": [], "warnings": warnings
    }  # fmt: skip


HELD = "(in memory)"


@dataclass(frozen=True)
class Scoring:
    """What scoring gave: the whole `record`, and the same as frames."""

    record: ScoringRecord
    per_query: pl.DataFrame
    path: Path | None = None

    @property
    def values(self) -> pl.DataFrame:
        """`run`, `measure`, `value`, `low`, `high`, `n`, `total`, `method`, `reason`, `unit` (of `n`): a row per run
        and measure."""
        import polars as pl

        numbers = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame([vars(value) for value in self.record.values], schema_overrides=numbers)

    @property
    def pairs(self) -> pl.DataFrame:
        """`measure` and the fields of `RunPairDifference` (`a`, `b`, `difference`, ...): a row per measure and pair of
        runs."""
        import polars as pl

        rows = [
            {"measure": comparison.measure, **vars(pair)}
            for comparison in self.record.comparisons
            for pair in comparison.pairs
        ]
        return pl.DataFrame(rows)

    @property
    def verdict(self) -> str:
        """The finding of the scoring in one line."""
        return self.record.verdict


def score(
    qrels: Any,
    runs: Any,
    *,
    pools: Sequence[Any] = (),
    answers: str | Path | Mapping[str, float] | None = None,
    out: str | Path | None = None,
    **arguments: Any,
) -> Scoring:
    """Score runs against graded judgements: set measures, ceilings and classic measures, with intervals and tests.

    `qrels` is a path, query -> document -> judgement, or a polars frame with `query_id`, `doc_id` and `relevance`;
    `runs` one or several paths, or name -> path, query -> document -> score, query -> documents in order, frame, or a
    function of a question that gives documents, which is asked the questions of the file `queries`;
    `pools` for PROC likewise, one for all or one per run. Further arguments are those of `ScoreRequest`: measures,
    cutoffs (10, 30), grades, unjudged, sensitivity, test, resamples (10,000), seed (0), split, mapping. With `out` all
    is written to a folder as `embassay rag score --out` does.
    Raises DataError for files or objects that are not what they should be, UsageError for measures that are none.

    >>> import embassay as eb
    >>> found = eb.rag.score({"q": {"a": 5, "b": 1}}, {"mine": {"q": ["b", "a"]}}, measures=["Harm@1", "R@2"])
    >>> found.values["value"].to_list()
    [1.0, 1.0]
    """
    named = _give_runs_names(runs)
    request = make_request_from_call(
        ScoreRequest,
        score,
        _convert_lists_to_tuples(arguments),
        _describe_data_source(qrels),
        tuple(f"{name}={_describe_data_source(run)}" for name, run in named.items()),
        tuple(_describe_data_source(pool) for pool in pools),
        answers=None if answers is None else _describe_data_source(answers),
    )

    functions = {name: run for name, run in named.items() if callable(run)}

    def score_given_runs() -> tuple[ScoringInputs, FinishedScoring]:
        with _ask_retriever_functions(functions, request, out) as live:
            asked = {run.name: run.path for run in live}
            inputs = replace(
                make_scoring_inputs(qrels, {**named, **asked}, pools, request), live={run.name: run for run in live}
            )
        right = (
            read_answer_correctness_file(Path(answers), request.mapping) if isinstance(answers, str | Path) else answers
        )
        return inputs, score_all_runs(inputs, request, right)

    if out is None:
        scored = score_given_runs()[1]
    else:
        scored = run_and_write_scoring(
            Path(out),
            request,
            score_given_runs,
            f"embassay.rag.score({_describe_data_source(qrels)!r}, ..., out={str(out)!r})",
        )
    return Scoring(scored.record, scored.make_per_query_frame(), None if out is None else Path(out))


def score_runs_of_request(
    request: ScoreRequest,
    out: Path | None = None,
    command: str = "",
    *,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
) -> FinishedScoring:
    """Score the files of a request, and what its retrievers answer now, into the folder `out` if one is given."""

    def score_files_and_retrievers() -> tuple[ScoringInputs, FinishedScoring]:
        with ask_retrievers(request, out, listener, max_usd) as live:
            inputs = read_scoring_inputs(request, live)
        answers = (
            None if request.answers is None else read_answer_correctness_file(Path(request.answers), request.mapping)
        )
        return inputs, score_all_runs(inputs, request, answers)

    return (
        score_files_and_retrievers()[1]
        if out is None
        else run_and_write_scoring(out, request, score_files_and_retrievers, command)
    )


@contextmanager
def ask_retrievers(
    request: ScoreRequest, out: Path | None, listener: SilentListener | None, max_usd: float | None
) -> Iterator[tuple[LiveRetrieverRunOutcome, ...]]:
    """The runs of the retrievers that a request names, asked now; see `live_runs`."""
    if not request.retrievers:
        yield ()
        return
    if out is not None:
        check_same_run_arguments(RunFolder(out), request)
    questions = QuestionsToAsk(read_judged_questions(request), compute_retrieval_depth(request), request.seed)
    with ask_retrievers_for_runs(request.retrievers, questions, out, listener=listener, max_usd=max_usd) as live:
        yield live


@contextmanager
def _ask_retriever_functions(
    functions: Mapping[str, Callable[..., Any]], request: ScoreRequest, out: str | Path | None
) -> Iterator[tuple[LiveRetrieverRunOutcome, ...]]:
    """Ask the functions that are given as runs for their runs."""
    if not functions:
        yield ()
        return
    if not request.queries:
        raise UsageError("A function needs questions, but there are none.", mend="Give their file: queries=FILE.")
    depth = compute_retrieval_depth(request)
    retrievers = [FunctionRetriever(run, depth, name) for name, run in functions.items()]
    questions = QuestionsToAsk(read_question_texts(request.queries), depth, request.seed)
    with ask_retrievers_for_runs(retrievers, questions, None if out is None else Path(out)) as live:
        yield live


@dataclass(frozen=True)
class StoredScoringRequest:
    """A scoring that is kept in a folder: its `request`, and the names of its `runs`."""

    path: Path
    request: ScoreRequest
    runs: tuple[str, ...]

    def make_request_to_score_retrievers(self, retrievers: Sequence[str], queries: str = "") -> ScoreRequest:
        """The same measures of the same judgements, of what retrievers answer now in place of its runs. UsageError
        where its questions are nowhere, and where each of its runs had a pool of its own."""
        if len(self.request.pools) > 1:
            raise UsageError(
                f"The runs of {self.path} have their own pools, but a retriever has none.",
                mend="Score it again with a single --pool, or without.",
            )
        return replace(self.request, runs=(), retrievers=tuple(retrievers), queries=queries or self.request.queries)

    def match_runs_to_retrievers(self, asked: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
        """Run of this scoring -> the retriever that is held against it, by `given` (the same way round), by a name that
        both have, or since there is one of each. UsageError for a retriever of which nobody knows."""
        names = dict(given)
        for name in asked:
            if name in names.values() or name in self.runs:
                continue
            if len(self.runs) > 1 or len(asked) > 1:
                raise UsageError(
                    f"{self.path} has the runs {', '.join(self.runs)}, but it is unclear which of them {name} "
                    "replaces.",
                    mend=f"Use --retriever {self.runs[0]}=SPEC, or add --as {name}={self.runs[0]}.",
                )
            names[self.runs[0]] = name
        return names


def read_request_of_stored_scoring(path: Path) -> StoredScoringRequest:
    """Read what a folder of `rag score --out` was asked for; UsageError where it holds anything else."""
    manifest = RunFolder(path).read_manifest() or {}
    asked = manifest.get("arguments", {})
    if manifest.get("protocol") != "rag" or "qrels" not in asked or "runs" not in asked:
        raise UsageError(
            f"{path} contains no scored runs to compare the retriever with.",
            mend="Create one: embassay rag score --qrels FILE --run FILE --out DIR.",
        )
    known = {field.name for field in fields(ScoreRequest)}
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items() if name in known
    }
    request = ScoreRequest(**plain)
    return StoredScoringRequest(path, request, tuple(system["name"] for system in manifest["systems"]))


def compute_retrieval_depth(request: ScoreRequest) -> int:
    """Compute how many documents a retriever is asked for: as many as the deepest measure looks at."""
    if request.depth is not None:
        return request.depth
    answers, facets = request.answers is not None, request.facets is not None
    measures = parse_requested_measures(request.measures, request.cutoffs, answers=answers, facets=facets)
    return max(*request.cutoffs, *(measure.facts.cutoff or 0 for measure in measures))


def _give_runs_names(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        return dict(runs)
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    return dict(make_run_names_distinct([parse_named_path(str(run)) for run in paths]))


def _describe_data_source(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else HELD


def _convert_lists_to_tuples(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples: a request is hashable by its parts and compared as such."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
