"""Rankings of systems over passages, as `rag score` reads them: for the demo, and where there is no engine yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.runs.folder import write_atomic
from embassay.search.fusion import rrf

Retrieved = Mapping[str, Sequence[tuple[str, float]]]
"""Query id -> (passage id, score), best first."""


def retrieve(
    system: str, passages: Mapping[str, str], questions: Mapping[str, str], k: int, *, tokenizer: Tokenizer
) -> Retrieved:
    """The `k` passages (id -> text) that a system finds most similar to each question (id -> text)."""
    opened = opening.CachedSystem(
        system, tokenizer=tokenizer, seed=0, cache=None, advance=lambda _: None
    ).system
    ids = list(passages)
    found = opened.search(list(questions.values()), list(passages.values()), min(k, len(ids)))
    return {
        question: [(ids[place], score) for place, score in zip(places, scores, strict=True) if place >= 0]
        for question, places, scores in zip(
            questions, found.indices.tolist(), found.scores.tolist(), strict=True
        )
    }


def fused(runs: Sequence[Retrieved], k: int, c: float = 60.0) -> Retrieved:
    """The rankings made one by reciprocal rank fusion, the first `k` of each query."""
    return {
        query: [(one.id, one.score) for one in rrf([[key for key, _ in run[query]] for run in runs], c)[:k]]
        for query in runs[0]
    }


def write_trec(path: Path, name: str, run: Retrieved) -> Path:
    """The ranking as a TREC run file. UsageError for ids with white space, which the format cannot hold.

    Equal scores are told apart, in the order of the ranking, by the least that single precision can hold: readers go
    by scores in that precision, not by ranks.
    """
    rows = []
    for query, found in run.items():
        last = np.float32(np.inf)
        for rank, (key, own) in enumerate(found, start=1):
            last = min(np.float32(own), np.nextafter(last, np.float32(-np.inf)))
            if query.split() != [query] or key.split() != [key]:
                raise UsageError(
                    f"A TREC run cannot hold the ids {query!r} and {key!r}.", mend="Use ids without blanks."
                )
            rows.append(f"{query} Q0 {key} {rank} {last} {name}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "".join(rows))
    return path
