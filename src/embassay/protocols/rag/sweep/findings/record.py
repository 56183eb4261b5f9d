"""The record of a sweep: all that the terminal, the HTML page, the tables and the sentences are filled from.

Every number stands here once. `sweep.json` in the folder of a run is `SweepFindings.as_dict()`;
`read_findings` undoes it. Times are milliseconds per query, money is US dollars per 1,000 queries, sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.protocols.rag.tradeoffs import COST_SHARE, WEIGHTS
from embassay.runs.folder import read_json_record, write_json
from embassay.stats import Estimate

SCHEMA = 1
FILE = "sweep.json"


@dataclass(frozen=True)
class StageTimePercentiles:
    """A stage, `total`, or with a generator `generate` and `end to end`: p50 and p95 over `samples` of `queries` timed
    queries. `few` samples make an unsure p95."""

    stage: str
    p50: float
    p95: float
    samples: int
    queries: int
    few: bool = False


@dataclass(frozen=True)
class StackMeasureWithCeiling:
    """A measure of a stack with its interval; `ceiling` is the mean of the best that its candidates could give (PROC),
    `reached` the share of it that is reached (%PROC, 1 is all of it)."""

    measure: str
    value: Estimate
    ceiling: float | None = None
    reached: Estimate | None = None


@dataclass(frozen=True)
class IndexMemory:
    """Bytes of an index: what the formulas say of its vectors (or codes) and its graph, None where there is none for
    its kind; and what was measured on disk and in memory, None where it cannot be known."""

    vectors: float | None
    graph: float | None
    disk: int | None
    memory: int | None


@dataclass(frozen=True)
class StackSummary:
    """The summary of a stack: its axes, cost, time (at the percentile of the rules) and quality.

    `prompt_tokens` are those of the passages that a generator gets, `tie_tokens` those of its K candidates, by which
    ties go first. `on` are the names of the frontiers that it is on; `average` is the mean of the four measures of
    AvgPerf, `per_rerank_second` and `per_second` that over the seconds of reranking and of the whole query, the
    generator's with it where there is one. `ef` is the search width that an index with `ef=auto` found for itself.
    """

    id: str
    axes: Mapping[str, Any]
    cost: float
    latency: float
    latency_low: float | None
    latency_high: float | None
    prompt_tokens: float
    times: tuple[StageTimePercentiles, ...]
    together: StageTimePercentiles | None
    concurrency: int
    quality: tuple[StackMeasureWithCeiling, ...]
    usd: Mapping[str, float]
    tokens: float
    tokens_sd: float
    memory: IndexMemory
    recall: Mapping[str, float]
    average: float | None = None
    per_rerank_second: float | None = None
    per_second: float | None = None
    tie_tokens: float = 0.0
    on: tuple[str, ...] = ()
    ef: int | None = None

    def find_measured_quality(self, measure: str) -> StackMeasureWithCeiling | None:
        """Its quality by a measure, None where that is not there."""
        return next((quality for quality in self.quality if quality.measure == measure), None)

    def value(self, measure: str) -> float | None:
        """Find the mean of a measure, None where it is undefined."""
        quality = self.find_measured_quality(measure)
        return None if quality is None else quality.value.value

    def time(self, stage: str) -> StageTimePercentiles | None:
        """Find the time of a stage that the stack has, else None."""
        return next((time for time in self.times if time.stage == stage), None)


@dataclass(frozen=True)
class StackParetoFrontier:
    """The stacks that no other one dominates, by cost, latency or both against a measure, or several of them;
    `slo_ms` where only stacks of at most that latency take part."""

    name: str
    measure: str
    axes: tuple[str, ...]
    dominance: str
    stacks: tuple[str, ...]
    slo_ms: float | None = None


@dataclass(frozen=True)
class WinShare:
    """How often, of all resamples, a configuration or a value of an axis won."""

    name: str
    share: float
    axis: str = ""


@dataclass(frozen=True)
class AlternativeStack:
    """Another stack than the recommended one: why it is named (`cheaper`, `faster`, `better`, `cheapest alike`,
    `fastest alike`), its quality less that of the recommended one with a paired interval, its time and price less that
    of it, and by how much it misses each limit."""

    kind: str
    stack: str
    quality: Estimate
    milliseconds: float
    usd: float
    misses: Mapping[str, float] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class StackRecommendation:
    """The stack that the operator's rule takes, and how sure that is.

    `rule` says the limits in words. `stack` is empty where no stack keeps them; `nearest` then misses them least, and
    `misses` says by how much. `tied` were as good and decided by prompt, price, time and id; `near` are feasible stacks
    within the jitter of its time; `alike` are feasible ones whose quality cannot be told apart from its own. `share`
    is the share of resamples in which the same stack wins, `among_best` in which none is better, `none` in which no
    stack keeps the limits. `undecided` is of the `alike` the one that more queries would soonest tell apart.
    """

    measure: str
    rule: str
    stack: str
    nearest: str
    feasible: int
    stacks: int
    tied: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    misses: Mapping[str, float] = field(default_factory=dict)
    resamples: int = 0
    share: float | None = None
    among_best: float | None = None
    none: float = 0.0
    runners: tuple[WinShare, ...] = ()
    by_axis: tuple[WinShare, ...] = ()
    alternatives: tuple[AlternativeStack, ...] = ()
    undecided: tuple[AlternativeStack, ...] = ()


@dataclass(frozen=True)
class CandidateDepthStep:
    """From a stack to the same one with the next larger K: gain of a measure with its paired interval, milliseconds
    (`p95` of the slowest) and dollars more, gain per millisecond (None where it has no sense), `kind` (`gain`, `loss`,
    `free`, `within jitter`), and in words."""

    family: str
    less: str
    more: str
    k: int
    next_k: int
    measure: str
    gain: Estimate
    milliseconds: float
    usd: float
    per_ms: float | None
    kind: str
    text: str
    p95: float | None = None


@dataclass(frozen=True)
class AxisValueEffect:
    """One value of an axis against another, all else equal, averaged over `pairs` of stacks: differences of a measure,
    of milliseconds (`p95` of the slowest) and of dollars, `value` less `other`."""

    axis: str
    value: str
    other: str
    pairs: int
    measure: str
    quality: Estimate
    milliseconds: Estimate
    usd: float
    p95: float | None = None


@dataclass(frozen=True)
class ScenarioStack:
    """A stack that stands for a way to choose: what it is called and how it was found. `stack` is empty where none
    keeps the limits, `nearest` then is the nearest one."""

    name: str
    how: str
    stack: str
    nearest: str = ""


@dataclass(frozen=True)
class EscalationThreshold:
    """From where on a signal asks for more candidates: `below` or above it, set on the calibration queries."""

    dataset: str
    signal: str
    value: float
    below: bool


@dataclass(frozen=True)
class RoutingGainOverFixedK:
    """The gain of routing over a fixed K, by a measure, paired over the evaluation queries."""

    k: int
    measure: str
    difference: Estimate


@dataclass(frozen=True)
class RoutingResult:
    """Routing a family of stacks between two K by signals (`any` of several): how often it escalates, what it costs and
    how long it takes in the mean beside the two fixed K, its quality, and the quality less that of each fixed K."""

    family: str
    less: str
    more: str
    signal: str
    calibrated: int
    evaluated: int
    thresholds: tuple[EscalationThreshold, ...]
    escalated: Estimate
    usd: float
    usd_less: float
    usd_more: float
    milliseconds: float
    milliseconds_less: float
    milliseconds_more: float
    quality: tuple[StackMeasureWithCeiling, ...]
    against: tuple[RoutingGainOverFixedK, ...]
    text: str = ""


@dataclass(frozen=True)
class IndexVersusFlat:
    """An index against the flat one with the same vectors: recall by cutoff, change of each measure in percent (ratio
    of means over all stacks that have both), change of the time of retrieval, and whether all measures are within 2%.
    """

    encoder: str
    dims: int | None
    index: str
    pairs: int
    recall: Mapping[str, float]
    changes: Mapping[str, float]
    retrieve_ms: float
    retrieve_ms_flat: float
    memory: IndexMemory
    flat_memory: IndexMemory
    build_seconds: float
    within: bool
    ef: int | None = None
    retrieve_p95: float | None = None
    retrieve_p95_flat: float | None = None


@dataclass(frozen=True)
class PaperGuidanceVerdict:
    """A line of the source's guidance: `holds`, `does not hold`, `open` (the interval has both) or `not tested`, with
    the figures it was judged by."""

    line: str
    status: str
    text: str
    evidence: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class GenerationSpeed:
    """How a generator answers: milliseconds to the first token, tokens per second and milliseconds of an answer, each a
    median over `queries` (0: assumed); `text` says so."""

    first_ms: float
    tokens_per_second: float | None
    answer_ms: float
    queries: int
    text: str


USE = "use it"


@dataclass(frozen=True)
class FusionTuning:
    """Which fusion does best for `stack`, of those that were measured (the first is the one to beat), by the measure
    that decides.

    `best` is the mean of the `chosen` one on all questions, which chose it, `honest` the mean by the fusion that did
    best on other questions; None where no question has values. `gain` is what the chosen one has more than the first,
    with an interval that holds for all fusions at once. `picked` is the share of folds that chose it, `questions` how
    many are independent. `refused` are the stacks with a fusion that is not recommended.
    """

    stack: str
    refused: tuple[str, ...]
    fusions: tuple[str, ...]
    chosen: str
    best: float | None
    honest: float | None
    gain: Estimate
    picked: float
    questions: int
    verdict: str

    @property
    def tuning_optimism(self) -> float | None:
        """The optimism of tuning: how much too high the best one's value is."""
        return None if self.best is None or self.honest is None else self.best - self.honest


