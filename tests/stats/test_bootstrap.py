"""Bootstrap replicates and intervals: what they equal, what they promise, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, skew

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.stats import (
    Estimate,
    Significance,
    bootstrap_ci,
    corrected_interval,
    paired_bootstrap,
    percentile_interval,
    resample_means,
    stratified_means,
)
from embassay.stats import resampling as module


def drawn(n: int, n_resamples: int, seed: int) -> np.ndarray:
    """The promised draws, made in one call."""
    return make_seeded_generator(seed).integers(0, n, size=(n_resamples, n))


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 50), st.integers(0, 5))
def test_resample_means_are_means_of_the_drawn_rows(n: int, m: int, resamples: int, seed: int) -> None:
    """Equal to indexing the columns with the drawn rows and averaging."""
    columns = np.random.default_rng(seed).normal(size=(n, m))
    expected = columns[drawn(n, resamples, seed)].mean(axis=1)
    means = resample_means(columns, n_resamples=resamples, rng=make_seeded_generator(seed))
    assert means.shape == (resamples, m)
    assert np.allclose(means, expected, atol=1e-12)


@pytest.mark.parametrize(("products", "draws"), [(1, 1), (500, 90), (1 << 30, 1 << 30)])
def test_blocks_do_not_change_the_draws(products: int, draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the blocks is invisible."""
    columns = np.random.default_rng(0).normal(size=(23, 3))
    expected = resample_means(columns, n_resamples=37, rng=make_seeded_generator(5))
    monkeypatch.setattr(module, "_PRODUCTS", products)
    monkeypatch.setattr(module, "_DRAWS", draws)
    assert np.allclose(resample_means(columns, n_resamples=37, rng=make_seeded_generator(5)), expected, atol=1e-14)


def test_one_seed_draws_the_same_rows_for_every_system() -> None:
    """Differences of separately resampled systems are those of systems resampled together."""
    table = np.random.default_rng(1).random((50, 2))
    together = resample_means(table, n_resamples=100, rng=make_seeded_generator(7))
    apart = [resample_means(table[:, i], n_resamples=100, rng=make_seeded_generator(7))[:, 0] for i in range(2)]
    assert np.allclose(apart[0] - apart[1], together[:, 0] - together[:, 1], atol=1e-14)


def test_the_draws_are_these() -> None:
    """A change of numpy's stream, which would change published intervals, is noticed."""
    assert drawn(10, 1, 1337)[0].tolist() == [0, 7, 6, 8, 7, 8, 5, 6, 2, 5]


def test_strata_are_drawn_apart_and_weigh_the_same() -> None:
    """The mean of the strata's replicates, drawn in order from one generator."""
    first, second = np.random.default_rng(2).random((40, 2)), np.random.default_rng(3).random((9, 2))
    rng = make_seeded_generator(4)
    expected = sum(resample_means(part, n_resamples=20, rng=rng) for part in (first, second)) / 2
    assert np.allclose(stratified_means([first, second], n_resamples=20, rng=make_seeded_generator(4)), expected)
    with pytest.raises(UsageError, match=r"2 strata have \[2, 1\] columns"):
        stratified_means([first, second[:, :1]], n_resamples=20, rng=make_seeded_generator(4))
    with pytest.raises(UsageError, match="0 strata"):
        stratified_means([], n_resamples=20, rng=make_seeded_generator(4))


def test_percentile_interval() -> None:
    """Quantiles by linear interpolation; few undefined replicates are left out, many make it undefined."""
    replicates = np.arange(101.0)
    assert percentile_interval(replicates, 0.95) == pytest.approx((2.5, 97.5))
    assert percentile_interval([*replicates, math.nan]) == pytest.approx((2.5, 97.5))
    assert all(math.isnan(end) for end in percentile_interval([*replicates, *[math.nan] * 10]))
    with pytest.raises(UsageError, match=r"shape \(0,\)"):
        percentile_interval([])
    with pytest.raises(UsageError, match="confidence is 95"):
        percentile_interval(replicates, 95)


