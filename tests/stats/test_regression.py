"""Slopes with errors that take no equal spread for granted."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.stats.regression import estimate_least_squares_slopes

X = np.array([[0.1, 1], [0.4, 0], [0.5, 1], [0.9, 0], [1.3, 1], [1.4, 0], [1.9, 1], [2.5, 0]])
Y = np.array([1.0, 0.7, 1.9, 1.1, 3.4, 1.0, 2.2, 4.1])
FIRST = (1.264302059496568, -0.6083264779297355, 3.1369305969228716)
SECOND = (0.8425057208237992, -1.3856716928916606, 3.0706831345392587)
ALONE = (1.136511375947995, 0.011780018616530663, 2.2612427332794596)


def test_slopes_are_those_of_another_library() -> None:
    """statsmodels 0.14, OLS(...).fit(cov_type="HC3", use_t=True)."""
    first, second = estimate_least_squares_slopes(X, Y)
    assert (first.value, first.low, first.high) == pytest.approx(FIRST)
    assert (second.value, second.low, second.high) == pytest.approx(SECOND)
    [alone] = estimate_least_squares_slopes(X[:, :1], Y)
    assert (alone.value, alone.low, alone.high) == pytest.approx(ALONE)


def test_intervals_hold_where_the_spread_grows() -> None:
    """The true slope is within 95% of them, or nearly, where errors grow with x and have heavy tails."""
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(600):
        x = rng.uniform(0, 3, 24)
        y = 0.5 * x + (0.2 + x) * rng.standard_t(5, 24)
        [slope] = estimate_least_squares_slopes(x[:, None], y)
        inside += slope.low <= 0.5 <= slope.high
    assert 0.92 <= inside / 600 <= 0.985


def test_what_has_no_slope_is_refused() -> None:
    with pytest.raises(UsageError, match="3 observations for 1 slopes"):
        estimate_least_squares_slopes(X[:3, :1], Y[:3])
    with pytest.raises(UsageError, match="depends linearly"):
        estimate_least_squares_slopes(np.column_stack([X[:, 0], 2 * X[:, 0]]), Y)
    with pytest.raises(UsageError, match="determines a slope"):
        estimate_least_squares_slopes((np.arange(8) == 3).astype(float)[:, None], Y)
