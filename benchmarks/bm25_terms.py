"""What BM25 counts: a tokenizer's tokens, words of any language, or their letters, on labelled collections.

    python benchmarks/bm25_terms.py --data DATA --work WORK > benchmarks/results/bm25_terms.md

The collections and questions are those of choose_collections.py; WORK keeps vectors.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from choose_collections import COLLECTIONS, Files, capped, ndcg_of, ours

SYSTEMS = ("bm25", "bm25?terms=words", "bm25?terms=letters", "wordllama", "minilm")


def main() -> None:
    """Print nDCG@10 of every collection and its mean."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--work", type=Path, required=True)
    asked = given.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    systems = {name: ours(name, asked.work / "vectors") for name in SYSTEMS}
    print("# What BM25 counts\n\nMade by `benchmarks/bm25_terms.py`: nDCG@10 of each collection's own questions.\n")
    print(f"| Collection | Passages | Questions | {' | '.join(SYSTEMS)} |\n|---|{'---:|' * (len(SYSTEMS) + 2)}")
    rows = []
    for name, make in COLLECTIONS.items():
        one = capped(make(Files(asked.data), name))
        questions, texts = list(one.queries.values()), list(one.texts.values())
        judged = one.gains_by_row()
        rows.append([np.mean(ndcg_of(search(questions, texts), judged)) for search in systems.values()])
        cells = " | ".join(f"{value:.3f}" for value in rows[-1])
        print(f"| {name} | {len(texts):,} | {len(questions):,} | {cells} |", flush=True)
    print(f"| mean | | | {' | '.join(f'{value:.3f}' for value in np.mean(rows, axis=0))} |")


if __name__ == "__main__":
    main()
