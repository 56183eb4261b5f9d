"""The record of a scoring: all that the terminal, the HTML page, the tables and the sentences are filled from.

Every number stands here once. `score.json` in the folder of a run is `Score.as_dict()`; `read_score` undoes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from embassay.protocols.rag.record_files import read_record
from embassay.runs.folder import to_json, write_atomic

SCHEMA = 1


@dataclass(frozen=True)
class Judgements:
    """The qrels: how many queries and documents they grade; `grades` counts grade 1, 2, 3, 4, 5."""

    name: str
    path: str
    format: str
    grade_map: str
    queries: int
    documents: int
    grades: tuple[int, ...]
    dropped: int = 0


@dataclass(frozen=True)
class RunFacts:
    """A run as it was read. `missing`: judged queries without a line, which count as having retrieved nothing.
    `unknown`: queries without judgements, left out. `repeated`: lines that repeat a query and document, left out.
    `tied`: documents whose score another one of their query has. `depth`: the fewest, median and most documents of a
    query that it answers. `pool`: what PROC is about, in words."""

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


@dataclass(frozen=True)
class MeasureFacts:
    """A measure of the scoring, as the user spelled it. `family`: `set`, `ceiling` (PROC, %PROC), `answer` (Acc|Hit) or
    `classic`; `base` is its name without the cutoff."""

    name: str
    base: str
    cutoff: int | None
    direction: str
    family: str


@dataclass(frozen=True)
class Value:
    """A measure of a run over the queries where it is defined (`n` of `total`), with its 95% interval.

    `value` is None where it is undefined, and `reason` says why; `low` and `high` are None without an interval.
    """

    run: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    total: int
    method: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Pair:
    """Run `a` less run `b` over the `n` queries where both are defined, with interval and test; `better` is the run
    that beats the other, empty where they cannot be told apart."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    n: int
    better: str = ""


@dataclass(frozen=True)
class Comparison:
    """Who can be told apart from whom by one measure: runs best first with the ranks the tests allow, and all pairs;
    `reason` says why there is no comparison."""

    measure: str
    runs: tuple[str, ...] = ()
    rank_low: tuple[int, ...] = ()
    rank_high: tuple[int, ...] = ()
    pairs: tuple[Pair, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Likeness:
    """How alike the first `cutoff` documents of two runs are, means over queries: `overlap`, and Kendall's tau-b of the
    common documents over the `tau_n` queries with two or more of them."""

    a: str
    b: str
    cutoff: int
    overlap: float
    overlap_low: float
    overlap_high: float
    n: int
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    tau_n: int


@dataclass(frozen=True)
class SensitivityCell:
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
class Note:
    """Something to know before believing a number: what kind, of which run (empty: of all), and the sentence."""

    kind: str
    text: str
    run: str = ""
    count: int = 0
    total: int = 0


@dataclass(frozen=True)
class Evidence:
    """A number in a sentence, with its interval where it has one."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Reading:
    """What the figures mean for one run at one cutoff. `finding`: `pool`, `ordering`, `both`, `little` (hardly anything
    is lost), `open` (the data do not tell) or `untold` (the list is too short); `text` says it in a sentence."""

    run: str
    cutoff: int
    finding: str
    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Guidance:
    """A piece of advice and whether it `holds`, `does not hold`, is `open` (the interval has both) or `not tested` on
    this data. `finding` is what it is for: `pool`, `ordering` or `cost`."""

    knob: str
    finding: str
    status: str
    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How the scoring was done."""

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


@dataclass(frozen=True)
class Score:
    """One scoring: runs side by side on one set of judgements. `headline` is the measure that verdicts are about."""

    settings: Settings
    judgements: Judgements
    runs: tuple[RunFacts, ...]
    measures: tuple[MeasureFacts, ...]
    headline: str
    values: tuple[Value, ...]
    comparisons: tuple[Comparison, ...] = ()
    likeness: tuple[Likeness, ...] = ()
    sensitivity: tuple[SensitivityCell, ...] = ()
    notes: tuple[Note, ...] = ()
    readings: tuple[Reading, ...] = ()
    guidance: tuple[Guidance, ...] = ()
    verdict: str = ""
    lede: tuple[str, ...] = ()
    schema: int = field(default=SCHEMA)

    def value(self, run: str, measure: str) -> Value | None:
        """The value of a run, None if there is none."""
        return next((one for one in self.values if (one.run, one.measure) == (run, measure)), None)

    def comparison(self, measure: str) -> Comparison | None:
        """The comparison by a measure, None if there is none."""
        return next((one for one in self.comparisons if one.measure == measure), None)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def write_score(path: Path, score: Score) -> None:
    """Write `score.json` in one step."""
    write_atomic(path, to_json(score.as_dict(), indent=1) + "\n")


def read_score(path: Path) -> Score:
    """The record in a `score.json`; DataError if it holds none, or one of another schema."""
    mend = "Run `embassay rag score` again with this --out."
    return read_record(path, Score, schema=SCHEMA, what="the scoring", mend=mend)
