"""A scoring by a judge's grades, corrected by the few of people: values, differences, and what the judge is worth.

People's grades have to be drawn at random: whole queries for measures that are made of a query's whole pool, single
passages for those that are a sum over passages (precision, harm). Which it is, the grades show. A measure of a whole
pool has no value from single passages: filled in by what the judge's grades mean elsewhere, nDCG@10 of real judges was
off by 0.06 to 0.08, three standard errors and more, since what the judge mistakes goes together within a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.errors import DataError, UsageError
from embassay.measures.agreement import cohen_kappa
from embassay.measures.judgements import GRADES
from embassay.protocols.kernel.quantities import STEPS, estimate_judge_bias, forecast_difference_with_more_items
from embassay.protocols.kernel.tables import ColumnTable
from embassay.protocols.rag.decision.population import (
    NOT_FOUND,
    ComparisonItemPopulation,
    make_comparison_items_of_runs,
)
from embassay.protocols.rag.scoring.inputs import JudgementGrades1To5, ScoringInputs
from embassay.protocols.rag.scoring.placement import align_runs_with_judged_queries
from embassay.protocols.rag.scoring.quantities import CONFIDENCE
from embassay.protocols.rag.scoring.sampling import TO_GRADE_TABLE, MissingCorrection, PeopleAndJudgeGrades
from embassay.protocols.rag.scoring.score import (
    BY_PEOPLE,
    MeasuredRun,
    RequestedMeasure,
    RunComparisonByMeasure,
    RunMeasureValue,
    RunPairDifference,
    RunQueryMeasureColumns,
    ScoringNote,
    ScoringRecord,
    measure_run,
)
from embassay.runs.folder import read_json_record
from embassay.stats import Estimate
from embassay.stats.few_labels import FEWEST, MOST_REFUSED, HumanAndJudgeMean, compute_judge_corrected_mean
from embassay.stats.ranks import correct_p_values_by_holm

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
SCHEMA = 1
CORRECTED = "corrected.json"
BANDS = ((1, 3), (4, 10), (11, 30))
"""Best ranks by which the judge is looked at."""
_TURNS = 4
CORRECTED_TEST = "two-sided t test of the difference corrected by people's grades"
"""What `p` is of in a corrected scoring."""


@dataclass(frozen=True, kw_only=True)
class CorrectedRunEstimate(Estimate):
    """A value of `run`, or with `other` run minus other: by people and judge, by people alone, by the judge alone.
    `slope` is how much the judge counts, `effective` how many labels of people alone would be as good. `unit` is what
    people labelled `n` of `total` of, in so many `queries`, which the interval is over."""

    run: str
    other: str
    measure: str
    alone: float
    alone_low: float
    alone_high: float
    judge: float
    slope: float
    unit: str
    total: int
    effective: float
    p: float
    queries: int = 0
    error: float | None = None
    df: float | None = None
    """The standard error and its degrees of freedom, None of a normal law."""


@dataclass(frozen=True)
class UncorrectedMeasure:
    """A measure without a corrected value: why, and what to label."""

    measure: str
    reason: str
    mend: str
    gain: str = ""
    """What that takes, and how narrow an interval would be."""


@dataclass(frozen=True)
class JudgeGradeBias:
    """How far the judge's grades are above people's, on `n` passages of a kind, with its 95% interval where it has
    one."""

    kind: str
    n: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MoreLabelsGain:
    """What `more` units labelled by people (`unit`: queries or passages), each of so many `labels`, would buy for a
    difference: half of its interval, and the chance that it is told from 0."""

    run: str
    other: str
    measure: str
    more: int
    half: float
    chance: float
    unit: str = "queries"
    labels: float = 1.0


@dataclass(frozen=True)
class JudgeCorrectionResults:
    """What people's grades made of the judge's. `passages` have both grades; `kappa` is quadratically weighted, None
    where it is undefined. `use` says in words whether the judge is of any."""

    people: str
    judge: str
    passages: int
    queries: int
    kappa: float | None
    exact: float
    off: tuple[JudgeGradeBias, ...]
    rows: tuple[CorrectedRunEstimate, ...]
    ahead: tuple[MoreLabelsGain, ...]
    use: str
    notes: tuple[str, ...]
    lacking: tuple[UncorrectedMeasure, ...] = ()
    schema: int = SCHEMA

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def read_judge_corrections(path: Path) -> JudgeCorrectionResults:
    """The record in a `corrected.json`; DataError if it holds none."""
    return read_json_record(
        path, JudgeCorrectionResults, schema=SCHEMA, what="the corrections", mend="Score again with this --out."
    )


class JudgeCorrector:
    """A corrector by people's grades beside the judge's; `judged` are values by the judge on `queries`."""

    def __init__(
        self,
        inputs: ScoringInputs,
        people: JudgementGrades1To5,
        judge: JudgementGrades1To5,
        measures: Sequence[RequestedMeasure],
        judged: Sequence[MeasuredRun],
        queries: Sequence[str],
        seed: int = 0,
    ) -> None:
        self.inputs, self.measures, self.queries = inputs, measures, tuple(queries)
        self.judged = {run.run: run for run in judged}
        self.people, self.judge = _map_grades_by_passage(people.frame), _map_grades_by_passage(judge.frame)
        shared = self.people.keys() & self.judge.keys()
        if not shared:
            key = next(iter(self.judge))
            raise DataError(
                "no passage is graded by both people and the judge", path=inputs.qrels.path,
                expected=f"such as query {key[0]!r}, document {key[1]!r}",
                mend="Give grades for the same queries and documents."
            )  # fmt: skip
        self.shared = sorted(shared)
        self.labelled = PeopleAndJudgeGrades(self.people, self.judge, inputs.runs, seed)
        self.own = self._measure_runs_by_people(people)
        self.lacking: dict[str, MissingCorrection] = {}
        self.of_queries: set[str] = set()

    @cached_property
    def fully_graded_queries(self) -> NDArray[np.int64]:
        """The places of the queries of which people graded all that the judge graded."""
        drawn = set(self.labelled.fully_graded_queries)
        return np.array([i for i, query in enumerate(self.queries) if query in drawn], dtype=np.int64)

    def _measure_runs_by_people(self, people: JudgementGrades1To5) -> dict[str, Mapping[str, RunQueryMeasureColumns]]:
        """People's values of the queries that they graded whole, in the order of `queries`."""
        import polars as pl

        names = [self.queries[i] for i in self.fully_graded_queries]
        frame = people.frame.filter(pl.col("query").cast(pl.String).is_in(names))
        if not len(frame):
            return {}
        runs = {
            name: replace(run, frame=run.frame.filter(pl.col("query").cast(pl.String).is_in(names)))
            for name, run in self.inputs.runs.items()
        }
        if any(not len(run.frame) for run in runs.values()):
            return {}
        board = align_runs_with_judged_queries(
            replace(self.inputs, runs=runs, pools=(None,) * len(runs)), replace(people, frame=frame)
        )
        order = {query: i for i, query in enumerate(board.queries)}
        rows = np.array([order[name] for name in names])
        values: dict[str, Mapping[str, RunQueryMeasureColumns]] = {}
        for run in board.runs:
            columns = measure_run(run.name, run.graded, self.measures, "zero", None).columns
            values[run.name] = {
                name: RunQueryMeasureColumns(column.value[rows], tuple(part[rows] for part in column.parts))
                for name, column in columns.items()
            }
        return values

    def list_corrected_run_estimates(self) -> Iterator[CorrectedRunEstimate]:
        """List corrected values of runs and pairs, by each measure that people's grades are enough for."""
        names = list(self.judged)
        for measure in self.measures:
            for pair in [(name, "") for name in names] + list(combinations(names, 2)):
                correction = self._correct_by_single_passages(measure, *pair) or self._correct_measure_by_whole_queries(
                    measure, *pair
                )
                if correction is not None:
                    yield correction

    def _correct_measure_by_whole_queries(
        self, measure: RequestedMeasure, run: str, other: str
    ) -> CorrectedRunEstimate | None:
        """Correct a measure by whole queries: a mean, or a ratio of means, over those with a value."""
        missing = self.labelled.explain_missing_whole_query_correction(measure.facts.cutoff)
        if missing is not None:
            self.lacking.setdefault(measure.name, missing)
            self.of_queries.add(measure.name)
            return None
        if not self.own:
            return None
        mine, theirs = (
            _make_run_mean_or_difference(held, measure.name, run, other)
            for held in (self.own, self._list_judge_columns_by_run())
        )
        ratio = _correct_ratio_of_means(mine, theirs, self.fully_graded_queries, is_difference=bool(other))
        if ratio is None:
            return None
        return _make_corrected_estimate((run, other, measure.name), "queries", *ratio, queries=ratio[0].n)

    @property
    def deepest_cutoff(self) -> int | None:
        """The deepest cutoff of the measures."""
        return max((k for measure in self.measures if (k := measure.facts.cutoff)), default=None)

    def describe_whole_query_grading_gain(self, measure: str) -> str:
        """Say what grading whole queries takes and gives, for a measure that lacks them."""
        if measure not in self.of_queries:
            return ""
        spread = max(float(np.nanstd(run.columns[measure].value)) for run in self.judged.values())
        return self.labelled.describe_value_of_grading_queries(self.deepest_cutoff, measure, spread)

    def _list_judge_columns_by_run(self) -> dict[str, Mapping[str, RunQueryMeasureColumns]]:
        return {name: run.columns for name, run in self.judged.items()}

    def _correct_by_single_passages(
        self, measure: RequestedMeasure, run: str, other: str
    ) -> CorrectedRunEstimate | None:
        """From single passages, where the measure is a sum over them and people graded more than whole queries."""
        population = self._make_population_of_top_passages(measure.name)
        if population is None or population.asked.linear is None:
            return None
        linear = population.asked.linear
        weight = np.concatenate([[0.0], linear.by_rank])
        place = {name: i for i, name in enumerate(population.runs)}
        coefficient = weight[population.ranks[:, place[run]]]
        if other:
            coefficient = coefficient - weight[population.ranks[:, place[other]]]
        used = np.flatnonzero(np.abs(coefficient) > 1e-15)
        keys = [population.keys[i] for i in used]
        labelled = np.array([key in self.people for key in keys], dtype=bool)
        whole = {self.queries[i] for i in self.fully_graded_queries}
        loose = sum(key[0] not in whole for key, is_known in zip(keys, labelled, strict=True) if is_known)
        # Where nearly all labels are of whole queries, queries were drawn and not passages.
        if labelled.sum() < FEWEST or loose < labelled.sum() / 10:
            return None
        if (missing := self.labelled.explain_no_passage_correction(keys)) is not None:
            self.lacking.setdefault(measure.name, missing)
            return None
        scale = len(used) / len(self.queries)
        # What the judge has no grade of is no 0: it is a stratum by itself.
        refused = np.array([key not in self.judge for key in keys], dtype=bool)
        by_judge = coefficient[used] * linear.gain[[self.judge.get(key, 0) for key in keys]] * scale
        by_judge[refused] = np.nan
        by_people = coefficient[used] * linear.gain[[self.people.get(key, 0) for key in keys]] * scale
        most = float(np.abs(coefficient[used]).max()) * scale
        groups = population.query[used]
        mean = compute_judge_corrected_mean(
            by_people[labelled], by_judge[labelled], by_judge, bounds=(-most if other else 0.0, most),
            groups=groups[labelled], every_groups=groups, confidence=CONFIDENCE
        )  # fmt: skip
        queries = len(np.unique(groups[labelled]))
        return _make_corrected_estimate((run, other, measure.name), "passages", mean, 1.0, queries=queries)

    def _make_population_of_top_passages(self, measure: str) -> ComparisonItemPopulation | None:
        """The passages among the first of the runs, on the judge's queries; None for a measure that has none."""
        import polars as pl

        judged = list(self.queries)
        runs = {
            name: replace(run, frame=run.frame.filter(pl.col("query").cast(pl.String).is_in(judged)))
            for name, run in self.inputs.runs.items()
        }
        try:
            return make_comparison_items_of_runs(runs, measure, 0.0)
        # No measure of passages alone: then whole queries are all there is to go by.
        except UsageError:
            return None

    def iterate_judge_bias_by_grade_and_rank(self) -> Iterator[JudgeGradeBias]:
        """Measure the judge's bias by people's grade, and by how well the runs rank a passage."""
        ranks = self._find_best_passage_ranks()
        graded = [(self.people[key], self.judge[key], ranks.get(key, NOT_FOUND)) for key in self.shared]
        table = np.array(graded, dtype=np.float64)
        parts = {"all": table}
        parts |= {f"grade {grade}": table[table[:, 0] == grade] for grade in GRADES}
        for low, high in BANDS:
            parts[f"ranks {low} to {high}"] = table[(table[:, 2] >= low) & (table[:, 2] <= high)]
        for kind, rows in parts.items():
            if len(rows):
                yield JudgeGradeBias(*astuple(estimate_judge_bias(kind, rows[:, 1] - rows[:, 0])))

    def _find_best_passage_ranks(self) -> dict[tuple[str, str], int]:
        population = self._make_population_of_top_passages(f"Precision4+@{BANDS[-1][1]}")
        if population is None:
            return {}
        return dict(zip(population.keys, population.best_rank_of_each_passage.tolist(), strict=True))


