"""Exact search of the best 10 in 2,000,000 x 384 float32 vectors that lie in a file, against faiss's flat index.

python benchmarks/bench_large_search.py --vectors 2000000 --memory 4GiB --folder FOLDER

The vectors are unit vectors of mixed closeness, made with a seed and kept in FOLDER (4 bytes a value: 3.1 GB). Each
side searches in a process of its own, ours from a memory map under the limit, faiss with the vectors in memory, which
is how its flat index works. Said are the processor's seconds (what else runs on the machine does not count), the peak
of resident memory from outside (/proc), and where the ids differ.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import parse_sizes

from embassay.runs.memory import format_memory_size, parse_memory_size
from embassay.search.exact import SHARD

K, DIM, CENTRES = 10, 384, 4096
Floats = NDArray[np.float32]


def made(rows: int, rng: np.random.Generator, centres: Floats) -> Floats:
    """Unit vectors near one of the centres each, as texts are near their topics."""
    near = centres[rng.integers(0, len(centres), rows)] + rng.standard_normal((rows, DIM), dtype=np.float32)
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), dtype=np.float32)


def write(path: Path, n: int, queries: int) -> Floats:
    """The vectors in a file, unless they are there; the queries."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CENTRES, DIM), dtype=np.float32)
    asked = made(queries, rng, centres)
    if not path.exists() or np.load(path, mmap_mode="r").shape != (n, DIM):
        file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, DIM))
        for start in range(0, n, SHARD):
            file[start : start + SHARD] = made(min(SHARD, n - start), rng, centres)
        file.flush()
    return asked


def ours(path: str, asked: Floats, memory: int) -> tuple[Any, Any]:
    """From the map, a window at a time; what the process holds before counts in the limit."""
    from embassay.runs.memory import measure_resident_memory
    from embassay.search.indexes import open_index

    index = open_index("flat", np.load(path, mmap_mode="r"), memory=(memory - (measure_resident_memory() or 0)) // 2)
    found = index.search(asked, K)
    return found.indices, found.scores


def of_faiss(path: str, asked: Floats, memory: int) -> tuple[Any, Any]:
    """All vectors in memory: it has no other way to search them exactly."""
    del memory
    import faiss

    faiss.omp_set_num_threads(1)
    vectors = np.load(path, mmap_mode="r")
    index = faiss.IndexFlatIP(DIM)
    for start in range(0, len(vectors), SHARD):
        index.add(np.ascontiguousarray(vectors[start : start + SHARD]))
    scores, ids = index.search(asked, K)
    return ids, scores


def alone(search: Any, path: str, asked: Floats, memory: int, out: Any) -> None:
    """Search, and send what was found with the processor's seconds."""
    found = search(path, asked, memory)
    used = resource.getrusage(resource.RUSAGE_SELF)
    out.send((*found, used.ru_utime + used.ru_stime))


def measured(search: Any, path: Path, asked: Floats, memory: int) -> tuple[Any, Any, float, int, float]:
    """Ids, scores, the processor's seconds, the peak of resident memory seen from outside, and the clock's seconds."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=alone, args=(search, str(path), asked, memory, send))
    started, peak = time.perf_counter(), 0
    process.start()
    status = Path(f"/proc/{process.pid}/status")
    while not receive.poll(0.05):
        if not process.is_alive():
            raise SystemExit("the searching process died")
        lines = (line.split() for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        peak = max(peak, *(int(line[1]) * 1024 for line in lines))
    ids, scores, seconds = receive.recv()
    process.join()
    return ids, scores, seconds, peak, time.perf_counter() - started


def main() -> None:
    """Measure both and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vectors", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--folder", type=Path, help="Keep the vectors here; default: a folder for this run.")
    given = parse_sizes(parser, vectors=20_000, queries=20)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        compare(given, folder / "vectors.npy")


def compare(given: argparse.Namespace, path: Path) -> None:
    """Both searches, each in a process of its own."""
    limit = parse_memory_size(given.memory)
    asked = write(path, given.vectors, given.queries)
    print(
        f"{given.queries:,} queries, the best {K} of {given.vectors:,} x {DIM}: "
        f"{format_memory_size(path.stat().st_size)}"
    )
    found = {}
    for name, search in (("ours", ours), ("faiss", of_faiss)):
        ids, scores, seconds, peak, clock = measured(search, path, asked, limit)
        found[name] = ids, scores
        print(
            f"{name:6} {seconds:7.1f} s of the processor, {clock:7.1f} s of the clock, peak {format_memory_size(peak)}",
            flush=True,
        )
        if name == "ours" and peak > limit:
            raise SystemExit(f"more than the {format_memory_size(limit)} promised")
    (ids, scores), (peer_ids, peer_scores) = found["ours"], found["faiss"]
    apart = np.abs(scores - peer_scores).max()
    print(f"ids equal in {(ids == peer_ids).sum():,} of {ids.size:,} places; scores differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
