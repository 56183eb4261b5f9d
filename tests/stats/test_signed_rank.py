"""Hodges-Lehmann and Wilcoxon: the published PTEB figures, scipy, and brute force."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.stats import hodges_lehmann, holm, wilcoxon
from embassay.stats.resampling import are_replicates_constant
from embassay.stats.tests import compute_walsh_averages

# PTEB table 6, column PTEB, datasets BIOSSES, SICK-R, STS12-STS15, STS17, STS22, STSB.
BASELINE = [77.22, 77.45, 61.85, 78.91, 72.14, 81.58, 85.06, 69.39, 74.90]
MODELS = {
    "embeddinggemma": [64.67, 70.28, 54.95, 73.70, 65.03, 74.47, 75.28, 63.21, 66.97],
    "mxbai": [84.06, 78.24, 67.91, 84.19, 78.41, 85.05, 85.00, 68.97, 82.20],
    "e5-mistral": [77.68, 79.01, 68.23, 84.35, 78.12, 86.20, 85.61, 67.49, 82.56],
    "qwen3": [81.44, 81.88, 67.21, 82.90, 77.10, 86.50, 88.60, 66.49, 84.56],
}
SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])
differences = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=11)


def test_pteb_table_14() -> None:
    """The four shifts and their Holm p, from the run means of table 6."""
    shifts = {name: np.subtract(BASELINE, values) for name, values in MODELS.items()}
    assert [hodges_lehmann(d).value for d in shifts.values()] == pytest.approx([7.17, -3.62, -3.42, -4.455])
    tests = [wilcoxon(d) for d in shifts.values()]
    assert [test.value for test in tests] == pytest.approx([7.17, -3.62, -3.42, -4.455])
    assert {test.method for test in tests} == {"exact signed-rank test"}
    assert holm([test.p for test in tests]) == pytest.approx([0.0156, 0.0391, 0.0391, 0.0234], abs=5e-5)


def test_pteb_table_7() -> None:
    """All 54 differences of one sign, family of 4: 6.503e-10 by the normal approximation."""
    result = wilcoxon(np.arange(1.0, 55))
    assert 4 * result.p == pytest.approx(6.503e-10, rel=1e-3)
    assert "normal approximation" in result.method


def test_hodges_lehmann_by_hand() -> None:
    """Self-pairs belong to the averages: {0, 0, 10} gives 0 0 0 5 5 10, so 2.5."""
    assert compute_walsh_averages([0, 0, 10]).tolist() == [0, 0, 0, 5, 5, 10]
    assert hodges_lehmann([0, 0, 10]).value == 2.5
    assert hodges_lehmann([1, 2, 3]).value == 2
    single = hodges_lehmann([4.2])
    assert single.value == 4.2
    assert single.low is None


@given(differences, st.integers(0, 3))
def test_hodges_lehmann_replicates_are_those_of_the_resamples(d: list[float], seed: int) -> None:
    """The interval holds the quantiles of the shifts of the resamples, each from its own averages."""
    if len(d) == 1:
        return
    rows = make_seeded_generator(seed).integers(0, len(d), size=(60, len(d)))
    shifts = [np.median([(x + y) / 2 for x, y in combinations_with_replacement(np.array(d)[row], 2)]) for row in rows]
    result = hodges_lehmann(d, n_resamples=60, rng=make_seeded_generator(seed))
    if are_replicates_constant(np.array(shifts)):
        assert result.low is None
        assert result.high is None
    else:
        assert (result.low, result.high) == pytest.approx(tuple(np.quantile(shifts, [0.025, 0.975])))


def test_hodges_lehmann_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the blocks is invisible."""
    d = np.random.default_rng(0).normal(size=20)
    expected = hodges_lehmann(d, n_resamples=50)
    monkeypatch.setattr("embassay.stats.tests._CELLS", 1)
    assert hodges_lehmann(d, n_resamples=50) == expected


@given(differences)
def test_small_samples_are_exact(d: list[float]) -> None:
    """p is twice the share of all sign patterns with as small a rank sum, also with ties and zeros."""
    result = wilcoxon(d)
    moved = [x for x in d if x]
    ranks = scipy.stats.rankdata(np.abs(moved)) if moved else np.array([])
    sums = [float(np.dot(ranks, signs)) for signs in product([0, 1], repeat=len(moved))]
    share = np.mean([total <= result.statistic for total in sums])
    assert result.p == pytest.approx(min(1.0, 2 * share))


@pytest.mark.parametrize("n", [9, 13, 14, 50, 51, 300])
@pytest.mark.parametrize("digits", [9, 1])
def test_p_values_are_those_of_scipy(n: int, digits: int) -> None:
    """Statistic and p by scipy's defaults, without ties and with many."""
    if digits == 1 and SCIPY < (1, 15):
        pytest.skip("scipy before 1.15 takes another method where there are ties")
    d = np.round(np.random.default_rng(n).normal(0.2, 1, n), digits)
    expected = scipy.stats.wilcoxon(d)
    result = wilcoxon(d)
    assert result.statistic == expected.statistic
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [6, 20, 60])
def test_the_interval_inverts_the_test(n: int) -> None:
    """A shift just inside the interval is not rejected at 5%, one just outside is."""
    d = np.random.default_rng(n).normal(size=n)
    result = wilcoxon(d)
    assert result.low < result.value < result.high
    for end, inward in ((result.low, 1e-6), (result.high, -1e-6)):
        assert wilcoxon(d - (end + inward)).p > 0.05
        assert wilcoxon(d - (end - inward)).p <= 0.05


def test_too_few_differences_exclude_nothing() -> None:
    """Five differences cannot reach 5%, so no shift is excluded; zeros alone are no evidence."""
    result = wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (result.low, result.high, result.p) == (-math.inf, math.inf, 0.0625)
    assert wilcoxon([0.0, 0.0]).p == 1
    assert wilcoxon(np.zeros(60)).p == 1


def test_many_differences() -> None:
    """Above 5,000 the pairs would not fit: the test stays, the shift is left out and said so."""
    d = np.random.default_rng(1).normal(0.1, 1, 5001)
    result = wilcoxon(d)
    assert result.value is None
    assert result.method.endswith("shift not estimated")
    assert result.p < 1e-6
    with pytest.raises(UsageError, match="5001 differences"):
        hodges_lehmann(d)


def test_refused() -> None:
    """No differences and undefined ones."""
    with pytest.raises(UsageError, match="shape"):
        wilcoxon([])
    with pytest.raises(UsageError, match="1 of 2 items"):
        hodges_lehmann([1.0, math.nan])
