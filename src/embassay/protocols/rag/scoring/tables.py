"""A scoring as the rows, comparisons and tables that every run folder has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.measures.correlation import compute_kendall_tau_b
from embassay.protocols.kernel.tables import (
    Column,
    ColumnTable,
    ComputedColumn,
    capitalise_unless_name,
    format_noun_count,
    interval_columns,
    number_column,
    text,
    whole_number_column,
)
from embassay.protocols.rag.scoring.options import ScoreRequest
from embassay.protocols.rag.scoring.placement import NOBODY, RunOnJudgedQueries, RunsOnJudgedQueries
from embassay.protocols.rag.scoring.quantities import (
    ResampledQuantity,
    ResampledRunQuantities,
    compute_quantity_interval,
)
from embassay.protocols.rag.scoring.score import (
    BY_PEOPLE,
    MeasuredRun,
    RequestedMeasure,
    RunComparisonByMeasure,
    RunPairDifference,
    RunQueryMeasureColumns,
    ScoringRecord,
    TopDocumentsSimilarity,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow
from embassay.stats import Estimate
from embassay.stats.ranks import correct_tests_by_holm, run_test_of_system_pair
from embassay.stats.resampling import (
    Groups,
    are_replicates_constant,
    compute_sign_flip_p_values,
    count_effective_groups,
    resample_defined_means,
)

ALPHA = 0.05
TESTS = {
    "bootstrap": "paired bootstrap over queries: t test of the difference with its bootstrap standard error",
    "randomization": "paired randomisation test: random signs of the queries' differences",
}
"""What `p` is of."""

Tests = Mapping[tuple[str, str, str], float]


def compare_all_run_pairs(
    resampled: ResampledRunQuantities, runs: Sequence[str], asked: RequestedMeasure, tests: Tests | None = None
) -> RunComparisonByMeasure:
    """Compare every pair of runs by one measure, and rank each run as the tests allow.

    A run's best rank is 1 + the number of runs that beat it, its worst their number less those that it beats; one beats
    another where Holm's p over the pairs is under 0.05. p is that of the paired bootstrap's t test, or from `tests`
    (measure, a, b).
    `reason` says why there is no comparison.
    """
    lower = asked.facts.direction == "lower"
    means = {run: resampled.make_resampled_run_quantity(asked.name, run).value for run in runs}
    ranked = sorted((run for run in runs if np.isfinite(means[run])), key=lambda run: means[run] * (1 if lower else -1))
    if len(ranked) < 2:
        return RunComparisonByMeasure(asked.name, tuple(ranked), reason="fewer than two runs with a value")
    if tests is not None and asked.is_ratio_of_means:
        return RunComparisonByMeasure(
            asked.name, tuple(ranked), reason="the randomisation test compares means, not ratios"
        )
    gaps = {
        (i, j): resampled.difference(asked.name, ranked[i], ranked[j]) for i, j in combinations(range(len(ranked)), 2)
    }
    if any(gap.standard_error is None for gap in gaps.values()):
        return RunComparisonByMeasure(asked.name, tuple(ranked), reason=_explain_untestable_pair(list(gaps.values())))
    tested = _make_tested_run_pair_differences(asked.name, ranked, gaps, tests, lower)
    return RunComparisonByMeasure.make_comparison_with_test_ranks(asked.name, ranked, tested)


def run_randomization_tests(
    measured: Sequence[MeasuredRun],
    measures: Sequence[RequestedMeasure],
    *,
    n_resamples: int,
    seed: int,
    groups: Groups | None = None,
) -> Tests:
    """p of the paired randomisation test for each measure that is a mean and each pair of runs, both ways round."""
    keys, columns = [], []
    for measure in measures:
        for a, b in combinations(measured, 2) if not measure.is_ratio_of_means else ():
            keys.append((measure.name, a.run, b.run))
            columns.append(a.columns[measure.name].value - b.columns[measure.name].value)
    if not columns:
        return {}
    rng = make_seeded_generator(seed, "randomization")
    p_values = compute_sign_flip_p_values(np.column_stack(columns), n_resamples=n_resamples, rng=rng, groups=groups)
    tested = zip(keys, p_values.tolist(), strict=True)
    return {key: p for (name, a, b), p in tested for key in ((name, a, b), (name, b, a))}


def _explain_untestable_pair(gaps: Sequence[ResampledQuantity]) -> str:
    """Why some pair has no test."""
    if min(gap.units for gap in gaps) < 2 <= min(gap.n for gap in gaps):
        return "all queries share a relevant document, so they count as one"
    return "too few queries where both runs have a value"


def _make_tested_run_pair_differences(
    measure: str,
    runs: Sequence[str],
    gaps: Mapping[tuple[int, int], ResampledQuantity],
    tests: Tests | None,
    lower: bool,
) -> tuple[RunPairDifference, ...]:
    """Every pair of runs by the test that ranks of every protocol rest on, corrected by Holm over those that differ on
    some query."""
    # Values of measures are at most about 1, and so is the size of what was summed.
    scale = 1.0
    alone = [
        run_test_of_system_pair(
            i, j, gap.value, _drop_undefined_replicates(gap), gap.standard_error_freedom, scale=scale
        )
        for (i, j), gap in gaps.items()
    ]
    if tests is not None:
        alone = [replace(test, p=tests[measure, runs[test.a], runs[test.b]]) for test in alone]
    pairs = []
    for test in correct_tests_by_holm(alone, scale):
        gap, a, b = gaps[test.a, test.b], runs[test.a], runs[test.b]
        low, high = (
            (None, None) if are_replicates_constant(gap.replicates) else clip_interval(test.low, test.high, gap.bounds)
        )
        first = (gap.value < 0) == lower
        better = (a if first else b) if test.apart(ALPHA) and gap.value else ""
        made = RunPairDifference(
            a, b, gap.value, low, high, test.p, test.p_adjusted, gap.n, better, test.error, test.df
        )
        pairs.append(made)
    return tuple(pairs)


def _drop_undefined_replicates(gap: ResampledQuantity) -> NDArray[np.float64]:
    return gap.replicates[np.isfinite(gap.replicates)]


def clip_interval(low: float, high: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Clip the interval to what a difference can be, as the truth lies there."""
    return max(low, bounds[0]), min(high, bounds[1])


