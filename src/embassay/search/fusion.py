"""Several rankings made one: reciprocal rank fusion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from embassay.errors import UsageError

MISSING = 1_000_000_000
"""The rank, among ties, of what a list does not hold."""


@dataclass(frozen=True)
class Fused:
    """A document, its fused score, and its rank (from 1) in each list, None where that does not hold it."""

    id: str
    score: float
    ranks: tuple[int | None, ...]


def rrf(rankings: Sequence[Sequence[str]], c: float = 60.0) -> list[Fused]:
    """The union of rankings (best first, ids) by the sum of 1 / (c + rank), ranks from 1, 0 for a list without it.

    Ties go to the better rank in the first list, then in the second, and so on, then to the lower id. An id that a list
    holds twice counts once, where it stands first. UsageError for a `c` that is negative or no number. Source: Cormack,
    Clarke and Büttcher (SIGIR 2009); tie order of the RAG spec, 3.4 and 4.

    >>> [(one.id, round(one.score, 6)) for one in rrf([["a", "b"], ["b"]])]
    [('b', 0.032522), ('a', 0.016393)]
    """
    if not (c >= 0 and math.isfinite(c)):
        raise UsageError(f"The constant of RRF is {c}.", mend="Use a number from 0, usually 60.")
    places = [_ranks(ranking) for ranking in rankings]
    ids = dict.fromkeys(key for ranking in rankings for key in ranking)
    fused = [Fused(key, 0.0, tuple(ranks.get(key) for ranks in places)) for key in ids]
    # One exact sum: the order of the lists must not decide what ties.
    scored = [
        Fused(one.id, math.fsum(1 / (c + rank) for rank in one.ranks if rank), one.ranks) for one in fused
    ]
    return sorted(scored, key=lambda one: (-one.score, *(rank or MISSING for rank in one.ranks), one.id))


def _ranks(ranking: Sequence[str]) -> dict[str, int]:
    return {key: rank for rank, key in enumerate(dict.fromkeys(ranking), start=1)}
