"""Measures of the set of the first K documents: RA-nWG, its ceiling (PROC) its discount for repeats.

The measures by name, on `Graded`; as functions of grades and rankings they are in `calls`. Source: spec rag 1.3, 1.4.

Weights come from the whole graded pool, never from the restricted one. Source: spec rag 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.correlation import compute_kendall_tau_b
from embassay.measures.judgements import (
    ABSENT,
    DEFAULT,
    GRADES,
    RELEVANT,
    UNJUDGED,
    AllRetrieved,
    Facet,
    Floats,
    Graded,
    Ints,
    Pools,
    Sources,
    Unjudged,
    Values,
    Weighting,
    check_cutoff,
    check_option_choice,
    count_pool_grades,
    count_retrieved_documents,
    count_retrieved_grades,
    count_up_within_sorted_groups,
    divide_where_positive,
    find_inverted_weights,
    find_pools_without_grade_5,
    grade,
    pool_sizes,
    sum_largest_weights,
    treat_unjudged,
    weights,
)
from embassay.measures.registry import measure
from embassay.measures.summary import SAME, macro

NormaliseBy = Literal["graded", "pool"]
ShortList = Literal["k", "retrieved"]
"""Whether a list of fewer than K documents is divided by K all the same, or by what it has."""
SOURCE = "Dallaire 2025, arXiv 2511.09545"
HARMFUL = 2

_NEVER = "never; with short_list_denominator='retrieved', if nothing was retrieved"
_set = partial(measure, range="[0, 1]", needs="grades, ranking", source=SOURCE)


@_set("RA-nWG", direction="higher", undefined="all graded documents have zero weight")
def compute_rarity_weighted_gain(
    graded: Graded,
    *,
    cutoff: int,
    weighting: Weighting = DEFAULT,
    normalise_by: NormaliseBy = "graded",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Rarity-aware weighted gain of the first documents over that of the best possible ones."""
    check_option_choice("normalise_by", normalise_by, get_args(NormaliseBy))
    weight = weights(graded.counts, weighting)
    best = sum_largest_weights(weight, graded.counts if normalise_by == "graded" else count_pool_grades(graded), cutoff)
    reached = count_retrieved_grades(treat_unjudged(graded, unjudged, cutoff), cutoff)
    return divide_where_positive((weight * reached).sum(axis=1), best)


