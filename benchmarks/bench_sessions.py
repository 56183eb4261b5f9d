"""Recorded searches of an agent, replayed on other stacks, beside the agent itself run again on each of them.

    python benchmarks/bench_sessions.py --data DATA > benchmarks/results/sessions.md

DATA holds retrieval/scifact and retrieval/cranfield. The agent is a script: it asks the question, then twice more with
the rarest words of the first new passage of the answer before. So what it asks depends on what it gets, and a replay
asks what another stack's answers made it ask.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from real_text import DATA
from scipy.stats import kendalltau
from timing import need, parse_sizes

from embassay.protocols.rag.sessions import SessionSearchCall, measure_search_session
from embassay.search.bm25 import BM25Index, split_words
from embassay.search.fusion import fuse_by_reciprocal_rank
from embassay.systems import open_system
from embassay.text import open_tokenizer

CALLS, DEPTH, TERMS, SHORT = 3, 5, 4, 40
Search = Callable[[str], list[str]]
Session = tuple[SessionSearchCall, ...]


@dataclass(frozen=True)
class Collection:
    """Passages and questions by id, and the evidence of each question."""

    passages: Mapping[str, str]
    questions: Mapping[str, str]
    evidence: Mapping[str, frozenset[str]]


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, default=DATA)
    given.add_argument("--questions", type=int, default=1_000)
    asked = parse_sizes(given, questions=10)
    need(asked.data / "retrieval", "the retrieval sets")
    lines = []
    for name in ("scifact", "cranfield"):
        collection = read_collection(asked.data / "retrieval" / name, asked.questions)
        stacks = open_stacks(collection)
        runs = {stack: run_agent(collection, search) for stack, search in stacks.items()}
        lines += [describe_recorder(name, recorder, collection, stacks, runs) for recorder in stacks]
    print(HEAD + "\n".join(lines))


def read_collection(folder: Path, most: int) -> Collection:
    """A collection, at most so many of its questions with evidence."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)

    evidence: dict[str, set[str]] = {}
    for row in rows("qrels"):
        # Cranfield's codes 1 and 2 are the grades 4 and 5 of its map; elsewhere 1 is relevant.
        if row.get("code", row.get("relevance")) in (1, 2):
            evidence.setdefault(str(row["query_id"]), set()).add(str(row["doc_id"]))
    passages = {str(row["id"]): f"{row.get('title', '')} {row['text']}" for row in rows("corpus") if row["text"]}
    texts = {str(row["id"]): row["text"] for row in rows("queries") if row.get("split") != "train"}
    questions = {key: text for key, text in texts.items() if evidence.get(key)}
    chosen = dict(list(questions.items())[:most])
    return Collection(passages, chosen, {key: frozenset(evidence[key]) for key in chosen})


def open_stacks(collection: Collection) -> dict[str, Search]:
    """Six stacks: words, vectors, both, and each of the first two on the beginnings of passages."""
    ids, texts = list(collection.passages), list(collection.passages.values())
    beginnings = [" ".join(text.split()[:SHORT]) for text in texts]
    system = open_system("wordllama", tokenizer=open_tokenizer("words", later=True), seed=0)

    def by_words(passages: Sequence[str], k1: float = 1.2, b: float = 0.75) -> Callable[[str, int], list[str]]:
        index = BM25Index.of(ids, passages, k1, b)
        return lambda question, k: [hit.id for hit in index.search(question, k)]

    def by_vectors(passages: Sequence[str]) -> Callable[[str, int], list[str]]:
        vectors = _unit(system.vectors(passages, "document"))

        def search(question: str, k: int) -> list[str]:
            scores = vectors @ _unit(system.vectors([question], "query"))[0]
            return [ids[place] for place in np.argsort(-scores, kind="stable")[:k]]

        return search

    words, vectors = by_words(texts), by_vectors(texts)
    searches = {
        "words": words, "words, no lengths": by_words(texts, 2.0, 0.0), "words of beginnings": by_words(beginnings),
        "vectors": vectors, "vectors of beginnings": by_vectors(beginnings),
    }  # fmt: skip

    def fused(question: str) -> list[str]:
        return [hit.id for hit in fuse_by_reciprocal_rank([words(question, 50), vectors(question, 50)], 60)[:DEPTH]]

    plain: dict[str, Search] = {
        name: (lambda question, search=search: search(question, DEPTH)) for name, search in searches.items()
    }
    return {**plain, "both": fused}