def _map_grades_by_passage(frame: pl.DataFrame) -> dict[tuple[str, str], int]:
    return {(str(q), str(d)): int(g) for q, d, g in frame.select("query", "doc", "grade").iter_rows()}


Quantity = tuple[Floats, Floats]
"""What is summed, and what it is divided by, per query; 0 and 0 where it is undefined."""


def _make_run_mean_or_difference(
    held: Mapping[str, Mapping[str, RunQueryMeasureColumns]], measure: str, run: str, other: str
) -> Quantity:
    first = held[run][measure].parts
    if not other:
        top = first[0]
        under = first[1] if len(first) > 1 else np.where(np.isnan(top), np.nan, 1.0)
    else:
        top = held[run][measure].value - held[other][measure].value
        under = np.where(np.isnan(top), np.nan, 1.0)
    return np.nan_to_num(top), np.nan_to_num(under)


def _correct_ratio_of_means(
    people: Quantity, judge: Quantity, labelled: NDArray[np.int64], *, is_difference: bool
) -> tuple[HumanAndJudgeMean, float] | None:
    """The ratio of means whose deviations have the corrected mean 0: that mean, and what it is divided by. The `value`
    of the mean is the ratio."""
    top, under = people
    if under.mean() <= 0:
        return None
    ratio = alone = float(top.mean() / under.mean())
    # The deviations are of the ratio that is sought, so it is found in turns; each corrects the last one.
    for _ in range(_TURNS):
        every = judge[0] - ratio * judge[1]
        mean = compute_judge_corrected_mean(
            top - ratio * under,
            every[labelled],
            every,
            bounds=_find_range_of_query_deviation(people, ratio, is_difference),
            confidence=CONFIDENCE,
        )
        ratio += mean.value.point / float(under.mean())
    by_itself = compute_judge_corrected_mean(
        top - alone * under, np.zeros(len(top)), np.zeros(len(top)),
        bounds=_find_range_of_query_deviation(people, alone, is_difference),
        confidence=CONFIDENCE
    ).alone  # fmt: skip
    by_judge = float(judge[0].mean() / judge[1].mean()) if judge[1].mean() > 0 else float("nan")
    moved = replace(mean.value, value=ratio)
    scale = float(under.mean())
    low, high = by_itself.ends
    apart = Estimate(alone, alone + low / scale, alone + high / scale)
    return replace(mean, value=moved, alone=apart, judge=by_judge), scale


