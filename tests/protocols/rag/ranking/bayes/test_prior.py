"""What grades say beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, truncnorm

from embassay.protocols.rag.ranking.posterior import (
    RELIABILITY,
    SHARPNESS,
    compute_log_prior_weights,
    estimate_utility_moments_from_grades,
    make_score_priors,
)


def test_moments_are_those_of_a_normal_cut_at_the_grades_frequencies():
    """2 of 10 with grade 1, 5 with 3, 3 with 4, and one without."""
    found = estimate_utility_moments_from_grades([1] * 2 + [3] * 5 + [None] + [4] * 3)
    cuts = norm.ppf([0, 0.2, 0.7, 1])
    for at, low, high in ((0, *cuts[:2]), (4, *cuts[1:3]), (9, *cuts[2:])):
        assert found.mean[at] == pytest.approx(truncnorm.mean(low, high))
        assert found.variance[at] == pytest.approx(truncnorm.var(low, high))
    assert (found.mean[7], found.variance[7]) == (0, 1)


@given(st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=40))
def test_only_the_order_of_grades_counts(grades):
    """Any increasing relabelling gives the same; all moments together are those of a standard normal."""
    found = estimate_utility_moments_from_grades(grades)
    again = estimate_utility_moments_from_grades([None if grade is None else 10 * grade**3 for grade in grades])
    np.testing.assert_array_equal(found.mean, again.mean)
    np.testing.assert_array_equal(found.variance, again.variance)
    assert found.mean.sum() == pytest.approx(0, abs=1e-9)
    assert (found.mean**2 + found.variance).mean() == pytest.approx(1)


@pytest.mark.parametrize("grades", [[], [None, None], [3, 3, 3]])
def test_grades_that_tell_nobody_apart_say_nothing(grades):
    assert estimate_utility_moments_from_grades(grades).has_uninformative_grades


def test_prior_variance_of_scores_is_the_sharpness_squared():
    """Over the pool, at every reliability; and at none the grades do not matter."""
    found = make_score_priors(estimate_utility_moments_from_grades([1, 2, 2, 3, 5]), 0.2)
    scores, spreads = found.means[:, :-1], 1 / found.precisions[:, :-1]
    wanted = np.repeat(SHARPNESS**2, len(RELIABILITY))
    np.testing.assert_allclose((scores**2 + spreads).mean(axis=1), wanted)
    assert not scores[:: len(RELIABILITY)].any()
    np.testing.assert_allclose(found.precisions[:, -1] ** -0.5, 0.2 * np.sqrt(wanted))


def test_weights_are_a_distribution():
    assert np.exp(compute_log_prior_weights()).sum() == pytest.approx(1)


def test_where_most_are_equal_relevance_ends_before_the_top():
    """Nine tenths have grade 1: the border at 10 is inside them, and that at 2, where they begin, counts as well."""
    skewed = estimate_utility_moments_from_grades([5, 3] + [1] * 18)
    assert skewed.has_mostly_tied_grades
    assert skewed.list_relevance_border_places(10) == (2, 10)
    assert skewed.list_relevance_border_places(2) == (2,)  # the border is where they begin
    usual = estimate_utility_moments_from_grades([5, 4, 4, 3, 3, 3, 2, 2, 2, 1])
    assert not usual.has_mostly_tied_grades
    assert usual.list_relevance_border_places(5) == (5,)
    assert estimate_utility_moments_from_grades([None] * 8).list_relevance_border_places(4) == (4,)
    assert estimate_utility_moments_from_grades([]).list_relevance_border_places(1) == (1,)
