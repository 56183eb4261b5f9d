"""Pearson's and Spearman's correlation: against numpy and scipy, and where they are undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.errors import UsageError
from embassay.measures import pearson, spearman

series = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*(arrays(np.float64, n, elements=st.floats(-100, 100, width=32)) for _ in range(2)))
)


@given(series)
def test_agrees_with_numpy(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """Equal to numpy's coefficient where both series vary visibly, NaN where one is constant."""
    x, y = pair
    if x.min() == x.max() or y.min() == y.max():
        assert math.isnan(pearson(x, y))
    elif min(np.ptp(x), np.ptp(y)) > 1e-3:
        assert pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)


@given(series, st.floats(0.01, 100), st.floats(-10, 10))
def test_bounds_and_invariances(pair: tuple[np.ndarray, np.ndarray], scale: float, shift: float) -> None:
    """Within -1 to 1, symmetric, and 1 with a positive linear map of itself."""
    x, y = pair
    value = pearson(x, y)
    assert math.isnan(value) or -1 <= value <= 1
    assert pearson(y, x) == pytest.approx(value, abs=1e-12, nan_ok=True)
    if np.ptp(x) > 1e-3:
        assert pearson(x, scale * x + shift) == pytest.approx(1.0, abs=1e-6)


def test_by_hand() -> None:
    """x = 1 2 3, y = 1 2 4: 3 / sqrt(2 * 14/3)."""
    assert pearson([1, 2, 3], [1, 2, 4]) == pytest.approx(3 / math.sqrt(2 * 14 / 3), abs=1e-12)


tied = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*(arrays(np.float64, n, elements=st.integers(-4, 4)) for _ in range(2)))
)


@given(st.one_of(series, tied))
def test_ranks_agree_with_scipy(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """Equal to scipy's coefficient, ties included; no monotone map of a side changes it."""
    from scipy.stats import spearmanr

    x, y = pair
    value = spearman(x, y)
    if x.min() == x.max() or y.min() == y.max():
        assert math.isnan(value)
    else:
        assert value == pytest.approx(spearmanr(x, y).statistic, abs=1e-9)
        assert spearman(np.cbrt(x), y) == pytest.approx(value, abs=1e-12)
        assert spearman(y, x) == pytest.approx(value, abs=1e-12)


def test_ranks_by_hand() -> None:
    """Ranks 1 2 3.5 3.5 and 1 3 2 4: covariance 3, lengths sqrt(4.5) and sqrt(5)."""
    assert spearman([1, 2, 3, 3], [10, 30, 20, 40]) == pytest.approx(3 / math.sqrt(4.5 * 5), abs=1e-12)
    assert spearman([[1, 2], [2, 1]], [[5, 9], [5, 9]]).tolist() == pytest.approx([1, -1])


def test_rows_give_an_array() -> None:
    """Many series at once, each undefined on its own."""
    values = pearson([[1, 2, 3], [1, 1, 1], [3, 2, 1]], [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    assert values.tolist()[::2] == pytest.approx([1, -1])
    assert math.isnan(values[1])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_scale_does_not_matter(size: float) -> None:
    """Squares of the values would leave the range of a float; the coefficient does not."""
    assert pearson(np.array([1.0, 2, 4]) * size, [1, 2, 4]) == pytest.approx(1.0)


def test_what_cannot_be_correlated() -> None:
    """One item is undefined; unequal lengths, scalars and NaN are the caller's mistake."""
    assert math.isnan(pearson([1.0], [2.0]))
    assert math.isnan(pearson([], []))
    with pytest.raises(UsageError, match=r"shapes \(2,\) and \(3,\)"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="shapes"):
        pearson(1.0, 2.0)
    for correlation in (pearson, spearman):
        with pytest.raises(UsageError, match="not finite"):
            correlation([1, math.nan], [1, 2])
        with pytest.raises(UsageError, match="shapes"):
            correlation(1.0, [1.0])
        assert math.isnan(correlation([], []))
