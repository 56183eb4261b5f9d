"""What a cell of a sweep has measured, on disk: facts as JSON, values and rankings per query as Parquet.

A cell is an index of an encoder's vectors, cut to so many dimensions, on a dataset; its stacks are the combinations of
the axes that say what is done with its answers. `items/` has a row per query, stack (`variant`) and measure, where
`ceiling:` and `signal:` stand before what is none; `rankings/` the final list of each query.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts
from embassay.errors import DataError
from embassay.parquet import read_parquet
from embassay.protocols.rag.sweep.configuration import Configuration
from embassay.protocols.rag.sweep.measured import Skipped
from embassay.runs.cells import Cell
from embassay.runs.files import slug, to_json, write_atomic
from embassay.runs.folder import RunFolder

Floats = NDArray[np.float64]
TASK = "sweep"
CEILING, SIGNAL = "ceiling:", "signal:"


@dataclass(frozen=True)
class Stack:
    """A configuration measured: its arrays (queries,), and `lists`, the final list of each query as (document ids,
    scores). `times` are the names of its stages' samples, `together` that of totals under load, empty without.
    `reranked` are the mean candidates that the reranker is given."""

    configuration: Configuration
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
    lists: Sequence[tuple[Sequence[str], Sequence[float]]] = field(default=(), repr=False)


@dataclass(frozen=True)
class Found:
    """The stacks of a cell, and those of its combinations that could not be measured."""

    stacks: tuple[Stack, ...]
    skipped: tuple[Skipped, ...] = ()


def write_found(folder: RunFolder, cell: Cell, queries: Sequence[str], found: Found) -> None:
    """Write what a cell has measured; the cell's own record comes after."""
    if found.stacks:
        write_atomic(folder.items_path(TASK, cell.dataset, cell.system), _items(queries, found.stacks))
        write_atomic(rankings_path(folder, cell), _rankings(queries, found.stacks))
    said = {
        "stacks": [_facts(one) for one in found.stacks],
        "skipped": [{**asdict(one), "configuration": asdict(one.configuration)} for one in found.skipped],
    }
    write_atomic(_path(folder, cell), to_json(said) + "\n")


def read_found(folder: RunFolder, cell: Cell, queries: Sequence[str]) -> Found | None:
    """What a cell has measured, without the rankings; None where it is not there or damaged."""
    try:
        said = json.loads(_path(folder, cell).read_text("utf-8"))
        values = (
            _values(folder.items_path(TASK, cell.dataset, cell.system), queries) if said["stacks"] else {}
        )
        skipped = tuple(
            Skipped(**{**one, "configuration": Configuration(**one["configuration"])})
            for one in said["skipped"]
        )
        return Found(tuple(_stack(one, values) for one in said["stacks"]), skipped)
    except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def rankings_path(folder: RunFolder, cell: Cell) -> Path:
    """Where the final lists of a cell are: `configuration`, `query_id`, `documents` and `scores`, best first."""
    return folder.path / "rankings" / slug(cell.dataset) / f"{slug(cell.system)}.parquet"


def _path(folder: RunFolder, cell: Cell) -> Path:
    return folder.path / "stacks" / f"{cell.key}.json"


def _facts(stack: Stack) -> dict[str, Any]:
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
    }


def _stack(said: Mapping[str, Any], values: Mapping[str, Mapping[str, Floats]]) -> Stack:
    configuration = Configuration(**said["configuration"])
    own = values[configuration.id]

    def part(prefix: str) -> dict[str, Floats]:
        return {name.removeprefix(prefix): array for name, array in own.items() if name.startswith(prefix)}

    quality = {name: array for name, array in own.items() if not name.startswith((CEILING, SIGNAL))}
    return Stack(
        configuration, quality, part(CEILING), part(SIGNAL), (said["tokens"][0], said["tokens"][1]),
        said["passage_tokens"], said["query_tokens"], said["reranked"], IndexFacts(**said["index"]),
        {int(k): value for k, value in said["recall"].items()}, said["times"], said["together"],
    )  # fmt: skip


def _columns(stack: Stack) -> dict[str, Floats]:
    return {
        **stack.quality,
        **{CEILING + name: values for name, values in stack.ceiling.items()},
        **{SIGNAL + name: values for name, values in stack.signals.items()},
    }


def _items(queries: Sequence[str], stacks: Sequence[Stack]) -> bytes:
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
        for name, values in _columns(stack).items()
    ]  # fmt: skip
    return _parquet(pl.concat(parts))


def _rankings(queries: Sequence[str], stacks: Sequence[Stack]) -> bytes:
    import polars as pl

    frame = pl.DataFrame(
        {
            "configuration": [one.configuration.id for one in stacks for _ in queries],
            "query_id": [key for _ in stacks for key in queries],
            "documents": [list(documents) for one in stacks for documents, _ in one.lists],
            "scores": [list(scores) for one in stacks for _, scores in one.lists],
        },
        schema={
            "configuration": pl.String, "query_id": pl.String, "documents": pl.List(pl.String),
            "scores": pl.List(pl.Float64),
        },
    )  # fmt: skip
    return _parquet(frame)


def _parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _values(path: Path, queries: Sequence[str]) -> dict[str, dict[str, Floats]]:
    """Configuration id -> measure -> values in the order of the queries. ValueError for others than these."""
    import polars as pl

    found: dict[str, dict[str, Floats]] = {}
    for (variant, measure), own in read_parquet(path).group_by(["variant", "measure"], maintain_order=True):
        if own["item_id"].to_list() != list(queries):
            raise ValueError("not the queries of the run")
        values = own["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        found.setdefault(str(variant), {})[str(measure)] = np.array(values, dtype=np.float64)
    return found
