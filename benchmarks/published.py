"""What this code gives for all-MiniLM-L6-v2 beside what mteb published for it, in its repository of results.

    EMBASSAY_DATA=FOLDER python benchmarks/published.py

FOLDER holds `sts/`, `classification/` and `retrieval/` as compressed JSON Lines. Embeddings go through the usual cache,
so a second run takes seconds. `reproduce.py` puts these figures into docs/published.csv.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import Similarity
from embassay.data import open_dataset
from embassay.measures import ndcg, spearman
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems import open_system
from embassay.text import open_tokenizer

HERE = Path(__file__).parent
SYSTEM = "minilm"
_EXPERIMENTS, _PER_LABEL = 10, 8


@dataclass(frozen=True)
class Pairs:
    """A file of scored pairs; `published` is mteb's Spearman correlation of cosines, times 100."""

    name: str
    file: str
    published: float
    note: str


PAIRS = (
    Pairs("STSBenchmark, test", "stsb_en_test", 82.03, "the same 1,379 pairs"),
    Pairs("SICK-R", "sick_r_test_trial", 77.58, "mteb has 9,927 pairs, this file the 5,427 of test and trial"),
    Pairs("STS12", "sts12_test", 72.37, "the same pairs"),
    Pairs("STS13", "sts13_test", 80.60, "the same pairs"),
    Pairs("STS17, en-en", "sts17_en-en_test", 87.59, "the same 250 pairs"),
)


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, published, here, note in figures(Path(os.environ["EMBASSAY_DATA"])):
        print(f"{name}: published {published:.2f}, here {here:.2f} ({note})", flush=True)


def figures(data: Path) -> Iterator[tuple[str, float, float, str]]:
    """What was measured on, mteb's figure and ours, both x 100, and what to know about it."""
    system = opened(SYSTEM)
    for pairs in PAIRS:
        yield sts(data, system, pairs)
    yield banking77(data, system)
    yield scifact(system)


def opened(spec: str) -> Similarity:
    """A system with the user's embedding cache in between."""
    cache = EmbeddingCache.open()
    return open_system(spec, tokenizer=open_tokenizer("words"), wrap=lambda encoder: CachedEncoder(encoder, cache))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a compressed JSON Lines file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def sts(data: Path, system: Similarity, pairs: Pairs) -> tuple[str, float, float, str]:
    """Spearman correlation of cosine and score."""
    rows = rows_of(data / "sts" / f"{pairs.file}.jsonl.gz")
    found = system.pairs([row["text"] for row in rows], [row["text2"] for row in rows])
    here = 100 * spearman(found, [row["score"] for row in rows])
    return pairs.name, pairs.published, float(here), pairs.note


def banking77(data: Path, system: Any) -> tuple[str, float, float, str]:
    """Mean accuracy of ten logistic regressions on 8 training texts of each intent, as mteb's task has it."""
    train, test = (rows_of(data / "classification" / f"banking77_{part}.jsonl.gz") for part in ("train", "test"))
    vectors = [system.encoder.encode([row["text"] for row in rows]) for rows in (train, test)]
    labels = [np.array([row["label"] for row in rows]) for rows in (train, test)]
    scores = [100 * accuracy(vectors, labels, seed) for seed in range(_EXPERIMENTS)]
    note = f"mean of {len(scores)} draws of training texts, sd {np.std(scores, ddof=1):.2f}; other draws than mteb's"
    return "Banking77, test", 80.04, float(np.mean(scores)), note


def accuracy(vectors: list[Any], labels: list[Any], seed: int) -> float:
    """Of one logistic regression, on the draw of training texts that belongs to `seed`."""
    from sklearn.linear_model import LogisticRegression

    order = np.random.default_rng(seed).permutation(len(labels[0]))
    drawn = [order[labels[0][order] == label][:_PER_LABEL] for label in np.unique(labels[0])]
    rows = np.concatenate(drawn)
    model = LogisticRegression(max_iter=100, random_state=seed).fit(vectors[0][rows], labels[0][rows])
    return float(model.score(vectors[1], labels[1]))


def scifact(system: Similarity) -> tuple[str, float, float, str]:
    """nDCG@10 of the 300 test queries of BEIR."""
    loaded = open_dataset(str(HERE / "datasets" / "scifact.yaml")).load("retrieval").data
    queries = [query for query in loaded.queries.ids if query in loaded.qrels]
    texts = dict(zip(loaded.queries.ids, loaded.queries.texts, strict=True))
    found = system.search([texts[query] for query in queries], loaded.corpus.texts, 10)
    retrieved = {
        query: {loaded.corpus.ids[index]: float(score) for index, score in zip(*row, strict=True)}
        for query, row in zip(queries, zip(found.indices, found.scores, strict=True), strict=True)
    }
    values = ndcg({query: loaded.qrels[query] for query in queries}, retrieved, 10)
    return "SciFact, test", 64.51, 100 * float(np.mean(values)), "the same 300 queries and 5,183 abstracts"


if __name__ == "__main__":
    sys.exit(main())