def _find_range_of_query_deviation(people: Quantity, ratio: float, is_difference: bool) -> tuple[float, float]:
    """What a query's deviation can be: that of a share lies around the ratio, that of a difference anywhere."""
    top, under = people
    if is_difference or not 0 <= ratio <= 1 or (top < 0).any() or (top > under).any():
        return -1.0, 1.0
    most = float(under.max())
    return -ratio * most, (1 - ratio) * most


def _make_corrected_estimate(
    of: tuple[str, str, str], unit: str, mean: HumanAndJudgeMean, under: float, *, queries: int
) -> CorrectedRunEstimate | None:
    """The record `of` a run, another and a measure; ends lie within what the measure can be."""
    run, other, measure = of
    error = mean.error / under
    if not np.isfinite(error):
        return None
    least = -1.0 if other else 0.0
    arms = None if mean.arms is None else (mean.arms[0] / under, mean.arms[1] / under)
    scaled = replace(mean, error=error, arms=arms)
    p = scaled.p
    low, high = (
        max(scaled.compute_interval_ends(CONFIDENCE)[0], least),
        min(scaled.compute_interval_ends(CONFIDENCE)[1], 1.0),
    )
    alone_low, alone_high = mean.alone.ends
    return CorrectedRunEstimate(
        mean.value.value, low, high, mean.n, run=run, other=other, measure=measure, alone=mean.alone.point,
        alone_low=max(alone_low, least), alone_high=min(alone_high, 1.0), judge=mean.judge, slope=mean.slope,
        unit=unit, total=mean.total, effective=mean.effective, p=p if np.isfinite(p) else 1.0, queries=queries,
        error=error, df=mean.freedom if np.isfinite(mean.freedom) else None
    )  # fmt: skip


