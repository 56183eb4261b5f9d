"""Retrieval stacks: their configurations, the arrays of what was measured, and how a cell keeps that on disk.

A cell is an index of an encoder's vectors, cut to so many dimensions, on a dataset; its stacks are the combinations of
the axes that say what is done with its answers. `items/` has a row per query, stack (`variant`) and measure, where
`ceiling:` and `signal:` stand before what is none; `rankings/` the final list of each query.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts
from embassay.errors import DataError
from embassay.parquet import read_parquet
from embassay.protocols.kernel.groups import Labels
from embassay.protocols.rag.tradeoffs import COST_SHARE, WEIGHTS
from embassay.runs.folder import RunCell, RunFolder, format_value_as_json, slugify_name, write_file_atomically

Mode = Literal["dense", "sparse", "hybrid", "live"]
NONE = "none"
"""Of an axis where nothing is done."""
SPARSE: Literal["sparse"] = "sparse"
LIVE: Literal["live"] = "live"
"""The mode of a retriever that is asked as it runs: it has no parts that could be exchanged."""
WORDS = "bm25"
"""Who finds passages where the mode is sparse, in place of an encoder."""


@dataclass(frozen=True)
class StackConfiguration:
    """A configuration of a retrieval stack.

    `dims` None are all of the encoder's. `k` are the candidates that are retrieved, and given to the reranker where
    there is one. `deduplicate` is the similarity from which a candidate counts as a copy of an earlier one (0: none are
    removed), `boost` the weight of the words' score beside the reranker's. `chunk` names how documents were cut
    (`none`: they are what they are), `fusion` how a hybrid makes one list of two. A sparse stack has no vectors: its
    encoder is `bm25` and its index `none`. Source: spec rag 3.4 and 9.
    """

    encoder: str
    dims: int | None = None
    index: str = "flat"
    k: int = 50
    reranker: str = NONE
    mode: Mode = "dense"
    rewrite: str = NONE
    deduplicate: float = 0.0
    boost: float = 0.0
    chunk: str = NONE
    fusion: str = "rrf"

    @property
    def id(self) -> str:
        """The stack's id: what sets it apart, in the order of the axes, without what is as usual.

        >>> StackConfiguration("wordllama", 64, "hnsw-f32", 100, mode="hybrid").id
        'wordllama/64d/hnsw-f32/k100/hybrid'
        >>> StackConfiguration("bm25", None, "none", mode="sparse").id
        'bm25/k50/sparse'
        """
        usual = StackConfiguration(self.encoder)
        index = "" if self.index == NONE else self.index
        parts = [self.encoder, f"{self.dims}d" if self.dims else "", index, f"k{self.k}", self.mode]
        if self.reranker != NONE:
            parts.append(self.reranker)
        # The axes before are in the name already.
        for axis in fields(self)[6:]:
            value = getattr(self, axis.name)
            if value != getattr(usual, axis.name):
                parts.append(f"{axis.name}={value}")
        return "/".join(part for part in parts if part)


Floats = NDArray[np.float64]

STAGES = ("rewrite", "embed", "retrieve", "fuse", "rerank")
TOTAL = "total"
"""All stages until the passages are found (spec rag 3.2)."""
GENERATE = "generate"
WHOLE = "end to end"
"""The total, and the time of a generator."""
WRITTEN, FIRST_WORD, FIRST_TOKENS = "answer tokens", "first word", "first tokens"
"""Of a generator that is timed: the tokens of an answer, and time and tokens of one word in its place."""
BESIDE = (WRITTEN, FIRST_WORD, FIRST_TOKENS)
SIGNALS = ("margin", "entropy", "noise", "name")


@dataclass(frozen=True)
class StackTimes:
    """Milliseconds of one query at a time: by stage (those that the stack has) and in `total`, each (sessions, timed
    queries), warm-up calls dropped; `generate` and `end to end` where there is a generator. `together` are totals,
    (queries,), with so many queries in flight at once."""

    stages: Mapping[str, Floats]
    together: Floats
    concurrency: int

    @property
    def total(self) -> Floats:
        return self.stages[TOTAL]


@dataclass(frozen=True)
class MeasuredStack:
    """A configuration measured on a dataset.

    `quality` has each query's value of each measure (`RA-nWG@10`, `N-Recall4+@30` ...), (queries,), NaN where it is
    undefined; `ceiling` the same for the best set that the k candidates could give (PROC), by the name of the measure
    it bounds. `usd` are dollars per 1,000 queries by part: `rerank`, `embed`, `retrieve`, `generate`. `tokens` are the
    mean and deviation of one candidate's, `passage_tokens` the mean of one without the query. `signals` are what
    routing looks at (spec rag 3.5), each (queries,), NaN where the stack has none: `margin` (first score less tenth),
    `entropy` (of the reranker's scores of the first 50, 0 to 1), `noise` (cosine of the query with itself in chatter),
    `name` (change of its name margin under an ablation).
    `recall` is that of the index against exact search, by cutoff, `index` its facts.
    """

    configuration: StackConfiguration
    dataset: str
    quality: Mapping[str, Floats]
    ceiling: Mapping[str, Floats]
    times: StackTimes
    usd: Mapping[str, float]
    tokens: tuple[float, float]
    passage_tokens: float
    index: IndexFacts
    recall: Mapping[int, float]
    signals: Mapping[str, Floats] = field(default_factory=dict)
    ef: int | None = None

    @property
    def cost(self) -> float:
        """The US dollars per 1,000 queries of reranking, priced embedding, and a retriever."""
        return sum(self.usd.get(part, 0.0) for part in ("rerank", "embed", "retrieve"))


@dataclass(frozen=True)
class SkippedStack:
    """A stack that was not measured, and why: it makes no sense, or it failed."""

    configuration: StackConfiguration
    dataset: str
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class SweepRules:
    """What the operator asks for: milliseconds (of `percentile`), dollars per 1,000 queries, a least quality, the
    measure that decides, the K passages that the generator gets, and the weights of measures in the average that
    efficiency is made of. Times within `jitter_ms` are equal (None: as measured between sessions), and so are costs
    within `cost_share` of each other. `quality_axes` are measures that are objectives together, each for itself."""

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
    quality_axes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComputeCounts:
    """What was computed and what was found computed: texts embedded, pairs reranked, indexes built."""

    embedded: int = 0
    embedded_before: int = 0
    reranked: int = 0
    reranked_before: int = 0
    built: int = 0
    built_before: int = 0


@dataclass(frozen=True)
class SweepMeasurements:
    """A whole sweep: what was measured, what was not, the ids of each dataset's queries (the order of the arrays), the
    date of the prices, and the seed of every resample."""

    measured: tuple[MeasuredStack, ...]
    skipped: tuple[SkippedStack, ...]
    queries: Mapping[str, tuple[str, ...]]
    rules: SweepRules
    priced_on: str
    prices: Mapping[str, float]
    """US dollars per million tokens, by reranker, encoder or generator."""
    seed: int = 1337
    counts: ComputeCounts = ComputeCounts()
    generator: Mapping[str, Any] = field(default_factory=dict)
    """Who answers, as the config says it; empty where nobody does."""
    groups: Mapping[str, Labels] = field(default_factory=dict)
    """By dataset which queries share a relevant document and are drawn together, where some do."""
    load: float | None = None
    """The highest load average while times were taken, of a machine with so many `cores`."""
    cores: int = 0


TASK = "sweep"
CEILING, SIGNAL = "ceiling:", "signal:"


@dataclass(frozen=True)
class MeasuredStackArrays:
    """A configuration measured: its arrays (queries,), and `lists`, the final list of each query as (document ids,
    scores). `times` are the names of its stages' samples, `together` that of totals under load, empty without.
    `reranked` are the mean candidates that the reranker is given."""

    configuration: StackConfiguration
    quality: Mapping[str, Floats]
    ceiling: Mapping[str, Floats]
    signals: Mapping[str, Floats]
    tokens: tuple[float, float]
    passage_tokens: float
    query_tokens: float
    reranked: float
    index: IndexFacts
    recall: Mapping[int, float]
    times: Mapping[str, str]
    together: str = ""
    ef: int | None = None
    lists: Sequence[tuple[Sequence[str], Sequence[float]]] = field(default=(), repr=False)


@dataclass(frozen=True)
class MeasuredCellStacks:
    """The measured stacks of a cell, and those of its combinations that could not be measured."""

    stacks: tuple[MeasuredStackArrays, ...]
    skipped: tuple[SkippedStack, ...] = ()


def write_measured_cell(folder: RunFolder, cell: RunCell, queries: Sequence[str], found: MeasuredCellStacks) -> None:
    """Write what a measured cell holds; the cell's own record comes after."""
    if found.stacks:
        write_file_atomically(
            folder.locate_cell_items(TASK, cell.dataset, cell.system),
            _pack_stack_items_as_parquet(queries, found.stacks),
        )
        write_file_atomically(rankings_path(folder, cell), _format_rankings_file(queries, found.stacks))
    plain = {
        "stacks": [_stack_as_plain_values(stack) for stack in found.stacks],
        "skipped": [{**asdict(left), "configuration": asdict(left.configuration)} for left in found.skipped],
    }
    write_file_atomically(_cell_file_path(folder, cell), format_value_as_json(plain) + "\n")


def read_measured_cell(folder: RunFolder, cell: RunCell, queries: Sequence[str]) -> MeasuredCellStacks | None:
    """Read what a cell has measured, without the rankings; None where it is not there or damaged."""
    try:
        plain = json.loads(_cell_file_path(folder, cell).read_text("utf-8"))
        values = (
            _read_stack_values(folder.locate_cell_items(TASK, cell.dataset, cell.system), queries)
            if plain["stacks"]
            else {}
        )
        skipped = tuple(
            SkippedStack(**{**left, "configuration": StackConfiguration(**left["configuration"])})
            for left in plain["skipped"]
        )
        return MeasuredCellStacks(tuple(_parse_stored_stack(stack, values) for stack in plain["stacks"]), skipped)
    except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def rankings_path(folder: RunFolder, cell: RunCell) -> Path:
    """The path of a cell's final lists: `configuration`, `query_id`, `documents`, `scores`."""
    return folder.path / "rankings" / slugify_name(cell.dataset) / f"{slugify_name(cell.system)}.parquet"


def _cell_file_path(folder: RunFolder, cell: RunCell) -> Path:
    return folder.path / "stacks" / f"{cell.key}.json"


def _stack_as_plain_values(stack: MeasuredStackArrays) -> dict[str, Any]:
    return {
        "configuration": asdict(stack.configuration),
        "tokens": list(stack.tokens),
        "passage_tokens": stack.passage_tokens,
        "query_tokens": stack.query_tokens,
        "reranked": stack.reranked,
        "index": asdict(stack.index),
        "recall": {str(k): value for k, value in stack.recall.items()},
        "times": dict(stack.times),
        "together": stack.together,
        **({} if stack.ef is None else {"ef": stack.ef}),
    }


def _parse_stored_stack(plain: Mapping[str, Any], values: Mapping[str, Mapping[str, Floats]]) -> MeasuredStackArrays:
    configuration = StackConfiguration(**plain["configuration"])
    own = values[configuration.id]

    def select_columns_by_prefix(prefix: str) -> dict[str, Floats]:
        return {name.removeprefix(prefix): array for name, array in own.items() if name.startswith(prefix)}

    quality = {name: array for name, array in own.items() if not name.startswith((CEILING, SIGNAL))}
    return MeasuredStackArrays(
        configuration, quality, select_columns_by_prefix(CEILING), select_columns_by_prefix(SIGNAL),
        (plain["tokens"][0], plain["tokens"][1]),
        plain["passage_tokens"], plain["query_tokens"], plain["reranked"], IndexFacts(**plain["index"]),
        {int(k): value for k, value in plain["recall"].items()}, plain["times"], plain["together"], plain.get("ef")
    )  # fmt: skip


def _collect_query_value_columns(stack: MeasuredStackArrays) -> dict[str, Floats]:
    return {
        **stack.quality,
        **{CEILING + name: values for name, values in stack.ceiling.items()},
        **{SIGNAL + name: values for name, values in stack.signals.items()},
    }


def _pack_stack_items_as_parquet(queries: Sequence[str], stacks: Sequence[MeasuredStackArrays]) -> bytes:
    import polars as pl

    ids = pl.Series("item_id", list(queries), dtype=pl.String)
    parts = [
        pl.DataFrame({"item_id": ids, "value": pl.Series(np.asarray(values, np.float64), nan_to_null=True)})
        .with_columns(
            variant=pl.lit(stack.configuration.id), measure=pl.lit(name),
            reason=pl.when(pl.col("value").is_null()).then(pl.lit("undefined for this query")).otherwise(pl.lit("")),
        )
        .select("item_id", "variant", "measure", "value", "reason")
        for stack in stacks
        for name, values in _collect_query_value_columns(stack).items()
    ]  # fmt: skip
    return _format_frame_as_parquet(pl.concat(parts))


def _format_rankings_file(queries: Sequence[str], stacks: Sequence[MeasuredStackArrays]) -> bytes:
    import polars as pl

    frame = pl.DataFrame(
        {
            "configuration": [stack.configuration.id for stack in stacks for _ in queries],
            "query_id": [key for _ in stacks for key in queries],
            "documents": [list(documents) for stack in stacks for documents, _ in stack.lists],
            "scores": [list(scores) for stack in stacks for _, scores in stack.lists],
        },
        schema={
            "configuration": pl.String, "query_id": pl.String, "documents": pl.List(pl.String),
            "scores": pl.List(pl.Float64),
        }
    )  # fmt: skip
    return _format_frame_as_parquet(frame)


def _format_frame_as_parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _read_stack_values(path: Path, queries: Sequence[str]) -> dict[str, dict[str, Floats]]:
    """Read values by configuration id and measure, in the order of the queries; else ValueError."""
    import polars as pl

    values_of: dict[str, dict[str, Floats]] = {}
    for (variant, measure), frame in read_parquet(path).group_by(["variant", "measure"], maintain_order=True):
        if frame["item_id"].to_list() != list(queries):
            raise ValueError("not the queries of the run")
        values = frame["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        values_of.setdefault(str(variant), {})[str(measure)] = np.array(values, dtype=np.float64)
    return values_of
