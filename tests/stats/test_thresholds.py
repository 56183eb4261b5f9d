"""Thresholds keep what they promise, and say what would do where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from embassay.errors import UsageError
from embassay.stats.calibration import cheapest, labels_for, precise, sensitive


def drawn(rng, n, slope=2.5):
    """Scores, labels by a logistic curve."""
    scores = rng.normal(size=n)
    return scores, rng.random(n) < 1 / (1 + np.exp(-slope * scores))


@pytest.fixture(scope="module")
def population():
    return drawn(np.random.default_rng(5), 200_000)


def precision_of(population, value):
    scores, same = population
    return same[scores >= value].mean()


def test_precision_is_broken_in_no_more_than_one_of_twenty(population):
    """300 studies of 200 labels; 5% of them is 15, and 24 has odds of 1 in 100."""
    rng, given, broken = np.random.default_rng(1), 0, 0
    for _ in range(300):
        found = precise(*drawn(rng, 200), 0.8, 0.95, rng)
        given += found.value is not None
        broken += found.value is not None and precision_of(population, found.value) < 0.8
    assert given > 180
    assert broken <= binom.ppf(0.99, 300, 0.05)


def test_recall_is_broken_in_no_more_than_one_of_twenty(population):
    scores, same = population
    rng, broken = np.random.default_rng(2), 0
    for _ in range(300):
        found = sensitive(*drawn(rng, 150), 0.9, 0.95)
        broken += found.value is not None and (scores[same] >= found.value).mean() < 0.9
    assert 0 < broken <= binom.ppf(0.99, 300, 0.05)


def test_the_worked_bound():
    """29 right of 29 show precision 0.9 (0.9 ** 29 < 0.05), 28 do not; the pair at the threshold is not counted."""
    scores, same = np.arange(30.0), np.ones(30, dtype=bool)
    rng = np.random.default_rng(0)
    assert precise(scores, same, 0.9, 0.95, rng).value == 0.0
    assert precise(scores[1:], same[1:], 0.9, 0.95, rng).value is None


def test_equal_scores_are_accepted_together():
    """No threshold lies between pairs of one score."""
    scores = np.repeat([3.0, 2.0, 1.0], 40)
    same = np.repeat([True, False, False], 40)
    found = precise(scores, same, 0.9, 0.95, np.random.default_rng(0))
    assert (found.value, found.accepted, found.right) == (3.0, 40, 40)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0.5, 0.9, 0.99]))
def test_what_is_told_is_what_the_sample_has(seed, n, aim):
    """Counts agree with the rule `score >= value`, at any size, for both measures."""
    rng = np.random.default_rng(seed)
    scores, same = rng.integers(0, 9, n).astype(float), rng.random(n) < 0.7
    for found in (precise(scores, same, aim, 0.9, rng), sensitive(scores, same, aim, 0.9)):
        assert (found.n, found.positives) == (n, same.sum())
        if found.value is not None:
            accepted = scores >= found.value
            assert (found.accepted, found.right) == (accepted.sum(), (accepted & same).sum())
            assert found.value in scores


def test_more_labels_are_asked_for_only_where_they_would_do():
    """A curve that reaches 0.97 needs a finite number, which then suffices in most studies; one at 0.6 never does."""
    rng = np.random.default_rng(3)
    scores, _ = drawn(rng, 2_000, 3.0)
    probability = 1 / (1 + np.exp(-3.0 * scores))
    labels, best = labels_for(probability, 0.9, 0.95)
    assert best > 0.95
    assert labels is not None
    given = [precise(*drawn(rng, labels, 3.0), 0.9, 0.95, rng).value is not None for _ in range(60)]
    assert np.mean(given) > 0.6
    assert labels_for(np.full(500, 0.6), 0.9, 0.95) == (None, pytest.approx(0.6))


def test_the_cheapest_threshold_is_told_of_the_other_half():
    """The bound holds for the cost of the population; dear mistakes raise the threshold."""
    rng, held = np.random.default_rng(4), 0
    whole = drawn(rng, 100_000)
    for _ in range(100):
        found = cheapest(*drawn(rng, 300), 5.0, 1.0, 0.95, rng)
        accepted = whole[0] >= (np.inf if found.value is None else found.value)
        cost = 5.0 * (accepted & ~whole[1]).mean() + (~accepted & whole[1]).mean()
        held += cost <= found.most
    assert held >= 93
    sample = drawn(rng, 2_000)
    values = [cheapest(*sample, wrong, 1.0, 0.95, np.random.default_rng(0)).value for wrong in (1.0, 20.0)]
    assert values[0] < values[1]


def test_shares_are_shares():
    for aim, confidence in ((1.0, 0.95), (0.9, 0.0)):
        with pytest.raises(UsageError, match="between 0 and 1"):
            precise(np.zeros(3), np.ones(3, bool), aim, confidence, np.random.default_rng(0))
    with pytest.raises(UsageError, match="below 0"):
        cheapest(np.zeros(3), np.ones(3, bool), -1.0, 1.0, 0.95, np.random.default_rng(0))
