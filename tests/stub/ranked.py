"""Small worlds to score: judgements and runs drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def by_query(lists: Any) -> Any:
    """Judgements or lists with documents of each query's own: queries that share a relevant one are drawn together."""
    return {
        query: {f"{query}:{doc}": value for doc, value in docs.items()}
        if isinstance(docs, dict)
        else [f"{query}:{doc}" for doc in docs]
        for query, docs in lists.items()
    }


def qrels(queries: int = 40, seed: int = 0, *, documents: int = 60) -> Qrels:
    """Grades 1 to 5 of up to 20 documents a query; some queries have no good ones."""
    rng = np.random.default_rng(seed)
    made = {}
    for i in range(queries):
        judged = rng.choice(documents, int(rng.integers(3, 20)), replace=False)
        highest = int(rng.integers(1, 6)) if i % 5 == 0 else 5
        made[f"q{i}"] = {f"d{doc}": int(rng.integers(1, highest + 1)) for doc in judged}
    return made


def run(
    judged: Qrels, seed: int, *, skill: float = 1.0, depth: int = 30, documents: int = 60, levels: int | None = None
) -> Run:
    """A run that knows the grades with some noise; with `levels`, scores of so many values, so that many are equal."""
    rng = np.random.default_rng(seed)
    made = {}
    for query, grades in judged.items():
        docs = rng.choice(documents, depth, replace=False)
        scores = [skill * grades.get(f"d{doc}", 0) + float(rng.normal()) for doc in docs]
        if levels is not None:
            scores = [round(score * levels / 5) / levels for score in scores]
        made[query] = dict(zip((f"d{doc}" for doc in docs), scores, strict=True))
    return made