def test_bootstrap_ci_of_any_statistic() -> None:
    """The mean by the fast way, vectorised and row-wise statistics all see the same resamples."""
    x = np.random.default_rng(5).random(30)
    fast = bootstrap_ci(x)
    slow = bootstrap_ci(x, lambda values: float(np.mean(values)))
    vectorised = bootstrap_ci(x, lambda values, axis=None: np.mean(values, axis=axis))
    for other in (slow, vectorised):
        assert (other.value, other.low, other.high) == pytest.approx((fast.value, fast.low, fast.high))
    assert isinstance(fast, Estimate)
    assert (fast.n, fast.method) == (30, "95% percentile bootstrap, 2000 resamples")
    assert bootstrap_ci(x, max, n_resamples=50).high == x.max()
    assert bootstrap_ci(x, rng=make_seeded_generator(1337, "resample")) == fast
    assert bootstrap_ci(x, seed=1) != fast


def test_bootstrap_ci_of_rows() -> None:
    """Rows of several numbers are resampled whole."""
    pairs = np.random.default_rng(6).random((40, 2))
    shifted = np.column_stack([pairs[:, 0], pairs[:, 0] + pairs[:, 1]])
    result = bootstrap_ci(shifted, lambda rows: float((rows[:, 1] - rows[:, 0]).mean()), n_resamples=50)
    alone = bootstrap_ci(pairs[:, 1], n_resamples=50)
    ends = alone.value, alone.low, alone.high
    assert (result.value, result.low, result.high) == pytest.approx(ends)


def test_paired_bootstrap() -> None:
    """The interval of the mean difference, and a p that is small when it is clearly off 0."""
    rng = np.random.default_rng(7)
    b = rng.random(200)
    a = b + 0.05 + rng.normal(0, 0.1, 200)
    result = paired_bootstrap(a, b)
    assert isinstance(result, Significance)
    assert result.value == pytest.approx((a - b).mean())
    assert 0 < result.low < result.value < result.high
    assert result.p < 0.001
    mirrored = paired_bootstrap(b, a)
    assert (mirrored.value, mirrored.low, mirrored.high) == pytest.approx((-result.value, -result.high, -result.low))
    assert mirrored.p == result.p


def test_no_difference_is_no_evidence() -> None:
    """Equal systems have p = 1 and no interval, for no resample says how far others would differ."""
    result = paired_bootstrap([0.1, 0.5, 0.7], [0.1, 0.5, 0.7])
    assert (result.value, result.p) == (0, 1)
    assert result.low is None
    assert result.high is None
    assert "every resample gives the same" in result.method


def test_one_item_has_no_interval() -> None:
    """It says nothing about the spread: NaN, and the method says why."""
    for result in (bootstrap_ci([0.4]), paired_bootstrap([0.4], [0.2])):
        assert result.low is None
        assert result.high is None
        assert result.method == "no interval from one item"
    assert math.isnan(paired_bootstrap([0.4], [0.2]).p)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_ci([]), r"shape \(0,\)"),
        (lambda: bootstrap_ci([1, math.nan, math.nan]), "2 of 3 items, the first at position 1"),
        (lambda: bootstrap_ci([1, 2], n_resamples=0), "resamples is 0"),
        (lambda: paired_bootstrap([1, 2], [1]), "a has 2 items and b has 1"),
        (lambda: resample_means([[1, math.inf]], n_resamples=1, rng=make_seeded_generator(1)), "1 of 1 items"),
        (lambda: resample_means(3.0, n_resamples=1, rng=make_seeded_generator(1)), "shape"),
    ],
)
def test_refused(call, message: str) -> None:
    """Undefined items, misfits and nothing at all are errors, never averaged away."""
    with pytest.raises(UsageError, match=message):
        call()


def test_an_accelerated_interval_is_efrons() -> None:
    """Ends at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), a being a sixth of the skewness: by scipy, of a skewed mean."""
    values = np.random.default_rng(3).exponential(1.0, 40)
    draws = resample_means(values, n_resamples=4000, rng=np.random.default_rng(4))[:, 0]
    z0, a = norm.ppf((draws < values.mean()).mean()), skew(draws) / 6
    steps = z0 + np.array([-1, 1]) * norm.ppf(0.975)
    expected = np.quantile(draws, norm.cdf(z0 + steps / (1 - a * steps)))
    assert corrected_interval(draws, values.mean(), accelerated=True) == pytest.approx(tuple(expected))
    assert corrected_interval(draws, values.mean())[1] < expected[1]