Floats = NDArray[np.float64]
_COMPARED = 1 << 24
"""Documents compared at once: rows of queries are taken so that memory stays bounded."""


def measure_run_likeness(
    board: RunsOnJudgedQueries, cutoffs: Sequence[int], *, resamples: int, seed: int, groups: Groups | None = None
) -> tuple[TopDocumentsSimilarity, ...]:
    """Overlap@K and Kendall's tau-b of every pair of runs at every cutoff, with bootstrap intervals over queries."""
    asked = [(a, b, k) for k in cutoffs for a, b in combinations(board.runs, 2)]
    if not asked:
        return ()
    columns = [column for a, b, k in asked for column in measure_list_likeness(a, b, k)]
    # The stream of the values, so that likeness and values are of the same resamples.
    rng = make_seeded_generator(seed, "resample")
    means = resample_defined_means(np.column_stack(columns), n_resamples=resamples, rng=rng, groups=groups)
    units = len(board.queries) if groups is None else count_effective_groups(groups)
    return tuple(
        TopDocumentsSimilarity(
            a.name,
            b.name,
            k,
            *_average_values_with_interval(columns[2 * i], means[:, 2 * i], units, (0.0, 1.0)),
            *_average_values_with_interval(columns[2 * i + 1], means[:, 2 * i + 1], units, (-1.0, 1.0)),
        )
        for i, (a, b, k) in enumerate(asked)
    )


def measure_list_likeness(a: RunOnJudgedQueries, b: RunOnJudgedQueries, k: int) -> tuple[Floats, Floats]:
    """Overlap@`k` and tau-b of the common documents of two runs, one value per query; as `measures.overlap` and
    `measures.list_tau`."""
    first, second = a.documents[:, :k], b.documents[:, :k]
    step = max(1, _COMPARED // max(1, first.shape[1] * second.shape[1]))
    rows = range(0, len(first), step)
    parts = [_compute_overlap_and_tau_of_rankings(first[row : row + step], second[row : row + step], k) for row in rows]
    return np.concatenate([overlap for overlap, _ in parts]), np.concatenate([other for _, other in parts])


def _compute_overlap_and_tau_of_rankings(
    first: NDArray[np.int64], second: NDArray[np.int64], k: int
) -> tuple[Floats, Floats]:
    same = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] != NOBODY)
    common = same.any(axis=2)
    place = np.where(common, same.argmax(axis=2) + 1.0, np.nan)
    rank = np.broadcast_to(np.arange(1.0, first.shape[1] + 1), first.shape)
    return common.sum(axis=1) / k, compute_kendall_tau_b(rank, place)


def _average_values_with_interval(
    values: Floats, replicates: Floats, units: int, bounds: tuple[float, float]
) -> tuple[Any, float | None, float | None, int]:
    """The mean over the queries that have a value, with its ends, and how many these are; None where none has."""
    n = int((~np.isnan(values)).sum())
    if not n:
        return None, None, None, 0
    quantity = ResampledQuantity(float(np.nanmean(values)), replicates, n, min(units, n), bounds=bounds)
    return quantity.value, *(compute_quantity_interval(quantity) or (None, None)), n


PROTOCOL, TASK = "rag", "score"


