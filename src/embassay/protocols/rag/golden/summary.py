"""The record of a golden run: all that the terminal, the HTML page and the tables are filled from.

`golden.json` in the folder of a run is `GoldenRunRecord.as_dict()`; `read_golden_record` undoes it. Shares are between
0 and 1, times in seconds, money in US dollars; None is what could not be measured, with a `reason` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from embassay.protocols.kernel.quantities import JudgeAssistedMean, JudgeBias
from embassay.runs.folder import read_json_record, write_json
from embassay.stats import Estimate

SCHEMA = 1


@dataclass(frozen=True)
class GoldenRunSettings:
    """What the run was asked for; `parameters` are all others, by stage."""

    corpus: str
    queries: str
    encoder: str
    rewriter: str
    judge: str
    ranking: str
    seed: int
    profile: str = ""
    top: int = 20
    minimum: int = 35
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldenStageSummary:
    """One of S1 to S6: queries it was done for now and before, queries that failed in it, its wall-clock seconds over
    all sessions, and sums over queries of what it counted (`candidates`, `graded`, `calls` ...)."""

    name: str
    title: str
    done: int
    kept: int = 0
    failed: int = 0
    seconds: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TokensPerCandidate:
    """Tokens per candidate as the judge reads it, over all passages of the pools, counted by `tokenizer`."""

    tokenizer: str
    mean: float
    sd: float
    n: int
    median: float | None = None
    largest: int | None = None


@dataclass(frozen=True)
class JudgeCallCounts:
    """One kind of call to the judge: `calls` that brought an answer; how many of them took 1, 2, 3 ... attempts;
    rejected answers by kind of fault; `failed` calls that brought none."""

    kind: str
    calls: int
    attempts: tuple[int, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0


@dataclass(frozen=True)
class JudgeFacts:
    """Who judged. `prompts`: kind of call -> name, version and digest of the instructions. `asked` answers came from
    the model now, `cached` ones from the cache; `usd` is None where a price is not known."""

    name: str
    identity: str
    model: str
    temperature: float | None = None
    top_p: float | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[JudgeCallCounts, ...] = ()
    asked: int | None = None
    cached: int | None = None
    usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class JudgeRepeatability:
    """The same judged twice by the same judge, drawn anew.

    Grades: `exact` agreement, `within_one`, quadratically weighted `kappa`, `shift` (mean of second less first);
    `table[i][j]` counts passages of grade i + 1 that got j + 1 the second time. Orders: `discordant`, the share of
    pairs in one call that the repeat orders the other way. `reason` says why nothing was judged twice.
    """

    items: int = 0
    queries: int = 0
    exact: Estimate | None = None
    within_one: Estimate | None = None
    kappa: Estimate | None = None
    shift: Estimate | None = None
    table: tuple[tuple[int, ...], ...] = ()
    calls: int = 0
    discordant: Estimate | None = None
    failed: int = 0
    reason: str = ""


@dataclass(frozen=True)
class ContradictedPairShare:
    """Pairs of passages that calls of one ranking put both ways: of `pairs` that were shown together twice or more,
    `contradicted` were; `share` with its interval over queries. `noise` is the share of pairs that the judge would
    misorder, as the engine estimates it, None where it does not."""

    pairs: int
    contradicted: int
    share: Estimate
    noise: Estimate | None = None


@dataclass(frozen=True)
class JudgePositionBias:
    """What being shown at a place does: how much better (above 0) or worse than by its grade a passage shown at this
    place (1 = first) is placed, in places of the answer."""

    place: int
    gain: Estimate


@dataclass(frozen=True)
class RankingEngineRunSummary:
    """How the pools were ordered: the engine, calls together and per query, why it stopped (word -> queries), mean
    claims over the queries that have any (`tau`, `overlap` ...), why others have none (word -> queries), contradictions
    and place bias of the judge's orders."""

    engine: str
    calls: int = 0
    calls_per_query: float | None = None
    stopped: Mapping[str, int] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    contradictions: ContradictedPairShare | None = None
    place_bias: tuple[JudgePositionBias, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldenQuerySummary:
    """A question of the run. `grades` counts grade 1, 2, 3, 4, 5 in its pool; `kept` passages were ordered, down to the
    grade `cut_stage`; `claims` are what the engine expects of its order, `doubts` why it expects nothing. A failed one
    has the stage and the reason."""

    query_id: str
    text: str
    folder: str
    status: str
    rewrite: str = ""
    stage: str = ""
    reason: str = ""
    pool: int = 0
    grades: tuple[int, ...] = ()
    kept: int = 0
    cut_stage: int = 0
    calls: int = 0
    stopped: str = ""
    claims: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class PersonPassageRemark:
    """What a person wrote beside a passage."""

    query_id: str
    doc_id: str
    text: str


@dataclass(frozen=True)
class HumanCheckOfJudge:
    """What a person said of the final lists of some queries, against the judge; intervals over queries.

    `blind`: the judge's answers were not shown. Of `items` passages `placed` have a place and `graded` a grade by the
    person; `moved` is the fewest that change places between the two orders, `changed` have another grade. `tau` is
    Kendall's tau-b, the mean over queries; `swapped` the share of pairs that the person puts the other way, `distance`
    the median number of places that the judge puts between such two. `table[i][j]` counts passages of the judge's grade
    i + 1 that the person gives j + 1.
    """

    file: str
    queries: int
    items: int
    placed: int
    graded: int
    moved: int
    changed: int
    tau: Estimate
    swapped: Estimate
    exact: Estimate
    within_one: Estimate
    kappa: Estimate
    distance: float | None = None
    blind: bool = False
    table: tuple[tuple[int, ...], ...] = ()
    remarks: tuple[PersonPassageRemark, ...] = ()
    lists: str = ""
    """A digest of the final lists that were checked, as they were then."""
    corrected: tuple[JudgeAssistedMean, ...] = ()
    """What the person would say of all final lists, from these grades and the judge's; none without grades."""
    off: tuple[JudgeBias, ...] = ()
    """How far the judge lies above the person, by its own grade."""


@dataclass(frozen=True)
class GoldenRunRecord:
    """One golden run. `labels` is the label summary table (quantity -> value, None where there is none);
    `rank_agreement` the share of pairs of passages that grades and fused lists put the same way."""

    settings: GoldenRunSettings
    queries: tuple[GoldenQuerySummary, ...]
    stages: tuple[GoldenStageSummary, ...] = ()
    judge: JudgeFacts | None = None
    ranking: RankingEngineRunSummary | None = None
    labels: Mapping[str, float | None] = field(default_factory=dict)
    tokens: TokensPerCandidate | None = None
    repeated: JudgeRepeatability | None = None
    human: tuple[HumanCheckOfJudge, ...] = ()
    exports: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdict: str = ""
    rank_agreement: Estimate | None = None
    schema: int = SCHEMA

    @property
    def failed(self) -> tuple[GoldenQuerySummary, ...]:
        """The failed queries, which are not in the golden set."""
        return tuple(query for query in self.queries if query.status == "failed")

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def write_golden_record(path: Path, golden: GoldenRunRecord) -> None:
    """Write `golden.json` in one step."""
    write_json(path, golden.as_dict())


def read_golden_record(path: Path) -> GoldenRunRecord:
    """The record in a `golden.json`; DataError if it holds none, or one of another schema."""
    mend = "Run the same `embassay rag golden` command again to write the record."
    return read_json_record(path, GoldenRunRecord, schema=SCHEMA, what="the golden set", mend=mend)
