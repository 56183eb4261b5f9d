"""The score under which to answer "nothing found": from runs and judgements, with a promise.

A query is answered where the best score of its list reaches a threshold. It is answered well where a passage of grade 4
or 5 is among the first K, which are what an answer is made from. So queries take the place of pairs in a calibration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries, read_run_entries
from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.calibration.probability import (
    Calibration,
    SamenessProbabilityCurve,
    explain_too_few_labels,
    sample_reference_features,
)
from embassay.protocols.calibration.protocol import (
    HEADLINE,
    CalibrationContext,
    fit_sameness_probability_curve,
    make_lowest_mistake_cost_table,
    make_more_labels_table,
    make_score_rows_of_calibration,
    make_threshold_promises_table,
    score_heldout_probabilities,
)
from embassay.protocols.calibration.shift import Reference
from embassay.protocols.kernel.outcome import Run, make_manifest_of_file_based_run
from embassay.protocols.kernel.session import SilentListener, check_same_run_arguments
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.live.runs import LiveRetrieverRunOutcome, QuestionsToAsk, ask_retrievers_for_runs
from embassay.protocols.rag.scoring.inputs import (
    ScoringInputs,
    hash_run_or_qrels_entries,
    list_manifest_systems_and_datasets,
    map_judgement_grades,
    read_judged_questions,
    read_question_texts,
    read_scoring_inputs,
)
from embassay.protocols.rag.scoring.options import RetrievalScoreCalibrationRequest
from embassay.protocols.rag.scoring.placement import (
    RunOnJudgedQueries,
    RunsOnJudgedQueries,
    align_runs_with_judged_queries,
)
from embassay.protocols.rag.silence import (
    RunSilence,
    check_unanswerable_unjudged,
    check_unanswerable_were_asked,
    measure_silence_signals_of_run,
    read_score_signals,
    read_unanswerable_ids_by_kind,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow, Score
from embassay.runs.folder import (
    RunFolder,
    format_value_as_json,
    slugify_name,
    write_file_atomically,
    write_parquet_columns,
)
from embassay.text import open_tokenizer

PROTOCOL, TASK = "calibration", "answers"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class RunTopScorePerQuery:
    """One run on the judged queries for which it has a list: their ids, the best score of each (n,), and whether the
    evidence is among the first (n,). `empty` queries have no list, and so are never answered; `unanswerable` ones come
    last, and none of them has evidence."""

    run: str
    ids: list[str]
    best: Values
    good: NDArray[np.bool_]
    empty: int
    unanswerable: int = 0


def list_top_hit_scores_by_run(
    inputs: ScoringInputs, board: RunsOnJudgedQueries, cutoff: int, unanswerable: Sequence[str] = ()
) -> Iterator[RunTopScorePerQuery]:
    """Every run, on the judged queries and on those without an answer."""
    for run, entries in zip(board.runs, inputs.runs.values(), strict=True):
        yield _make_run_best_scores(run, entries, board.queries, cutoff, unanswerable)


def _make_run_best_scores(
    run: RunOnJudgedQueries,
    entries: RunOrQrelsEntries,
    judged: tuple[str, ...],
    cutoff: int,
    unanswerable: Sequence[str],
) -> RunTopScorePerQuery:
    import polars as pl

    frame = entries.frame.select(pl.col("query").cast(pl.String), pl.col("value").cast(pl.Float64))
    best = dict(frame.group_by("query").agg(pl.col("value").max()).iter_rows())
    unjudged = sorted(set(unanswerable) - set(judged))
    queries = (*judged, *unjudged)
    rows = [place for place, query in enumerate(queries) if best.get(query) is not None]
    good = np.zeros(len(queries), dtype=np.bool_)
    good[: len(judged)] = (run.graded.top[:, :cutoff] >= RELEVANT).any(axis=1)
    return RunTopScorePerQuery(
        run.name, [queries[row] for row in rows], np.array([best[queries[row]] for row in rows], dtype=np.float64),
        good[rows], len(queries) - len(rows), len(unjudged)
    )  # fmt: skip


@contextmanager
def _ask_retrievers_for_live_runs(
    request: RetrievalScoreCalibrationRequest, out: Path, listener: SilentListener | None, max_usd: float | None
) -> Iterator[tuple[LiveRetrieverRunOutcome, ...]]:
    """Ask the retrievers now for their runs."""
    if not request.files.retrievers:
        yield ()
        return
    questions = gather_calibration_questions(request)
    with ask_retrievers_for_runs(request.files.retrievers, questions, out, listener=listener, max_usd=max_usd) as live:
        yield live


def gather_calibration_questions(request: RetrievalScoreCalibrationRequest) -> QuestionsToAsk:
    """Gather the judged questions, and those without an answer."""
    files = request.files
    texts = read_judged_questions(files)
    if request.no_answer is not None:
        texts |= read_question_texts(request.no_answer)
    # Two documents are the least that a margin takes.
    return QuestionsToAsk(texts, files.depth or max(request.cutoff, 2), files.seed)


def calibrate_run_scores_into_folder(
    request: RetrievalScoreCalibrationRequest,
    out: Path,
    command: str = "",
    *,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
) -> Run:
    """Calibrate the scores of runs, and of retrievers that are asked now, into the folder `out`; the same request
    writes it anew, and asks only what has no answer yet.

    Raises DataError for files that are not what they should be, UsageError where `out` holds another run,
    BudgetExceeded where retrievers would cost more than `max_usd`.
    """
    folder = RunFolder(out)
    check_same_run_arguments(folder, request)
    with _ask_retrievers_for_live_runs(request, out, listener, max_usd) as live:
        inputs = read_scoring_inputs(request.files, live)
    board = align_runs_with_judged_queries(inputs, map_judgement_grades(inputs.qrels, request.files.grades))
    kinds = {} if request.no_answer is None else read_unanswerable_ids_by_kind(request.no_answer)
    unanswerable = [key for ids in kinds.values() for key in ids]
    runs = list(list_top_hit_scores_by_run(inputs, board, request.cutoff, unanswerable))
    for run, entries in zip(runs, inputs.runs.values(), strict=True):
        _check_scores_not_rank_made(run, entries)
    silences = _find_silence_thresholds(runs, inputs, request, kinds)
    cells = [_RunCalibration(run, inputs, request, silences.get(run.run)) for run in runs]
    with folder.hold_folder_lock():
        _write_calibration_folder(folder, inputs, request, cells, command)
    return Run(folder.path)


def _find_silence_thresholds(
    runs: Sequence[RunTopScorePerQuery],
    inputs: ScoringInputs,
    request: RetrievalScoreCalibrationRequest,
    kinds: Mapping[str, Sequence[str]],
) -> dict[str, RunSilence]:
    """Find when each run should say nothing; empty without questions that have no answer."""
    if request.no_answer is None:
        return {}
    reranked = None
    if request.reranked is not None:
        reranked = read_run_entries(Path(request.reranked).expanduser(), request.files.mapping)
    silences = {}
    for run, entries in zip(runs, inputs.runs.values(), strict=True):
        answerable = [key for key, good in zip(run.ids, run.good, strict=True) if good]
        check_unanswerable_unjudged(kinds, answerable, request.no_answer)
        signals = read_score_signals(entries, reranked)
        check_unanswerable_were_asked(signals, kinds, entries.path)
        silences[run.run] = measure_silence_signals_of_run(
            run.run, signals, kinds, answerable, request.make_silence_threshold_aims, request.files.seed
        )
    return silences


_RRF = 60
"""The usual constant of reciprocal rank fusion."""
_NEAR = 2e-6
"""How far a score in a file may be from the sum that it is."""


def _check_scores_not_rank_made(run: RunTopScorePerQuery, entries: RunOrQrelsEntries) -> None:
    """DataError where a run's numbers were made from ranks: they say nothing of how near a passage is to its question,
    and no threshold of them can."""
    why = ""
    if not entries.is_scored:
        why = "only an order, or distances that rise with the rank"
    elif len(run.best) > 1 and run.best.min() == run.best.max():
        why = f"{run.best[0]:g} at the top of every list, as from ranks or a constant"
    elif len(run.best) > 1 and _look_like_rank_fusion_scores(run.best):
        why = "sums of 1 / (60 + rank), as from reciprocal rank fusion"
    if why:
        raise DataError(
            "the run has no scores to set a threshold on", path=entries.path,
            expected="the similarity or probability of each passage", found=why,
            mend="Write the engine's own scores to the run (distances with a minus sign)."
        )  # fmt: skip


def _look_like_rank_fusion_scores(best: Values) -> bool:
    """Whether numbers are the best scores of fusions by rank: high in one list, somewhere in another or not there."""
    first = 1 / (_RRF + np.arange(10))
    second = np.append(1 / (_RRF + np.arange(200)), 0.0)
    sums = (first[:, None] + second).ravel()
    return bool(np.all(np.abs(best[:, None] - sums).min(axis=1) < _NEAR))


class _RunCalibration:
    """The calibration of one run, and what it found."""

    def __init__(
        self,
        of: RunTopScorePerQuery,
        inputs: ScoringInputs,
        request: RetrievalScoreCalibrationRequest,
        silence: RunSilence | None = None,
    ) -> None:
        self.of = of
        self.silence = silence
        self.curve: SamenessProbabilityCurve | None = None
        self.reference: Reference = {}
        self.held = np.full(len(of.ids), np.nan)
        where = "evidence among the first passages"
        self.reason = explain_too_few_labels(
            of.good, (f"query has {where}", f"queries have {where}"), ("has none", "have none")
        ) or _explain_non_finite_score(of.best)
        self.scores: tuple[Score, ...] = (Score(HEADLINE, None, len(of.ids), reason=self.reason),)
        if self.reason:
            return
        context = CalibrationContext(
            inputs.name, open_tokenizer("words", later=True), request.files.seed, request.options
        )
        self.curve, chosen = fit_sameness_probability_curve(of.best, of.good, None, context)
        rng = make_seeded_generator(request.files.seed, "reference", inputs.name)
        self.reference = sample_reference_features(of.best, ((), ()), None, rng)
        self.held = chosen.held_out
        measured = score_heldout_probabilities(self.held, of.good, None, context, "queries")
        self.scores = (
            measured[HEADLINE].score(HEADLINE),
            *make_score_rows_of_calibration(of.best, of.good, self.held, self.curve, measured, "queries"),
        )

    @property
    def warnings(self) -> list[str]:
        """Warnings of what is to be known of the run."""
        said = []
        if self.of.empty:
            which = "queries" if self.silence is not None else "judged queries"
            said.append(f"{self.of.empty:,} {which} have no list, so they are never answered at any threshold")
        if self.silence is not None:
            mix = f"{self.of.unanswerable:,} of {len(self.of.ids) + self.of.empty:,} questions have no answer"
            said.append(
                f"{mix}; precision, unlike silence, applies only if the same share of your questions has no answer"
            )
            said += self.silence.notes
        return said


def _explain_non_finite_score(best: Values) -> str:
    return "" if np.isfinite(best).all() else "a score is not a finite number"


def _write_calibration_folder(
    folder: RunFolder,
    inputs: ScoringInputs,
    request: RetrievalScoreCalibrationRequest,
    cells: list[_RunCalibration],
    command: str,
) -> None:
    rows = [row for cell in cells for row in _list_calibration_results(inputs.name, cell, request.files.seed)]
    for cell, entries in zip(cells, inputs.runs.values(), strict=True):
        _write_calibration_items(folder.locate_cell_items(TASK, inputs.name, cell.of.run), cell)
        if cell.curve is not None:
            name = f"{slugify_name(cell.of.run)}--{slugify_name(inputs.name)}.json"
            Calibration(
                cell.of.run, "", hash_run_or_qrels_entries([entries]), inputs.name,
                hash_run_or_qrels_entries([inputs.qrels]), "",
                request.files.seed, None, cell.curve, cell.reference
            ).save(folder.path / "calibrations" / name)  # fmt: skip
        if cell.silence is not None:
            name = f"{slugify_name(cell.of.run)}--{slugify_name(inputs.name)}.json"
            cell.silence.save(folder.path / "silence" / name, inputs.name)
    folder.write_results(rows)
    write_file_atomically(folder.path / "comparisons.json", format_value_as_json({"scopes": {}}) + "\n")
    write_tables(
        folder.path,
        [make_threshold_promises_table(rows), *make_lowest_mistake_cost_table(rows), *make_more_labels_table(rows)],
    )
    folder.write_manifest(_make_calibration_manifest(folder, inputs, request, cells, command))


def _write_calibration_items(path: Path, cell: _RunCalibration) -> None:
    of = cell.of
    columns: Mapping[str, Values] = {
        "similarity": of.best, "same": of.good.astype(np.float64), "probability": cell.held
    }  # fmt: skip
    n = len(of.ids)
    write_parquet_columns(path, {
        "item_id": of.ids * 3, "variant": [""] * 3 * n, "measure": [name for name in columns for _ in range(n)],
        "value": [None if np.isnan(value) else float(value) for column in columns.values() for value in column],
        "reason": [""] * 3 * n
    })  # fmt: skip


def _list_calibration_results(dataset: str, cell: _RunCalibration, seed: int) -> Iterator[ResultRow]:
    # The second time over all datasets, of which there is one: every run folder has such rows.
    for name in (dataset, ""):
        more = () if cell.silence is None else tuple(cell.silence.scores())
        for score in (*cell.scores, *more) if name else cell.scores[:1]:
            yield ResultRow(
                PROTOCOL, TASK, name, score.subset, "", score.variant, cell.of.run, score.measure, score.value, score.n,
                score.ci_low, score.ci_high, score.method, seed, score.reason
            )  # fmt: skip


def _make_calibration_manifest(
    folder: RunFolder,
    inputs: ScoringInputs,
    request: RetrievalScoreCalibrationRequest,
    cells: list[_RunCalibration],
    command: str,
) -> dict[str, Any]:
    n = max(len(cell.of.ids) + cell.of.empty for cell in cells)
    systems, datasets = list_manifest_systems_and_datasets(inputs, TASK, n)
    return make_manifest_of_file_based_run(
        folder, PROTOCOL, command, request.as_dict(),
        systems=systems, datasets=datasets,
        cells=(
            {
                "key": cell.of.run, "task": TASK, "dataset": inputs.name, "system": cell.of.run, "status": "done",
                "reason": "", "seconds": None, "counts": {"queries": len(cell.of.ids), "missing": cell.of.empty},
                "skipped": [], "warnings": cell.warnings,
            }
            for cell in cells
        )
    )  # fmt: skip