def make_score_result_rows(score: ScoringRecord) -> list[ResultRow]:
    """Make every value a Result, measures by the names the user gave."""
    return [
        ResultRow(
            PROTOCOL, TASK, score.judgements.name, "", "", "", value.run, value.measure, value.value, value.n,
            value.low, value.high, value.method, score.settings.seed, value.reason,
        )
        for value in score.values
    ]  # fmt: skip


def make_comparisons_json_by_measure(score: ScoringRecord) -> dict[str, Any]:
    """Make the scopes of comparisons.json: one per measure, and that of the headline as `score`."""
    scopes = {comparison.measure: _make_comparison_scope(comparison) for comparison in score.comparisons}
    headline = score.find_measure_comparison(score.headline)
    return {
        "alpha": score.settings.alpha,
        "correction": score.settings.correction,
        "method": score.settings.test,
        "scopes": ({TASK: _make_comparison_scope(headline)} if headline else {}) | scopes,
    }


def build_score_tables(score: ScoringRecord) -> Iterator[ColumnTable]:
    """Build the tables of scores, readings, and where they have rows pairs, overlap and sensitivity."""
    yield _build_run_values_table(score)
    if any(comparison.pairs for comparison in score.comparisons):
        yield _build_run_comparison_table(score)
    if score.likeness:
        yield _build_run_overlap_table(score)
    if score.sensitivity:
        yield _build_measure_sensitivity_table(score)
    yield _build_interpretation_table(score)


def build_tag_score_table(
    taken: Sequence[MeasuredRun],
    queries: Sequence[str],
    tags: Mapping[str, Sequence[str]],
    asked: RequestedMeasure,
    request: ScoreRequest,
    groups: Groups | None = None,
) -> ColumnTable:
    """`rag_tags`: the headline of each run by tag of the questions, and its paired difference from the first run, each
    with its 95% interval over the questions of the tag; the same resamples for all runs. A question may have several
    tags. No p-values: the tags are many, and nobody asked about one of them beforehand."""
    rows: list[dict[str, Any]] = []
    for tag in sorted({tag for query in queries for tag in tags.get(query, ())}):
        inside = np.array([tag in tags.get(query, ()) for query in queries])
        tagged = [_restrict_run_to_queries(run, asked.name, inside) for run in taken]
        rows += [{"tag": tag, **row} for row in _list_run_difference_rows(tagged, asked.name, request, groups)]
    return ColumnTable.of(
        "rag_tags", f"{asked.name} by question tag", rows, text("Tag", "tag"), text("Run", "run"),
        *interval_columns("figure", (asked.name, "CI low", "CI high"), "number", 2, 1),
        whole_number_column("Queries", "figure.n"),
        *interval_columns("difference", (f"Minus {taken[0].run}", "Diff. low", "Diff. high"), "number", 2, 1),
        note="95% paired bootstrap over the questions with a tag."
    )  # fmt: skip


def _list_run_difference_rows(
    taken: Sequence[MeasuredRun], measure: str, request: ScoreRequest, groups: Groups | None
) -> Iterator[dict[str, Any]]:
    """Each run, its figure, and its difference from the first run."""
    resampled = ResampledRunQuantities(taken, n_resamples=request.resamples, seed=request.seed, groups=groups)
    first, *others = [run.run for run in taken]
    resampled.add_run_quantity_to_resampling(measure, first)
    for run in others:
        resampled.add_run_quantity_to_resampling(measure, run)
        resampled.add_run_quantity_to_resampling(measure, run, first)
        resampled.add_run_quantity_to_resampling(measure, first, run)
    resampled.resample_requested_quantities()
    for run in (first, *others):
        difference = None if run == first else _estimate_from_quantity(resampled.difference(measure, run, first))
        yield {
            "run": run,
            "figure": _estimate_from_quantity(resampled.make_resampled_run_quantity(measure, run)),
            "difference": difference,
        }


def _estimate_from_quantity(quantity: ResampledQuantity) -> Estimate:
    if not np.isfinite(quantity.value):
        return Estimate(None, n=quantity.n)
    low, high = compute_quantity_interval(quantity) or (None, None)
    return Estimate(quantity.value, low, high, quantity.n)


def _restrict_run_to_queries(run: MeasuredRun, measure: str, inside: NDArray[np.bool_]) -> MeasuredRun:
    """A run's values of one measure on some queries."""
    column = run.columns[measure]
    parts = tuple(np.where(inside, part, np.nan) for part in column.parts)
    return MeasuredRun(run.run, {measure: RunQueryMeasureColumns(np.where(inside, column.value, np.nan), parts)})


