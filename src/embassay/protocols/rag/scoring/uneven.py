"""Runs of which less is judged than of others: a passage without a grade counts against a run, so such a run is never
declared worse unless it is behind without these passages too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from embassay.measures import evaluate_graded
from embassay.measures.judgements import UNJUDGED
from embassay.protocols.rag.scoring.placement import RunsOnJudgedQueries
from embassay.protocols.rag.scoring.quantities import CONFIDENCE
from embassay.protocols.rag.scoring.score import (
    JUDGED,
    MeasuredRun,
    RequestedMeasure,
    RequestedMeasureDescription,
    RunComparisonByMeasure,
    RunPairDifference,
    RunReadingStatistics,
    ScoringRecord,
    measure_run,
)
from embassay.protocols.run_values import UNEVEN
from embassay.stats.intervals import t_quantile

LACKING = ("zero", "grade1")
"""How documents without a grade are treated where they count for or against a run."""
HARMLESS = "zero"
"""The treatment under which a document without a grade does no harm."""

Shares = Mapping[int, Mapping[str, float]]
"""By cutoff and run, the share of the passages before the cutoff that have no grade."""


def withdraw_losses_from_missing_grades(
    comparisons: Sequence[RunComparisonByMeasure],
    board: RunsOnJudgedQueries,
    measures: Sequence[RequestedMeasure],
    cutoffs: Sequence[int],
    treated: str,
    answers: NDArray[np.float64] | None = None,
) -> tuple[RunComparisonByMeasure, ...]:
    """Spare runs from being beaten for missing grades, in all comparisons and the ranks they leave.

    Where the run that is behind is judged less by UNEVEN (of harm that no grade shows: the run that is ahead), the two
    are told apart only if the same holds when passages without a grade are left out, on the queries (half of them at
    least) whose lists then still reach the cutoff. Where they are left out already, or an error, all stays as it is.
    """
    shares = compute_unjudged_shares(board, cutoffs) if treated in LACKING else {}
    if not any(max(of_runs.values()) - min(of_runs.values()) >= UNEVEN for of_runs in shares.values()):
        return tuple(comparisons)
    condensed = {run.name: measure_run(run.name, run.graded, measures, "condense", answers) for run in board.runs}
    facts = {measure.name: measure.facts for measure in measures}
    full = {k: {run.name: _mark_queries_with_enough_judged(run.graded.top, k) for run in board.runs} for k in shares}
    return tuple(
        _withhold_verdicts_on_less_judged_runs(comparison, facts[comparison.measure], treated, shares, condensed, full)
        for comparison in comparisons
    )


def compute_signed_ungraded_shares(score: ScoringRecord) -> dict[str, dict[str, float]]:
    """By measure and run the share of the passages before the cutoff that have no grade and count against the run,
    below 0 where they count for it. Empty where they are left out."""
    treated = score.settings.unjudged
    if treated not in LACKING:
        return {}
    runs = [run for run in score.runs if run.ungraded]
    return {
        measure.name: _map_runs_to_signed_ungraded_shares(measure, runs, treated)
        for measure in score.measures
        if measure.base != JUDGED
    }


def _map_runs_to_signed_ungraded_shares(
    measure: RequestedMeasureDescription, runs: Sequence[RunReadingStatistics], treated: str
) -> dict[str, float]:
    sign = -1.0 if _is_measure_helped_by_missing_grades(measure, treated) else 1.0
    # A measure of the whole list goes by the largest cutoff, which stands last.
    return {run.name: sign * run.ungraded.get(str(measure.cutoff), [*run.ungraded.values()][-1]) for run in runs}


def _is_measure_helped_by_missing_grades(measure: RequestedMeasureDescription, treated: str) -> bool:
    """Say whether missing grades help a run: only by harm, of which no grade shows."""
    return measure.direction == "lower" and treated == HARMLESS


def _mark_queries_with_enough_judged(grades: NDArray[np.int8], k: int) -> NDArray[np.bool_]:
    """Mark the queries whose list is no shorter than `k` without ungraded passages, or has none."""
    return np.asarray(((grades > 0).sum(axis=1) >= k) | ~(grades == UNJUDGED).any(axis=1))


def compute_unjudged_shares(board: RunsOnJudgedQueries, cutoffs: Sequence[int]) -> Shares:
    """Compute the unjudged share of every run at every cutoff; a run without passages has none."""
    shares: dict[int, dict[str, float]] = {}
    for k in cutoffs:
        name = f"{JUDGED}@{k}"
        for run in board.runs:
            judged = evaluate_graded([name], run.graded)[name]
            defined = judged[~np.isnan(judged)]
            if len(defined):
                shares.setdefault(k, {})[run.name] = 1.0 - float(defined.mean())
    return shares


def _withhold_verdicts_on_less_judged_runs(
    comparison: RunComparisonByMeasure,
    measure: RequestedMeasureDescription,
    treated: str,
    shares: Shares,
    condensed: Mapping[str, MeasuredRun],
    full: Mapping[int, Mapping[str, NDArray[np.bool_]]],
) -> RunComparisonByMeasure:
    # A measure of the whole list goes by the largest cutoff.
    k = measure.cutoff if measure.cutoff is not None and measure.cutoff in shares else max(shares)
    if measure.base == JUDGED or not comparison.pairs:
        return comparison
    lacking, sign = shares[k], -1.0 if measure.direction == "lower" else 1.0

    def is_winner_ahead_on_judged_passages(winner: str, loser: str) -> bool:
        first, second = (condensed[run].columns[measure.name].value for run in (winner, loser))
        return _is_mean_surely_positive(sign * (first - second), full[k][winner] & full[k][loser])

    is_helped = _is_measure_helped_by_missing_grades(measure, treated)
    pairs = tuple(
        _withdraw_unevenly_judged_verdict(pair, lacking, is_winner_ahead_on_judged_passages, is_helped=is_helped)
        for pair in comparison.pairs
    )
    ranked = RunComparisonByMeasure.make_comparison_with_test_ranks(comparison.measure, comparison.runs, pairs)
    return replace(ranked, reason=comparison.reason, unjudged=dict(lacking))


def _withdraw_unevenly_judged_verdict(
    pair: RunPairDifference, lacking: Mapping[str, float], is_ahead: Callable[[str, str], bool], *, is_helped: bool
) -> RunPairDifference:
    if not pair.better or not {pair.a, pair.b} <= lacking.keys():
        return pair
    loser = pair.b if pair.better == pair.a else pair.a
    less, more = (pair.better, loser) if is_helped else (loser, pair.better)
    if lacking[less] - lacking[more] < UNEVEN or is_ahead(pair.better, loser):
        return pair
    return replace(pair, better="", judged_less=less)


def _is_mean_surely_positive(apart: NDArray[np.float64], whole: NDArray[np.bool_]) -> bool:
    """Say whether paired differences' 95% interval is above 0, on at least half of the queries."""
    known = apart[whole & ~np.isnan(apart)]
    if len(known) < max(2, len(apart) / 2):
        return False
    half = t_quantile((1 + CONFIDENCE) / 2, len(known) - 1) * float(known.std(ddof=1)) / len(known) ** 0.5
    return bool(known.mean() > half)
