"""Bootstrap intervals: against closed forms, and what has none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap, t

from embassay.errors import UsageError
from embassay.protocols.hume.resampling import (
    ALIKE,
    SHARE,
    BootstrapEstimateWithTest,
    Kind,
    ResamplingSettings,
    resample_statistics,
    resampled_mean,
)
from embassay.randomness import make_seeded_generator

DEFAULT = ResamplingSettings()


def mean_of(x: np.ndarray, draws: ResamplingSettings = DEFAULT) -> BootstrapEstimateWithTest:
    """The mean with its interval."""
    return resample_statistics(lambda counts: resampled_mean(counts, x), len(x), draws, within=((-9.0, 9.0),))[0]


def test_bca_is_scipys() -> None:
    """Skewed values: Efron's BCa as scipy makes it, but for the expansion of few items and other draws."""
    x = make_seeded_generator(1, "skewed").exponential(size=200)
    found = mean_of(x, ResamplingSettings(20_000))
    other = bootstrap((x,), np.mean, n_resamples=20_000, method="BCa", random_state=make_seeded_generator(2, "scipy"))
    assert (found.low, found.high) == pytest.approx(other.confidence_interval, abs=0.01)


def test_expanded_is_a_t_interval() -> None:
    """Of symmetric values it is the t interval of a mean."""
    x = make_seeded_generator(3, "normal").normal(size=12)
    found = mean_of(x, ResamplingSettings(40_000, kind="expanded"))
    half = float(t.ppf(0.975, 11)) * x.std(ddof=1) / math.sqrt(12)
    assert (found.low, found.high) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.06)


@pytest.mark.parametrize("kind", ["percentile", "expanded", "bca"])
def test_p_agrees_with_the_interval(kind: Kind) -> None:
    """p is below 5% just where the 95% interval does not hold 0, on either side."""
    x = make_seeded_generator(4, "p").gumbel(size=40)
    seen = set()
    for shift in np.linspace(-0.9, 0.9, 37):
        found = mean_of(x - x.mean() + shift, ResamplingSettings(4000, kind=kind))
        outside = not found.low <= 0 <= found.high
        if abs(found.p - 0.05) > 0.004:
            assert (found.p < 0.05) == outside
            seen.add((outside, bool(shift > 0)))
    assert len(seen) == 4


def test_same_seed_same_numbers() -> None:
    """And another seed gives others."""
    x = make_seeded_generator(5, "seed").normal(size=30)
    assert mean_of(x, ResamplingSettings(seed=1)) == mean_of(x, ResamplingSettings(seed=1))
    assert mean_of(x, ResamplingSettings(seed=1)).low != mean_of(x, ResamplingSettings(seed=2)).low


def test_undefined() -> None:
    """Resamples without a value are counted; over 5% there is no interval, and few items have none."""
    x = np.r_[np.full(3, np.nan), 1.0, 2.0, 3.0]
    found = mean_of(x, ResamplingSettings(1000))
    assert 0 < found.undefined < 50
    assert found.low < 2 < found.high
    rare = mean_of(np.r_[np.full(5, np.nan), 1.0], ResamplingSettings(1000))
    assert rare.undefined == pytest.approx(1000 * (5 / 6) ** 6, abs=60)
    assert rare.low is None
    assert "of 1000 resamples" in rare.reason
    assert mean_of(np.array([1.0, 2.0])).reason == "fewer than 3 items"
    assert mean_of(np.full(4, np.nan)).reason == "the value is undefined"
    with pytest.raises(UsageError, match="no item"):
        mean_of(np.array([]))


def test_no_variation() -> None:
    """All items alike: nothing is known of how others vary."""
    found = mean_of(np.full(8, 0.3))
    assert found.value == pytest.approx(0.3)
    assert found.low is None
    assert found.reason == ALIKE


def test_many_items() -> None:
    """Leaving out every one of 3,000 items takes blocks, not a table of nine million."""
    assert mean_of(make_seeded_generator(6, "many").normal(size=3000), ResamplingSettings(50)).n == 3000


def test_within() -> None:
    """A widened interval ends where the statistic does."""
    x = np.r_[np.ones(7), 0.0]
    free = resample_statistics(
        lambda counts: resampled_mean(counts, x), 8, ResamplingSettings(kind="expanded"), within=((-9.0, 9.0),)
    )[0]
    held = resample_statistics(
        lambda counts: resampled_mean(counts, x), 8, ResamplingSettings(kind="expanded"), within=(SHARE,)
    )[0]
    assert free.high > 1
    assert (held.high, held.low, held.p) == (1.0, free.low, free.p)
