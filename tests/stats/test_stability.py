"""Orders and how they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from embassay.errors import UsageError
from embassay.stats import NORMAL, best_shares, freedom_of_units, kendall_tau, rank_quantiles, win_probabilities

few = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12)


@given(few)
def test_kendall_tau_is_scipy_s_tau_b(pairs):
    """With any number of ties; undefined where one side is all equal."""
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(kendall_tau(x, y))
    else:
        assert float(kendall_tau(x, y)) == pytest.approx(stats.kendalltau(x, y, variant="b").statistic)


def test_kendall_tau_by_hand():
    """Of six pairs one is discordant: (5 - 1) / 6. Reversed it is -1, and rows are taken one by one."""
    assert float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])) == pytest.approx(4 / 6)
    both = kendall_tau([[1, 2, 3], [1, 2, 3]], [[3, 2, 1], [1, 2, 3]])
    assert both.tolist() == pytest.approx([-1, 1])
    assert np.isnan(kendall_tau([1.0], [2.0]))


def test_win_probabilities_count_ties_half():
    """Two of four replicates above, one equal: 0.625; the reverse is the rest."""
    found = win_probabilities([[3, 3, 2, 1], [1, 1, 2, 2]])
    assert found.tolist() == [[0.5, 0.625], [0.375, 0.5]]


@given(st.integers(2, 6), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_win_probabilities_and_ranks_fit_together(systems, resamples, seed):
    """The chances of a pair sum to 1; ranks lie between 1 and the number of systems, low before high."""
    draws = np.random.default_rng(seed).integers(0, 4, size=(systems, resamples)).astype(float)
    wins = win_probabilities(draws)
    assert np.allclose(wins + wins.T, 1)
    low, high = rank_quantiles(draws)
    assert ((low >= 1) & (low <= high) & (high <= systems)).all()


def test_rank_quantiles_leave_out_the_tails():
    """Best in 99 of 100 replicates: the one other is outside the middle 95%; equal systems hold both ranks."""
    draws = np.array([[2.0] * 99 + [0.0], [1.0] * 100])
    low, high = rank_quantiles(draws)
    assert (low.tolist(), high.tolist()) == ([1, 2], [1, 2])
    low, high = rank_quantiles([[1.0, 1.0], [1.0, 1.0]])
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])


def test_what_is_refused():
    """Orders of other shapes, values that are not finite, no replicates."""
    with pytest.raises(UsageError, match="cannot be compared"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="not finite"):
        kendall_tau([1, np.nan], [1, 2])
    with pytest.raises(UsageError, match="Replicates of shape"):
        win_probabilities([[1.0, np.inf]])
    with pytest.raises(UsageError, match="Replicates of shape"):
        rank_quantiles([1.0, 2.0])


def test_the_best_of_few_items_is_less_sure() -> None:
    """Two systems whose means differ by two errors: the surer, the more items the errors are of; shares sum to 1."""
    draws = np.random.default_rng(0).normal(size=(3, 20_000))
    estimates = [2 * math.sqrt(2), 0.0, -9.0]
    shares = [best_shares(draws, estimates, free) for free in (NORMAL, freedom_of_units(20), freedom_of_units(3))]
    assert [share.sum() for share in shares] == pytest.approx([1] * 3)
    assert shares[0][0] == pytest.approx(0.977, abs=0.005)
    # By t with 2 degrees, the error mended by the root of 3/2.
    assert shares[2][0] == pytest.approx(float(stats.t.cdf(2 / math.sqrt(1.5), 2)), abs=0.01)
    assert shares[0][0] > shares[1][0] > shares[2][0]


def test_equal_systems_share_the_best() -> None:
    draws = np.tile(np.random.default_rng(0).normal(size=50), (2, 1))
    assert best_shares(draws, [0.5, 0.5], freedom_of_units(4)).tolist() == [0.5, 0.5]
