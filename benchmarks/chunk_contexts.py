"""Chunks with and without their context on the same evidence: SciFact's marked sentences, by a sweep's chunk axis.

    python benchmarks/chunk_contexts.py --data DATA --work WORK -s minilm > benchmarks/results/chunk_contexts.md

People marked the sentences of an abstract that support or refute a claim. Every way of cutting is held against these;
the naive one, every so many words wherever a sentence is then, is what the others are compared with, query by query.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from golden_rechunked import _rows, _span, _write

import embassay as eb
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from embassay.protocols.rag.sweep.stacks import MeasuredStack, SweepMeasurements
from embassay.randomness import make_seeded_generator
from embassay.stats import bootstrap_ci, paired_bootstrap

MEASURES = ("nDCG@10", "N-Recall5@10")
CONTEXTS = ("", "?context=head", "?context=title", "?context=late")


def main() -> None:
    """Print the page."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--work", type=Path, required=True)
    given.add_argument("-s", "--system", action="append", help="encoders (minilm)")
    given.add_argument("--documents", type=int, default=1000)
    given.add_argument("--size", type=int, default=60, help="words of a chunk")
    asked = given.parse_args()
    systems = asked.system or ["minilm"]
    entry = lay_out(asked.data / "retrieval/scifact", asked.work, asked.documents)
    fixed = f"fixed?size={asked.size}"
    config = {
        "datasets": entry, "encoder": systems, "k": 50, "queries": 10_000, "measures": list(MEASURES),
        "chunk": ["none", fixed, *(f"{asked.size}{context}" for context in CONTEXTS)], "cutoffs": [10],
        "rules": {"measure": "nDCG@10"}, "latency": {"queries": 1, "repeats": 1, "warmup": 0, "concurrency": 1},
    }  # fmt: skip
    eb.rag.sweep(config, out=asked.work / "run")
    sweep = read_sweep_measurements(asked.work / "run")
    print(HEAD.format(claims=len(next(iter(sweep.queries.values()))), documents=asked.documents, size=asked.size))
    for system in systems:
        print("\n".join(compare(sweep, system, fixed)))


def lay_out(source: Path, work: Path, most: int) -> dict[str, Any]:
    """Abstracts with their titles, claims, and the places of the sentences that people marked."""
    docs = {str(row["id"]): row for row in _rows(source / "corpus.jsonl.gz")}
    claims = [row for row in _rows(source / "queries.jsonl.gz") if row["evidence"]]
    cited = sorted({doc for row in claims for doc in row["evidence"] if doc in docs})
    rest = [doc for doc in docs if doc not in set(cited)]
    order = make_seeded_generator(7, "chunk contexts").permutation(len(rest))[: max(0, most - len(cited))]
    work.mkdir(parents=True, exist_ok=True)
    kept = [*cited, *(rest[row] for row in order)]
    rows = [{"id": doc, "title": docs[doc]["title"], "text": " ".join(docs[doc]["sentences"])} for doc in kept]
    spans = [
        {"query_id": str(row["id"]), "document": doc, "start": start, "end": end, "relevance": 1}
        for row in claims
        for doc, sets in row["evidence"].items()
        if doc in docs
        for number in sorted({number for one in sets for number in one["sentences"]})
        for start, end in [_span(docs[doc]["sentences"], number)]
    ]
    queries = [{"id": str(row["id"]), "text": row["text"]} for row in claims]
    for name, table in (("corpus", rows), ("queries", queries), ("spans", spans)):
        _write(work / f"{name}.jsonl", table)
    paths = {"path": "corpus", "queries": "queries", "spans": "spans"}
    return {key: str(work / f"{name}.jsonl") for key, name in paths.items()}


def compare(sweep: SweepMeasurements, system: str, fixed: str) -> Iterator[str]:
    """Each way of cutting by one encoder, and its difference from the naive one with the same queries."""
    stacks = {one.configuration.chunk: one for one in sweep.measured if one.configuration.encoder == system}
    yield f"\n## {Path(system.partition(':')[2] or system).name}\n"
    yield "| Chunk | Tokens | nDCG@10 | Minus naive | N-Recall5@10 | Minus naive |"
    yield "|---|---:|---:|---:|---:|---:|"
    for chunk, stack in stacks.items():
        cells = [cell for measure in MEASURES for cell in _cells(stack, stacks[fixed], measure, sweep.seed)]
        yield f"| `{chunk}` | {stack.passage_tokens:.0f} | {' | '.join(cells)} |"


def _cells(stack: MeasuredStack, naive: MeasuredStack, measure: str, seed: int) -> Sequence[str]:
    mine, other = stack.quality[measure], naive.quality[measure]
    mean = bootstrap_ci(mine, np.mean, seed=seed)
    cells = [f"{mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}]"]
    if stack is naive:
        return [*cells, ""]
    gap = paired_bootstrap(mine, other, seed=seed)
    return [*cells, f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"]


HEAD = """# Chunks with and without their context

Made by `benchmarks/chunk_contexts.py`: {claims} claims of SciFact, {documents} abstracts, chunks of {size} words.
Evidence is the sentences that people marked; one is found when the passages so far hold 80% of it. 95% intervals by
bootstrap over claims; differences are paired, this chunk minus every {size} words (`fixed`). Whole abstracts (`none`)
put five times as many words into a prompt."""


if __name__ == "__main__":
    main()
