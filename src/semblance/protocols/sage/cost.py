"""What a plan takes, before it is carried out: texts, tokens, time from measured unit speeds, disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from semblance.contracts import Similarity
from semblance.protocols.sage import work
from semblance.protocols.sage.plan import Plan, PlannedSystem, PlannedTask
from semblance.protocols.sage.tasks import TASK_NAMES
from semblance.text import open_tokenizer

PROBE = 24
"""Texts used to measure a system's speed."""
LENGTHS = {"robustness": 7.0, "sensitivity": 1 + 3 * (1.15 + 1.5 + 2) + 3 * (0.85 + 0.5 + 0.1),
           "retrieval": 7 + 3 * (1.15 + 1.5) + 3 * (0.85 + 0.5)}  # fmt: skip
"""Tokens of all versions of a document together, in units of the original's; other tasks see it once."""


@dataclass(frozen=True)
class CellCost:
    """One task on one dataset with one system."""

    task: str
    dataset: str
    system: str
    items: int
    texts: int
    tokens: int
    seconds: float
    disk_bytes: int


@dataclass(frozen=True)
class Forecast:
    """The cost of every cell. Systems so far run on this machine, so no money is spent."""

    cells: tuple[CellCost, ...]

    @property
    def seconds(self) -> float:
        """All cells one after another."""
        return sum(cell.seconds for cell in self.cells)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"cells": [asdict(cell) for cell in self.cells], "seconds": self.seconds, "usd": 0.0}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows for the terminal."""
        rows = [
            [cell.task, cell.dataset, cell.system, f"{cell.items:,}", f"{cell.texts:,}", f"{cell.tokens:,}",
             f"{cell.seconds:,.1f} s", f"{cell.disk_bytes / 1e6:,.1f} MB"]
            for cell in self.cells
        ]  # fmt: skip
        return ["task", "dataset", "system", "items", "texts", "tokens", "time", "disk"], rows

    def in_words(self) -> str:
        """The sum, in one sentence."""
        disk = sum(cell.disk_bytes for cell in self.cells) / 1e6
        return (
            f"{len(self.cells)} cells, about {self.seconds:,.0f} s on one worker (measured on {PROBE} texts "
            f"each; kept embeddings cost nothing again), at most {disk:,.0f} MB of embeddings, $0: every system "
            "runs here."
        )


def estimate(plan: Plan) -> Forecast:
    """Measure each system on a few texts of each dataset and scale up."""
    tokenizer = open_tokenizer(plan.request.tokenizer)
    systems = {one.name: work.describe(one.spec, tokenizer, plan.request.seed) for one in plan.systems}
    cells = []
    for name in TASK_NAMES:
        for dataset in plan.datasets:
            for task in dataset.tasks:
                if task.task != name:
                    continue
                texts, queries = _texts(plan, task, dataset.source)
                tokens = sum(map(len, tokenizer.encode_batch(texts)))
                for system in plan.systems:
                    seconds = _seconds(systems[system.name], system, task, texts, len(queries))
                    cells.append(_cell(task, dataset.name, system, tokens, seconds))
    return Forecast(tuple(cells))


def _cell(task: PlannedTask, dataset: str, system: PlannedSystem, tokens: int, seconds: float) -> CellCost:
    embedded = task.texts if system.kind == "embedding" else 0
    disk = 4 * embedded * int(system.facts.get("dims", 0))
    all_tokens = round(tokens * LENGTHS.get(task.task, 1.0))
    return CellCost(task.task, dataset, system.name, task.n, task.texts, all_tokens, seconds, disk)


def _texts(plan: Plan, task: PlannedTask, source: str) -> tuple[Sequence[str], Sequence[str]]:
    """The task's texts, and its queries where it has some."""
    request = plan.request
    loaded = work.load(task.task, request.dataset(source), request.limit, request.seed)
    fields = work.task(task.task).fields(loaded.data)
    first = {"retrieval": "document", "preference": "source"}.get(task.task, "text")
    return fields[first][1], fields.get("query", ((), ()))[1]


def _seconds(
    system: Similarity, planned: PlannedSystem, task: PlannedTask, texts: Sequence[str], queries: int
) -> float:
    probe = list(texts[:: max(1, len(texts) // PROBE)][:PROBE])
    if planned.kind == "embedding" or task.task in ("preference", "robustness", "sensitivity"):
        return _timed(lambda: system.pairs(probe, probe[::-1])) / len(probe) * task.texts
    if task.task == "clustering":
        each = _timed(lambda: system.distances(probe)) / len(probe) ** 2
        return each * len(texts) ** 2
    each = _timed(lambda: system.search(probe[:4], probe, 10)) / (4 * len(probe))
    return each * queries * task.texts


def _timed(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
