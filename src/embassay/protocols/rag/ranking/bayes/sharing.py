"""What one query's answers say of the judge, as a prior for the others.

The judge's sharpness A and the grades' reliability rho differ from query to query, but not by much: each query's point
on the grid is taken as a common point g0 moved by a kernel K, of which the width is learned as well. Every query q
brings its evidences E_q over the grid; what the others say to it is

    p_q(g)  =  sum over g0 and widths of  p(g0) p(width) K(g0 -> g)  x  product over r != q of  sum_h K(g0 -> h) E_r(h)

which is exact on the grid and asks nothing of the queries but their evidences.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from embassay.protocols.rag.ranking.bayes.prior import RELIABILITY, SHARPNESS, Floats, log_weights

WIDTHS = (0.15, 0.4, 1.0)
"""Standard deviations of log A between queries that are thought possible, alike beforehand."""
CELLS = 2.0
"""Reliability moves by this many cells of the grid for each unit of width."""
LOWEST = -300.0


def shared_priors(evidences: Floats) -> Floats:
    """For each query the log prior over the grid that all others give it, (queries, points), of `evidences` of that
    shape (log, each query with its own constant)."""
    relative = np.maximum(evidences - evidences.max(axis=1, keepdims=True), LOWEST)
    heights, kernels = np.exp(relative), _kernels()
    common = log_weights()
    told = [np.log(heights @ kernel.T) for kernel in kernels]  # (queries, points) of g0 for each width
    total = np.array([common + one.sum(axis=0) for one in told])  # (widths, points)
    priors = np.empty_like(heights)
    for query in range(len(heights)):
        others = total - np.array([one[query] for one in told])
        weights = np.exp(others - others.max())
        blurred = [weight @ kernel for weight, kernel in zip(weights, kernels, strict=True)]
        priors[query] = np.log(np.maximum(np.sum(blurred, axis=0) / weights.sum(), np.exp(LOWEST)))
    return np.asarray(priors)


@lru_cache
def _kernels() -> tuple[Floats, ...]:
    """K(g0 -> g), (points, points), its rows sums of 1, for each width."""
    sharpness, reliability = np.log(SHARPNESS), np.arange(len(RELIABILITY), dtype=np.float64)
    return tuple(
        np.asarray(np.kron(_moved(sharpness, width), _moved(reliability, CELLS * width)), dtype=np.float64)
        for width in WIDTHS
    )


def _moved(values: Floats, width: float) -> Floats:
    kernel = np.exp(-0.5 * ((values[:, None] - values[None, :]) / width) ** 2)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))
