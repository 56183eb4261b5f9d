"""The record of a scoring: all that the terminal, the HTML page, the tables and the sentences are filled from.

Every number stands here once. `score.json` in the folder of a run is `ScoringRecord.as_dict()`; `read_scoring_record`
undoes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures import MEASURES, Measure, evaluate_graded
from embassay.measures.judgements import FacetsOfQueryDocuments, Graded, Sources, treat_unjudged
from embassay.measures.registry import GradedMeasure, RankingMeasure
from embassay.runs.folder import read_json_record, write_json
from embassay.spec import CALL, Spec
from embassay.stats import Estimate

if TYPE_CHECKING:
    import polars as pl


SCHEMA = 1


@dataclass(frozen=True)
class JudgementCounts:
    """The qrels: how many queries and documents they grade; `grades` counts grade 1, 2, 3, 4, 5."""

    name: str
    path: str
    format: str
    grade_map: str
    queries: int
    documents: int
    grades: tuple[int, ...]
    dropped: int = 0
    groups: int = 0
    """Of queries that share a relevant document or their words, which are drawn together; 0 where none do."""


@dataclass(frozen=True)
class RunReadingStatistics:
    """A run as it was read. `missing`: judged queries without a line, which count as having retrieved nothing.
    `unknown`: queries without judgements, left out. `repeated`: lines that repeat a query and document, left out.
    `tied`: documents whose score another one of their query has. `depth`: the fewest, median and most documents of a
    query that it answers. `pool`: what PROC is about, in words. `ungraded`: the share of the passages before each
    cutoff that have no grade."""

    name: str
    path: str
    format: str
    lines: int
    queries: int
    missing: int
    unknown: int
    repeated: int
    tied: int
    depth: tuple[int, float, int]
    pool: str
    ungraded: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RequestedMeasureDescription:
    """A measure of the scoring, as the user spelled it. `family`: `set`, `ceiling` (PROC, %PROC), `answer` (Acc|Hit),
    `facet` or `classic`; `base` is its name without the cutoff."""

    name: str
    base: str
    cutoff: int | None
    direction: str
    family: str


@dataclass(frozen=True, kw_only=True)
class RunMeasureValue(Estimate):
    """A measure of a run over the queries where it is defined (`n` of `total`), with its 95% interval. Of a value that
    people's grades correct, `n` and `total` are of the `unit` that people labelled.

    `value` is None where it is undefined, and `reason` says why; `low` and `high` are None without an interval. `error`
    is its standard error, None where there is none, and `df` that error's degrees of freedom, None of a normal law.
    """

    run: str
    measure: str
    total: int
    error: float | None = None
    df: float | None = None
    unit: str = "queries"


@dataclass(frozen=True)
class RunPairDifference:
    """Run `a` less run `b` over the `n` queries (or what `unit` says) where both are defined, with interval and test;
    `better` is the run that beats the other, empty where they cannot be told apart, or where the test tells them apart
    and `judged_less` names the run of which too little is judged for a verdict. Ends are None where every resample
    gives the same. `error` and `df` are those of a value: what `compare` and `gate` say of the two."""

    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_adjusted: float
    n: int
    better: str = ""
    error: float | None = None
    df: float | None = None
    unit: str = "queries"
    judged_less: str = ""


@dataclass(frozen=True)
class RunComparisonByMeasure:
    """Who can be told apart from whom by one measure: runs best first with the ranks the tests allow, and all pairs;
    `reason` says why there is no comparison. `unjudged` is, where it matters, the share of the passages before the
    cutoff of each run that have no grade."""

    measure: str
    runs: tuple[str, ...] = ()
    rank_low: tuple[int, ...] = ()
    rank_high: tuple[int, ...] = ()
    pairs: tuple[RunPairDifference, ...] = ()
    reason: str = ""
    unjudged: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def make_comparison_with_test_ranks(
        cls, measure: str, runs: Sequence[str], pairs: Sequence[RunPairDifference]
    ) -> RunComparisonByMeasure:
        """With the ranks that the tests of all pairs of `runs` (best first) allow."""
        low = [1 + sum(pair.better not in ("", run) and run in (pair.a, pair.b) for pair in pairs) for run in runs]
        high = [len(runs) - sum(pair.better == run for pair in pairs) for run in runs]
        return cls(measure, tuple(runs), tuple(low), tuple(high), tuple(pairs))


@dataclass(frozen=True)
class TopDocumentsSimilarity:
    """How alike the first `cutoff` documents of two runs are, means over queries: `overlap`, and Kendall's tau-b of the
    common documents over the `tau_n` queries with two or more of them."""

    a: str
    b: str
    cutoff: int
    overlap: float
    overlap_low: float | None
    overlap_high: float | None
    n: int
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    tau_n: int


@dataclass(frozen=True)
class RaNwgSensitivityCell:
    """RA-nWG at one setting of its constants: the value of each run, the runs' order (best first), Kendall's tau-b of
    that order against the default cell, and the largest absolute change of a run's value from it."""

    cutoff: int
    alpha: float
    cap4: float
    cap3: float
    values: Mapping[str, float | None]
    order: tuple[str, ...]
    tau: float | None
    largest_change: float | None
    default: bool = False


