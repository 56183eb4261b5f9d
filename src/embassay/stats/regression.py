"""Slopes of few observations, with errors that hold where their spread differs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import Estimate, t_quantile

Values = NDArray[np.float64]
_DECIDES = 0.999
"""The leverage from which on nothing is left of an observation to tell its error by."""


def estimate_least_squares_slopes(x: Values, y: Values, *, confidence: float = 0.95) -> tuple[Estimate, ...]:
    """The least-squares slope of `y` (n,) on each column of `x` (n, k), beside a constant; the others held.

    Intervals are by the error HC3, which takes no equal spread for granted, and Student's t with n - k - 1 degrees of
    freedom. Source: MacKinnon and White 1985; Long and Ervin 2000 recommend HC3 below 250 observations.
    UsageError for fewer than k + 3 observations, for columns of which one follows from the others, and where a single
    observation decides a slope.

    >>> [slope] = estimate_least_squares_slopes(np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 5, 7]))
    >>> round(slope.value, 6), slope.n
    (2.0, 4)
    """
    n, k = x.shape
    if n < k + 3:
        raise UsageError(f"{n} observations for {k} slopes.", mend=f"Give {k + 3} or more.")
    design = np.column_stack([np.ones(n), x])
    if np.linalg.matrix_rank(design) <= k:
        raise UsageError("A column is constant or depends linearly on the others.", mend="Leave it out.")
    inverse = np.linalg.inv(design.T @ design)
    weights = inverse @ design.T
    slopes = weights @ y
    # What an observation that stands alone pulls towards itself.
    leverage = np.einsum("ij,ji->i", design, weights)
    if leverage.max() > _DECIDES:
        raise UsageError("A single observation determines a slope.", mend="Leave the column out.")
    left = (y - design @ slopes) / (1 - leverage)
    errors = np.sqrt(np.einsum("ji,i->j", weights**2, left**2))
    reach = t_quantile(0.5 + confidence / 2, n - k - 1) * errors
    method = "least squares, HC3, t"
    return tuple(
        Estimate(float(slope), float(slope - far), float(slope + far), n, method)
        for slope, far in zip(slopes[1:], reach[1:], strict=True)
    )
