"""A finished scoring as comparisons, gates and reports see it: the values of its record, with replicates, and the very
contrasts that `rag score` stated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.parquet import read_parquet
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding
from embassay.protocols.rag.scoring.quantities import find_measure_bounds
from embassay.protocols.rag.scoring.score import (
    PERCENT,
    RunMeasureValue,
    RunPairDifference,
    ScoringRecord,
    read_scoring_record,
)
from embassay.protocols.rag.scoring.tables import TASK
from embassay.protocols.rag.scoring.uneven import compute_signed_ungraded_shares
from embassay.protocols.run_values import StatedSystemContrast
from embassay.randomness import make_seeded_generator
from embassay.records import ResampledUnitGroup
from embassay.runs.folder import RunFolder
from embassay.stats.intervals import KEPT
from embassay.stats.resampling import Groups, resample_defined_means

Floats = NDArray[np.float64]
FILE = "score.json"
RESAMPLES = 2000
"""Draws by the errors of a record, where no value per query is behind a value."""
OF_PEOPLE = "judge corrected by people"
"""How the method of a corrected value begins."""


@dataclass(frozen=True)
class RunStandingsAndPairs:
    """The `standings` of a scoring, the `pairs` of its record by measure, and by measure why two scorings cannot be
    paired at it; `groups` are the queries that are drawn together, by their names, and `ungraded` what counts against a
    run for its missing grades (`uneven.compute_signed_ungraded_shares`)."""

    dataset: str
    standings: tuple[SystemStanding, ...]
    pairs: Mapping[str, tuple[RunPairDifference, ...]]
    unpaired: Mapping[str, str]
    groups: Mapping[str, str]
    ungraded: Mapping[str, Mapping[str, float]]
    method: str
    """Of its tests."""


def read_scored_runs(folder: Path) -> RunStandingsAndPairs:
    """Read the runs of the scoring in a folder; DataError for a record that is damaged."""
    score = read_scoring_record(folder / FILE)
    table = _PerQueryValuesOfRuns(RunFolder(folder), score)
    unpaired = {
        name: reason
        for measure in score.measures
        if (reason := _explain_values_not_item_means(score, name := measure.name))
    }
    drawn = table.draws([measure.name for measure in score.measures if measure.name not in unpaired])
    standings = []
    for measure in score.measures:
        values = [value for value in score.values if value.measure == measure.name and value.value is not None]
        draws = drawn.get(measure.name) or _draw_normal_replicates_of_runs(score, values)
        standings += [_make_run_standing(score, value, draws[value.run]) for value in values]
    pairs = {comparison.measure: comparison.pairs for comparison in score.comparisons}
    name = score.judgements.name
    # What the judge refused is a part of what people graded: it counts against nobody in a corrected value.
    is_corrected = {value.measure for value in score.values if value.method.startswith(OF_PEOPLE)}
    ungraded = {
        measure: shares
        for measure, shares in compute_signed_ungraded_shares(score).items()
        if measure not in is_corrected
    }
    return RunStandingsAndPairs(name, tuple(standings), pairs, unpaired, table.groups, ungraded, score.settings.test)


def _explain_values_not_item_means(score: ScoringRecord, measure: str) -> str:
    """Why a measure's values are no means of what stands in the items; empty where they are."""
    if any(value.method.startswith(OF_PEOPLE) for value in score.values if value.measure == measure):
        return "the judge is corrected by people's grades"
    is_mean = not any(value.method.startswith("ratio") for value in score.values if value.measure == measure)
    return "" if is_mean or not measure.startswith(PERCENT) else "a ratio of two means"


def list_run_pair_contrasts(scored: RunStandingsAndPairs) -> Iterator[StatedSystemContrast]:
    """List the contrasts of the pairs of runs in the record."""
    for measure, pairs in scored.pairs.items():
        for pair in pairs:
            if pair.error is not None:
                yield StatedSystemContrast(
                    (TASK, scored.dataset, measure), pair.a, pair.b, pair.difference, pair.low, pair.high, pair.error,
                    math.inf if pair.df is None else pair.df, pair.p, pair.n, scored.method, pair.judged_less
                )  # fmt: skip


