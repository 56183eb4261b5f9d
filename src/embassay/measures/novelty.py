"""RA-nWG with a discount for documents of a source that is there already. Source: spec rag 1.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.graded import ABSENT, Floats, Graded, Ints, Sources, Unjudged, treat_unjudged
from embassay.measures.judged import check_choice, check_cutoff, order_in_group
from embassay.measures.rarity import DEFAULT, Weighting, best_sum, weights
from embassay.measures.registry import measure
from embassay.measures.set_measures import SOURCE, over

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
            raise UsageError(f"beta is {self.beta}.", mend="It must be 0 to 1; with 1 nothing is discounted.")
        check_choice("occurrence", self.occurrence, get_args(Occurrence))
        check_choice("ideal", self.ideal, get_args(Ideal))


USUAL = Novelty()


@measure(
    "RA-nWG-novelty",
    direction="higher",
    range="[0, 1]",
    needs="grades, ranking, sources",
    undefined="no graded document is worth anything",
    source=SOURCE,
)
def novelty_of(
    graded: Graded,
    *,
    cutoff: int,
    novelty: Novelty = USUAL,
    weighting: Weighting = DEFAULT,
    unjudged: Unjudged = "zero",
) -> Floats:
    """RA-nWG in which documents of a source that is there already count less."""
    check_cutoff(cutoff)
    sources = known_sources(graded)
    weight = weights(graded.counts, weighting)
    if novelty.ideal == "plain":
        best = best_sum(weight, graded.counts, cutoff)
    else:
        best = _best(weight, sources, cutoff, novelty.beta)
    return over(_gain(treat_unjudged(graded, unjudged, cutoff), weight, cutoff, novelty), best)


def known_sources(graded: Graded) -> Sources:
    """The sources of `graded`; UsageError where it has none."""
    if graded.sources is None:
        raise UsageError(
            "A measure of novelty needs to know which documents are of one source.",
            mend="Give grade(..., source=...); `embassay rag score` tells it from ids (--source-separator).",
        )
    return graded.sources


def _gain(graded: Graded, weight: Floats, cutoff: int, novelty: Novelty) -> Floats:
    """The discounted weights of the first documents, (q,)."""
    query, rank = np.nonzero(graded.top[:, :cutoff] != ABSENT)
    grade, code = graded.top[query, rank], known_sources(graded).top[query, rank]
    worth = np.where(grade > 0, weight[query, grade - 1], 0.0)
    first = _first(query, code, -worth if novelty.occurrence == "best" else rank)
    worth = np.where(first, worth, novelty.beta * worth)
    return np.bincount(query, worth, minlength=len(weight)).astype(np.float64)


def _best(weight: Floats, pool: Sources, cutoff: int, beta: float) -> Floats:
    """The largest discounted sum of `cutoff` documents of the graded pool, (q,).

    The first of a source is the best of it, and no later one is worth more: the largest products are a set that can be
    chosen.
    """
    worth = weight[pool.query, pool.grade - 1]
    worth = np.where(_first(pool.query, pool.code, -worth), worth, beta * worth)
    order = np.lexsort((-worth, pool.query))
    chosen = order[order_in_group(pool.query[order]) <= cutoff]
    return np.bincount(pool.query[chosen], worth[chosen], minlength=len(weight)).astype(np.float64)


def _first(query: Ints, code: Ints, by: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which entries are the first of their source in their query, ordered `by`."""
    order = np.lexsort((by, code, query))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(query[order]) != 0) | (np.diff(code[order]) != 0)
    first = np.empty(len(order), dtype=bool)
    first[order] = begins
    return first