@dataclass(frozen=True)
class ScoringNote:
    """Something to know before believing a number: what kind, of which run (empty: of all), and the sentence."""

    kind: str
    text: str
    run: str = ""
    count: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class NumberInSentence(Estimate):
    """A number in a sentence, with its interval where it has one. `same`: every resample gives it, so that there is no
    interval, and on these queries it is what it is."""

    what: str
    same: bool = False

    @property
    def find_interval_ends_or_exact_value(self) -> tuple[float, float] | None:
        """The interval of the number, or the number where it is exact; None where that is not known."""
        if self.low is None:
            return (self.point, self.point) if self.same else None
        return self.ends


@dataclass(frozen=True)
class RunInterpretation:
    """What the figures mean for one run at one cutoff. `finding`: `pool`, `ordering`, `both`, `little` (hardly anything
    is lost), `open` (the data do not tell) or `untold` (the list is too short); `text` says it in a sentence."""

    run: str
    cutoff: int
    finding: str
    text: str
    evidence: tuple[NumberInSentence, ...] = ()


@dataclass(frozen=True)
class TestedAdviceVerdict:
    """A piece of advice and whether it `holds`, `does not hold`, is `open` (the interval has both) or `not tested` on
    this data. `finding` is what it is for: `pool`, `ordering` or `cost`."""

    knob: str
    finding: str
    status: str
    text: str
    evidence: tuple[NumberInSentence, ...] = ()


BOOTSTRAP, BY_PEOPLE = (
    "bootstrap over queries, corrected for bias and for few queries",
    "Student's t over what people graded",
)
"""How intervals are made: of a scoring, and of one whose judge people's grades correct."""


@dataclass(frozen=True)
class ScoringSettings:
    """The settings of how the scoring was done."""

    grades: str
    unjudged: str
    seed: int
    resamples: int
    test: str
    correction: str
    alpha: float
    confidence: float
    ties: str
    cutoffs: tuple[int, ...]
    intervals: str = BOOTSTRAP
    """How the intervals were made."""


@dataclass(frozen=True)
class ScoringRecord:
    """One scoring: runs side by side on one set of judgements. `headline` is the measure that verdicts are about."""

    settings: ScoringSettings
    judgements: JudgementCounts
    runs: tuple[RunReadingStatistics, ...]
    measures: tuple[RequestedMeasureDescription, ...]
    headline: str
    values: tuple[RunMeasureValue, ...]
    comparisons: tuple[RunComparisonByMeasure, ...] = ()
    likeness: tuple[TopDocumentsSimilarity, ...] = ()
    sensitivity: tuple[RaNwgSensitivityCell, ...] = ()
    notes: tuple[ScoringNote, ...] = ()
    readings: tuple[RunInterpretation, ...] = ()
    guidance: tuple[TestedAdviceVerdict, ...] = ()
    verdict: str = ""
    lede: tuple[str, ...] = ()
    schema: int = field(default=SCHEMA)

    def value(self, run: str, measure: str) -> RunMeasureValue | None:
        """Find the value of a run by a measure, None if there is none."""
        return next((value for value in self.values if (value.run, value.measure) == (run, measure)), None)

    def find_measure_comparison(self, measure: str) -> RunComparisonByMeasure | None:
        """The comparison by a measure, None if there is none."""
        return next((comparison for comparison in self.comparisons if comparison.measure == measure), None)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def write_scoring_record(path: Path, score: ScoringRecord) -> None:
    """Write the scoring record to `score.json` in one step."""
    write_json(path, score.as_dict())


