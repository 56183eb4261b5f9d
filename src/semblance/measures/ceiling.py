"""PROC: what the best order of a restricted pool could reach, and the share of it that was reached."""

from __future__ import annotations

from typing import Literal

import numpy as np

from semblance.measures.graded import Floats, Graded, pool_counts, pool_sizes
from semblance.measures.rarity import DEFAULT, Weighting, best_sum, weights
from semblance.measures.registry import measure
from semblance.measures.set_measures import SOURCE, ShortList, over

Of = Literal["RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+"]


@measure(
    "PROC",
    direction="higher",
    range="[0, 1]",
    needs="grades, ranking, pool",
    undefined="where the measure it is the ceiling of is",
    source=SOURCE,
)
def _proc(
    graded: Graded,
    *,
    cutoff: int,
    of: Of = "RA-nWG",
    weighting: Weighting = DEFAULT,
    short_list: ShortList = "k",
) -> Floats:
    """What a perfect order of a restricted pool could reach."""
    pool = pool_counts(graded)
    if of == "RA-nWG":
        weight = weights(graded.counts, weighting)
        return over(best_sum(weight, pool, cutoff), best_sum(weight, graded.counts, cutoff))
    least = 5 if of == "N-Recall5" else 4
    within = np.minimum(cutoff, pool[:, least - 1 :].sum(axis=1))
    if of == "Precision4+":
        return over(
            within,
            np.minimum(cutoff, pool_sizes(graded))
            if short_list == "retrieved"
            else np.full(len(pool), cutoff),
        )
    return over(within, np.minimum(cutoff, graded.counts[:, least - 1 :].sum(axis=1)))
