"""The set measures as functions of plain data: the grades of one query and what was retrieved, or those of many.

Grades are document id -> 1 to 5 and what was retrieved is ids, best first, or id -> score; for many queries both are
mappings from query ids to these. A query gives a float, many give an array in the order of the grades. Ties, repeated
ids and queries without an answer: see `grade`. Several measures at once are faster by `grade` and `evaluate_graded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from embassay.measures.grades import RELEVANT, Facet, Graded, One, Pools, Unjudged, Weighting, grade
from embassay.measures.judgements import Values
from embassay.measures.sets import (
    HARMFUL,
    Companion,
    Ideal,
    NormaliseBy,
    Novelty,
    Occurrence,
    ShortList,
    feasible_hits,
    harm_of,
    hit_of,
    judged_of,
    n_recall_of,
    novelty_of,
    precision_of,
    proc_of,
    ra_nwg_of,
)


class Weights(TypedDict, total=False):
    """The settings of `Weighting`, by name."""

    alpha: float
    cap4: float
    cap3: float
    fallback_w3: float
    enforce_monotone: bool
    b4: float
    b3: float
    b2: float
    b1: float


class Shares(TypedDict, total=False):
    """What precision and harm are divided by, and what documents without a grade are."""

    short_list_denominator: ShortList
    unjudged: Unjudged


class More(TypedDict, total=False):
    """The settings of `ra_nwg` beside alpha and the caps."""

    fallback_w3: float
    enforce_monotone: bool
    b4: float
    b3: float
    b2: float
    b1: float
    normalise_by: NormaliseBy
    unjudged: Unjudged
    pool: One | None


class NoveltyMore(Weights, total=False):
    """The settings of `ra_nwg_novelty` beside beta: those of `Novelty` and of `Weighting`."""

    occurrence: Occurrence
    ideal: Ideal
    unjudged: Unjudged


def ra_nwg(
    grades: Pools,
    retrieved: One,
    k: int,
    alpha: float = 1.0,
    cap4: float = 1.0,
    cap3: float = 0.25,
    **more: Unpack[More],
) -> Values:
    """RA-nWG@k: the weights of the first `k` documents over those of the best `k` of the graded pool.

    Rarer grades weigh more against the common ones: see `Weighting` for `alpha`, the caps and the rest. Documents
    without a grade are worth nothing; `unjudged` may be `grade1`, `condense` or `error` (`treat_unjudged`).
    `normalise_by="pool"` divides by the best of the restricted `pool`, or of the whole list. Range 0 to 1, higher is
    better, the order of the first `k` does not count; NaN where nothing graded is worth anything. Above 1 only against
    a restricted pool that lacks what was retrieved. Source: Dallaire 2025, arXiv 2511.09545; spec rag 1.2, 1.3.
    Raises UsageError for k below 1 and settings that do not exist, DataError for `unjudged="error"`.

    >>> pool = {"a": 5, "b": 4, "c": 4, "d": 3, "e": 2}
    >>> ra_nwg(pool, ["b", "a", "e", "d"], 4)
    0.84375
    >>> ra_nwg({"q1": pool, "q2": {"a": 1}}, {"q1": ["a"], "q2": ["a"]}, 4, alpha=0)
    array([0.47619048,        nan])
    """
    pool = more.pop("pool", None)
    normalise_by, unjudged = more.pop("normalise_by", "graded"), more.pop("unjudged", "zero")
    weighting = Weighting(alpha, cap4, cap3, **more)  # type: ignore[misc]
    graded = grade(grades, retrieved, pool)
    values = ra_nwg_of(graded, cutoff=k, weighting=weighting, normalise_by=normalise_by, unjudged=unjudged)
    return graded.answer(values)


def ra_nwg_novelty(
    grades: Pools,
    retrieved: One,
    k: int,
    source: Facet,
    beta: float = 0.5,
    **more: Unpack[NoveltyMore],
) -> Values:
    """`ra_nwg` in which every document but the first of a source is worth `beta` of its weight.

    `source` is a function of the document's id, or id -> source. See `Novelty` for `occurrence` and `ideal`.
    Source: spec rag 1.5.

    >>> ra_nwg_novelty({"a1": 5, "a2": 5, "b1": 4}, ["a1", "a2"], 2, source=lambda id: id[0])
    0.75
    >>> ra_nwg_novelty({"a1": 5, "a2": 5, "b1": 4}, ["a1", "a2"], 2, source=lambda id: id[0], beta=0)
    0.5
    """
    kept = ("occurrence", "ideal")
    novelty = Novelty(beta, **{key: more.pop(key) for key in kept if key in more})  # type: ignore[misc]
    unjudged = more.pop("unjudged", "zero")
    weighting = Weighting(**more)  # type: ignore[misc]
    graded = grade(grades, retrieved, source=source)
    values = novelty_of(graded, cutoff=k, novelty=novelty, weighting=weighting, unjudged=unjudged)
    return graded.answer(values)


def n_recall(
    grades: Pools, retrieved: One, k: int, level: int = RELEVANT, unjudged: Unjudged = "zero"
) -> Values:
    """N-Recall@k: the share of the documents of grade `level` or more that was found, of as many as fit into `k`.

    Range 0 to 1, higher is better; NaN where there is none. Level 4 is N-Recall4+, 5 is N-Recall5.

    >>> n_recall({"a": 5, "b": 4, "c": 4}, ["a", "x"], 2), n_recall({"a": 5, "b": 4}, ["b"], 2, level=5)
    (0.5, 0.0)
    """
    graded = grade(grades, retrieved)
    return graded.answer(n_recall_of(graded, cutoff=k, rel=level, unjudged=unjudged))


def graded_precision(
    grades: Pools, retrieved: One, k: int, level: int = RELEVANT, **how: Unpack[Shares]
) -> Values:
    """Precision4+@k: documents of grade `level` or more among the first `k`, over `k` even if fewer were retrieved.

    Range 0 to 1, higher is better, never NaN; `short_list_denominator="retrieved"` divides by what was retrieved.

    >>> graded_precision({"a": 5, "b": 4, "c": 1}, ["a", "c"], 4)
    0.25
    """
    graded = grade(grades, retrieved)
    return graded.answer(precision_of(graded, cutoff=k, rel=level, **how))


def harm(grades: Pools, retrieved: One, k: int, level: int = HARMFUL, **how: Unpack[Shares]) -> Values:
    """Harm@k: documents of grade `level` or less among the first `k`, over `k` even if fewer were retrieved.

    Range 0 to 1, lower is better, never NaN. A document without a grade does no harm unless `unjudged="grade1"`.

    >>> harm({"a": 5, "b": 2, "c": 1}, ["a", "c", "x"], 4)
    0.25
    """
    graded = grade(grades, retrieved)
    return graded.answer(harm_of(graded, cutoff=k, rel=level, **how))


def hit(
    grades: Pools,
    retrieved: One,
    k: int,
    level: int = RELEVANT,
    vacuous: bool = False,
    unjudged: Unjudged = "zero",
) -> Values:
    """Hit@k: 1 where all documents of grade `level` or more are among the first `k`, else 0.

    NaN where there is none, 1 with `vacuous`. It cannot be 1 where they are more than `k`: see `hit_feasible`.

    >>> hit({"a": 5, "b": 4, "c": 1}, ["b", "c", "a"], 3), hit({"a": 5, "b": 4, "c": 1}, ["b", "c", "a"], 2)
    (1.0, 0.0)
    """
    graded = grade(grades, retrieved)
    return graded.answer(hit_of(graded, cutoff=k, rel=level, vacuous=vacuous, unjudged=unjudged))


def hit_feasible(grades: Pools, k: int, level: int = RELEVANT) -> bool | NDArray[np.bool_]:
    """Whether the documents of grade `level` or more are at most `k`, so that `hit` can be 1; for many queries (q,).

    >>> hit_feasible({"a": 5, "b": 4, "c": 1}, 1)
    False
    """
    graded: Graded = grade(grades, {} if _many(grades) else [])
    fits = feasible_hits(graded, k, level)
    return fits if graded.many else bool(fits[0])


def judged_share(grades: Pools, retrieved: One, k: int | None = None) -> Values:
    """Judged@k: the share of the first `k` documents that have a grade; NaN where nothing was retrieved.

    >>> judged_share({"a": 5}, ["a", "x", "y"], 2)
    0.5
    """
    graded = grade(grades, retrieved)
    return graded.answer(judged_of(graded, cutoff=k))


def proc(
    grades: Pools,
    pool: One,
    k: int,
    of: Companion = "RA-nWG",
    short_list_denominator: ShortList = "k",
    **weighting: Unpack[Weights],
) -> Values:
    """PROC@k: the most that the documents of a restricted `pool` could reach of the measure `of`, put in any order.

    Divided by the best of the whole graded pool, from which the weights come too. Range 0 to 1; a low value says that
    the pool lacks what is needed, a high one that the order has to be improved. NaN where `of` is. `percent_proc` says
    how much of it was reached. Source: spec rag 1.6.

    >>> proc({"a": 5, "b": 4, "c": 4, "d": 3}, ["d", "b", "x"], 2, of="N-Recall4+")
    0.5
    """
    graded = grade(grades, pool)
    values = proc_of(
        graded,
        cutoff=k,
        of=of,
        weighting=Weighting(**weighting),
        short_list_denominator=short_list_denominator,
    )
    return graded.answer(values)


def _many(grades: Pools) -> bool:
    return isinstance(next(iter(grades.values()), None), Mapping)
