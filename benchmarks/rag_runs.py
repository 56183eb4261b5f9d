"""Runs to score: what systems retrieve from a retrieval set, and their reciprocal rank fusion, as TREC files.

    EMBASSAY_DATA=... python benchmarks/rag_runs.py benchmarks/datasets/cranfield.yaml -s bm25 -s wordllama --out runs
    embassay rag score --qrels qrels.jsonl.gz --map relevance=code --grades cranfield --run runs/cranfield/bm25.trec

Each run has the first 100 documents of every query; the fusion is of these lists, constant 60, ranks from 1.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from embassay.data import open_dataset
from embassay.protocols.rag.scoring.inputs import fuse_runs, retrieve_passages, write_trec
from embassay.text import open_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dataset", help="a name or a path, as for embassay -d")
    parser.add_argument("-s", "--system", action="append", required=True)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--tokenizer", default="words", help="tokens of lexical systems")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    dataset = open_dataset(arguments.dataset)
    data = dataset.load("retrieval").data
    passages = dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    questions = dict(zip(data.queries.ids, data.queries.texts, strict=True))
    tokenizer = open_tokenizer(arguments.tokenizer)
    runs = {}
    for system in arguments.system:
        start = time.perf_counter()
        runs[system] = retrieve_passages(system, passages, questions, arguments.depth, tokenizer=tokenizer)
        print(f"{system}: {time.perf_counter() - start:.1f} s", flush=True)
    if len(runs) > 1:
        runs["rrf"] = fuse_runs(list(runs.values()), arguments.depth)
    for system, run in runs.items():
        write_trec(arguments.out / dataset.name / f"{system}.trec", system, run)


if __name__ == "__main__":
    main()