@dataclass(frozen=True)
class SweepDatasetFindings:
    """What was found on a dataset, or over all of them (`dataset` is empty): means over datasets with equal weight, of
    the stacks that are on all of them."""

    dataset: str
    datasets: tuple[str, ...]
    queries: int
    timed: int
    sessions: int
    stacks: tuple[StackSummary, ...]
    frontiers: tuple[StackParetoFrontier, ...]
    recommendation: StackRecommendation
    steps: tuple[CandidateDepthStep, ...] = ()
    effects: tuple[AxisValueEffect, ...] = ()
    scenarios: tuple[ScenarioStack, ...] = ()
    routes: tuple[RoutingResult, ...] = ()
    indexes: tuple[IndexVersusFlat, ...] = ()
    guidance: tuple[PaperGuidanceVerdict, ...] = ()
    verdict: str = ""
    lede: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    generation: GenerationSpeed | None = None
    tunings: tuple[FusionTuning, ...] = ()
    unrouted: tuple[str, ...] = ()
    """Of signals by which nothing is routed, why."""

    def stack(self, id: str) -> StackSummary:
        """Find the summary of the stack of this id."""
        return next(stack for stack in self.stacks if stack.id == id)

    def find_frontier_by_name(self, name: str) -> StackParetoFrontier | None:
        """Find the frontier of this name, None where there is none."""
        return next((frontier for frontier in self.frontiers if frontier.name == name), None)


