"""Runs to score: what systems retrieve from a retrieval set, and their reciprocal rank fusion, as TREC files.

    SEMBLANCE_DATA=... python benchmarks/rag_runs.py benchmarks/datasets/cranfield.yaml -s bm25 -s wordllama --out runs
    semblance rag score --qrels qrels.jsonl.gz --map relevance=code --grades cranfield --run runs/cranfield/bm25.trec

Each run has the first 100 documents of every query; the fusion is of these lists, constant 60, ranks from 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from semblance.data import open_dataset
from semblance.records import RetrievalSet
from semblance.search.fusion import rrf
from semblance.systems import open_system
from semblance.text import TOKENIZERS

Ranking = Sequence[tuple[str, float]]


def retrieved(system: str, data: RetrievalSet, depth: int, tokenizer: str) -> dict[str, Ranking]:
    """Query -> its first documents with their scores, best first."""
    built = open_system(system, tokenizer=TOKENIZERS.build(tokenizer), seed=0)
    ranked = built.search(data.queries.texts, data.corpus.texts, depth)
    return {
        query: [
            (data.corpus.ids[place], float(score))
            for place, score in zip(places, scores, strict=True)
            if place >= 0
        ]
        for query, places, scores in zip(data.queries.ids, ranked.indices, ranked.scores, strict=True)
    }


def fused(runs: Iterable[Mapping[str, Ranking]], depth: int) -> dict[str, Ranking]:
    """Query -> the first documents of the fusion of its rankings."""
    runs = list(runs)
    return {
        query: [(one.id, one.score) for one in rrf([[doc for doc, _ in run[query]] for run in runs])[:depth]]
        for query in runs[0]
    }


def write_run(path: Path, run: Mapping[str, Ranking], tag: str) -> None:
    """A TREC file: query Q0 document rank score tag."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f"{query} Q0 {doc} {rank} {score!r} {tag}\n"
        for query, ranking in run.items()
        for rank, (doc, score) in enumerate(ranking, start=1)
    )
    path.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", help="a name or a path, as for semblance -d")
    parser.add_argument("-s", "--system", action="append", required=True)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--tokenizer", default="words", help="tokens of lexical systems")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    dataset = open_dataset(arguments.dataset)
    data = dataset.load("retrieval").data
    runs = {}
    for system in arguments.system:
        start = time.perf_counter()
        runs[system] = retrieved(system, data, arguments.depth, arguments.tokenizer)
        print(f"{system}: {time.perf_counter() - start:.1f} s", flush=True)
    if len(runs) > 1:
        runs["rrf"] = fused(list(runs.values()), arguments.depth)
    for system, run in runs.items():
        write_run(arguments.out / dataset.name / f"{system}.trec", run, system)


if __name__ == "__main__":
    main()
