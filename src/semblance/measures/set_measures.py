"""Measures of the set of the first K documents, graded from 1 to 5, whatever their order: RA-nWG and companions.

Each has a public function, on the grades of a query and what was retrieved (or of many queries), and the measure
itself on `Graded`. All divide by what was possible with the graded pool.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from semblance.measures.graded import (
    RELEVANT,
    Floats,
    Graded,
    Unjudged,
    pool_counts,
    retrieved_counts,
    retrieved_sizes,
    treat_unjudged,
)
from semblance.measures.rarity import DEFAULT, Weighting, best_sum, weights
from semblance.measures.registry import measure

NormaliseBy = Literal["graded", "pool"]
ShortList = Literal["k", "retrieved"]
SOURCE = "Dallaire 2025, arXiv 2511.09545"

_set = partial(measure, range="[0, 1]", needs="grades, ranking", source=SOURCE)


@_set("RA-nWG", direction="higher", undefined="no graded document is worth anything")
def _ra_nwg(
    graded: Graded,
    *,
    cutoff: int,
    weighting: Weighting = DEFAULT,
    normalise_by: NormaliseBy = "graded",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Rarity-aware weighted gain of the first documents over that of the best possible ones."""
    weight = weights(graded.counts, weighting)
    best = best_sum(weight, graded.counts if normalise_by == "graded" else pool_counts(graded), cutoff)
    found = retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff)
    return over((weight * found).sum(axis=1), best)


@_set("N-Recall4+", direction="higher", undefined="no document has grade 4 or 5")
def _n_recall4(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents of grade 4 and 5 that was found, of as many as fit."""
    return _n_recall(graded, cutoff=cutoff, rel=4, unjudged=unjudged)


@_set("N-Recall5", direction="higher", undefined="no document has grade 5")
def _n_recall5(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents of grade 5 that was found, of as many as fit."""
    return _n_recall(graded, cutoff=cutoff, rel=5, unjudged=unjudged)


@_set("N-Recall", direction="higher", undefined="no document has this grade or a higher one")
def _n_recall(graded: Graded, *, cutoff: int, rel: int = RELEVANT, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents from a grade on that was found, of as many as fit."""
    found = _from_grade(retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return over(found, np.minimum(cutoff, _from_grade(graded.counts, rel)))


@_set(
    "Precision4+",
    direction="higher",
    undefined="never, but with short_list='retrieved' where nothing was retrieved",
)
def _precision4(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = RELEVANT,
    short_list: ShortList = "k",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Share of the first documents that have grade 4 or 5."""
    seen = treat_unjudged(graded, unjudged, cutoff)
    return over(_from_grade(retrieved_counts(seen, cutoff), rel), _length(seen, cutoff, short_list))


@_set(
    "Harm", direction="lower", undefined="never, but with short_list='retrieved' where nothing was retrieved"
)
def _harm(
    graded: Graded, *, cutoff: int, rel: int = 2, short_list: ShortList = "k", unjudged: Unjudged = "zero"
) -> Floats:
    """Share of the first documents that have grade 1 or 2."""
    seen = treat_unjudged(graded, unjudged, cutoff)
    return over(retrieved_counts(seen, cutoff)[:, :rel].sum(axis=1), _length(seen, cutoff, short_list))


@_set("Hit", direction="higher", undefined="no document has grade 4 or 5")
def _hit(
    graded: Graded, *, cutoff: int, rel: int = RELEVANT, vacuous: bool = False, unjudged: Unjudged = "zero"
) -> Floats:
    """Whether all documents of grade 4 and 5 are among the first."""
    there = _from_grade(graded.counts, rel)
    found = _from_grade(retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return np.where(there > 0, found >= there, 1.0 if vacuous else np.nan)


@_set("Judged", direction="higher", undefined="nothing was retrieved")
def _judged(graded: Graded, *, cutoff: int) -> Floats:
    """Share of the first documents that have a grade."""
    return over(retrieved_counts(graded, cutoff).sum(axis=1), retrieved_sizes(graded, cutoff))


def over(part: Floats, whole: Floats) -> Floats:
    """`part` over `whole`, (q,), NaN where `whole` is not above 0."""
    result = np.full(len(whole), np.nan)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def _from_grade(counts: np.ndarray, rel: int) -> Floats:
    return counts[:, rel - 1 :].sum(axis=1)


def _length(graded: Graded, cutoff: int, short_list: ShortList) -> Floats:
    if short_list == "k":
        return np.full(len(graded.top), cutoff)
    return retrieved_sizes(graded, cutoff)
