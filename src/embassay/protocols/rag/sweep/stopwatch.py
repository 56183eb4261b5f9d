"""How long the stages of a stack take: one query at a time, by a monotonic clock, warm-up calls dropped.

A stage is timed once for what it depends on: embedding for an encoder (and rewriting), retrieval for an index at a
depth, search by words with fusion for a dataset, reranking for a reranker, k and mode, on the candidates that exact
search finds at full dimensions with the first encoder. Totals are sums per query and session. Samples are kept as they
are taken: a run that resumes has those of its finished parts. Source: spec rag 3.2.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.sweep.request import Latency
from embassay.runs.files import digest, to_json, write_atomic

Floats = NDArray[np.float64]
Do = Callable[[int], object]
"""What is timed, given a query's position."""


@dataclass(frozen=True)
class Stopwatch:
    """Takes time into the files of `folder`, and reads what is there."""

    folder: Path
    latency: Latency

    def alone(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """Time `do` for one query at a time; the name under which the samples are kept, (sessions, queries) in ms."""
        return self._kept(what, (self.latency.repeats, len(queries)), lambda: self._sessions(queries, do))

    def together(self, what: Mapping[str, Any], queries: Sequence[int], do: Do) -> str:
        """The same with as many queries in flight as the config says, once: (1, queries)."""
        said = {**what, "concurrency": self.latency.concurrency}
        return self._kept(said, (1, len(queries)), lambda: self._in_flight(queries, do))

    def read(self, name: str) -> Floats | None:
        """The samples of this name, (sessions, queries) in ms; None where there are none, or damaged ones."""
        try:
            samples = np.array(json.loads(self._path(name).read_text("utf-8"))["samples"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return samples if samples.ndim == 2 else None

    def load(self) -> tuple[float | None, int]:
        """The highest load average while any of the samples were taken, by cores, and the cores of that machine; (None,
        0) where it is not known."""
        found: list[tuple[float, float, int]] = []
        for path in self.folder.glob("*.json"):
            try:
                content = json.loads(path.read_text("utf-8"))
                load, cores = float(content["load"]), int(content["cores"])
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            if load >= 0 and cores > 0:
                found.append((load / cores, load, cores))
        return max(found)[1:] if found else (None, 0)

    def _kept(self, what: Mapping[str, Any], shape: tuple[int, int], take: Callable[[], Floats]) -> str:
        name = digest(dict(what))
        there = self.read(name)
        if there is None or there.shape != shape:
            before = _load()
            samples = take().tolist()
            load = max(before, _load())
            content = {
                "what": dict(what),
                "unit": "ms",
                "samples": samples,
                "load": load,
                "cores": os.cpu_count() or 1,
            }
            write_atomic(self._path(name), to_json(content) + "\n")
        return name

    def _sessions(self, queries: Sequence[int], do: Do) -> Floats:
        samples = np.empty((self.latency.repeats, len(queries)))
        for session in range(self.latency.repeats):
            # The first calls load, compile and fill caches of the processor.
            for call in range(self.latency.warmup):
                do(queries[call % len(queries)])
            samples[session] = [_milliseconds(do, query) for query in queries]
        return samples

    def _in_flight(self, queries: Sequence[int], do: Do) -> Floats:
        with ThreadPoolExecutor(self.latency.concurrency) as pool:
            for future in [pool.submit(do, query) for query in queries[: self.latency.warmup]]:
                future.result()
            return np.array([list(pool.map(lambda query: _milliseconds(do, query), queries))])

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _load() -> float:
    """The load average of the last minute; below 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0


def _milliseconds(do: Do, query: int) -> float:
    began = perf_counter()
    do(query)
    return 1000 * (perf_counter() - began)
