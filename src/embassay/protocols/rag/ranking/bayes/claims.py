"""What an engine may say of its order, as expectations over draws of the posterior: never of truth, only of the order
in which the judge itself would put all candidates if its noise were averaged out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats


@dataclass(frozen=True)
class Claims:
    """Expected Kendall tau of the order with the judge's own, expected share of the top set that is right, and the
    probabilities that at most 0, 1 and 2 of its members are wrong."""

    tau: float
    overlap: float
    set_errors_at_most_0: float
    set_errors_at_most_1: float
    set_errors_at_most_2: float

    def as_mapping(self) -> Mapping[str, float]:
        """By name, as a `Ranking` carries them."""
        return dict(vars(self))


def claims(scores: Floats, order: NDArray[np.intp], top: int) -> Claims:
    """What draws of the scores (draws, n) say of `order` (n,) and the set of its first `top`."""
    n, draws = len(order), len(scores)
    size = min(top, n)
    drawn = np.ascontiguousarray(scores[:, order])
    wrong = size - np.count_nonzero(_in_top(drawn, size)[:, :size], axis=1)
    tau = 4.0 * _agreeing_pairs(drawn) / (draws * n * (n - 1)) - 1.0 if n > 1 else 1.0
    return Claims(
        float(tau),
        float(1.0 - wrong.mean() / size),
        *(float(np.mean(wrong <= errors)) for errors in (0, 1, 2)),
    )


def chance_in_top(scores: Floats, top: int) -> Floats:
    """How probably each candidate is among the best `top`, (n,)."""
    return np.asarray(_in_top(scores, top).mean(axis=0))


def _in_top(scores: Floats, top: int) -> NDArray[np.bool_]:
    """Whether each candidate is among the best `top` of each draw (draws, n); draws have no ties."""
    n = scores.shape[1]
    if top >= n:
        return np.ones(scores.shape, dtype=np.bool_)
    return np.asarray(scores >= np.partition(scores, n - top, axis=1)[:, n - top, None])


@compiled
def _agreeing_pairs(drawn: Floats) -> int:
    """In how many pairs, over all draws, the one that stands first has the higher score."""
    agreeing = 0
    for draw in range(drawn.shape[0]):
        for i in range(drawn.shape[1]):
            for j in range(i + 1, drawn.shape[1]):
                agreeing += drawn[draw, i] > drawn[draw, j]
    return agreeing
