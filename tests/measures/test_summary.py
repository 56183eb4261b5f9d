"""Means that say of how many, %PROC against the published ratios, and accuracy where all was found."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import accuracy_given_hit, count_over_one, macro, percent_proc

NA = math.nan
# Actual, ceiling, and the printed %PROC. Spec rag 6.3: hybrid with the strong reranker, RA-nWG and N-Recall4+ at 10 and
# 30; then the leaderboards @10 and @30 of dense lists (tables 5 and 6).
PUBLISHED = [
    (0.852, 1.000, 85.2),
    (0.918, 0.988, 92.9),
    (0.882, 1.000, 88.2),
    (0.930, 0.985, 94.4),
    (0.805, 0.921, 87.4),
    (0.805, 0.967, 83.2),
    (0.804, 0.906, 88.7),
    (0.798, 0.957, 83.4),
    (0.795, 0.959, 82.9),
    (0.828, 0.898, 92.2),
    (0.824, 0.892, 92.4),
    (0.819, 0.889, 92.1),
    (0.818, 0.936, 87.4),
    (0.817, 0.847, 96.5),
]


@pytest.mark.parametrize(("actual", "proc", "printed"), PUBLISHED)
def test_published_shares(actual: float, proc: float, printed: float) -> None:
    """The ratio of the two printed means is the printed share, to its digit."""
    assert 100 * percent_proc(actual, proc).share == pytest.approx(printed, abs=0.0501)


def test_a_share_is_of_the_queries_where_both_are_defined() -> None:
    """Ratio of means by default, mean of ratios if asked; neither takes NaN for 0."""
    actual, proc = [0.4, NA, 0.6, 0.9, 0.0], [0.8, 0.9, 1.0, NA, 0.0]
    ratio = percent_proc(actual, proc)
    assert (ratio.share, ratio.n_valid, ratio.n_total, ratio.n_over) == (pytest.approx(1.0 / 1.8), 3, 5, 0)
    mean = percent_proc(actual, proc, per_query_mean=True)
    assert (mean.share, mean.n_valid) == (pytest.approx((0.5 + 0.6) / 2), 2)
    nothing = percent_proc([0.0, NA], [0.0, NA])
    assert math.isnan(nothing.share)
    assert nothing.n_valid == 1
    assert math.isnan(percent_proc([], []).share)


def test_a_list_above_its_ceiling_is_counted() -> None:
    """Trap T7: over 100% the pool is not the list's. Rounding is no such thing."""
    assert percent_proc([0.9, 0.5], [0.6, 0.5 - 1e-12]).n_over == 1
    assert count_over_one([1.5, 1 + 1e-12, NA, 0.2]) == 1


@given(st.lists(st.one_of(st.just(NA), st.floats(0, 1))))
def test_a_mean_says_of_how_many(values: list[float]) -> None:
    """NaN is left out and counted, never 0."""
    known = [value for value in values if not math.isnan(value)]
    mean, n_valid, n_total = macro(values)
    assert (n_valid, n_total) == (len(known), len(values))
    assert mean == pytest.approx(sum(known) / len(known) if known else NA, nan_ok=True)


def test_accuracy_given_hit() -> None:
    """Over the hits whose answer was judged; the rates over where a hit is defined, and where it is possible."""
    hits = [1, 1, 0, NA, 1, 0]
    correct = [1, 0, 1, 1, NA, 0.5]
    found = accuracy_given_hit(hits, correct, [True, True, False, True, True, True])
    assert (found.accuracy, found.n_hits) == (0.5, 2)
    assert (found.accuracy_feasible, found.n_hits_feasible) == (0.5, 2)
    assert (found.hit_rate, found.n) == (0.6, 5)
    assert (found.hit_rate_feasible, found.n_feasible) == (0.75, 4)
    none = accuracy_given_hit([0, NA], [1, 1])
    assert math.isnan(none.accuracy)
    assert (none.n_hits, none.hit_rate) == (0, 0)


def test_what_does_not_fit_is_refused() -> None:
    """Other lengths, answers that are no share, tables."""
    with pytest.raises(UsageError, match="2 hits, 1 answers"):
        accuracy_given_hit([1, 0], [1])
    with pytest.raises(UsageError, match="not from 0"):
        accuracy_given_hit([1], [2])
    with pytest.raises(UsageError, match="2 values and 1 ceilings"):
        percent_proc([1, 0], [1])
    with pytest.raises(UsageError, match="shape"):
        macro([[1.0], [0.0]])