@_set("N-Recall4+", direction="higher", undefined="no document has grade 4 or 5")
def _n_recall4(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Documents of grade 4 and 5 among the first, divided by the most that fit."""
    return compute_normalized_recall(graded, cutoff=cutoff, rel=4, unjudged=unjudged)


@_set("N-Recall5", direction="higher", undefined="no document has grade 5")
def _n_recall5(graded: Graded, *, cutoff: int, unjudged: Unjudged = "zero") -> Floats:
    """Documents of grade 5 among the first, divided by the most that fit."""
    return compute_normalized_recall(graded, cutoff=cutoff, rel=5, unjudged=unjudged)


@_set("N-Recall", direction="higher", undefined="no document has grade `rel` or higher")
def compute_normalized_recall(graded: Graded, *, cutoff: int, rel: int, unjudged: Unjudged = "zero") -> Floats:
    """Documents of grade `rel` or higher among the first, divided by the most that fit."""
    reached = count_from_grade_up(count_retrieved_grades(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return divide_where_positive(reached, np.minimum(cutoff, count_from_grade_up(graded.counts, rel)))


@_set("Precision4+", direction="higher", undefined=_NEVER)
def compute_share_of_relevant_in_top(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = RELEVANT,
    short_list_denominator: ShortList = "k",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Share of the first documents that have grade 4 or 5."""
    treated = treat_unjudged(graded, unjudged, cutoff)
    reached = count_from_grade_up(count_retrieved_grades(treated, cutoff), rel)
    return divide_where_positive(
        reached, choose_share_denominator(count_retrieved_documents(treated), cutoff, short_list_denominator)
    )


@_set("Harm", direction="lower", undefined=_NEVER)
def compute_harmful_share(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = HARMFUL,
    short_list_denominator: ShortList = "k",
    unjudged: Unjudged = "zero",
) -> Floats:
    """Share of the first documents that have grade 1 or 2."""
    check_grade(rel)
    treated = treat_unjudged(graded, unjudged, cutoff)
    harmful = count_retrieved_grades(treated, cutoff)[:, :rel].sum(axis=1)
    return divide_where_positive(
        harmful, choose_share_denominator(count_retrieved_documents(treated), cutoff, short_list_denominator)
    )


@_set("Hit", direction="higher", undefined="no document has grade 4 or 5")
def has_all_relevant_in_top(
    graded: Graded, *, cutoff: int, rel: int = RELEVANT, vacuous: bool = False, unjudged: Unjudged = "zero"
) -> Floats:
    """Whether all documents of grade 4 and 5 are among the first."""
    present = count_from_grade_up(graded.counts, rel)
    reached = count_from_grade_up(count_retrieved_grades(treat_unjudged(graded, unjudged, cutoff), cutoff), rel)
    return np.where(present > 0, reached >= present, 1.0 if vacuous else np.nan)


@_set("Judged", direction="higher", undefined="nothing was retrieved")
def compute_judged_share(graded: Graded, *, cutoff: int | None = None) -> Floats:
    """Share of the first documents that have a grade."""
    return divide_where_positive(
        count_retrieved_grades(graded, cutoff).sum(axis=1), count_retrieved_documents(graded, cutoff)
    )


def mark_queries_whose_relevant_fit_top(graded: Graded, k: int, rel: int = RELEVANT) -> NDArray[np.bool_]:
    """Where all documents from grade `rel` up fit among the first `k`, so that `Hit` can be 1: (q,)."""
    return np.asarray(count_from_grade_up(graded.counts, rel) <= k)


def count_from_grade_up(counts: Ints, rel: int) -> Ints:
    """How many have the grade `rel` or a higher one, of counts (q, 5): (q,)."""
    check_grade(rel)
    return np.asarray(counts[:, rel - 1 :].sum(axis=1))


def check_grade(rel: int) -> None:
    """Raise UsageError for a level that is none of the grades."""
    if rel not in GRADES:
        raise UsageError(f"rel is {rel}.", mend="Grades are 1, 2, 3, 4 and 5.")


def choose_share_denominator(sizes: Ints, cutoff: int, short_list: ShortList) -> Ints:
    """Choose what a share of the first `cutoff` is divided by, of lists of these sizes, (q,)."""
    check_option_choice("short_list_denominator", short_list, get_args(ShortList))
    return np.full(len(sizes), cutoff) if short_list == "k" else np.minimum(sizes, cutoff)


Companion = Literal["RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+"]


@measure(
    "PROC",
    direction="higher",
    range="[0, 1]",
    needs="grades, ranking, pool",
    undefined="the measure it bounds is undefined",
    source=SOURCE,
)
def compute_pool_oracle_ceiling(
    graded: Graded,
    *,
    cutoff: int,
    of: Companion = "RA-nWG",
    weighting: Weighting = DEFAULT,
    short_list_denominator: ShortList = "k",
) -> Floats:
    """Compute the most that any order of a restricted pool could reach of RA-nWG or another."""
    check_cutoff(cutoff)
    check_option_choice("measure", of, get_args(Companion))
    pool = count_pool_grades(graded)
    if of == "RA-nWG":
        weight = weights(graded.counts, weighting)
        return divide_where_positive(
            sum_largest_weights(weight, pool, cutoff), sum_largest_weights(weight, graded.counts, cutoff)
        )
    rel = 5 if of == "N-Recall5" else 4
    reachable = np.minimum(cutoff, count_from_grade_up(pool, rel))
    if of == "Precision4+":
        return divide_where_positive(
            reachable, choose_share_denominator(pool_sizes(graded), cutoff, short_list_denominator)
        )
    return divide_where_positive(reachable, np.minimum(cutoff, count_from_grade_up(graded.counts, rel)))


Occurrence = Literal["best", "rank"]
Ideal = Literal["novelty", "plain"]


@dataclass(frozen=True)
class Novelty:
    """What a repeated source costs: its documents after the first are worth `beta` times their weight.

    `occurrence` says which one is the first: of the highest weight (`best`, whatever the order) or at the highest
    `rank`. `ideal` is what the sum is divided by: the best that the discount allows (`novelty`), or the best without
    it (`plain`).
    """

    beta: float = 0.5
    occurrence: Occurrence = "best"
    ideal: Ideal = "novelty"

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1:
            raise UsageError(f"beta is {self.beta}, but it must be from 0 to 1 (no discount).")
        check_option_choice("occurrence", self.occurrence, get_args(Occurrence))
        check_option_choice("ideal", self.ideal, get_args(Ideal))


USUAL = Novelty()


@measure(
    "RA-nWG-novelty",
    direction="higher",
    range="[0, 1]",
    needs="grades, ranking, sources",
    undefined="all graded documents have zero weight",
    source=SOURCE,
)
def compute_novelty_gain(
    graded: Graded,
    *,
    cutoff: int,
    novelty: Novelty = USUAL,
    weighting: Weighting = DEFAULT,
    unjudged: Unjudged = "zero",
) -> Floats:
    """RA-nWG in which documents of a source that is there already count less."""
    check_cutoff(cutoff)
    sources = require_document_sources(graded)
    weight = weights(graded.counts, weighting)
    if novelty.ideal == "plain":
        best = sum_largest_weights(weight, graded.counts, cutoff)
    else:
        best = _compute_best_novelty_gain(weight, sources, cutoff, novelty.beta)
    return divide_where_positive(
        _sum_discounted_novelty_gain(treat_unjudged(graded, unjudged, cutoff), weight, cutoff, novelty), best
    )


def require_document_sources(graded: Graded) -> Sources:
    """The sources of `graded`; UsageError where it has none."""
    if graded.sources is None:
        raise UsageError(
            "Novelty measures need the source of each document.",
            mend="Pass grade(..., source=...); `embassay rag score` reads it from ids (--source-separator).",
        )
    return graded.sources


def _sum_discounted_novelty_gain(graded: Graded, weight: Floats, cutoff: int, novelty: Novelty) -> Floats:
    """The discounted weights of the first documents, (q,)."""
    query, rank = np.nonzero(graded.top[:, :cutoff] != ABSENT)
    grade, code = graded.top[query, rank], require_document_sources(graded).top[query, rank]
    worth = np.where(grade > 0, weight[query, grade - 1], 0.0)
    # Ascending: minus the worth puts the best document of a source first.
    first = _mark_first_of_source(query, code, -worth if novelty.occurrence == "best" else rank)
    worth = np.where(first, worth, novelty.beta * worth)
    return np.bincount(query, worth, minlength=len(weight)).astype(np.float64)


def _compute_best_novelty_gain(weight: Floats, pool: Sources, cutoff: int, beta: float) -> Floats:
    """The largest discounted sum of `cutoff` documents of the graded pool, (q,).

    The first of a source is the best of it, and no later one is worth more: the largest products are a set that can be
    chosen.
    """
    worth = weight[pool.query, pool.grade - 1]
    worth = np.where(_mark_first_of_source(pool.query, pool.code, -worth), worth, beta * worth)
    order = np.lexsort((-worth, pool.query))
    chosen = order[count_up_within_sorted_groups(pool.query[order]) <= cutoff]
    return np.bincount(pool.query[chosen], worth[chosen], minlength=len(weight)).astype(np.float64)


def _mark_first_of_source(query: Ints, code: Ints, by: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Mark the entries that are the first of their source in their query, ordered `by`."""
    # By query, source and `by`: the first of each stretch is the first of its source.
    order = np.lexsort((by, code, query))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(query[order]) != 0) | (np.diff(code[order]) != 0)
    first = np.empty(len(order), dtype=bool)
    first[order] = begins
    return first


# The grid of spec rag 1.8.
ALPHAS = (0.0, 0.5, 1.0, 2.0)
CAP4S = (0.75, 1.0)
CAP3S = (0.20, 0.25, 0.33)


@dataclass(frozen=True)
class SystemRankingUnderWeightSetting:
    """One setting: the macro score of each system, the systems best first, and how the order agrees with the default's.

    `tau` is Kendall's tau-b, NaN with fewer than two systems or where all are equal. `n_valid` is how many queries each
    mean is of.
    """

    alpha: float
    cap4: float
    cap3: float
    scores: Mapping[str, float]
    order: tuple[str, ...]
    tau: float
    n_valid: Mapping[str, int]


@dataclass(frozen=True)
class Sensitivity:
    """The grid: its cells, which of them is the default, and what changes most.

    `largest_change` is the largest absolute difference of a system's score from the default cell's, by `system` in the
    cell `where`; `lowest_tau` the worst agreement of an order with the default's.
    """

    k: int
    cells: tuple[SystemRankingUnderWeightSetting, ...]
    default: int
    largest_change: float
    system: str
    where: int
    lowest_tau: float


def sensitivity_grid(
    systems: Mapping[str, Graded],
    k: int,
    *,
    alphas: Sequence[float] = ALPHAS,
    cap4s: Sequence[float] = CAP4S,
    cap3s: Sequence[float] = CAP3S,
    weighting: Weighting = DEFAULT,
    unjudged: Unjudged = "zero",
) -> Sensitivity:
    """RA-nWG@k of every system (name -> what it retrieved) in every cell of the grid, 24 by default.

    `weighting` is the default cell, whose other settings all cells share; it must be on the grid. Systems that differ
    by no more than 1e-9 are equal: one place in the order, named in the order given.
    Raises UsageError for no systems or a grid without the default.
    """
    grid = list(product(alphas, cap4s, cap3s))
    default = (weighting.alpha, weighting.cap4, weighting.cap3)
    if not systems or default not in grid:
        raise UsageError(
            "There are no systems." if not systems else f"The grid lacks the default {default}.",
            mend="Pass at least one system, and a grid that contains the weighting's alpha, cap4 and cap3.",
        )
    counts_of = {
        name: (graded.counts, count_retrieved_grades(treat_unjudged(graded, unjudged, k), k))
        for name, graded in systems.items()
    }
    settings = [replace(weighting, alpha=alpha, cap4=cap4, cap3=cap3) for alpha, cap4, cap3 in grid]
    means = [
        [macro(_compute_weighted_gain_per_query(*counts, k, setting)) for counts in counts_of.values()]
        for setting in settings
    ]
    scores = np.array([[mean.mean for mean in row] for row in means])
    usual = grid.index(default)
    ranks = np.stack([_rank_systems(row) for row in scores])
    # Of places, not of scores: systems that differ by rounding only are tied in both.
    taus = compute_kendall_tau_b(ranks, np.broadcast_to(ranks[usual], ranks.shape))
    cells = tuple(
        SystemRankingUnderWeightSetting(
            *grid[i],
            dict(zip(systems, scores[i].tolist(), strict=True)),
            tuple(np.array(list(systems))[np.argsort(ranks[i], kind="stable")].tolist()),
            float(taus[i]),
            {name: mean.n_valid for name, mean in zip(systems, means[i], strict=True)},
        )
        for i in range(len(grid))
    )
    return _summarise_setting_sensitivity(k, cells, usual, np.abs(scores - scores[usual]), list(systems), taus)


def _summarise_setting_sensitivity(
    k: int,
    cells: tuple[SystemRankingUnderWeightSetting, ...],
    default: int,
    changes: Floats,
    systems: list[str],
    taus: Floats,
) -> Sensitivity:
    defined = ~np.isnan(changes)
    # Differences are never below 0, so -1 puts the undefined ones last; nanargmax would raise where all are.
    where, which = np.unravel_index(np.argmax(np.where(defined, changes, -1.0)), changes.shape)
    return Sensitivity(
        k,
        cells,
        default,
        float(changes[where, which]),
        systems[which],
        int(where),
        float(np.nanmin(taus)) if (~np.isnan(taus)).any() else float("nan"),
    )


def _compute_weighted_gain_per_query(counts: Ints, found: Ints, k: int, weighting: Weighting) -> Floats:
    weight = weights(counts, weighting)
    return divide_where_positive((weight * found).sum(axis=1), sum_largest_weights(weight, counts, k))


def _rank_systems(scores: Floats) -> Floats:
    """The place of each system, 1 = best; those that are equal but for rounding share one, undefined ones are last."""
    order = np.argsort(-scores, kind="stable")
    # Neighbours in order are compared, so equal ones share the place of the first.
    falls = -np.diff(scores[order])
    steps = (falls > SAME) | (np.isnan(falls) & ~np.isnan(scores[order][:-1]))
    places = np.empty(len(scores))
    places[order] = np.concatenate([[1], 1 + np.cumsum(steps)])
    return places


Flag = NDArray[np.bool_]


@dataclass(frozen=True)
class Flags:
    """One entry per query, (q,): `fallback`, no document of grade 5, so another scale of weights; `grade_inversion`, a
    lower grade weighs more than a higher one; `hit_feasible`, the documents of grade 4 and 5 fit among the first K;
    `repeated`, ids that the list named once more; `unjudged`, documents among the first K without a grade."""

    fallback: Flag
    grade_inversion: Flag
    hit_feasible: Flag
    repeated: Ints
    unjudged: Ints

    def counts(self) -> dict[str, int]:
        """Count the queries with each flag, and the documents repeated and unjudged."""
        return {name: int(values.sum()) for name, values in vars(self).items()}


def flags(graded: Graded, k: int, weighting: Weighting = DEFAULT) -> Flags:
    """The flags of `graded` for measures at the cutoff `k`.

    >>> from embassay.measures import grade
    >>> flags(grade({"a": 4, "b": 1}, ["x", "a", "a"]), 2).counts()
    {'fallback': 1, 'grade_inversion': 0, 'hit_feasible': 1, 'repeated': 1, 'unjudged': 1}
    """
    check_cutoff(k)
    return Flags(
        find_pools_without_grade_5(graded.counts),
        find_inverted_weights(graded.counts, weighting),
        mark_queries_whose_relevant_fit_top(graded, k, RELEVANT),
        np.zeros(len(graded.top), dtype=np.int64) if graded.repeated is None else graded.repeated,
        np.count_nonzero(graded.top[:, :k] == UNJUDGED, axis=1),
    )


class GradeWeightSettings(TypedDict, total=False):
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


class PrecisionHarmSettings(TypedDict, total=False):
    """What precision and harm are divided by, and what documents without a grade are."""

    short_list_denominator: ShortList
    unjudged: Unjudged


class RaNwgSettings(TypedDict, total=False):
    """The settings of `ra_nwg` beside alpha and the caps."""

    fallback_w3: float
    enforce_monotone: bool
    b4: float
    b3: float
    b2: float
    b1: float
    normalise_by: NormaliseBy
    unjudged: Unjudged
    pool: AllRetrieved | None


class RaNwgNoveltySettings(GradeWeightSettings, total=False):
    """The settings of `ra_nwg_novelty` beside beta: those of `Novelty` and of `Weighting`."""

    occurrence: Occurrence
    ideal: Ideal
    unjudged: Unjudged


def ra_nwg(
    grades: Pools,
    retrieved: AllRetrieved,
    k: int,
    alpha: float = 1.0,
    cap4: float = 1.0,
    cap3: float = 0.25,
    **more: Unpack[RaNwgSettings],
) -> Values:
    """RA-nWG@k: the total weight of the first `k` documents, divided by that of the best `k` of the graded pool.

    Rare grades weigh more: see `Weighting` for `alpha` and the caps. Documents without a grade have weight 0 unless
    `unjudged` is set (`treat_unjudged`). `normalise_by="pool"` divides by the best of the restricted `pool`, by default
    the whole list. Range 0 to 1, higher is better, the order of the first `k` does not matter; NaN where nothing graded
    is worth anything. It exceeds 1 only with a restricted pool that lacks retrieved documents.
    Source: Dallaire 2025, arXiv 2511.09545; spec rag 1.2, 1.3. Raises UsageError for k below 1 and settings that do
    not exist, DataError for `unjudged="error"`.

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
    values = compute_rarity_weighted_gain(
        graded, cutoff=k, weighting=weighting, normalise_by=normalise_by, unjudged=unjudged
    )
    return graded.answer(values)


def ra_nwg_novelty(
    grades: Pools,
    retrieved: AllRetrieved,
    k: int,
    source: Facet,
    beta: float = 0.5,
    **more: Unpack[RaNwgNoveltySettings],
) -> Values:
    """`ra_nwg` in which every document of a source except the first counts only `beta` times its weight.

    `source` is a function of the document id, or a mapping from ids. See `Novelty` for `occurrence` and `ideal`.
    Source: spec rag 1.5.

    >>> ra_nwg_novelty({"a1": 5, "a2": 5, "b1": 4}, ["a1", "a2"], 2, source=lambda id: id[0])
    0.75
    >>> ra_nwg_novelty({"a1": 5, "a2": 5, "b1": 4}, ["a1", "a2"], 2, source=lambda id: id[0], beta=0)
    0.5
    """
    names = ("occurrence", "ideal")
    novelty = Novelty(beta, **{key: more.pop(key) for key in names if key in more})  # type: ignore[misc]
    unjudged = more.pop("unjudged", "zero")
    weighting = Weighting(**more)  # type: ignore[misc]
    graded = grade(grades, retrieved, source=source)
    values = compute_novelty_gain(graded, cutoff=k, novelty=novelty, weighting=weighting, unjudged=unjudged)
    return graded.answer(values)


def n_recall(
    grades: Pools, retrieved: AllRetrieved, k: int, level: int = RELEVANT, unjudged: Unjudged = "zero"
) -> Values:
    """N-Recall@k: documents of grade `level` or higher among the first `k`, divided by the most that fit into `k`.

    Range 0 to 1, higher is better; NaN where there is none. Level 4 gives N-Recall4+, level 5 N-Recall5.

    >>> n_recall({"a": 5, "b": 4, "c": 4}, ["a", "x"], 2), n_recall({"a": 5, "b": 4}, ["b"], 2, level=5)
    (0.5, 0.0)
    """
    graded = grade(grades, retrieved)
    return graded.answer(compute_normalized_recall(graded, cutoff=k, rel=level, unjudged=unjudged))


def graded_precision(
    grades: Pools, retrieved: AllRetrieved, k: int, level: int = RELEVANT, **how: Unpack[PrecisionHarmSettings]
) -> Values:
    """Precision4+@k: documents of grade `level` or higher among the first `k`, divided by `k` even if fewer were found.

    Range 0 to 1, higher is better, never NaN; `short_list_denominator="retrieved"` divides by the number retrieved.

    >>> graded_precision({"a": 5, "b": 4, "c": 1}, ["a", "c"], 4)
    0.25
    """
    graded = grade(grades, retrieved)
    return graded.answer(compute_share_of_relevant_in_top(graded, cutoff=k, rel=level, **how))


def harm(
    grades: Pools, retrieved: AllRetrieved, k: int, level: int = HARMFUL, **how: Unpack[PrecisionHarmSettings]
) -> Values:
    """Harm@k: documents of grade `level` or lower among the first `k`, divided by `k` even if fewer were retrieved.

    Range 0 to 1, lower is better, never NaN. Documents without a grade are harmless unless `unjudged="grade1"`.

    >>> harm({"a": 5, "b": 2, "c": 1}, ["a", "c", "x"], 4)
    0.25
    """
    graded = grade(grades, retrieved)
    return graded.answer(compute_harmful_share(graded, cutoff=k, rel=level, **how))


def hit(
    grades: Pools,
    retrieved: AllRetrieved,
    k: int,
    level: int = RELEVANT,
    vacuous: bool = False,
    unjudged: Unjudged = "zero",
) -> Values:
    """Hit@k: 1 if all documents of grade `level` or higher are among the first `k`, otherwise 0.

    NaN, or 1 with `vacuous`, if there are none. It cannot be 1 if there are more than `k`: see `hit_feasible`.

    >>> hit({"a": 5, "b": 4, "c": 1}, ["b", "c", "a"], 3), hit({"a": 5, "b": 4, "c": 1}, ["b", "c", "a"], 2)
    (1.0, 0.0)
    """
    graded = grade(grades, retrieved)
    return graded.answer(has_all_relevant_in_top(graded, cutoff=k, rel=level, vacuous=vacuous, unjudged=unjudged))


def hit_feasible(grades: Pools, k: int, level: int = RELEVANT) -> bool | NDArray[np.bool_]:
    """Whether at most `k` documents have grade `level` or higher, so that `hit` can be 1; for many queries (q,).

    >>> hit_feasible({"a": 5, "b": 4, "c": 1}, 1)
    False
    """
    graded: Graded = grade(grades, {} if _has_grades_by_query(grades) else [])
    fits = mark_queries_whose_relevant_fit_top(graded, k, level)
    return fits if graded.many else bool(fits[0])


def judged_share(grades: Pools, retrieved: AllRetrieved, k: int | None = None) -> Values:
    """Judged@k: the share of the first `k` documents that have a grade; NaN where nothing was retrieved.

    >>> judged_share({"a": 5}, ["a", "x", "y"], 2)
    0.5
    """
    graded = grade(grades, retrieved)
    return graded.answer(compute_judged_share(graded, cutoff=k))


def proc(
    grades: Pools,
    pool: AllRetrieved,
    k: int,
    of: Companion = "RA-nWG",
    short_list_denominator: ShortList = "k",
    **weighting: Unpack[GradeWeightSettings],
) -> Values:
    """PROC@k: the highest value of the measure `of` that the documents of a restricted `pool` can reach in any order.

    Divided by the best of the whole graded pool, which also gives the weights. Range 0 to 1; a low value means that
    the pool lacks good documents, a high value that the order needs work. NaN if `of` is. `percent_proc` is the share
    reached. Source: spec rag 1.6.

    >>> proc({"a": 5, "b": 4, "c": 4, "d": 3}, ["d", "b", "x"], 2, of="N-Recall4+")
    0.5
    """
    graded = grade(grades, pool)
    values = compute_pool_oracle_ceiling(
        graded, cutoff=k, of=of, weighting=Weighting(**weighting), short_list_denominator=short_list_denominator
    )
    return graded.answer(values)


def _has_grades_by_query(grades: Pools) -> bool:
    return isinstance(next(iter(grades.values()), None), Mapping)
