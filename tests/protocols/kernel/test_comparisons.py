"""Over datasets and tasks."""

from dataclasses import replace

import numpy as np
import pytest

from embassay.protocols.kernel.comparisons import (
    SystemHeadlineValue,
    SystemStanding,
    average_headline_components,
    compare_headlines_of_all_systems,
    read_standings,
    write_standings,
)
from embassay.records import HeadlineComponent


def test_mean_over_datasets_pairs_the_resamples():
    """Replicate b of the mean is the mean of the replicates b; a dataset without an interval is held fixed."""
    parts = [HeadlineComponent(0.2, 10, np.array([0.1, 0.3])), HeadlineComponent(0.6, 5)]
    mean = average_headline_components(parts, harmonic=False)
    assert (mean.value, mean.n) == (pytest.approx(0.4), 15)
    np.testing.assert_allclose(mean.replicates, [0.35, 0.45])


def test_harmonic_mean_over_datasets_is_zero_with_a_zero():
    """The option of [A20]: one dataset that keeps nothing makes it 0."""
    parts = [HeadlineComponent(0.5, 1, np.array([0.5])), HeadlineComponent(0.0, 1, np.array([0.0]))]
    assert average_headline_components(parts, harmonic=True).value == 0


def test_systems_far_apart_are_ranked_and_equal_ones_are_not():
    """Ranges come from paired tests: two that differ by noise share ranks 1-2, a worse one has 3."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.02, 500)
    headlines = [
        SystemHeadlineValue("worst", 0.2, 9, 0.2 + noise + rng.normal(0, 0.005, 500)),
        SystemHeadlineValue("a", 0.501, 9, 0.501 + noise + rng.normal(0, 0.01, 500)),
        SystemHeadlineValue("b", 0.5, 9, 0.5 + noise + rng.normal(0, 0.01, 500)),
        SystemHeadlineValue("gone", None, 0, np.empty(0), reason="failed"),
    ]
    scope = compare_headlines_of_all_systems(headlines)
    assert scope["systems"] == ["a", "b", "worst"]
    assert list(zip(scope["rank_low"], scope["rank_high"], strict=True)) == [(1, 2), (1, 2), (3, 3)]
    assert scope["best"] == ["a", "b"]
    assert len(scope["pairs"]) == 3


def test_no_interval_no_ranks():
    """A single clustering set cannot be resampled, so nobody is ranked on it, and it says why."""
    scope = compare_headlines_of_all_systems(
        [SystemHeadlineValue("a", 0.5, 9, np.empty(0)), SystemHeadlineValue("b", 0.4, 9, np.empty(0))]
    )
    assert scope["rank_low"] == []
    assert "no interval" in scope["reason"]
    assert (
        "fewer than two" in compare_headlines_of_all_systems([SystemHeadlineValue("a", 0.5, 9, np.empty(0))])["reason"]
    )


def test_an_interval_does_not_leave_the_range_of_its_measure(tmp_path) -> None:
    """Three sets near 1: t errors reach beyond it. A value that is itself beyond keeps its own end."""
    draws = np.random.default_rng(0).normal(0.95, 0.05, 400)
    free = SystemHeadlineValue("a", 0.95, 3, draws)
    low, high = free.interval
    assert high is not None
    assert high > 1
    assert replace(free, bounds=(0.0, 1.0)).interval == (low, 1.0)
    write_standings(tmp_path, [SystemStanding("t", "", "m", one) for one in (free, replace(free, bounds=(0.0, 1.0)))])
    assert [one.headline.bounds[1] for one in read_standings(tmp_path)] == [np.inf, 1.0]
    assert replace(free, value=1.2, bounds=(0.0, 1.0)).interval[1] == 1.2
