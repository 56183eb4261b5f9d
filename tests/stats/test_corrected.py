"""The percentile interval mended for few items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats import corrected_interval, freedom_of_units, percentile_interval, resample_means


def test_of_many_items_it_is_the_percentile_interval() -> None:
    """Where replicates lie evenly about the estimate."""
    draws = np.sort(np.random.default_rng(0).normal(size=20_000))
    both = np.concatenate([draws, -draws])
    assert corrected_interval(both, 0.0) == pytest.approx(percentile_interval(both), abs=1e-3)


def test_it_moves_away_from_the_bias() -> None:
    """Replicates that lie above the estimate are read lower."""
    draws = np.random.default_rng(0).normal(0.5, 1, 20_000)
    low, high = corrected_interval(draws, 0.0)
    assert (low, high) == pytest.approx((0.5 - 2 * 0.5 - 1.96, 0.5 - 2 * 0.5 + 1.96), abs=0.1)


@given(st.integers(8, 60), st.integers(0, 99))
def test_fewer_units_are_wider_and_stay_within_the_replicates(units: int, seed: int) -> None:
    draws = np.random.default_rng(seed).normal(size=300)
    plain, wide = corrected_interval(draws, 0.0), corrected_interval(draws, 0.0, freedom_of_units(units))
    assert draws.min() <= wide[0] <= plain[0]
    assert plain[1] <= wide[1] <= draws.max()


@pytest.mark.parametrize("units", [3, 4, 5, 7])
def test_few_units_have_the_t_interval(units: int) -> None:
    """It is that of the textbook, up to the resamples; the range of three values held their mean in 77%."""
    rng = np.random.default_rng(units)
    held = np.zeros(2)
    for _ in range(400):
        items = rng.normal(size=units)
        draws = resample_means(items, n_resamples=400, rng=rng)[:, 0]
        low, high = corrected_interval(draws, float(items.mean()), freedom_of_units(units))
        assert low < items.mean() < high
        held += low <= 0 <= high, items.min() <= 0 <= items.max()
    assert 0.93 < held[0] / 400 < 0.98
    if units == 3:
        assert held[1] / 400 < 0.82


def test_ten_items_hold_the_mean_as_often_as_promised() -> None:
    """The percentile interval does in nine of ten cases."""
    rng = np.random.default_rng(2)
    held = np.zeros(2)
    for _ in range(400):
        items = rng.normal(size=10)
        draws = resample_means(items, n_resamples=400, rng=rng)[:, 0]
        for place, ends in enumerate((
            percentile_interval(draws), corrected_interval(draws, float(items.mean()), freedom_of_units(10))
        )):  # fmt: skip
            held[place] += ends[0] <= 0 <= ends[1]
    assert held[0] / 400 < 0.92
    assert 0.93 < held[1] / 400 < 0.97


def test_undefined_replicates() -> None:
    few, many = np.arange(100.0), np.arange(100.0)
    few[:4], many[:9] = np.nan, np.nan
    assert not math.isnan(corrected_interval(few, 50.0)[0])
    assert math.isnan(corrected_interval(many, 50.0)[0])
    with pytest.raises(UsageError, match="replicates"):
        corrected_interval([], 0.0)


def test_rounding_moves_no_end() -> None:
    """Replicates that are the estimate but for a last digit are ties, on whichever side of it a processor leaves them:
    a share of few items has many."""
    rng = np.random.default_rng(3)
    draws = rng.binomial(12, 5 / 12, 2000) / 12
    ends = corrected_interval(draws, 5 / 12)
    for nudge in (1e-15, -1e-15):
        moved = np.where(draws == 5 / 12, draws + nudge, draws)
        assert corrected_interval(moved, 5 / 12) == pytest.approx(ends, abs=1e-12)
