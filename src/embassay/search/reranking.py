"""The documents found for a query, in a reranker's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embassay.contracts import Reranker
from embassay.errors import ModelError, UsageError


@dataclass(frozen=True)
class Reranked:
    """Ids, best first, with their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


def rerank(
    reranker: Reranker, query: str, ids: Sequence[str], texts: Sequence[str], k: int | None = None
) -> Reranked:
    """The best k (by default all) of the documents `ids` with these `texts`, by the reranker's scores.

    Equal scores keep the order in which the documents were found. UsageError when ids and texts are not as
    many or k is below 1, ModelError for scores that are not one finite number for each document.
    """
    if len(ids) != len(texts) or (k is not None and k < 1):
        raise UsageError(
            f"Cannot rerank {len(ids)} ids with {len(texts)} texts to the best {k}.",
            mend="Give one text for each id, and a k of at least 1.",
        )
    scores = np.asarray(reranker.score(query, texts), dtype=np.float64)
    if scores.shape != (len(ids),) or not np.isfinite(scores).all():
        raise ModelError(
            f"The reranker {reranker.name!r} did not give one finite score for each of {len(ids)} documents."
        )
    order = np.argsort(-scores, kind="stable")[:k]
    return Reranked(tuple(ids[i] for i in order), tuple(scores[order].tolist()))
