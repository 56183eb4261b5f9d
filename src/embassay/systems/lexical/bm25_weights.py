"""The arithmetic of BM25: what a collection knows, and the weight of a term in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.systems.lexical.bags import Bags

_OKAPI_EPSILON = 0.25
"""Share of the mean idf that replaces a negative one, as in rank_bm25's BM25Okapi."""


@dataclass(frozen=True)
class Weighting:
    """The free parameters: `k1` >= 0, `b` in [0, 1], `delta` >= 0 (0 for okapi), and how idf is taken."""

    k1: float
    b: float
    delta: float
    okapi: bool


@dataclass(frozen=True)
class Collection:
    """Collection statistics: idf (vocabulary,), 0 for terms in no document, and the mean length in tokens."""

    weighting: Weighting
    idf: NDArray[np.float64]
    mean_length: float

    @classmethod
    def of(cls, weighting: Weighting, bags: Bags, copies: NDArray[np.int64], vocabulary: int) -> Collection:
        """The statistics of a collection that holds row i of `bags` `copies[i]` times (possibly 0)."""
        weights = copies[bags.rows].astype(np.float64)
        frequency = np.bincount(bags.terms, weights=weights, minlength=vocabulary).astype(np.float64)
        return cls.counted(weighting, frequency, int(copies.sum()), int(copies @ bags.sizes), frequency)

    @classmethod
    def counted(
        cls,
        weighting: Weighting,
        frequency: NDArray[np.float64],
        documents: int,
        tokens: int,
        everywhere: NDArray[Any],
    ) -> Collection:
        """The statistics of so many documents with so many tokens, for the terms of which `frequency` (vocabulary,)
        documents have each; `everywhere` are those of all terms of the collection, in any order, which okapi needs."""
        idf = (
            _okapi_idf(frequency, documents, everywhere)
            if weighting.okapi
            else _plus_idf(frequency, documents)
        )
        # Without any token there is nothing to normalise, and 1 only keeps the quotient defined.
        return cls(weighting, idf, tokens / max(documents, 1) or 1.0)

    def query_weights(self, bags: Bags) -> NDArray[np.float64]:
        """idf times the count of the term, per entry of `bags`."""
        return bags.counts * self.idf[bags.terms]

    def document_weights(self, counts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.float64]:
        """The saturated frequency tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)) of terms that are in their
        text `counts` times, (n,); `sizes` (n,) are the lengths of the texts."""
        w = self.weighting
        return saturated(w.k1, counts, 1 - w.b + w.b * sizes / self.mean_length)

    def floors(self, bags: Bags, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What every document scores for a query: delta times the idf of the query's known tokens; `weights` are the
        `query_weights` of the bags."""
        floors = np.bincount(bags.rows, weights=weights, minlength=len(bags))
        return np.asarray(self.weighting.delta * floors)


def saturated(k1: float, counts: NDArray[Any], norm: NDArray[Any] | float = 1.0) -> NDArray[np.float64]:
    """tf (k1 + 1) / (tf + k1 norm) of terms that are in their text `counts` times, (n,)."""
    return np.asarray(counts * (k1 + 1) / (counts + k1 * norm))


def _plus_idf(frequency: NDArray[np.float64], documents: int) -> NDArray[np.float64]:
    """ln((N + 1) / df)."""
    known = frequency > 0
    return np.where(known, np.log((documents + 1) / np.where(known, frequency, 1)), 0.0)


def _okapi_idf(
    frequency: NDArray[np.float64], documents: int, everywhere: NDArray[Any]
) -> NDArray[np.float64]:
    """ln(N - df + 0.5) - ln(df + 0.5); a negative one is replaced by a quarter of the mean over all terms."""
    levels, terms = np.unique(everywhere[everywhere > 0].astype(np.float64), return_counts=True)
    if not len(levels):
        return np.zeros_like(frequency)
    idf = np.log(documents - levels + 0.5) - np.log(levels + 0.5)
    # By level, so that the mean does not depend on how the terms are numbered.
    floor = _OKAPI_EPSILON * float(idf @ terms) / terms.sum()
    by_level = np.where(idf < 0, floor, idf)
    known = frequency > 0
    return np.where(known, by_level[np.searchsorted(levels, np.where(known, frequency, levels[0]))], 0.0)
