"""Whether more runs are needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from embassay.errors import UsageError
from embassay.protocols.wordings.scores import (
    compute_drop_half_widths,
    compute_half_width_over_sources,
    needs_more_runs,
)


@given(st.integers(1, 4), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_the_half_width_is_that_of_the_t_interval(systems, runs, seed):
    """Of every system, over its runs."""
    deltas = np.random.default_rng(seed).normal(0, 0.01, (systems, runs))
    low, high = stats.t.interval(0.95, runs - 1, loc=deltas.mean(axis=1), scale=stats.sem(deltas, axis=1))
    assert compute_drop_half_widths(deltas) == pytest.approx((high - low) / 2)
    widest = 100 * compute_drop_half_widths(deltas).max()
    assert needs_more_runs(deltas, widest * 0.999)
    assert not needs_more_runs(deltas, widest * 1.001)


def test_runs_are_added_until_a_direct_computation_stops():
    """One at a time, as a run does: it stops where t(0.975, n - 1) s / sqrt(n) first falls to half a point."""
    deltas = np.random.default_rng(4).normal(-0.05, 0.008, (2, 60))
    runs = 2
    while needs_more_runs(deltas[:, :runs], 0.5):
        runs += 1
    widths = [max(stats.t.ppf(0.975, n - 1) * row[:n].std(ddof=1) / n**0.5 for row in deltas) for n in range(2, 61)]
    assert runs == 2 + next(place for place, width in enumerate(widths) if width <= 0.005)
    assert 5 < runs < 30


def test_one_run_is_not_enough_and_the_widest_system_decides():
    """One run has no spread; one system that varies is enough for another run."""
    assert needs_more_runs([[-0.05]], 10)
    assert not needs_more_runs([[0.01, 0.01]], 0.5)
    assert needs_more_runs([[0.01, 0.01], [0.0, 0.1]], 0.5)


def test_systems_without_a_score_are_not_waited_for():
    """More runs would not mend them."""
    assert not needs_more_runs([[np.nan, -0.1]], 0.5)
    assert not needs_more_runs([[np.nan, -0.1], [0.01, 0.01]], 0.5)
    assert not needs_more_runs([[np.nan]], 0.5)


def test_what_is_refused():
    """No runs, another shape, a half-width of 0."""
    with pytest.raises(UsageError, match="shape"):
        needs_more_runs([0.1, 0.2], 0.5)
    with pytest.raises(UsageError, match="shape"):
        compute_drop_half_widths(np.empty((3, 0)))
    with pytest.raises(UsageError, match="0 points"):
        needs_more_runs([[0.1, 0.2]], 0)


def test_over_runs_is_the_half_width_and_several_sources_are_averaged() -> None:
    """Of one source the same interval; of two equal ones the standard error of their mean, with all their freedom."""
    drops = np.array([-0.010, -0.012, -0.014, -0.009])
    assert compute_half_width_over_sources([drops]) == pytest.approx(compute_drop_half_widths([drops])[0])
    both = stats.t.ppf(0.975, 6) * np.std(drops, ddof=1) / 2 / np.sqrt(2)
    assert compute_half_width_over_sources([drops, drops]) == pytest.approx(both)
    assert compute_half_width_over_sources([drops, drops[:1]]) is None
    assert compute_half_width_over_sources([]) is None
