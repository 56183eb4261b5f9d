"""Approximate indexes beside usearch's HNSW: recall@10, building, queries per second, memory; and what codes cost.

Graphs of both libraries have m=16 and are built with 100 candidates in one thread; usearch's are not part of Embassay.
Queries per second are of all queries in one call, on all cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from real_vectors import real_vectors
from rich.console import Console
from rich.table import Table
from timing import need_package

from embassay.contracts import RankedCandidates
from embassay.machine import count_cores
from embassay.search import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.store import hash_vectors, recall

K = 10
WIDTHS = (32, 64, 128, 256)
CODES = ("pq", "opq")
MIB = 2**20
Floats = NDArray[np.float32]
Search = Callable[[Floats], RankedCandidates]


@dataclass(frozen=True)
class Row:
    """An index at a search width: median and range over the repeats of queries per second, bytes in memory by the
    structure (usearch: of its file) and by which a new process grows when it opens the index."""

    name: str
    ef: int | None
    recall: float
    qps: tuple[float, float, float]
    build_seconds: float
    memory: int
    held: int
    disk: int


def timed(search: Search, queries: Floats, repeats: int) -> tuple[float, float, float]:
    search(queries[:10])
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        search(queries)
        found.append(len(queries) / (time.perf_counter() - started))
    return median(found), min(found), max(found)


def of_ours(
    spec: str, corpus: Floats, digest: str, folder: Path, asked: tuple[Floats, RankedCandidates], repeats: int
) -> list[Row]:
    queries, exact = asked
    rows = []
    open_index(spec, corpus, folder=folder, digest=digest)
    held = held_by(opened, spec, str(folder), digest)
    for ef in WIDTHS if spec.startswith("hnsw") else (None,):
        index = open_index(f"{spec}?ef={ef}" if ef else spec, corpus, folder=folder, digest=digest)
        facts = index.facts
        rows.append(
            Row(
                spec,
                ef,
                recall(index.search(queries, K), exact, K),
                timed(partial(index.search, k=K), queries, repeats),
                facts.build_seconds,
                facts.memory_bytes or 0,
                held,
                facts.disk_bytes or 0,
            )
        )
    return rows


def of_usearch(
    kind: str, corpus: Floats, folder: Path, asked: tuple[Floats, RankedCandidates], repeats: int
) -> list[Row]:
    from usearch.index import Index

    queries, exact = asked
    index = Index(ndim=corpus.shape[1], metric="ip", dtype=kind, connectivity=16, expansion_add=100)
    started = time.perf_counter()
    index.add(np.arange(len(corpus)), corpus, threads=1)
    seconds = time.perf_counter() - started
    path = folder / f"{kind}.usearch"
    index.save(str(path))
    rows = []
    for ef in WIDTHS:
        index.expansion_search = ef
        search = partial(usearch_ranked, index)
        rows.append(
            Row(
                f"usearch {kind}",
                ef,
                recall(search(queries), exact, K),
                timed(search, queries, repeats),
                seconds,
                int(index.serialized_length),
                held_by(usearch_opened, kind, corpus.shape[1], str(path)),
                path.stat().st_size,
            )
        )
    return rows


def opened(spec: str, folder: str, digest: str) -> Any:
    """The index as its file has it; `flat` has none, and reads its vectors."""
    corpus = np.load(Path(folder) / "corpus.npy", mmap_mode=None if spec == "flat" else "r")
    return open_index(spec, corpus, folder=Path(folder), digest=digest)


def usearch_opened(kind: str, dim: int, path: str) -> Any:
    from usearch.index import Index

    index = Index(ndim=dim, metric="ip", dtype=kind, connectivity=16)
    index.load(path)
    return index


def held_by(open_it: Callable[..., Any], *arguments: Any) -> int:
    """Bytes by which a new process grows when it opens an index, its libraries being loaded."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (open_it, arguments))


def _grown(open_it: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    import faiss  # noqa: F401
    import usearch.index  # noqa: F401

    (open_index("hnsw-f32", np.ones((2, 8), np.float32)), open_index("flat", np.ones((2, 8), np.float32)))
    before = _resident()
    index = open_it(*arguments)
    grown = _resident() - before
    del index
    return grown


def _resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def usearch_ranked(index: Any, queries: Floats) -> RankedCandidates:
    found = index.search(queries, K, threads=count_cores())
    return RankedCandidates(np.asarray(found.keys).astype(np.int64), -np.asarray(found.distances, dtype=np.float64))


def show(rows: list[Row], n: int, dim: int) -> None:
    table = Table(title=f"Indexes of {n:,} x {dim}, k = {K}")
    for heading in (
        "index",
        "ef",
        "recall@10",
        "queries/s",
        "min..max",
        "build, s",
        "structure, MiB",
        "held, MiB",
        "disk, MiB",
    ):
        table.add_column(heading, justify="left" if heading == "index" else "right")
    for row in rows:
        middle, low, high = row.qps
        table.add_row(
            row.name,
            str(row.ef or ""),
            f"{row.recall:.4f}",
            f"{middle:,.0f}",
            f"{low:,.0f}..{high:,.0f}",
            f"{row.build_seconds:.1f}",
            f"{row.memory / MIB:.1f}",
            f"{row.held / MIB:.1f}",
            f"{row.disk / MIB:.1f}",
        )
    Console(width=130).print(table)


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    need_package("usearch")
    n, queries, repeats = (5_000, 200, 2) if options.quick else (100_000, 2_000, options.repeats)
    corpus, asked = real_vectors(n, queries, options.data)
    exact = exact_search(asked, corpus, K)
    questions, digest = (asked, exact), hash_vectors(corpus)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "corpus.npy", corpus)
        for spec in ("flat", "hnsw-f32", "hnsw-int8", *CODES):
            rows += of_ours(spec, corpus, digest, Path(folder), questions, repeats)
        for kind in ("f32", "i8"):
            rows += of_usearch(kind, corpus, Path(folder), questions, repeats)
    show(rows, n, corpus.shape[1])
    if hasattr(os, "getloadavg"):
        print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return rows


if __name__ == "__main__":
    main()
