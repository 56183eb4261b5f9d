"""A sweep read back from its folder, finished or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from embassay.errors import DataError
from embassay.protocols.rag.sweep.configuration import Configuration
from embassay.protocols.rag.sweep.measured import (
    TOTAL,
    Counts,
    Floats,
    Measured,
    Rules,
    Skipped,
    Sweep,
    Times,
)
from embassay.protocols.rag.sweep.prices import PriceList
from embassay.protocols.rag.sweep.request import Latency
from embassay.protocols.rag.sweep.stacks import TASK, Stack, read_found
from embassay.protocols.rag.sweep.stopwatch import Stopwatch
from embassay.runs.cells import Cell
from embassay.runs.folder import RunFolder

TIMINGS = "timings"


def read_sweep(folder: str | Path) -> Sweep:
    """What a sweep has measured so far. DataError where the folder holds none."""
    run = RunFolder(Path(folder))
    manifest = run.read_manifest()
    if manifest is None or manifest.get("kind") != TASK:
        raise DataError(
            "the folder holds no sweep", path=run.path, expected="a manifest of the kind sweep",
            mend="Name the --out of `embassay rag sweep`.",
        )  # fmt: skip
    queries = {name: tuple(ids) for name, ids in manifest["queries"].items()}
    rules = Rules(**{**manifest["rules"], "slos_ms": tuple(manifest["rules"]["slos_ms"])})
    prices = PriceList(**manifest["prices"])
    watch = Stopwatch(run.path / TIMINGS, Latency(**manifest["arguments"]["latency"]))
    measured: list[Measured] = []
    skipped = [
        Skipped(Configuration(**one["configuration"]), dataset, one["reason"])
        for dataset in queries
        for one in manifest["senseless"]
    ]
    for said in manifest["cells"]:
        cell = Cell(said["task"], said["dataset"], said["system"], said["key"], 0, None)
        found = read_found(run, cell, queries[cell.dataset]) if said["status"] != "not run" else None
        if found is None:
            continue
        skipped += found.skipped
        for stack in found.stacks:
            times = _times(stack, watch)
            if times is not None:
                measured.append(_measured(stack, cell.dataset, times, prices, rules))
    return Sweep(
        tuple(measured), tuple(skipped), queries, rules, prices.date, dict(prices.tokens),
        manifest["arguments"]["seed"], _counts(manifest["cells"]), *watch.load(),
    )  # fmt: skip


def is_whole(folder: RunFolder, cell: Cell, watch: Stopwatch) -> bool:
    """Whether all that a cell has measured can be read back, samples of time with it."""
    found = read_found(folder, cell, cell.job.collection.query_ids)
    return found is not None and all(_times(one, watch) is not None for one in found.stacks)


def _measured(stack: Stack, dataset: str, times: Times, prices: PriceList, rules: Rules) -> Measured:
    usd = prices.usd(
        stack.configuration, reranked=stack.reranked, tokens=stack.tokens[0], query=stack.query_tokens,
        passage=stack.passage_tokens, passages=rules.passages,
    )  # fmt: skip
    return Measured(
        stack.configuration, dataset, stack.quality, stack.ceiling, times, usd, stack.tokens,
        stack.passage_tokens, stack.index, stack.recall, stack.signals,
    )  # fmt: skip


def _times(stack: Stack, watch: Stopwatch) -> Times | None:
    """The samples by stage, their sums, and those under load; None where a file of samples is gone."""
    stages: dict[str, Floats] = {}
    for stage, name in stack.times.items():
        samples = watch.read(name)
        if samples is None:
            return None
        stages[stage] = samples
    together = watch.read(stack.together) if stack.together else None
    stages[TOTAL] = np.sum(list(stages.values()), axis=0)
    loaded = np.empty(0) if together is None else together[0]
    return Times(stages, loaded, watch.latency.concurrency)


def _counts(cells: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> Counts:
    names = [one.name for one in fields(Counts)]
    total = dict.fromkeys(names, 0)
    for cell in cells:
        for name in names:
            total[name] += int(cell["counts"].get(name, 0))
    return Counts(**total)
