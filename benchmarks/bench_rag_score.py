"""The command `embassay rag score` on 10,000 queries with 100 documents each and 12 measures, part by part.

    python benchmarks/bench_rag_score.py            the median of three starts; measure on a quiet machine

Times of the whole command (start of the program included), and inside one process of reading, of measures and
intervals together, and of both again with a second run to compare. 10,000 resamples throughout.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import parse_sizes

QUERIES, DEPTH, JUDGED, DOCUMENTS = 10_000, 100, 40, 300
MEASURES = (
    "RA-nWG@10", "N-Recall4+@10", "N-Recall5@10", "Precision4+@10", "Harm@10", "Hit@10", "PROC@10", "nDCG@10", "AP",
    "RR", "R@10", "P@10",
)  # fmt: skip


def write(folder: Path, queries: int) -> None:
    """Two runs of a million lines and 400,000 judgements."""
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        with (folder / f"run{seed}.trec").open("w") as file:
            for query in range(queries):
                docs = rng.choice(DOCUMENTS, DEPTH, replace=False).tolist()
                scores = np.sort(rng.normal(10, 1, DEPTH))[::-1].tolist()
                found = enumerate(zip(docs, scores, strict=True), start=1)
                file.writelines(f"q{query} Q0 d{query}-{doc} {rank} {score:.6f} x\n" for rank, (doc, score) in found)
    rng = np.random.default_rng(0)
    with (folder / "qrels.trec").open("w") as file:
        for query in range(queries):
            docs = rng.choice(DOCUMENTS, JUDGED, replace=False).tolist()
            grades = np.clip(np.round(rng.normal(2.5, 1.2, JUDGED)), 1, 5).astype(int).tolist()
            file.writelines(f"q{query} 0 d{query}-{doc} {grade}\n" for doc, grade in zip(docs, grades, strict=True))


def command(folder: Path, runs: int) -> float:
    """Seconds of the whole command."""
    asked = [word for name in MEASURES for word in ("-m", name)]
    given = [word for i in range(1, runs + 1) for word in ("--run", str(folder / f"run{i}.trec"))]
    line = [sys.executable, "-m", "embassay", "rag", "score", "--qrels", str(folder / "qrels.trec"), *given, *asked]
    start = time.perf_counter()
    subprocess.run(line, check=True, capture_output=True)
    return time.perf_counter() - start


def parts(folder: Path, runs: int) -> tuple[float, float]:
    """Seconds of reading, and of measures with intervals and comparisons."""
    from embassay.protocols.rag.scoring.inputs import ScoreRequest, read_scoring_inputs
    from embassay.protocols.rag.scoring.protocol import score_all_runs

    files = tuple(str(folder / f"run{i}.trec") for i in range(1, runs + 1))
    request = ScoreRequest(str(folder / "qrels.trec"), files, measures=MEASURES)
    start = time.perf_counter()
    inputs = read_scoring_inputs(request)
    read = time.perf_counter()
    score_all_runs(inputs, request)
    return read - start, time.perf_counter() - read


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--repeats", type=int, default=3)
    given = parse_sizes(parser, queries=100, repeats=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, given.queries)
        for runs in (1, 2):
            whole = statistics.median(command(folder, runs) for _ in range(given.repeats))
            parts(folder, runs)
            read, scored = (
                statistics.median(one) for one in zip(*(parts(folder, runs) for _ in range(given.repeats)), strict=True)
            )
            print(
                f"{runs} run{'s' if runs > 1 else ''}: whole command {whole:.2f} s; reading {read:.2f} s, "
                f"measures, intervals and readings {scored:.2f} s"
            )


if __name__ == "__main__":
    main()