def make_judge_correction_results(
    made: JudgeCorrector, judge: RunOrQrelsEntries, headline: str
) -> JudgeCorrectionResults:
    """Make the whole record of corrections."""
    rows = tuple(made.list_corrected_run_estimates())
    pairs = [(made.people[key], made.judge[key]) for key in made.shared]
    mine, theirs = ([pair[i] for pair in pairs] for i in (0, 1))
    kappa = cohen_kappa(mine, theirs, weights="quadratic") if len(set(mine) | set(theirs)) > 1 else float("nan")
    queries = len({key[0] for key in made.shared})
    ahead = tuple(_forecast_labels_to_decide_differences(rows, headline, len(made.judge) / len(made.queries)))
    return JudgeCorrectionResults(
        made.inputs.qrels.path, judge.path, len(pairs), queries, None if np.isnan(kappa) else float(kappa),
        float(np.mean([a == b for a, b in pairs])), tuple(made.iterate_judge_bias_by_grade_and_rank()), rows, ahead,
        _describe_gain_from_judge(rows, headline), tuple(_list_judge_correction_notes(made, rows)),
        _list_uncorrected_measures(made, rows)
    )  # fmt: skip


def _forecast_labels_to_decide_differences(
    rows: Sequence[CorrectedRunEstimate], headline: str, per_query: float
) -> Iterator[MoreLabelsGain]:
    """For every difference by the headline that is not told from 0, by Holm over all of them; a query is `per_query`
    labels."""
    gaps = [row for row in rows if row.other and row.measure == headline]
    p_all = correct_p_values_by_holm([gap.p for gap in gaps], [gap.value != 0 for gap in gaps])
    for correction, p in zip(gaps, p_all, strict=True):
        if p >= 1 - CONFIDENCE or correction.contains(0):
            half, left = correction.width / 2, correction.total - correction.n
            steps = forecast_difference_with_more_items(
                correction.point, half, correction.n, len(gaps), [min(step, left) for step in STEPS if left]
            )
            for step in steps:
                labels = per_query if correction.unit == "queries" else 1.0
                yield MoreLabelsGain(
                    correction.run,
                    correction.other,
                    correction.measure,
                    step.more,
                    step.half,
                    step.chance,
                    correction.unit,
                    labels,
                )


