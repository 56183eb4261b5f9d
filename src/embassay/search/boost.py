"""Lexical boost: a share of the words' score added to the scores of a query's candidates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError

Scores = NDArray[np.float64]


def boosted(scores: NDArray[np.floating[Any]], words: NDArray[np.floating[Any]], weight: float) -> Scores:
    """`standardised(scores) + weight * standardised(words)` over one query's candidates, (n,), in [0, 1 + weight].

    `scores` are a reranker's or inner products, higher is better; `words` is the BM25 score of each candidate, 0 where
    it shares no word with the query (`BM25Index.scores`). A weight of 0 gives `scores` back as they are. UsageError for
    a weight that is negative or no number and lists that are not as long, ModelError for scores that are not finite.
    Source: RAG spec, section 9 (BM25 feature added to rerank scores); how both are brought to one scale is ours.

    >>> boosted(np.array([2.0, 4.0, 3.0]), np.array([9.0, 0.0, 0.0]), 0.5).tolist()
    [0.5, 1.0, 0.5]
    """
    if not (weight >= 0 and math.isfinite(weight)):
        raise UsageError(f"The weight of the words' score is {weight}.", mend="Use a number from 0.")
    if scores.ndim != 1 or scores.shape != words.shape:
        raise UsageError(
            f"Cannot add the words' scores {words.shape} to scores {scores.shape}.",
            mend="Both have one score for each candidate.",
        )
    if not (np.isfinite(scores).all() and np.isfinite(words).all()):
        raise ModelError("The scores of candidates are not all finite.")
    if weight == 0:
        return np.asarray(scores, dtype=np.float64)
    return np.asarray(standardised(scores) + weight * standardised(words), dtype=np.float64)


def standardised(scores: NDArray[np.floating[Any]]) -> Scores:
    """Scores from 0 (the list's lowest) to 1 (its highest), linearly; all 0 where they are all equal.

    A list without differences says nothing of which candidate is better, so it must not move any.

    >>> standardised(np.array([3.0, 5.0, 4.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or values.min() == values.max():
        return np.zeros(len(values))
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low))
