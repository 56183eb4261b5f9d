"""A real store under filters: runs of LanceDB for `embassay rag probe tail` (pip install lancedb).

    python benchmarks/index_tail.py --data DATA --out FOLDER
    embassay rag probe tail --run pre=FOLDER/pre.trec --run post=FOLDER/post.trec --exact FOLDER/exact.trec \\
        --queries FOLDER/queries.jsonl

SciFact's 300 questions, wordllama's vectors, IVF_PQ with 64 lists and 32 parts, 8 lists searched. A third of the
questions each have a filter that all, 10% and 2% of the abstracts pass, before the search and after it.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from embassay.systems import open_system
from embassay.text import open_tokenizer

FILTERS = {"passes all": 1000, "passes 10%": 100, "passes 2%": 20}


def main() -> None:
    """Write the runs and the questions with their tags."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--out", type=Path, required=True)
    asked = given.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = asked.data / "retrieval" / "scifact"
    corpus = list(_read(folder / "corpus.jsonl.gz"))
    questions = [row for row in _read(folder / "queries.jsonl.gz") if row["split"] == "dev"]
    table = _fill_store(asked.out / "store", corpus)
    vectors = _encode([row["text"] for row in questions], "query")
    tags = [list(FILTERS)[place % 3] for place in range(len(questions))]
    for kind in ("exact", "pre", "post"):
        lines = []
        for row, vector, tag in zip(questions, vectors, tags, strict=True):
            search = table.search(vector).metric("cosine").limit(10)
            search = search.where(f"bucket < {FILTERS[tag]}", prefilter=kind != "post")
            search = search.bypass_vector_index() if kind == "exact" else search.nprobes(8)
            lines += [
                f"{row['id']} Q0 {hit['id']} {rank} {1 - hit['_distance']} {kind}\n"
                for rank, hit in enumerate(search.to_list(), 1)
            ]
        (asked.out / f"{kind}.trec").write_text("".join(lines))
    tagged = zip(questions, tags, strict=True)
    written = (json.dumps({"id": str(row["id"]), "text": row["text"], "tags": [tag]}) for row, tag in tagged)
    (asked.out / "queries.jsonl").write_text("".join(line + "\n" for line in written))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _encode(texts: list[str], role: str) -> Any:
    system = open_system("wordllama", tokenizer=open_tokenizer("words", later=True), seed=0)
    vectors = np.asarray(system.encoder.encode(texts, role=role), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _fill_store(path: Path, corpus: list[dict[str, Any]]) -> Any:
    import lancedb

    buckets = np.random.default_rng(1).integers(0, 1000, len(corpus))
    vectors = _encode([f"{row['title']} {row['text']}" for row in corpus], "document")
    rows = [
        {"id": str(row["id"]), "vector": vector, "bucket": int(bucket)}
        for row, vector, bucket in zip(corpus, vectors, buckets, strict=True)
    ]
    table = lancedb.connect(str(path)).create_table("passages", rows, mode="overwrite")
    table.create_index(metric="cosine", num_partitions=64, num_sub_vectors=32, index_type="IVF_PQ")
    return table


if __name__ == "__main__":
    main()
