"""One step of gradient ascent on the Plackett-Luce likelihood of a judged order (spec rag 4.1, step 5)."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from typing import Literal

Decay = Literal["inv_sqrt", "constant"]


def step_size(turn: int, step: float, smallest: float, decay: Decay) -> float:
    """How large the step of a turn (0-based) is.

    >>> [round(step_size(t, 0.05, 0.01, "inv_sqrt"), 6) for t in (0, 50, 150, 1200)]
    [0.05, 0.035355, 0.025, 0.01]
    """
    return max(smallest, step / sqrt(1 + turn / 50)) if decay == "inv_sqrt" else step


def plackett_luce_step(scores: Sequence[float], size: float) -> tuple[list[float], list[float]]:
    """How the scores (m,) of candidates in the order judged, best first, change, and what is learned of each (m,).

    Of all suffixes S of the order, p being the softmax of the scores in S: the first of S gains size (1 - p), the
    others lose size p, and all learn p (1 - p). Scores are those of the start of the turn for every suffix (trap T15).

    >>> [round(change, 6) for change in plackett_luce_step([4.0] * 5, 0.05)[0]]
    [0.04, 0.0275, 0.010833, -0.014167, -0.064167]
    """
    changes, information = [0.0] * len(scores), [0.0] * len(scores)
    for first in range(len(scores)):
        highest = max(scores[first:])
        weights = [exp(score - highest) for score in scores[first:]]
        total = sum(weights)
        for place, weight in enumerate(weights, start=first):
            p = weight / total
            changes[place] += size * (1 - p) if place == first else -size * p
            information[place] += p * (1 - p)
    return changes, information


def clipped(change: float, most: float) -> float:
    """`change`, at most `most` in either direction."""
    return max(-most, min(most, change))