def _unit(vectors: Any) -> Any:
    rows = np.asarray(vectors, dtype=np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def run_agent(collection: Collection, search: Search) -> dict[str, Session]:
    """The agent's sessions on a stack."""
    counts: dict[str, int] = {}
    for text in collection.passages.values():
        for word in set(split_words(text)):
            counts[word] = counts.get(word, 0) + 1
    return {key: _ask(question, collection, search, counts) for key, question in collection.questions.items()}


def _ask(question: str, collection: Collection, search: Search, counts: Mapping[str, int]) -> Session:
    calls: list[SessionSearchCall] = []
    read: set[str] = set()
    query = question
    for _ in range(CALLS):
        documents = search(query)
        calls.append(SessionSearchCall(query, tuple(documents)))
        new = next((key for key in documents if key not in read), "")
        if not new:
            break
        read.add(new)
        known = set(split_words(question))
        words = {word for word in split_words(collection.passages[new]) if word not in known and counts[word] > 1}
        rarest = sorted(words, key=lambda word: (-log(len(collection.passages) / counts[word]), word))[:TERMS]
        query = f"{question} {' '.join(rarest)}"
    return tuple(calls)


def replay(recorded: Mapping[str, Session], search: Search) -> dict[str, Session]:
    """The recorded queries, asked of another stack."""
    return {
        key: tuple(SessionSearchCall(call.query, tuple(search(call.query)[: len(call.documents)])) for call in calls)
        for key, calls in recorded.items()
    }


def describe_recorder(
    name: str,
    recorder: str,
    collection: Collection,
    stacks: Mapping[str, Search],
    runs: Mapping[str, Mapping[str, Session]],
) -> str:
    """How well a recording of one stack orders and bounds the others, as a line of the table."""
    truths, replayed = [], []
    inside: list[bool] = []
    means_inside = 0
    widths: list[float] = []
    for stack, search in stacks.items():
        sessions = replay(runs[recorder], search)
        keys = list(collection.questions)
        figures = [measure_search_session(sessions[key], collection.evidence[key], runs[recorder][key]) for key in keys]
        truth = np.array([measure_search_session(runs[stack][key], collection.evidence[key]).last for key in keys])
        low, high = np.array([entry.low for entry in figures]), np.array([entry.high for entry in figures])
        truths.append(float(truth.mean()))
        replayed.append(float(np.mean([entry.last for entry in figures])))
        if stack != recorder:
            inside += ((low - 1e-12 <= truth) & (truth <= high + 1e-12)).tolist()
            means_inside += low.mean() <= truth.mean() <= high.mean()
            widths.append(float(high.mean() - low.mean()))
    tau = float(kendalltau(truths, replayed).statistic)
    error = float(np.max(np.abs(np.array(truths) - np.array(replayed))))
    others = len(stacks) - 1
    own = truths[list(stacks).index(recorder)]
    return (
        f"| {name} | {recorder} | {len(collection.questions):,} | {own:.3f} | {tau:.2f} | {error:.3f} | "
        f"{np.mean(inside):.1%} | {means_inside} of {others} | {np.mean(widths):.2f} |"
    )


HEAD = f"""# Sessions: a replay beside the agent itself

`embassay rag score --sessions RECORDED --retriever OTHER` asks another stack the queries that an agent recorded on one,
and gives bounds from the first answer that differs. Here a scripted agent was also run on every stack
(`python benchmarks/bench_sessions.py --data DATA`): it asks the question, then up to {CALLS - 1} times more with the
{TERMS} rarest words of the first passage that it has not read. Six stacks: BM25, BM25 without lengths (k1 2, b 0), BM25
of the first {SHORT} words, wordllama, wordllama of the first {SHORT} words, and both full ones fused; {DEPTH} passages
a call.

*Recorded on*: the stack whose queries are replayed on all six. *Evidence*: what its own sessions surface. *Tau*:
Kendall's, of the stacks' order by replay against that by real runs. *Error*: the largest difference between a stack's
evidence by replay and in truth. *Covered*: questions, over the five other stacks, whose true share lies within the
bounds; *means*: stacks whose true mean does. *Width*: of the bounds of the mean. For an agent that asks the same after
the same answers the bounds hold by construction; how wide they are says how much is open.

| Collection | Recorded on | Questions | Evidence | Tau | Error | Covered | Means | Width |
|---|---|---:|---:|---:|---:|---:|---:|---:|
"""


if __name__ == "__main__":
    main()
