"""Classical similarities against rouge-score, Python sets, rank-bm25 and rapidfuzz.

Real texts of at most 145 tokens; both sides get the tokens ready made. The slow peers do a sample of the
pairs or queries, and their seconds are scaled to the whole. `--large` adds the augmented corpus of SAGE, 19
versions of every document searched shard by shard, with the peak memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rank_bm25 import BM25Plus
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist
from real_text import DATA, real_texts
from rouge_score.rouge_scorer import RougeScorer
from timing import Comparison, compare, peak_rss, show

from embassay.systems.lexical.bm25 import BM25
from embassay.systems.lexical.levenshtein import LevenshteinSimilarity
from embassay.systems.lexical.overlap import jaccard, rouge
from embassay.text import PERTURBATIONS, open_tokenizer, perturb_all, retrieval_variants

TOKENS = 145
CHARACTERS = 1000
TOP = 100
SYSTEMS: dict[str, Callable[..., Any]] = {"bm25": BM25, "rouge": rouge, "jaccard": jaccard}


class ReadyTokens:
    """The tokens of known texts, looked up."""

    name = identity = "ready"

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self.known = dict(zip(texts, tokenizer.encode_batch(texts), strict=True))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.known[text] for text in texts]

    def tokenize(self, text: str) -> list[int]:
        return self.known[text]


def long_texts(n: int, data: Path) -> list[str]:
    folder = data / "retrieval"
    return sorted(real_texts(3 * n, folder if folder.is_dir() else data), key=len, reverse=True)[:n]


def cut_texts(n: int, data: Path, tokenizer: Any) -> list[str]:
    """`n` long texts, cut after 145 tokens."""
    return [b"".join(tokenizer.pieces(text)[:TOKENS]).decode("utf-8", "ignore") for text in long_texts(n, data)]


def scaled(row: Comparison, factor: float) -> Comparison:
    """The peer's seconds for `factor` times as much work as it did."""
    return replace(
        row, peer=row.peer * factor, ratio=row.ratio * factor, lowest=row.lowest * factor, highest=row.highest * factor
    )


def matrix_row(
    name: str, system: Any, n: int, texts: list[str], peer: Callable[[int], list[float]], repeats: int
) -> Comparison:
    """All distances of ours against the peer's similarities in `n` rows of the upper triangle."""
    total = len(texts)
    rows = np.linspace(0, total - 1, n + 2).astype(int)[1:-1].tolist()
    starts = [i * (2 * total - i - 1) // 2 for i in rows]
    found = system.distances(texts)
    worst = max(
        np.abs(1 - found[start : start + total - 1 - i] - peer(i)).max() for i, start in zip(rows, starts, strict=True)
    )
    print(f"{name}: greatest difference {worst:.1e}")
    row = compare(name, lambda: system.distances(texts), lambda: [peer(i) for i in rows], repeats)
    return scaled(row, len(found) / sum(total - 1 - i for i in rows))


def rouge_row(texts: list[str], ready: ReadyTokens, repeats: int) -> Comparison:
    scorer = RougeScorer(["rouge1", "rouge2"], tokenizer=ready)

    def peer(i: int) -> list[float]:
        scores = [scorer.score(texts[i], other) for other in texts[i + 1 :]]
        return [(score["rouge1"].fmeasure + score["rouge2"].fmeasure) / 2 for score in scores]

    name = f"ROUGE, {len(texts):,} texts, all pairs (rouge-score)"
    return matrix_row(name, rouge(tokenizer=ready), 3, texts, peer, repeats)


def jaccard_row(texts: list[str], ready: ReadyTokens, repeats: int) -> Comparison:
    sets = [set(tokens) for tokens in ready.encode_batch(texts)]

    def peer(i: int) -> list[float]:
        one, size = sets[i], len(sets[i])
        return [(both := len(one & other)) / (size + len(other) - both) for other in sets[i + 1 :]]

    name = f"Jaccard, {len(texts):,} texts, all pairs (Python sets)"
    return matrix_row(name, jaccard(tokenizer=ready), 100, texts, peer, repeats)


def bm25_row(texts: list[str], ready: ReadyTokens, repeats: int) -> Comparison:
    """Every text as a query; the peer's index is built beforehand, ours is part of the time."""
    index, asked = BM25Plus(ready.encode_batch(texts)), texts[:: max(1, len(texts) // 8)]
    system = BM25(tokenizer=ready)

    def peer() -> list[Any]:
        return [index.get_scores(ready.tokenize(query)) for query in asked]

    best = np.sort(np.array(peer()))[:, ::-1][:, :TOP]
    worst = np.abs(system.search(asked, texts, TOP).scores - best).max()
    name = f"BM25+, {len(texts):,} texts as queries, top {TOP} (rank-bm25)"
    print(f"{name}: greatest difference {worst:.1e}")
    row = compare(name, lambda: system.search(texts, texts, TOP), peer, repeats)
    return scaled(row, len(texts) / len(asked))


def levenshtein_row(texts: list[str], repeats: int) -> Comparison:
    texts = [text[:CHARACTERS] for text in texts]
    system = LevenshteinSimilarity()
    return compare(
        f"Levenshtein, {len(texts):,} texts of {CHARACTERS:,} characters (rapidfuzz cdist, all cores)",
        lambda: system.distances(texts),
        lambda: cdist(texts, texts, scorer=Indel.normalized_similarity, dtype=np.float32, workers=-1),
        repeats,
    )


def search_augmented(system: str, tokenizer: str, data: Path) -> None:
    """19 versions of 5,183 texts, 300 queries, top 10 of each shard."""
    opened, texts = open_tokenizer(tokenizer), long_texts(5_183, data)
    ids = [str(i) for i in range(len(texts))]
    edits = [PERTURBATIONS.build(name, tokenizer=opened) for name in retrieval_variants()]
    variants = [perturb_all(edit, texts, ids, 1337) for edit in edits]
    queries = [text[:120] for text in texts[::17]][:300]
    made = SYSTEMS[system](tokenizer=opened)
    start, cpu = time.perf_counter(), time.process_time()
    shards = [len(ranked.indices) for ranked in made.search_shards(queries, [texts, *variants], 10)]
    print(
        f"{system}: {len(shards)} shards of {len(texts):,} texts, {len(queries)} queries, tokenised and "
        f"searched in {time.perf_counter() - start:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"
    )


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--tokenizer", default="words")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    few, many, repeats = (500, 1_000, 3) if options.quick else (2_000, 5_000, 5)
    tokenizer = open_tokenizer(options.tokenizer)
    texts = cut_texts(many, options.data, tokenizer)
    ready = ReadyTokens(tokenizer, texts)
    rows = [
        rouge_row(texts[:few], ready, repeats),
        jaccard_row(texts, ready, repeats),
        bm25_row(texts, ready, repeats),
        levenshtein_row(long_texts(few // 5, options.data), repeats),
    ]
    show("Classical similarities", rows)
    if options.large:
        for system in SYSTEMS:
            peak = peak_rss(search_augmented, system, options.tokenizer, options.data)
            print(f"{system}: peak memory {peak / 2**30:.2f} GiB, texts included")
    return rows


if __name__ == "__main__":
    main()
