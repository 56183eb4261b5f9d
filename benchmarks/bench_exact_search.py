"""Exact search of the best 100 against faiss's flat index: time, equal ids, peak memory, and a file under a limit.

Both use all cores. A second comparison is in CPU seconds of one thread, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from real_vectors import real_vectors
from rich.console import Console
from threadpoolctl import threadpool_limits
from timing import Comparison, compare, peak_rss, show

from embassay.search import exact, exact_search
from embassay.search.indexes import open_index

K = 100
Floats = NDArray[np.float32]


def flat_of_faiss(corpus: Floats) -> Any:
    index = faiss.IndexFlatIP(corpus.shape[1])
    index.add(corpus)
    return index


def disagreement(queries: Floats, corpus: Floats, index: Any) -> str:
    """Where the ids differ, and how far apart the true scores of the two are there."""
    ours, (_, theirs) = exact_search(queries, corpus, K).indices, index.search(queries, K)
    rows, places = np.nonzero(ours != theirs)
    asked = queries[rows].astype(np.float64)
    mine, other = (np.einsum("nd,nd->n", asked, corpus[ids[rows, places]].astype(np.float64)) for ids in (ours, theirs))
    apart = np.abs(mine - other).max(initial=0.0)
    return (
        f"ids equal in {ours.size - len(rows):,} of {ours.size:,} places; in the other {len(rows):,} the float64 "
        f"scores of the two ids differ by at most {apart:.1e}"
    )


def in_one_thread(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int) -> str:
    """CPU seconds, the least of the repeats: what else runs only adds to them."""

    def least(work: Callable[[], Any]) -> float:
        work()
        found = []
        for _ in range(repeats):
            started = time.process_time()
            work()
            found.append(time.process_time() - started)
        return min(found)

    threads, known = faiss.omp_get_max_threads(), exact.count_cores
    faiss.omp_set_num_threads(1)
    exact.count_cores = lambda: 1
    try:
        with threadpool_limits(1):
            mine, theirs = least(ours), least(peer)
    finally:
        faiss.omp_set_num_threads(threads)
        exact.count_cores = known
    return f"CPU seconds in one thread: ours {mine:.3f}, faiss {theirs:.3f}, ours/faiss {mine / theirs:.2f}"


def speed(n: int, queries: int, data: Path, repeats: int) -> list[Comparison]:
    corpus, asked = real_vectors(n, queries, data)
    index = flat_of_faiss(corpus)
    print(disagreement(asked, corpus, index))
    opened = open_index("flat", corpus)
    rows = [
        compare(
            f"{queries:,} queries together in {n:,} x {corpus.shape[1]}",
            lambda: opened.search(asked, K),
            lambda: index.search(asked, K),
            repeats,
        ),
        compare(
            "20 queries, one at a time",
            lambda: [opened.search(asked[row : row + 1], K) for row in range(20)],
            lambda: [index.search(asked[row : row + 1], K) for row in range(20)],
            repeats,
        ),
    ]
    print(in_one_thread(lambda: opened.search(asked, K), lambda: index.search(asked, K), repeats))
    return rows


def ours_on(path: str, asked: str, memory: int | None) -> None:
    corpus = np.load(path, mmap_mode="r" if memory else None)
    open_index("flat", corpus, memory=memory).search(np.load(asked), K)


def theirs_on(path: str, asked: str) -> None:
    flat_of_faiss(np.load(path)).search(np.load(asked), K)


def ours_idle(asked: str) -> None:
    """What is needed before there is a vector: the interpreter, the libraries, the compiled parts."""
    few = np.load(asked)
    exact_search(few[:2], few, 2)


def theirs_idle(asked: str) -> None:
    few = np.load(asked)
    flat_of_faiss(few).search(few[:2], 2)


def memory(n: int, queries: int, data: Path, limit: int) -> list[str]:
    """Peak memory in processes of their own, each above one that only loads what it imports."""
    corpus, asked = real_vectors(n, queries, data)
    with tempfile.TemporaryDirectory() as folder:
        place, questions = str(Path(folder) / "corpus.npy"), str(Path(folder) / "queries.npy")
        np.save(place, corpus)
        np.save(questions, asked)
        size = corpus.nbytes
        del corpus
        before = peak_rss(ours_idle, questions)
        whole = peak_rss(ours_on, place, questions, None) - before
        mapped = peak_rss(ours_on, place, questions, limit) - before
        peer = peak_rss(theirs_on, place, questions) - peak_rss(theirs_idle, questions)
        started = time.perf_counter()
        ours_on(place, questions, limit)
        seconds = time.perf_counter() - started
    mib = 2**20
    return [
        f"{size / mib:.0f} MiB of vectors; peak above an idle process (ours: {before / mib:.0f} MiB): "
        f"ours in memory {whole / mib:.0f} MiB, faiss {peer / mib:.0f} MiB (it copies them)",
        f"the same from a memory map under a limit of {limit / mib:.0f} MiB: {mapped / mib:.0f} MiB, {seconds:.2f} s",
    ]


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(arguments)
    n, queries, repeats = (20_000, 200, 3) if options.quick else (200_000, 1_000, options.repeats)
    rows = speed(n, queries, options.data, repeats)
    show("Exact search against faiss's flat index", rows)
    for line in memory(n, queries, options.data, 2**26):
        Console(width=120).print(line)
    if hasattr(os, "getloadavg"):
        print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return rows


if __name__ == "__main__":
    main()
