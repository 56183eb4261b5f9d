"""A golden set that outlives its passages: SciFact cut in another way, and a new engine with and without `--add-run`.

    python benchmarks/golden_rechunked.py --data DATA --work WORK [--documents 400] > benchmarks/results/golden_lives.md

People marked the sentences of an abstract that support or refute a claim. Documents are abstracts as files. A judge
that knows those sentences grades passages of 60 words, 5 where one of them begins there and 1 elsewhere; the golden
set's spans are then used on passages of other lengths, and held against the sentences themselves.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embassay import rag
from embassay.data import open_dataset
from embassay.data.documents import PlacedPassage, read_corpus_passages_with_origin
from embassay.protocols.kernel.inputs import SystemWithCachedVectors
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.protocol import golden
from embassay.randomness import make_seeded_generator
from embassay.stats.ranks import kendall_tau
from embassay.text import open_tokenizer

JUDGED, CUTS = 60, (60, 30, 120, 200)
"""Words of the passages that are judged, and of those that are scored."""
SYSTEMS = ("bm25", "wordllama", "wordllama?dims=64", "wordllama?quantize=binary", "jaccard", "rouge")
MEASURES = ["nDCG@10", "RR"]
NEW = ("jaccard", "wordllama?dims=64", "rouge")
"""Systems that no pool has asked."""


def main() -> None:
    """Print the page."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--work", type=Path, required=True)
    given.add_argument("--documents", type=int, default=400)
    asked = given.parse_args()
    claims, evidence = lay_out(asked.data / "retrieval/scifact", asked.work, asked.documents)
    print(HEAD.format(claims=len(claims), documents=asked.documents))
    print("\n".join(rechunked(asked.work, claims, evidence)))
    print("\n".join(added(asked.work, claims)))