def _describe_gain_from_judge(rows: Sequence[CorrectedRunEstimate], headline: str) -> str:
    mine = [row for row in rows if row.measure == headline]
    if not mine:
        return f"People graded too little for {headline}."
    best = max(mine, key=lambda correction: correction.effective / correction.n)
    if best.slope == 0.0:
        return "The judge does not help here: people's grades alone are as informative."
    gained = best.effective / best.n
    return f"The {best.n:,} {best.unit} graded by people are worth up to {best.n * gained:,.0f} with the judge's help."


def _list_uncorrected_measures(
    made: JudgeCorrector, rows: Sequence[CorrectedRunEstimate]
) -> tuple[UncorrectedMeasure, ...]:
    """List the measures of which a run has no corrected row, with the reason where grades are it."""
    having = {row.measure for row in rows}
    nothing = MissingCorrection(
        "the measure has no value on any query that people graded completely", "Grade more queries, drawn at random"
    )
    lacking = []
    for measure in made.measures:
        if measure.name in having and measure.name not in made.lacking:
            continue
        missing = made.lacking.get(measure.name, nothing)
        lacking.append(
            UncorrectedMeasure(
                measure.name, missing.reason, missing.mend, made.describe_whole_query_grading_gain(measure.name)
            )
        )
    return tuple(lacking)


