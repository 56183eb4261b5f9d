"""What approximate indexes find of what exact search finds, on a retrieval set's own texts and queries.

    EMBASSAY_DATA=... python benchmarks/bench_index_recall.py [--dataset FILE] [--system wordllama]

Recall counts no clock, so it is the same on a busy machine; how fast they are is for `bench_ann.py`.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from real_text import DATA
from rich.console import Console
from rich.table import Table
from timing import need, parse_sizes

from embassay.data import open_dataset
from embassay.search import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.store import recall
from embassay.systems import open_system
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.text import open_tokenizer

SCIFACT = Path(__file__).parent / "datasets" / "scifact.yaml"
CUTOFFS = (10, 30)
SPECS = (
    "flat", "hnsw-f32?ef=32", "hnsw-f32", "hnsw-f32?ef=128", "hnsw-int8", "hnsw-int8?ef=128", "pq", "pq?m=64", "opq"
)  # fmt: skip
MB = 1_000_000


def main() -> None:
    """Encode once, build each index, and print what it finds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dataset", type=Path, default=SCIFACT)
    parser.add_argument("--system", default="wordllama")
    parser.add_argument("--passages", type=int, help="the first so many only")
    asked = parse_sizes(parser, passages=500)
    folder = need(Path(os.environ.setdefault("EMBASSAY_DATA", str(DATA))), "the folder of datasets")
    need(folder / "retrieval", "the dataset")
    data = open_dataset(str(asked.dataset)).load("retrieval").data
    encoder = open_system(asked.system, tokenizer=open_tokenizer("words"))
    sides = ((data.corpus.texts[: asked.passages], "document"), (data.queries.texts[: asked.passages], "query"))
    corpus, queries = (scale_rows_to_unit_length(encoder.vectors(texts, role)) for texts, role in sides)
    exact = exact_search(queries, corpus, max(CUTOFFS))
    table = Table(title=f"{len(corpus):,} texts and {len(queries):,} queries of {asked.dataset.stem} by {asked.system}")
    for heading in ("index", *(f"recall@{k}" for k in CUTOFFS), "MB in memory"):
        table.add_column(heading, justify="left" if heading == "index" else "right")
    for spec in SPECS:
        index = open_index(spec, corpus)
        found = index.search(queries, max(CUTOFFS))
        recalled = (f"{recall(found, exact, k):.3f}" for k in CUTOFFS)
        table.add_row(spec, *recalled, f"{(index.facts.memory_bytes or 0) / MB:.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