def read_scoring_record(path: Path) -> ScoringRecord:
    """Read the record in a `score.json`; DataError if it holds none, or one of another schema."""
    mend = "Run `embassay rag score` again with this --out."
    return read_json_record(path, ScoringRecord, schema=SCHEMA, what="the scoring", mend=mend)


Floats = NDArray[np.float64]

SETS = ("RA-nWG", "N-Recall4+", "Harm", "N-Recall5", "Precision4+", "Hit")
CEILINGS = ("PROC", "%PROC")
CLASSIC = ("nDCG", "AP", "RR", "R", "P")
PERCENT = "%"
ANSWERS = "Acc|Hit"
JUDGED = "Judged"
FACETS = ("Facet-Recall", "Facet-alpha-nDCG", "Redundancy", "Complementarity")
"""The measures that are taken besides where the facets of documents are known."""
_WIDTH = 50_000_000


@dataclass(frozen=True)
class RequestedMeasure:
    """A measure as asked for. `parts` are the measures whose means give the value: the measure itself, or for %PROC
    what was reached and its ceiling; none for Acc|Hit, which needs the answers. `by_query` is %PROC as the mean of the
    queries' own ratios."""

    facts: RequestedMeasureDescription
    parts: tuple[Measure, ...]
    undefined: str
    by_query: bool = False

    @property
    def name(self) -> str:
        """As the user spelled it."""
        return self.facts.name

    @property
    def needs_document_sources(self) -> bool:
        """Whether it asks which documents are of one source."""
        return self.needs_document_property("sources")

    def needs_document_property(self, what: str) -> bool:
        """Whether it needs, besides a ranking, `sources` or `facets` of documents."""
        return any(what in dict(MEASURES.get(part.spec.name).facts)["needs"] for part in self.parts)

    @property
    def is_ratio_of_means(self) -> bool:
        """Whether its value is a ratio of two means, not a mean."""
        return len(self.parts) > 1 and not self.by_query


