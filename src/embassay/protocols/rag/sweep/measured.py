"""What a sweep has measured: the arrays that everything it says is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts
from embassay.protocols.rag.sweep.configuration import Configuration
from embassay.protocols.rag.tradeoffs.efficiency import WEIGHTS
from embassay.protocols.rag.tradeoffs.stack import COST_SHARE

Floats = NDArray[np.float64]

STAGES = ("embed", "retrieve", "fuse", "rerank")
TOTAL = "total"
SIGNALS = ("margin", "entropy", "noise")


@dataclass(frozen=True)
class Times:
    """Milliseconds of one query at a time: by stage (those that the stack has) and in `total`, each (sessions, timed
    queries), warm-up calls dropped. `together` are totals, (queries,), with so many queries in flight at once."""

    stages: Mapping[str, Floats]
    together: Floats
    concurrency: int

    @property
    def total(self) -> Floats:
        return self.stages[TOTAL]


@dataclass(frozen=True)
class Measured:
    """A configuration on a dataset.

    `quality` has each query's value of each measure (`RA-nWG@10`, `N-Recall4+@30` ...), (queries,), NaN where it is
    undefined; `ceiling` the same for the best set that the k candidates could give (PROC), by the name of the measure
    it bounds. `usd` are dollars per 1,000 queries, by part (`rerank`, `embed`, `generate`). `tokens` are the mean
    and standard deviation of one candidate's, `passage_tokens` the mean of one without the query. `signals` are what
    routing looks at (spec rag 3.5), each (queries,), NaN where the stack has none: `margin` (first score less tenth),
    `entropy` (of the reranker's scores of the first 50, 0 to 1), `noise` (cosine of the query with itself in chatter).
    `recall` is that of the index against exact search, by cutoff, `index` its facts.
    """

    configuration: Configuration
    dataset: str
    quality: Mapping[str, Floats]
    ceiling: Mapping[str, Floats]
    times: Times
    usd: Mapping[str, float]
    tokens: tuple[float, float]
    passage_tokens: float
    index: IndexFacts
    recall: Mapping[int, float]
    signals: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """US dollars per 1,000 queries that rules look at: reranking, and embedding where it is priced."""
        return self.usd.get("rerank", 0.0) + self.usd.get("embed", 0.0)


@dataclass(frozen=True)
class Skipped:
    """A combination that was not measured, and why: it makes no sense, or it failed."""

    configuration: Configuration
    dataset: str
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Rules:
    """What the operator asks for: milliseconds (of `percentile`), dollars per 1,000 queries, a least quality, the
    measure that decides, the K passages that the generator gets, and the weights of measures in the average that
    efficiency is made of. Times within `jitter_ms` are equal (None: as measured between sessions), and so are costs
    within `cost_share` of each other."""

    measure: str = "RA-nWG@10"
    sla_ms: float | None = None
    budget: float | None = None
    target: float | None = None
    percentile: float = 50.0
    passages: int = 10
    slos_ms: tuple[float, ...] = (350.0, 500.0)
    jitter_ms: float | None = None
    efficiency: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    cost_share: float = COST_SHARE


@dataclass(frozen=True)
class Counts:
    """What was computed and what was found computed: texts embedded, pairs reranked, indexes built."""

    embedded: int = 0
    embedded_before: int = 0
    reranked: int = 0
    reranked_before: int = 0
    built: int = 0
    built_before: int = 0


@dataclass(frozen=True)
class Sweep:
    """A whole sweep: what was measured, what was not, the ids of each dataset's queries (the order of the arrays), the
    date of the prices, and the seed of every resample."""

    measured: tuple[Measured, ...]
    skipped: tuple[Skipped, ...]
    queries: Mapping[str, tuple[str, ...]]
    rules: Rules
    priced_on: str
    prices: Mapping[str, float]
    """US dollars per million tokens, by reranker, encoder or generator."""
    seed: int = 1337
    counts: Counts = Counts()
    load: float | None = None
    """The highest load average while times were taken, of a machine with so many `cores`."""
    cores: int = 0