def build_passages_to_grade_table(made: JudgeCorrector) -> ColumnTable | None:
    """Tabulate what people should grade so that every measure has a corrected value; None if all do."""
    if not made.lacking:
        return None
    return made.labelled.build_grading_sheet(made.deepest_cutoff, made.inputs, whole=bool(made.of_queries))


def explain_uncorrected_headline(
    corrections: JudgeCorrectionResults, headline: str
) -> tuple[str, tuple[str, ...]] | None:
    """Heading and sentences where the headline has no corrected value: what is missing comes first."""
    lacking = next((missing for missing in corrections.lacking if missing.measure == headline), None)
    corrected_ones = list(dict.fromkeys(row.measure for row in corrections.rows))
    if lacking is None or headline in corrected_ones:
        return None
    others = f"{', '.join(corrected_ones)} have corrected values." if corrected_ones else ""
    sentences = (
        f"{lacking.reason[:1].upper()}{lacking.reason[1:]}.",
        f"{lacking.mend}.{f' {lacking.gain}.' if lacking.gain else ''}",
        f"--out FOLDER writes FOLDER/tables/{TO_GRADE_TABLE}.csv: copy it, fill in its grade column from the top, and "
        "score again with the copy as --qrels. With --corpus and --queries, it includes the texts.",
        others,
    )
    return f"{headline} cannot be corrected with these grades", tuple(filter(None, sentences))


_FEW_QUERIES = 30
"""Below so many queries an interval over them is by Student's t with much wider ends, and a note says so."""


def _list_judge_correction_notes(made: JudgeCorrector, rows: Sequence[CorrectedRunEstimate]) -> Iterator[str]:
    cutoffs = {measure.facts.cutoff for measure in made.measures}
    yield from made.labelled.warnings(max((k for k in cutoffs if k), default=None))
    single = {(row.run, row.measure): row.value for row in rows if not row.other}
    for row in rows:
        ends = [single.get((run, row.measure)) for run in (row.run, row.other)]
        if None not in ends and abs(ends[0] - ends[1] - row.value) >= 0.0005:  # type: ignore[operator]
            yield "Each difference is corrected separately, so it may not equal the difference of the corrected values."
            break
    few = min((row.queries for row in rows), default=_FEW_QUERIES)
    if few < _FEW_QUERIES:
        yield (f"People graded only {few} queries: the intervals use Student's t, and other queries could shift them.")
    for cutoff in sorted(k for k in cutoffs if k):
        missing, total = made.labelled.ungraded(cutoff)
        if rows and 0 < missing <= MOST_REFUSED * total:
            yield (
                f"In their queries, people left {missing:,} of {total:,} passages in the top {cutoff} ungraded; "
                "these are treated as worth 0."
            )