@dataclass(frozen=True)
class RunQueryMeasureColumns:
    """Values per query of one run: by measure one column (q,), two for a ratio; NaN where undefined.

    `value` is what a query itself has, `parts` what the mean is made of, each over the queries where all are defined.
    """

    value: Floats
    parts: tuple[Floats, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """A run's values per query by measure; `reason` says why it has none at all, where that is so."""

    run: str
    columns: Mapping[str, RunQueryMeasureColumns]
    reason: str = ""


def blank_values_of_measured_run(measured: MeasuredRun, reason: str) -> MeasuredRun:
    """Make a run whose values are left out, for a `reason`."""
    columns = {
        name: RunQueryMeasureColumns(
            np.full_like(column.value, np.nan), tuple(np.full_like(part, np.nan) for part in column.parts)
        )
        for name, column in measured.columns.items()
    }
    return MeasuredRun(measured.run, columns, reason)


def drop_failed_queries(measured: MeasuredRun, failed: NDArray[np.bool_], most: float) -> MeasuredRun:
    """Drop a run's values where its retriever `failed` (q,); all where that is a share above `most`."""
    if failed.mean() > most:
        reason = f"its retriever failed on {int(failed.sum()):,} of {len(failed):,} questions"
        return blank_values_of_measured_run(measured, reason)
    columns = {
        name: RunQueryMeasureColumns(
            np.where(failed, np.nan, column.value), tuple(np.where(failed, np.nan, part) for part in column.parts)
        )
        for name, column in measured.columns.items()
    }
    return replace(measured, columns=columns)


def parse_requested_measures(
    measures: Sequence[str], cutoffs: Sequence[int], *, answers: bool, facets: bool = False
) -> tuple[RequestedMeasure, ...]:
    """Parse the measures to take; the usual ones where none is named, each at every cutoff.

    A name without a cutoff stands for one at every cutoff where the measure needs one. UsageError for a name that is
    not a measure of rankings, for Acc|Hit without `answers`, and for measures of facets without `facets`.
    """
    names = list(measures) or [f"{name}@{k}" for k in cutoffs for name in (*SETS, *CEILINGS, JUDGED, *CLASSIC)]
    if facets and not any(name.startswith(FACETS) for name in names):
        names += [f"{name}@{k}" for k in cutoffs for name in FACETS]
    if answers and not any(name.startswith(ANSWERS) for name in names):
        names += [f"{ANSWERS}@{k}" for k in cutoffs]
    spelled = [cutoff for name in names for cutoff in _list_measure_names_at_cutoffs(name.strip(), cutoffs)]
    if not answers and any(name.startswith(ANSWERS) for name in spelled):
        raise UsageError(
            f"{ANSWERS} needs the answers.", mend="Give --answers FILE with query_id and correct (0 to 1)."
        )
    asked = tuple(_parse_requested_measure(name) for name in dict.fromkeys(spelled))
    if not facets and (
        of_facets := next((measure for measure in asked if measure.needs_document_property("facets")), None)
    ):
        raise UsageError(
            f"{of_facets.name} needs the facets of documents.", mend="Give --facets FILE with query, document, facet."
        )
    return asked


def measure_run(
    run: str, graded: Graded, measures: Iterable[RequestedMeasure], unjudged: Any, answers: Floats | None
) -> MeasuredRun:
    """All values of a run. Documents without a grade are treated as `unjudged` says before anything is measured, but
    for Judged itself."""
    measures = list(measures)
    deepest = max((requested_measure.facts.cutoff or graded.top.shape[1] for requested_measure in measures), default=0)
    treated = treat_unjudged(graded, unjudged, deepest)
    raw = [part for requested_measure in measures for part in requested_measure.parts if part.spec.name == JUDGED]
    rest = [part for requested_measure in measures for part in requested_measure.parts if part.spec.name != JUDGED]
    values = {**_measure_in_query_blocks(rest, treated), **_measure_in_query_blocks(raw, graded)}
    columns = {}
    for measure in measures:
        if measure.facts.base == ANSWERS:
            columns[measure.name] = _measure_accuracy_given_hit(measure.facts.cutoff or 0, treated, answers)
        else:
            taken = _make_query_measure_columns([values[str(part)] for part in measure.parts])
            columns[measure.name] = RunQueryMeasureColumns(taken.value, (taken.value,)) if measure.by_query else taken
    return MeasuredRun(run, columns)


def _list_measure_names_at_cutoffs(name: str, cutoffs: Sequence[int]) -> list[str]:
    """`name`, or `name` at every cutoff if it needs one and has none."""
    spec = CALL.parse(name.removeprefix(PERCENT))
    if spec.cutoff is not None:
        return [name]
    if spec.name == ANSWERS or name.startswith(PERCENT):
        return [f"{name}@{k}" for k in cutoffs]
    options = inspect.signature(MEASURES.get(MEASURES.parse_spec(name).name).load()).parameters
    needed = "cutoff" in options and options["cutoff"].default is inspect.Parameter.empty
    return [f"{name}@{k}" for k in cutoffs] if needed else [name]


def _parse_requested_measure(name: str) -> RequestedMeasure:
    if name.startswith(ANSWERS):
        spec = CALL.parse(name)
        return RequestedMeasure(
            RequestedMeasureDescription(name, ANSWERS, spec.cutoff, "higher", "answer"),
            (),
            "no query has all its evidence",
        )
    spec, by_query = _split_off_query_mean_setting(CALL.parse(name.removeprefix(PERCENT)))
    built = MEASURES.build(CALL.format(spec))
    if not isinstance(built, GradedMeasure | RankingMeasure):
        raise UsageError(
            f"{name} is not a ranking measure.", mend="`embassay list measures` shows what each measure needs."
        )
    facts = dict(MEASURES.get(built.spec.name).facts)
    family = "ceiling" if built.spec.name == "PROC" else "set"
    family = "classic" if isinstance(built, RankingMeasure) else family
    family = "facet" if "facets" in facts.get("needs", "") else family
    base = name.rpartition("@")[0] or name
    parts: tuple[Measure, ...] = (built,)
    if name.startswith(PERCENT):
        parts = (_make_measure_bounded_by_ceiling(name, built.spec), built)
    facts_of_it = RequestedMeasureDescription(name, base, built.spec.cutoff, facts.get("direction", "higher"), family)
    return RequestedMeasure(facts_of_it, parts, facts.get("undefined", "undefined"), by_query and len(parts) > 1)


def _split_off_query_mean_setting(spec: Spec) -> tuple[Spec, bool]:
    """Strip `per_query_mean`, a matter of the mean over queries, from a spec of PROC (spec rag 1.6)."""
    params = {key: value for key, value in spec.params.items() if key != "per_query_mean"}
    return Spec(spec.name, spec.target, params, spec.cutoff), bool(spec.params.get("per_query_mean", False))


def _make_measure_bounded_by_ceiling(name: str, ceiling: Spec) -> Measure:
    """Make the measure that a ceiling is the ceiling of, with the same settings."""
    if ceiling.name != "PROC":
        raise UsageError(f"There is no measure called {name!r}.", mend="Use %PROC@10 or %PROC_NR4@10.")
    params = {key: value for key, value in ceiling.params.items() if key != "of"}
    of = str(ceiling.params.get("of", "RA-nWG"))
    return MEASURES.build(CALL.format(Spec(of, "", params, ceiling.cutoff)))


def _measure_in_query_blocks(measures: Sequence[Measure], graded: Graded) -> dict[str, Floats]:
    """Values by measure, in blocks of queries where the lists are long."""
    step = max(1, _WIDTH // max(1, graded.top.shape[1]))
    blocks = [
        evaluate_graded(measures, _slice_graded_queries(graded, start, start + step))
        for start in range(0, len(graded.top), step)
    ]
    return {str(measure): np.concatenate([block[str(measure)] for block in blocks]) for measure in measures}


def _slice_graded_queries(graded: Graded, start: int, end: int) -> Graded:
    if start == 0 and end >= len(graded.top):
        return graded
    return Graded(
        graded.counts[start:end],
        graded.top[start:end],
        None if graded.pool is None else graded.pool[start:end],
        pool_sizes=None if graded.pool_sizes is None else graded.pool_sizes[start:end],
        names=graded.names[start:end],
        sources=None if graded.sources is None else _slice_sources_of_queries(graded.sources, start, end),
        facets=None if graded.facets is None else _slice_facet_rows(graded.facets, start, end),
    )


def _slice_sources_of_queries(sources: Sources, start: int, end: int) -> Sources:
    rows = slice(*np.searchsorted(sources.query, [start, end]))
    return Sources(sources.top[start:end], sources.query[rows] - start, sources.grade[rows], sources.code[rows])


def _slice_facet_rows(facets: FacetsOfQueryDocuments, start: int, end: int) -> FacetsOfQueryDocuments:
    rows = slice(*np.searchsorted(facets.query, [start, end]))
    return FacetsOfQueryDocuments(
        facets.top[start:end], facets.query[rows] - start, facets.document[rows], facets.facet[rows]
    )


def _make_query_measure_columns(parts: Sequence[Floats]) -> RunQueryMeasureColumns:
    if len(parts) == 1:
        return RunQueryMeasureColumns(parts[0], (parts[0],))
    reached, ceiling = parts
    defined = ~(np.isnan(reached) | np.isnan(ceiling))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(defined & (ceiling > 0), reached / ceiling, np.nan)
    return RunQueryMeasureColumns(ratio, (np.where(defined, reached, np.nan), np.where(defined, ceiling, np.nan)))


def _measure_accuracy_given_hit(k: int, graded: Graded, answers: Floats | None) -> RunQueryMeasureColumns:
    """Measure the correctness of answers to queries whose evidence is all among the first `k`."""
    hit = evaluate_graded([f"Hit@{k}"], graded)[f"Hit@{k}"]
    value = np.where(hit == 1, np.full(len(hit), np.nan) if answers is None else answers, np.nan)
    return RunQueryMeasureColumns(value, (value,))


def per_query(
    queries: Sequence[str], measures: Iterable[RequestedMeasure], measured: Iterable[MeasuredRun]
) -> pl.DataFrame:
    """`run`, `query_id`, `measure`, `value` and `reason`: queries in the order of the judgements, null for no value."""
    import polars as pl

    ids = pl.Series("query_id", list(queries), dtype=pl.String)
    asked = list(measures)
    parts = []
    for run in measured:
        for measure in asked:
            value = pl.Series("value", run.columns[measure.name].value, nan_to_null=True)
            parts.append(
                pl.select(run=pl.lit(run.run), query_id=ids, measure=pl.lit(measure.name), value=value).with_columns(
                    reason=pl.when(value.is_null())
                    .then(pl.lit(run.reason or _explain_undefined_measure(measure)))
                    .otherwise(pl.lit(""))
                )
            )
    return pl.concat(parts)


def _explain_undefined_measure(asked: RequestedMeasure) -> str:
    if asked.facts.base == ANSWERS:
        return "not all evidence is in the top K, or there is no answer"
    return "the ceiling is 0 or undefined" if len(asked.parts) > 1 else asked.undefined
