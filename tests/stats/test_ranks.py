"""Pairwise comparisons of systems and the ranks they leave possible."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats import Estimate, compare_replicates, holm, rank_intervals, rank_ranges


def normal(means: list[float], spread: float = 0.01, resamples: int = 400, seed: int = 0) -> np.ndarray:
    """Replicates (systems, resamples) around the means."""
    draws = np.random.default_rng(seed).normal(size=(len(means), resamples))
    return np.array(means)[:, None] + spread * draws


def test_pairs_by_hand() -> None:
    """Error = standard deviation of the replicates' differences; z, p, interval and Holm follow from it."""
    replicates, estimates = normal([0.5, 0.52, 0.9]), [0.5, 0.52, 0.9]
    pairs = compare_replicates(replicates, estimates)
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    first = pairs[0]
    error = np.std(replicates[0] - replicates[1], ddof=1)
    assert first.difference == pytest.approx(-0.02)
    assert first.error == pytest.approx(error)
    assert first.statistic == pytest.approx(-0.02 / error)
    assert first.p == pytest.approx(math.erfc(0.02 / error / math.sqrt(2)))
    assert (first.low, first.high) == pytest.approx((-0.02 - 1.959964 * error, -0.02 + 1.959964 * error))
    assert [pair.p_adjusted for pair in pairs] == holm([pair.p for pair in pairs])


def test_shared_resamples_are_paired() -> None:
    """Noise common to two systems leaves their difference sharp."""
    shared = np.random.default_rng(1).normal(0, 0.2, 400)
    replicates = np.stack([0.50 + shared, 0.51 + shared + np.random.default_rng(2).normal(0, 0.001, 400)])
    [pair] = compare_replicates(replicates, [0.50, 0.51])
    assert pair.p < 1e-10


def test_certain_differences() -> None:
    """Without any spread, equal systems are equal and others differ; the last bits decide nothing."""
    replicates = np.array([[0.5, 0.6], [0.5 + 1e-16, 0.6 + 1e-16], [0.7, 0.8]])
    same, different, _ = compare_replicates(replicates, [0.55, 0.55 + 1e-16, 0.75])
    assert (same.p, same.statistic) == (1, 0)
    assert (different.p, different.statistic) == (0, -math.inf)


def test_rank_ranges() -> None:
    """1 + those that beat it to all less those it beats: a leader, two that are alike, a last."""
    means = [0.5, 0.9, 0.505, 0.1]
    assert rank_ranges(normal(means), means) == ((2, 3), (1, 1), (2, 3), (4, 4))
    assert rank_ranges(normal([0.4]), [0.4]) == ((1, 1),)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.integers(0, 3))
def test_ranges_hold_the_rank(means: list[float], seed: int) -> None:
    """The rank by the estimate always lies in the range, and a wider alpha never widens it."""
    replicates = normal(means, spread=0.2, resamples=50, seed=seed)
    ranges = rank_ranges(replicates, means)
    for mean, (best, worst), (best_5, worst_5) in zip(
        means, rank_ranges(replicates, means, alpha=0.5), ranges, strict=True
    ):
        assert 1 <= best_5 <= best <= 1 + sum(other > mean for other in means) <= worst <= worst_5 <= len(means)


def test_rank_intervals() -> None:
    """Ranks by the mean with their ranges, from per-item scores as a mapping or a matrix."""
    rng = np.random.default_rng(3)
    difficulty = rng.random(300)
    scores = {
        "low": difficulty,
        "high": difficulty + 0.3 + rng.normal(0, 0.05, 300),
        "middle": difficulty + 0.1 + rng.normal(0, 0.05, 300),
        "like middle": difficulty + 0.1 + rng.normal(0, 0.05, 300),
    }
    results = rank_intervals(scores)
    assert all(isinstance(result, Estimate) for result in results)
    assert [(result.low, result.high) for result in results] == [(4, 4), (1, 1), (2, 3), (2, 3)]
    assert sorted(result.value for result in results) == [1, 2, 3, 4]
    assert results[0].n == 300
    assert rank_intervals(np.stack(list(scores.values()))) == results


def test_refused() -> None:
    """Shapes that do not fit, undefined systems, too few resamples or items."""
    with pytest.raises(UsageError, match="do not match"):
        compare_replicates([[1, 2], [2, 3]], [1])
    with pytest.raises(UsageError, match="do not match"):
        compare_replicates([[1], [2]], [1, 2])
    with pytest.raises(UsageError, match="not finite"):
        rank_ranges([[1, 2], [2, math.nan]], [1, 2])
    with pytest.raises(UsageError, match="shapes"):
        rank_intervals({"a": [1, 2], "b": [1]})
    with pytest.raises(UsageError, match="shapes"):
        rank_intervals({"a": [1], "b": [2]})
    with pytest.raises(UsageError, match="1 of 2 items"):
        rank_intervals({"a": [1, math.nan], "b": [1, 2]})