def _make_comparison_scope(comparison: RunComparisonByMeasure) -> dict[str, Any]:
    ranks = zip(comparison.runs, comparison.rank_low, strict=False)
    return {
        "systems": list(comparison.runs),
        "rank_low": list(comparison.rank_low),
        "rank_high": list(comparison.rank_high),
        "best": [run for run, low in ranks if low == 1],
        "pairs": [
            {
                "a": pair.a, "b": pair.b, "difference": pair.difference, "ci_low": pair.low,
                "ci_high": pair.high, "p": pair.p, "p_adjusted": pair.p_adjusted,
            }
            for pair in comparison.pairs
        ],
        "reason": comparison.reason
    }  # fmt: skip


def describe_bootstrap_unit(score: ScoringRecord) -> str:
    """Name what was resampled, for footers: queries, or groups of them."""
    groups = score.judgements.groups
    if not groups:
        return "Bootstrap over queries"
    return f"Cluster bootstrap over {format_noun_count(groups, 'group')} of queries that share a relevant document"


def _build_run_values_table(score: ScoringRecord) -> ColumnTable:
    units: tuple[ComputedColumn, ...] = (
        whole_number_column("Queries", "n"),
        whole_number_column("Judged queries", "total"),
    )
    resampled_unit = capitalise_unless_name(describe_bootstrap_unit(score))
    note = f"{resampled_unit}, {score.settings.resamples} resamples, seed {score.settings.seed}."
    if score.settings.intervals == BY_PEOPLE:
        units = (whole_number_column("Labelled", "n"), whole_number_column("Of", "total"), text("Unit", "unit"))
        note = f"{capitalise_unless_name(score.settings.intervals)}."
    return ColumnTable.of(
        "rag_score", f"Runs on {score.judgements.name}", score.values, text("Run", "run"), text("Measure", "measure"),
        number_column("Value", "value", 3), number_column("95% low", "low", 3),
        number_column("95% high", "high", 3), *units,
        text("Reason", "reason"), note=note
    )  # fmt: skip


def _build_run_comparison_table(score: ScoringRecord) -> ColumnTable:
    units: tuple[ComputedColumn, ...] = (whole_number_column("Queries", "pair.n"),)
    if score.settings.intervals == BY_PEOPLE:
        units = (whole_number_column("Labelled", "pair.n"), text("Unit", "pair.unit"))
    pairs = [
        {"measure": comparison.measure, "pair": pair} for comparison in score.comparisons for pair in comparison.pairs
    ]
    return ColumnTable.of(
        "rag_pairs", "Runs compared", pairs, text("Measure", "measure"), text("A", "pair.a"), text("B", "pair.b"),
        number_column("A - B", "pair.difference", 3, "signed"),
        number_column("95% low", "pair.low", 3, "signed"),
        number_column("95% high", "pair.high", 3, "signed"), number_column("p", "pair.p", style="p"),
        number_column("p, Holm", "pair.p_adjusted", style="p"), *units, text("Better", "pair.better"),
        note=f"p: {score.settings.test}."
    )  # fmt: skip


def _build_run_overlap_table(score: ScoringRecord) -> ColumnTable:
    return ColumnTable.of(
        "rag_overlap", "Similarity of two runs' first K documents", score.likeness,
        whole_number_column("K", "cutoff"), text("A", "a"),
        text("B", "b"), number_column("Overlap", "overlap", 3), number_column("95% low", "overlap_low", 3),
        number_column("95% high", "overlap_high", 3), number_column("tau-b", "tau", 3, "signed"),
        number_column("tau 95% low", "tau_low", 3, "signed"),
        number_column("tau 95% high", "tau_high", 3, "signed"),
        whole_number_column("tau queries", "tau_n"),
        note="tau-b compares the documents that both runs have among their first K."
    )  # fmt: skip


def _build_measure_sensitivity_table(score: ScoringRecord) -> ColumnTable:
    return ColumnTable.of(
        "rag_sensitivity", "How much RA-nWG depends on its constants", score.sensitivity,
        whole_number_column("K", "cutoff"),
        number_column("alpha"), number_column("cap4"), number_column("cap3"),
        *(number_column(run.name, ("values", run.name), 3) for run in score.runs),
        text("Order", lambda cell: " > ".join(cell.order)), number_column("tau-b", "tau", 3, "signed"),
        number_column("Largest change", "largest_change", 3),
        note="Run columns show RA-nWG; tau-b and change compare with the defaults (alpha 1, cap4 1, cap3 0.25)."
    )  # fmt: skip


def _build_interpretation_table(score: ScoringRecord) -> ColumnTable:
    columns = (Column("About", "text"), Column("Finding", "text"), Column("In words", "text"))
    rows = [(f"{reading.run}@{reading.cutoff}", reading.finding, reading.text) for reading in score.readings]
    rows += [(guidance.knob, guidance.status, guidance.text) for guidance in score.guidance]
    return ColumnTable("rag_reading", "Pool or ordering: what to improve next", columns, tuple(rows))
