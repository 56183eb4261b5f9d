"""A large corpus to search in, made of real sentences: a folder in BEIR's layout.

python benchmarks/made_corpus.py --data DATA --passages 2000000 --out FOLDER --seed 1

The sentences of several datasets of DATA (the development datasets, also $EMBASSAY_DATA) are recombined into passages
of the length of web passages, each there once. SciFact's own documents stand among them unchanged, at places drawn
with the seed, and its queries and judgements go with them, so that there is something to find. The same arguments give
the same bytes. Memory grows by 8 bytes a passage.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.randomness import make_seeded_generator
from embassay.text import split_sentences

SOURCES = {
    "retrieval/scifact/corpus": "text",
    "retrieval/cranfield/corpus": "text",
    "retrieval/med/corpus": "text",
    "clustering/20newsgroups_sample": "text",
    "summarization/cnn_dailymail_100": "text",
    "summarization/squality_documents": "text",
    "summarization/summeval_documents": "text",
    "summarization/sumpubmed_150": "text",
    "summarization/billsum": "text",
}
"""File of the data, without .jsonl.gz, and the column whose sentences are taken."""
LENGTHS = (30, 400)
"""Characters of a sentence that is used."""
WORDS = (15, 60, 220, 0.5)
"""Words of a passage: least, median, most, and the spread of their logarithm (log-normal)."""
MOST_SENTENCES = 12
BATCH = 16_384


def main() -> None:
    """Make the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("EMBASSAY_DATA"))
    parser.add_argument("--passages", type=int, default=2_000_000, help="all of them, SciFact's included")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.data is None or not given.data.is_dir():
        parser.error("name the folder of the development datasets with --data or $EMBASSAY_DATA")
    own = [{"_id": str(row["id"]), "title": row["title"], "text": row["text"]} for row in scifact(given.data, "corpus")]
    if given.passages < len(own):
        parser.error(f"--passages {given.passages}: SciFact alone has {len(own)} documents")
    write_queries(given.data, given.out)
    pool = sentences(given.data)
    write_rows(given.out / "corpus.jsonl", corpus(own, pool, given.passages, given.seed))
    print(f"{given.out}: {given.passages:,} passages of {len(pool):,} sentences, {len(own):,} of them SciFact's")


def corpus(own: list[dict[str, Any]], pool: list[str], total: int, seed: int) -> Iterator[dict[str, Any]]:
    """The documents `own` in their order at drawn places among `total`, made passages at the others."""
    places = np.sort(make_seeded_generator(seed, "made corpus", "places").choice(total, len(own), replace=False))
    taken = np.zeros(total, np.bool_)
    taken[places] = True
    known = np.sort(np.array([fingerprint(row["text"]) for row in own], np.uint64))
    made, given = passages(pool, total - len(own), seed, known), iter(own)
    for place, is_own in enumerate(taken):
        yield next(given) if is_own else {"_id": f"made-{place}", "title": "", "text": next(made)}


def passages(pool: list[str], total: int, seed: int, known: NDArray[np.uint64]) -> Iterator[str]:
    """`total` texts of sentences of `pool`, all different, and different from those with a `known` fingerprint.

    A text whose fingerprint was there before is not used, whether it is that text or only has the same one.
    """
    lengths = np.array([text.count(" ") + 1 for text in pool])
    given, batch = 0, 0
    while given < total:
        made = list(_batch(pool, lengths, seed, batch))
        marks = np.array([fingerprint(text) for text in made], np.uint64)
        _, first = np.unique(marks, return_index=True)
        new = np.zeros(len(made), np.bool_)
        new[first] = True
        new &= ~_among(marks, known)
        fresh = np.flatnonzero(new)[: total - given]
        known = _merged(known, np.sort(marks[fresh]))
        yield from (made[place] for place in fresh.tolist())
        given, batch = given + len(fresh), batch + 1


def _batch(pool: list[str], lengths: NDArray[np.int64], seed: int, batch: int) -> Iterator[str]:
    draws = make_seeded_generator(seed, "made corpus", "passages", str(batch))
    least, median, most, spread = WORDS
    wanted = np.clip(np.exp(draws.normal(np.log(median), spread, BATCH)), least, most)
    chosen = draws.integers(0, len(pool), (BATCH, MOST_SENTENCES))
    # As many sentences as reach the wanted length, the one that passes it included.
    needed = 1 + (np.cumsum(lengths[chosen], axis=1) < wanted[:, None]).sum(axis=1)
    for row, count in zip(chosen.tolist(), np.minimum(needed, MOST_SENTENCES).tolist(), strict=True):
        yield " ".join([pool[place] for place in row[:count]])


def _among(marks: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    found = np.searchsorted(known, marks)
    return np.asarray(known[np.minimum(found, len(known) - 1)] == marks)


def _merged(known: NDArray[np.uint64], new: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.insert(known, np.searchsorted(known, new), new)


def fingerprint(text: str) -> int:
    """64 bits of the text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def sentences(data: Path) -> list[str]:
    """The different sentences of the sources, on one line each, in their order."""
    found: dict[str, None] = {}
    for name, column in SOURCES.items():
        for row in rows(data / f"{name}.jsonl.gz"):
            # A post begins with its header; the text comes after the first empty line.
            text = row[column].partition("\n\n")[2] if "20newsgroups" in name else row[column]
            for sentence in (" ".join(one.split()) for one in split_sentences(text)):
                if LENGTHS[0] <= len(sentence) <= LENGTHS[1]:
                    found.setdefault(sentence)
    return list(found)


def write_queries(data: Path, out: Path) -> None:
    """SciFact's 300 queries of the split that BEIR calls test, and their judgements."""
    judged = [row for row in scifact(data, "qrels") if row["split"] == "dev"]
    queries = {str(row["query_id"]) for row in judged}
    write_rows(
        out / "queries.jsonl",
        ({"_id": str(row["id"]), "text": row["text"]} for row in scifact(data, "queries") if str(row["id"]) in queries),
    )
    (out / "qrels").mkdir(exist_ok=True)
    lines = [f"{row['query_id']}\t{row['doc_id']}\t{row['relevance']}\n" for row in judged]
    (out / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8")


def write_rows(path: Path, written: Iterable[dict[str, Any]]) -> None:
    """JSON Lines, moved to `path` when they are complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with temporary.open("w", encoding="utf-8") as stream:
        for row in written:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    temporary.replace(path)


def scifact(data: Path, part: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of SciFact."""
    return rows(data / "retrieval" / "scifact" / f"{part}.jsonl.gz")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a packed file of JSON Lines."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


if __name__ == "__main__":
    main()
