"""What the grades alone say of a pool, before anything is ordered by a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols.rag.ranking.engine import Candidate

MIDDLE = 3.0
"""The score of a candidate where the pool has no grade at all."""


def starting_scores(candidates: Sequence[Candidate]) -> list[float]:
    """Grades as scores; a candidate without one gets the mean of the pool's, 3 where nobody has one.

    >>> starting_scores([Candidate("a", 5, 1), Candidate("b", None, 2), Candidate("c", 4, 3)])
    [5.0, 4.5, 4.0]
    """
    known = [one.grade for one in candidates if one.grade is not None]
    mean = sum(known) / len(known) if known else MIDDLE
    return [mean if one.grade is None else float(one.grade) for one in candidates]


def order_by_grade(candidates: Sequence[Candidate]) -> tuple[int, ...]:
    """Positions by grade, best first; equal ones by their place by fusion, then by id (spec rag 4.1).

    >>> order_by_grade([Candidate("a", 3, 2), Candidate("b", 4, 3), Candidate("c", 3, 1)])
    (1, 2, 0)
    """
    scores = starting_scores(candidates)
    return tuple(
        sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].rank, candidates[i].id))
    )


@dataclass(frozen=True)
class Start:
    """What a ranker begins with: its query's candidates, how many places matter most, and what names its random
    choices."""

    candidates: tuple[Candidate, ...]
    query: str
    top: int
    seed: int
