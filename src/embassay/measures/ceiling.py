"""PROC: what the best order of a restricted pool could reach, still against the best of all that is graded.

Weights come from the whole graded pool, never from the restricted one. Source: spec rag 1.6.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from embassay.measures.graded import Floats, Graded, pool_counts, pool_sizes
from embassay.measures.judged import check_choice, check_cutoff
from embassay.measures.rarity import DEFAULT, Weighting, best_sum, weights
from embassay.measures.registry import measure
from embassay.measures.set_measures import SOURCE, ShortList, from_grade, length, over

Companion = Literal["RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+"]


@measure(
    "PROC",
    direction="higher",
    range="[0, 1]",
    needs="grades, ranking, pool",
    undefined="the measure that it bounds is",
    source=SOURCE,
)
def proc_of(
    graded: Graded,
    *,
    cutoff: int,
    of: Companion = "RA-nWG",
    weighting: Weighting = DEFAULT,
    short_list_denominator: ShortList = "k",
) -> Floats:
    """What the best order of a restricted pool could reach of RA-nWG, or of another measure."""
    check_cutoff(cutoff)
    check_choice("measure", of, get_args(Companion))
    pool = pool_counts(graded)
    if of == "RA-nWG":
        weight = weights(graded.counts, weighting)
        return over(best_sum(weight, pool, cutoff), best_sum(weight, graded.counts, cutoff))
    rel = 5 if of == "N-Recall5" else 4
    reachable = np.minimum(cutoff, from_grade(pool, rel))
    if of == "Precision4+":
        return over(reachable, length(pool_sizes(graded), cutoff, short_list_denominator))
    return over(reachable, np.minimum(cutoff, from_grade(graded.counts, rel)))
