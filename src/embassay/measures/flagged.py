"""What a reader must know of a set of graded queries beside the scores: on how many the rules bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.measures.graded import RELEVANT, UNJUDGED, Graded, Ints
from embassay.measures.judged import check_cutoff
from embassay.measures.rarity import DEFAULT, Weighting, is_fallback, is_inverted
from embassay.measures.set_measures import feasible_hits

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
        """Queries with a flag, and documents repeated and unjudged, by the names of the fields."""
        return {name: int(values.sum()) for name, values in vars(self).items()}


def flags(graded: Graded, k: int, weighting: Weighting = DEFAULT) -> Flags:
    """The flags of `graded` for measures of the first `k`.

    >>> from embassay.measures import grade
    >>> flags(grade({"a": 4, "b": 1}, ["x", "a", "a"]), 2).counts()
    {'fallback': 1, 'grade_inversion': 0, 'hit_feasible': 1, 'repeated': 1, 'unjudged': 1}
    """
    check_cutoff(k)
    return Flags(
        is_fallback(graded.counts),
        is_inverted(graded.counts, weighting),
        feasible_hits(graded, k, RELEVANT),
        np.zeros(len(graded.top), dtype=np.int64) if graded.repeated is None else graded.repeated,
        np.count_nonzero(graded.top[:, :k] == UNJUDGED, axis=1),
    )
