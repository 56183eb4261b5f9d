"""How much an answer would mend the top set: the expected drop in wrong pairs across its border. Compiled."""

from __future__ import annotations

import math

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions

NODES: Floats = np.polynomial.hermite_e.hermegauss(7)[0]
WEIGHTS: Floats = np.polynomial.hermite_e.hermegauss(7)[1] / math.sqrt(2 * math.pi)
DOUBTFUL = 0.005
"""A pair that is wrong with less than this probability is left out."""


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
