"""Which windows of the current order to have judged next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.bayes.border import drop_in_border_errors
from embassay.protocols.rag.ranking.bayes.claims import chance_in_top
from embassay.protocols.rag.ranking.bayes.information import (
    LISTED,
    contiguous,
    listed,
    sampled,
    squashed_log_det,
)
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions
from embassay.protocols.rag.ranking.bayes.posterior import Component

DRAWS = 64
SIMULATED = 24
"""Of the draws, so many are used for the information of windows, or for simulated answers to longer ones."""


def values(
    best: Component, scores: Floats, order: NDArray[np.intp], borders: Sequence[int], windows: Positions, border: float,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """What an answer to each of `windows` (windows, m) is worth: its information as a share of log m!, and `border`
    times the drop it should bring in wrong pairs across each of the `borders`, places of `order`, on average; `scores`
    are draws."""
    n, m = len(order), windows.shape[1]
    covariance = best.covariance()[:n, :n]
    if m <= LISTED:
        information, fisher = listed(_some(scores, DRAWS), windows)
    else:
        some = _some(scores, SIMULATED)
        fisher = sampled(some, windows, rng.gumbel(size=(len(some), m)))
        information = squashed_log_det(fisher, covariance[windows[:, :, None], windows[:, None, :]])
    worth = information / math.lgamma(m + 1)
    for top in borders:
        if border and top < n:
            in_top = chance_in_top(scores, top)
            drop = drop_in_border_errors(best.mode[:n], covariance, in_top, order, top, windows, fisher)
            worth += border / len(borders) * drop
    return np.asarray(worth)


def best_disjoint(worth: Floats, m: int, count: int) -> list[int]:
    """The `count` best windows of which no two overlap, by where they begin; the best first, the earlier of equals."""
    left = worth.copy()
    chosen: list[int] = []
    while len(chosen) < count and np.isfinite(left).any():
        start = int(np.argmax(left))
        chosen.append(start)
        left[max(0, start - m + 1) : start + m] = -np.inf
    return chosen


def propose(
    best: Component, scores: Floats, order: NDArray[np.intp], borders: Sequence[int], *, m: int, count: int,
    border: float, rng: np.random.Generator,
) -> list[Positions]:  # fmt: skip
    """Up to `count` disjoint windows of m neighbours in `order`, each shuffled, which spreads a bias for places."""
    windows = contiguous(order, m)
    worth = values(best, scores, order, borders, windows, border, rng)
    return [rng.permutation(windows[start]) for start in best_disjoint(worth, m, count)]


def _some(scores: Floats, count: int) -> Floats:
    """`count` of the draws, evenly over the components they come from."""
    chosen = (np.arange(count) + 0.5) * len(scores) / count
    return np.ascontiguousarray(scores[chosen.astype(np.intp)])