@dataclass(frozen=True)
class UnmeasuredStack:
    """A combination that was not measured: it makes no sense (skipped), or failed."""

    configuration: str
    dataset: str
    reason: str
    failed: bool


@dataclass(frozen=True)
class SweepRulesPricesAndSeed:
    """The rules, prices and seed of the sweep."""

    measure: str
    sla_ms: float | None
    budget: float | None
    target: float | None
    percentile: float
    passages: int
    slos_ms: tuple[float, ...]
    jitter_ms: float
    priced_on: str
    prices: Mapping[str, float]
    seed: int
    resamples: int
    efficiency: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    cost_share: float = COST_SHARE
    quality_axes: tuple[str, ...] = ()
    """Measures that are objectives together, each for itself."""
    jitter_measured: bool = False
    """Whether the jitter is what sessions differed by; else it is the config's, or the source's."""
    load: float | None = None
    """The highest load average of one minute while times were taken, with the number of `cores`; None where unknown."""
    cores: int = 0

    @property
    def was_machine_busy(self) -> bool:
        """Whether more was running than the machine has cores, this sweep with it."""
        return self.load is not None and self.load > self.cores


@dataclass(frozen=True)
class SweepFindings:
    """The findings of one sweep; the first part is over all datasets where there are several."""

    asked: SweepRulesPricesAndSeed
    measures: tuple[str, ...]
    parts: tuple[SweepDatasetFindings, ...]
    left: tuple[UnmeasuredStack, ...] = ()
    generator: Mapping[str, Any] = field(default_factory=dict)
    """Who answers, as the config says it; empty where nobody does."""
    counts: Mapping[str, int] = field(default_factory=dict)
    schema: int = SCHEMA

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def write_findings(path: Path, findings: SweepFindings) -> None:
    """Write `sweep.json` in one step."""
    write_json(path, findings.as_dict())


def read_findings(path: Path) -> SweepFindings:
    """The record in a `sweep.json`; DataError if it holds none, or one of another schema."""
    try:
        state = path.stat()
    except OSError:
        return _read_cached_findings(path, 0, 0)
    # Time and size are part of the key: a file that has changed is read again.
    return _read_cached_findings(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _read_cached_findings(path: Path, _written: int, _size: int) -> SweepFindings:
    """Read the findings of a file once, as several pages of a report are made from it."""
    mend = "Run `embassay rag sweep` again with this --out."
    return read_json_record(path, SweepFindings, schema=SCHEMA, what="the sweep", mend=mend)