def lay_out(source: Path, work: Path, most: int) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Abstracts as files, claims by id, and the spans of the sentences that people marked."""
    docs = {str(row["id"]): row for row in _rows(source / "corpus.jsonl.gz")}
    queries = [row for row in _rows(source / "queries.jsonl.gz") if row["split"] == "dev" and row["evidence"]]
    cited = sorted({doc for row in queries for doc in row["evidence"] if doc in docs})
    rest = [doc for doc in docs if doc not in set(cited)]
    order = make_seeded_generator(7, "rechunked").permutation(len(rest))[: max(0, most - len(cited))]
    folder = work / "abstracts"
    folder.mkdir(parents=True, exist_ok=True)
    for doc in [*cited, *(rest[row] for row in order)]:
        (folder / f"{doc}.txt").write_text(" ".join(docs[doc]["sentences"]), "utf-8")
    spans = [
        {"query_id": str(row["id"]), "document": f"{doc}.txt", "start": start, "end": end, "relevance": 5}
        for row in queries
        for doc, sets in row["evidence"].items()
        if doc in docs
        for number in sorted({number for one in sets for number in one["sentences"]})
        for start, end in [_span(docs[doc]["sentences"], number)]
    ]
    claims = {str(row["id"]): row["text"] for row in queries}
    _write(work / "claims.jsonl", ({"id": key, "text": text} for key, text in claims.items()))
    _write(work / "evidence.jsonl", spans)
    return claims, spans


def _span(sentences: Sequence[str], number: int) -> tuple[int, int]:
    start = sum(len(one) + 1 for one in sentences[:number])
    return start, start + len(sentences[number])


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(path: Path, rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def corpus(work: Path, words: int) -> str:
    """The folder, cut at so many words."""
    return f"{work / 'abstracts'}?chunk={words}"


def runs(work: Path, words: int, claims: Mapping[str, str]) -> dict[str, Path]:
    """What every system finds among passages of so many words."""
    passages = read_corpus_passages_with_origin(open_dataset(corpus(work, words)))
    ids, texts = [one.id for one in passages], [one.body for one in passages]
    found = {}
    for spec in SYSTEMS:
        path = work / f"{spec.replace('?', '-')}-{words}.jsonl"
        if not path.exists():
            opened = SystemWithCachedVectors(
                spec, tokenizer=open_tokenizer("words"), seed=1337, cache=work / "vectors", advance=lambda _: None
            )
            top = opened.system.search(list(claims.values()), texts, 50).indices.tolist()
            _write(
                path,
                (
                    {"query_id": key, "documents": [{"id": ids[row]} for row in rows if row >= 0]}
                    for key, rows in zip(claims, top, strict=True)
                ),
            )
        found[spec] = path
    return found


def judged(work: Path, evidence: Sequence[Mapping[str, Any]]) -> Path:
    """Grades of the passages that are judged: 5 where a marked sentence begins in one."""
    by_document: dict[str, list[PlacedPassage]] = {}
    for one in read_corpus_passages_with_origin(open_dataset(corpus(work, JUDGED))):
        by_document.setdefault(one.document, []).append(one)
    path = work / "known.tsv"
    pairs = dict.fromkeys(
        (span["query_id"], one.id)
        for span in evidence
        for one in by_document.get(span["document"], ())
        if one.start <= span["start"] < one.start + len(one.body)
    )
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t5\n" for q, d in pairs), "utf-8")
    return path


def made(work: Path, name: str, add: Mapping[str, Path]) -> Path:
    """A golden set by the judge that knows; passages that `add` found are graded too."""
    golden(
        "wordllama", f"simulated:{work / 'known.tsv'}", corpus=corpus(work, JUDGED), queries=work / "claims.jsonl",
        ranking="grades", options=GoldenOptions(depth=10), out=work / name,
        add_runs=[f"{key.replace('=', '-')}={path}" for key, path in add.items()],
    )  # fmt: skip
    return work / name / "export"


def scores(work: Path, qrels: Path, found: Mapping[str, Path], words: int) -> dict[str, dict[str, float]]:
    """Measure -> system -> value."""
    named = {spec.replace("=", "-"): str(path) for spec, path in found.items()}
    values = rag.score(str(qrels), named, measures=MEASURES, corpus=corpus(work, words)).values
    back = {spec.replace("=", "-"): spec for spec in found}
    kept: dict[str, dict[str, float]] = {}
    for run, measure, value in values.select("run", "measure", "value").iter_rows():
        kept.setdefault(measure, {})[back[run]] = value
    return kept


def rechunked(work: Path, claims: Mapping[str, str], evidence: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Scores by the golden set's spans on passages of other lengths."""
    judged(work, evidence)
    all_runs = runs(work, JUDGED, claims)
    export = made(work, "golden-all", all_runs)
    yield f"\n## Cut in another way\n\nJudged as passages of {JUDGED} words; {len(SYSTEMS)} systems.\n"
    yield "| Words | Measure | By the golden set's spans | By the marked sentences | Mean difference | Tau of systems |"
    yield "|---:|---|---:|---:|---:|---:|"
    for words in CUTS:
        found = runs(work, words, claims)
        ours, truth = (scores(work, path, found, words) for path in (export / "spans.jsonl", work / "evidence.jsonl"))
        for measure in ours:
            a, b = (np.array([one[measure][spec] for spec in SYSTEMS]) for one in (ours, truth))
            tau = float(kendall_tau(a, b))
            yield (
                f"| {words} | {measure} | {a.min():.3f} to {a.max():.3f} | {b.min():.3f} to {b.max():.3f} | "
                f"{np.mean(a - b):+.3f} | {tau:.2f} |"
            )


def added(work: Path, claims: Mapping[str, str]) -> Iterator[str]:
    """A new engine by a golden set whose pools never asked it, and by one that graded what it found."""
    found = runs(work, JUDGED, claims)
    before = made(work, "golden-before", {})
    yield "\n## A new engine\n"
    yield "Pools of wordllama and BM25, ten deep. nDCG@10; truth is with every passage judged.\n"
    yield "| Engine | Without --add-run | With it | Truth |"
    yield "|---|---:|---:|---:|"
    known = scores(work, before / "qrels.tsv", found, JUDGED)["nDCG@10"]
    every = scores(work, work / "known.tsv", found, JUDGED)["nDCG@10"]
    for spec in NEW:
        export = made(work, f"golden-{spec.replace('?', '-').replace('=', '-')}", {spec: found[spec]})
        after = scores(work, export / "qrels.tsv", found, JUDGED)["nDCG@10"]
        yield f"| {spec} | {known[spec]:.3f} | {after[spec]:.3f} | {every[spec]:.3f} |"
    yield f"\nThat of bm25, which the pools asked: {known['bm25']:.3f}, in truth {every['bm25']:.3f}."


HEAD = """# Golden sets that live

Made by `benchmarks/golden_rechunked.py`: {claims} claims of SciFact with the sentences that people marked as their
evidence, {documents} abstracts. The judge knows the sentences and errs nowhere: what differs is the cut or the pool."""


if __name__ == "__main__":
    main()
