"""Which windows of the current order to have judged next: those whose answer should tell most of the order, and mend
most of its top. The latter is the expected drop in wrong pairs across the border of the top; compiled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled
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
NODES: Floats = np.polynomial.hermite_e.hermegauss(7)[0]
WEIGHTS: Floats = np.polynomial.hermite_e.hermegauss(7)[1] / math.sqrt(2 * math.pi)
DOUBTFUL = 0.005
"""A pair that is wrong with less than this probability is left out."""


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


def drop_in_border_errors(
    mean: Floats, covariance: Floats, in_top: Floats, order: Positions, top: int,
    windows: Positions, fisher: Floats,
) -> Floats:  # fmt: skip
    """For each of `windows` (windows, m) the expected drop in pairs of `order` (n,) on the wrong side of its place
    `top`, were the window judged with Fisher information `fisher` (windows, m, m).

    `mean` (n,) and `covariance` (n, n) are those of the scores; a pair counts by the chance that the border runs
    between its two, of which `in_top` (n,) are the chances to be above.
    """
    m = windows.shape[1]
    inner = covariance[windows[:, :, None], windows[:, None, :]]
    # S' = S - S[:, w] M S[w, :] is the covariance after the answer.
    update = np.asarray(np.linalg.solve(np.eye(m) + fisher @ inner, fisher), dtype=np.float64)
    return _drops(mean, covariance, in_top, order.astype(np.int64), top, windows, update)


@compiled
def _drops(
    mean: Floats, covariance: Floats, in_top: Floats, order: Positions, top: int,
    windows: Positions, update: Floats,
) -> Floats:  # fmt: skip
    count, m = windows.shape
    drops = np.zeros(count)
    gap = np.empty(m)
    for above in order[:top]:
        for below in order[top:]:
            before = covariance[above, above] + covariance[below, below] - 2 * covariance[above, below]
            distance = abs(mean[above] - mean[below])
            wrong = _tail(distance / math.sqrt(before))
            if wrong < DOUBTFUL:
                continue
            weight = in_top[above] * (1 - in_top[below]) + in_top[below] * (1 - in_top[above])
            for window in range(count):
                for i in range(m):
                    item = windows[window, i]
                    gap[i] = covariance[item, above] - covariance[item, below]
                learned = 0.0
                for i in range(m):
                    for j in range(m):
                        learned += gap[i] * update[window, i, j] * gap[j]
                after = max(before - learned, 1e-12 * before)
                if learned > 1e-9 * before:
                    drops[window] += weight * (wrong - _expected_wrong(distance, learned, after))
    return drops


@compiled
def _expected_wrong(distance: float, learned: float, after: float) -> float:
    """How probably a pair is wrong once an answer has moved its difference by N(0, learned) and left it N(., after),
    the pair being put in the order that then looks right: by Gauss-Hermite quadrature."""
    moved, left = math.sqrt(learned), math.sqrt(after)
    expected = 0.0
    for k in range(len(NODES)):
        expected += WEIGHTS[k] * _tail(abs(distance + moved * NODES[k]) / left)
    return expected


@compiled
def _tail(x: float) -> float:
    """The chance of a standard normal to exceed x."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))