def put_corrected_values_in_scoring_record(score: ScoringRecord, corrections: JudgeCorrectionResults) -> ScoringRecord:
    """A scoring by the judge with the corrected values and differences in place of the judge's; a value that people's
    grades are too few for is undefined, for the judge's own would look like one of people's."""
    rows = {(row.run, row.other, row.measure): row for row in corrections.rows}
    lacking = {missing.measure: f"{missing.reason}. {missing.mend}" for missing in corrections.lacking}
    values = tuple(
        _make_corrected_run_value(value, rows.get((value.run, "", value.measure)), lacking.get(value.measure, ""))
        for value in score.values
    )
    comparisons = (
        tuple(_compare_runs_by_corrections(score, measure.name, measure.direction, rows) for measure in score.measures)
        if len(score.runs) > 1
        else ()
    )
    notes = (*(ScoringNote("judge", text) for text in (corrections.use, *corrections.notes)), *score.notes)
    settings = replace(score.settings, test=CORRECTED_TEST, intervals=BY_PEOPLE)
    return replace(
        score, settings=settings, values=values, comparisons=comparisons, readings=(), guidance=(), sensitivity=(),
        notes=notes
    )  # fmt: skip


def _make_corrected_run_value(
    judge: RunMeasureValue, row: CorrectedRunEstimate | None, lacking: str
) -> RunMeasureValue:
    if row is None:
        alone = "" if judge.value is None else f" (judge alone: {judge.value:.3f})"
        reason = f"{lacking or 'people graded too little'}{alone}"
        return replace(judge, value=None, low=None, high=None, n=0, method="", reason=reason, error=None, df=None)
    method = (
        f"judge corrected by people's grades of {row.n:,} of {row.total:,} {row.unit}, worth {row.effective:,.0f}; "
        f"people alone {row.alone:.3f}, judge alone {row.judge:.3f}; 95% interval by Student's t over "
        f"{row.queries:,} queries"
    )
    return replace(
        judge, value=row.value, low=row.low, high=row.high, n=row.n, total=row.total, method=method, reason="",
        unit=row.unit, error=row.error, df=row.df
    )  # fmt: skip


def _compare_runs_by_corrections(
    score: ScoringRecord, measure: str, direction: str, rows: Mapping[tuple[str, str, str], CorrectedRunEstimate]
) -> RunComparisonByMeasure:
    lower = direction == "lower"
    values = {run.name: rows[run.name, "", measure].point for run in score.runs if (run.name, "", measure) in rows}
    ranked = sorted(values, key=lambda run: values[run] * (1 if lower else -1))
    pairs = []
    for a, b in combinations(ranked, 2):
        correction = rows.get((a, b, measure)) or rows.get((b, a, measure))
        if correction is None:
            return RunComparisonByMeasure(measure, tuple(ranked), reason="people graded too little")
        low, high = correction.ends
        if correction.run != a:
            low, high = -high, -low
        pairs.append(
            RunPairDifference(
                a,
                b,
                correction.point if correction.run == a else -correction.point,
                low,
                high,
                correction.p,
                correction.p,
                correction.n,
                error=correction.error,
                df=correction.df,
                unit=correction.unit,
            )
        )
    if not pairs:
        return RunComparisonByMeasure(measure, tuple(ranked), reason="fewer than two runs with a value")
    adjusted = correct_p_values_by_holm([pair.p for pair in pairs], [pair.difference != 0 for pair in pairs])
    tested = tuple(
        replace(
            pair,
            p_adjusted=p,
            better=(pair.a if (pair.difference < 0) == lower else pair.b) if p < score.settings.alpha else "",
        )
        for pair, p in zip(pairs, adjusted, strict=True)
    )
    return RunComparisonByMeasure.make_comparison_with_test_ranks(measure, ranked, tested)
