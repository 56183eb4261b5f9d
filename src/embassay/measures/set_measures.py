"""Measures of the set of the first K documents, graded from 1 to 5, whatever their order: RA-nWG and companions.

The measures by name, on `Graded`; as functions of grades and rankings they are in `calls`. Source: spec rag 1.3, 1.4.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.graded import (
    GRADES,
    RELEVANT,
    Floats,
    Graded,
    Ints,
    Unjudged,
    pool_counts,
    retrieved_counts,
    retrieved_sizes,
    treat_unjudged,
)
from embassay.measures.judged import check_choice
from embassay.measures.rarity import DEFAULT, Weighting, best_sum, weights
from embassay.measures.registry import measure

NormaliseBy = Literal["graded", "pool"]
ShortList = Literal["k", "retrieved"]
"""Whether a list of fewer than K documents is divided by K all the same, or by what it has."""
SOURCE = "Dallaire 2025, arXiv 2511.09545"
HARMFUL = 2

_NEVER = "never; with short_list_denominator='retrieved', where nothing was retrieved"
_set = partial(measure, range="[0, 1]", needs="grades, ranking", source=SOURCE)


@_set("RA-nWG", direction="higher", undefined="no graded document is worth anything")
def ra_nwg_of(
    graded: Graded,
    *,
    cutoff: int,
    weighting: Weighting = DEFAULT,
    normalise_by: NormaliseBy = "graded",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Rarity-aware weighted gain of the first documents over that of the best possible ones."""
    check_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    weight = weights(graded.counts, weighting)
    best = best_sum(weight, graded.counts if normalise_by == "graded" else pool_counts(graded), cutoff)
    found = retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff)
    return over((weight * found).sum(axis=1), best)


@_set("N-Recall4+", direction="higher", undefined="no document has grade 4 or 5")
def _n_recall4(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents of grade 4 and 5 that was found, of as many as fit."""
    return n_recall_of(graded, cutoff=cutoff, rel=4, unjudged=unjudged)


@_set("N-Recall5", direction="higher", undefined="no document has grade 5")
def _n_recall5(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents of grade 5 that was found, of as many as fit."""
    return n_recall_of(graded, cutoff=cutoff, rel=5, unjudged=unjudged)


@_set("N-Recall", direction="higher", undefined="no document has the grade `rel` or a higher one")
def n_recall_of(graded: Graded, *, cutoff: int, rel: int, unjudged: Unjudged = "zero") -> Floats:
    """Share of the documents from the grade `rel` on that was found, of as many as fit."""
    found = from_grade(retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return over(found, np.minimum(cutoff, from_grade(graded.counts, rel)))


@_set("Precision4+", direction="higher", undefined=_NEVER)
def precision_of(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = RELEVANT,
    short_list_denominator: ShortList = "k",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Share of the first documents that have grade 4 or 5."""
    seen = treat_unjudged(graded, unjudged, cutoff)
    found = from_grade(retrieved_counts(seen, cutoff), rel)
    return over(found, length(retrieved_sizes(seen), cutoff, short_list_denominator))


@_set("Harm", direction="lower", undefined=_NEVER)
def harm_of(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = HARMFUL,
    short_list_denominator: ShortList = "k",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Share of the first documents that have grade 1 or 2."""
    check_grade(rel)
    seen = treat_unjudged(graded, unjudged, cutoff)
    harmful = retrieved_counts(seen, cutoff)[:, :rel].sum(axis=1)
    return over(harmful, length(retrieved_sizes(seen), cutoff, short_list_denominator))


@_set("Hit", direction="higher", undefined="no document has grade 4 or 5")
def hit_of(
    graded: Graded, *, cutoff: int, rel: int = RELEVANT, vacuous: bool = False, unjudged: Unjudged = "zero"
) -> Floats:
    """Whether all documents of grade 4 and 5 are among the first."""
    there = from_grade(graded.counts, rel)
    found = from_grade(retrieved_counts(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return np.where(there > 0, found >= there, 1.0 if vacuous else np.nan)


@_set("Judged", direction="higher", undefined="nothing was retrieved")
def judged_of(graded: Graded, *, cutoff: int | None = None) -> Floats:
    """Share of the first documents that have a grade."""
    return over(retrieved_counts(graded, cutoff).sum(axis=1), retrieved_sizes(graded, cutoff))


def feasible_hits(graded: Graded, k: int, rel: int = RELEVANT) -> NDArray[np.bool_]:
    """Where all documents from the grade `rel` on fit among the first `k`, so that `Hit` can be 1: (q,)."""
    return np.asarray(from_grade(graded.counts, rel) <= k)


def over(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """`part` over `whole`, (q,), NaN where `whole` is not above 0."""
    result = np.full(len(whole), np.nan)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def from_grade(counts: Ints, rel: int) -> Ints:
    """How many have the grade `rel` or a higher one, of counts (q, 5): (q,)."""
    check_grade(rel)
    return np.asarray(counts[:, rel - 1 :].sum(axis=1))


def check_grade(rel: int) -> None:
    """Raise UsageError for a level that is none of the grades."""
    if rel not in GRADES:
        raise UsageError(f"rel is {rel}.", mend="Grades are 1, 2, 3, 4 and 5.")


def length(sizes: Ints, cutoff: int, short_list: ShortList) -> Ints:
    """What a share of the first `cutoff` is divided by, of lists of these sizes, (q,)."""
    check_choice("short_list_denominator", short_list, get_args(ShortList))
    return np.full(len(sizes), cutoff) if short_list == "k" else np.minimum(sizes, cutoff)
