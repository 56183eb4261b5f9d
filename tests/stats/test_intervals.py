"""Wilson's and Fisher's intervals: the published HUME figures and their bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats import Estimate, fisher_z, observed_range, wilson
from embassay.stats.intervals import average_independent_estimates


@pytest.mark.parametrize(
    ("p", "n", "low", "high", "tolerance"),
    [
        (22 / 48, 48, 0.325752, 0.597089, 1e-6),  # Emotion
        (33 / 45, 45, 0.589612, 0.840351, 1e-6),  # Toxic
        (38 / 40, 40, 0.835, 0.986, 6e-4),  # MultilingualSentiment ara
        (0.760, 30, 0.584, 0.878, 1e-3),  # SIB200 ara: a V-measure, printed rounded, read as a share
        (0.914, 30, 0.762, 0.973, 1e-3),  # Wikipedia dan: so is a MAP
    ],
)
def test_wilson_gives_hume_table_8(p: float, n: int, low: float, high: float, tolerance: float) -> None:
    """z = 1.96, no continuity correction, n = items."""
    result = wilson(p, n)
    assert (result.low, result.high) == pytest.approx((low, high), abs=tolerance)
    assert (result.value, result.n, result.method) == (p, n, "95% Wilson")


@given(st.integers(1, 200), st.data())
def test_wilson_agrees_with_scipy(n: int, data: st.DataObject) -> None:
    """And stays within 0 to 1 around the share."""
    k = data.draw(st.integers(0, n))
    confidence = data.draw(st.sampled_from([0.9, 0.95, 0.99]))
    expected = scipy.stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    result = wilson(k / n, n, confidence=confidence)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= result.low <= result.high <= 1


@pytest.mark.parametrize(
    ("r", "n", "low", "high"),
    [(0.826478, 40, 0.693519, 0.904992), (0.912, 50, 0.849, 0.949), (0.675452, 30, 0.417, 0.833)],
)
def test_fisher_gives_hume_table_8(r: float, n: int, low: float, high: float) -> None:
    """Standard error 1 / sqrt(n - 3)."""
    result = fisher_z(r, n)
    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-6 if n == 40 else 6e-4)


def test_fisher_at_its_ends() -> None:
    """A perfect correlation has the interval of one point; the sign turns the interval over."""
    assert (fisher_z(1.0, 10).low, fisher_z(1.0, 10).high) == (1.0, 1.0)
    assert (fisher_z(-1.0, 10).low, fisher_z(-1.0, 10).high) == (-1.0, -1.0)
    assert fisher_z(-0.5, 10).low == pytest.approx(-fisher_z(0.5, 10).high)


def test_bonett_wright() -> None:
    """HUME section 7; never narrower than Fisher's, and as wide for no correlation."""
    result = fisher_z(0.826478, 40, error="bonett-wright")
    assert (result.low, result.high) == pytest.approx((0.666108, 0.913806), abs=1e-6)
    assert result.method == "95% Bonett-Wright"
    assert fisher_z(0.0, 20, error="bonett-wright").low == fisher_z(0.0, 20).low
    assert fisher_z(1.0, 20, error="bonett-wright").low == 1.0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_range(values: list[float]) -> None:
    """Least and greatest, the mean between them."""
    result = observed_range(values, 30, "annotators")
    assert (result.low, result.high, result.n) == (min(values), max(values), 30)
    assert result.low - 1e-12 <= result.value <= result.high + 1e-12
    assert result.method == f"range of {len(values)} annotators"


def test_refused() -> None:
    """Values outside their range, too few items, NaN."""
    for p, n in ((1.1, 10), (-0.1, 10), (math.nan, 10), (0.5, 0)):
        with pytest.raises(UsageError, match="has no interval"):
            wilson(p, n)
    for r, n in ((1.1, 10), (math.nan, 10), (0.5, 3)):
        with pytest.raises(UsageError, match="has no interval"):
            fisher_z(r, n)
    with pytest.raises(UsageError, match="error is 'jackknife'"):
        fisher_z(0.5, 10, error="jackknife")
    with pytest.raises(UsageError, match="not finite"):
        observed_range([0.5, math.nan], 10)
    with pytest.raises(UsageError, match="confidence is 1"):
        wilson(0.5, 10, confidence=1)


def test_nan_and_none_are_one_form() -> None:
    """A record, a table and a page know None alone; who reckons gets NaN, which is in no interval."""
    bare = Estimate(0.5, math.nan, math.nan, 1)
    assert (bare.value, bare.low, bare.high) == (0.5, None, None)
    assert Estimate(math.nan).value is None
    assert math.isnan(Estimate(None).point)
    assert np.isnan([*bare.ends, bare.width]).all()
    assert not bare.contains(0.5)
    assert bare.excludes(0.5) is None


def test_a_number_lies_in_an_interval_or_outside() -> None:
    """Ends belong to it."""
    found = Estimate(0.5, 0.4, 0.6, 10)
    assert [found.contains(number) for number in (0.39, 0.4, 0.6, 0.61)] == [False, True, True, False]
    assert [found.excludes(number) for number in (0.39, 0.4, None)] == [True, False, None]
    assert found.width == pytest.approx(0.2)


def test_a_mean_of_independent_estimates_holds() -> None:
    """Five shares of 25 items each, some of them rare: the interval has their true mean as often as it says."""
    rng = np.random.default_rng(11)
    shares, n, held = np.array([0.05, 0.1, 0.3, 0.5, 0.9]), 25, 0
    for _ in range(600):
        found = [wilson(hits / n, n) for hits in rng.binomial(n, shares)]
        held += average_independent_estimates(found, "").contains(shares.mean())
    assert 0.93 <= held / 600 <= 0.985


def test_a_mean_with_an_unknown_part_has_no_interval() -> None:
    """Nor a value, where one has none."""
    bare = average_independent_estimates([wilson(0.5, 9), Estimate(0.1)], "")
    assert (bare.value, bare.low) == (pytest.approx(0.3), None)
    assert average_independent_estimates([wilson(0.5, 9), Estimate(None)], "").value is None