class _PerQueryValuesOfRuns:
    """The values per query of all runs of a scoring."""

    def __init__(self, folder: RunFolder, score: ScoringRecord) -> None:
        self._score, self.groups = score, dict[str, str]()
        self._values: dict[tuple[str, str], dict[str, float]] = {}
        self.queries: list[str] = []
        for run in score.runs:
            self._read_run_values(run.name, folder.locate_cell_items(TASK, score.judgements.name, run.name))

    def _read_run_values(self, run: str, path: Path) -> None:
        frame = read_parquet(path)
        columns = ["item_id", "measure", "value"]
        for query, measure, value in frame.select(columns).iter_rows():
            self._values.setdefault((run, measure), {})[query] = np.nan if value is None else value
        self.queries = self.queries or frame["item_id"].unique(maintain_order=True).to_list()
        if "group" in frame.columns and not self.groups:
            self.groups = dict(frame.select("item_id", "group").iter_rows())

    def draws(self, measures: Sequence[str]) -> dict[str, dict[str, Floats]]:
        """Draw replicates of every run by measure: those that the scoring drew, by its seed and groups."""
        keys = [(run.name, measure) for measure in measures for run in self._score.runs]
        if not keys:
            return {}
        columns = [[self._values.get(key, {}).get(query, np.nan) for query in self.queries] for key in keys]
        settings = self._score.settings
        means = resample_defined_means(
            np.array(columns).T, n_resamples=settings.resamples, rng=make_seeded_generator(settings.seed, "resample"),
            groups=self._number_query_groups()
        )  # fmt: skip
        drawn: dict[str, dict[str, Floats]] = {}
        for (run, measure), column in zip(keys, means.T, strict=True):
            drawn.setdefault(measure, {})[run] = column
        return drawn

    def _number_query_groups(self) -> Groups | None:
        if not self.groups:
            return None
        places: dict[str, int] = {}
        return np.array([places.setdefault(self.groups[query], len(places)) for query in self.queries])


def _make_run_standing(score: ScoringRecord, value: RunMeasureValue, draws: Floats) -> SystemStanding:
    strata = () if value.df is None else (ResampledUnitGroup(round(value.df) + 1, draws[:KEPT]),)
    replicates = np.empty(0) if value.error is None else draws
    headline = SystemHeadlineValue(
        value.run, value.value, value.n, replicates, value.method, value.reason, strata,
        find_measure_bounds(value.measure), (value.low, value.high)
    )  # fmt: skip
    return SystemStanding(TASK, score.judgements.name, value.measure, headline)


def _draw_normal_replicates_of_runs(score: ScoringRecord, values: Sequence[RunMeasureValue]) -> dict[str, Floats]:
    """Replicates by the normal law that have exactly the errors of the record, of each value and of each difference, as
    far as there is a law that has all of them."""
    runs = [value.run for value in values]
    errors = np.array([_convert_error_to_replicate_spread(value) for value in values])
    covariance = np.diag(errors**2)
    comparison = score.find_measure_comparison(values[0].measure) if values else None
    by_runs = {frozenset((pair.a, pair.b)): pair for pair in (comparison.pairs if comparison else ())}
    for i, j in combinations(range(len(runs)), 2):
        pair = by_runs.get(frozenset((runs[i], runs[j])))
        # Two runs that no test compares are taken as independent.
        apart = (
            np.hypot(errors[i], errors[j])
            if pair is None or pair.error is None
            else _convert_error_to_replicate_spread(pair)
        )
        # Var(a - b) = Var(a) + Var(b) - 2 Cov(a, b).
        covariance[i, j] = covariance[j, i] = (errors[i] ** 2 + errors[j] ** 2 - apart**2) / 2
    size, axes = np.linalg.eigh(covariance)
    # Errors that no law can have together give negative eigenvalues.
    draws = _draw_whitened_normals(len(runs), score.settings.seed) * np.sqrt(np.maximum(size, 0.0)) @ axes.T
    return {value.run: (value.value or 0.0) + column for value, column in zip(values, draws.T, strict=True)}


def _draw_whitened_normals(columns: int, seed: int) -> Floats:
    """Normal draws (RESAMPLES, columns) whose own means are 0, variances 1 and covariances 0."""
    raw = make_seeded_generator(seed, "scored", "errors").standard_normal((RESAMPLES, columns))
    basis = np.linalg.qr(raw - raw.mean(axis=0))[0]
    return np.asarray(basis * np.sqrt(RESAMPLES - 1))


def _convert_error_to_replicate_spread(of: RunMeasureValue | RunPairDifference) -> float:
    """Compute the spread of replicates that have its error, which few units make larger."""
    factor = 1.0 if of.df is None else np.sqrt((of.df + 1) / of.df)
    return float((of.error or 0.0) / factor)
