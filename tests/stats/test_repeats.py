"""Tests of new answers against repeats: hand-worked values, exact laws, and worlds without a change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from embassay.stats.repeats import (
    FAR,
    are_distances_above_repeats,
    compute_p_of_total_noise_exceedances,
    find_outliers_and_smallest_p,
)

FLOOR = 1e-12


def test_a_new_value_exceeds_only_above_all_repeats() -> None:
    """Above the largest it counts, at a tie it does not, and below the floor nothing does."""
    repeats = np.array([[0.1, 0.3], [0.1, 0.3], [0.0, 0.0], [0.0, 0.0]])
    new = np.array([0.31, 0.3, 1e-13, 1e-11])
    assert are_distances_above_repeats(new, repeats, FLOOR).tolist() == [True, False, False, True]


def test_one_look_is_binomial() -> None:
    """At one look the total is binomial with a chance of 1 / (repeats + 1)."""
    for total in (1, 5, 20):
        assert compute_p_of_total_noise_exceedances(total, 30, 5, 1) == pytest.approx(
            binom.sf(total - 1, 30, 1 / 6), rel=1e-9
        )


def test_a_window_of_one_item_is_worked_by_hand() -> None:
    """One item, one repeat: the chance to exceed is uniform, so both of two looks do with 1/3."""
    assert compute_p_of_total_noise_exceedances(2, 1, 1, 2) == pytest.approx(1 / 3)
    # The mean of q**3 where q is beta(1, 2): 2 * (1/4 - 1/5).
    assert compute_p_of_total_noise_exceedances(3, 1, 2, 3) == pytest.approx(2 * (1 / 4 - 1 / 5))


def test_nothing_beyond_is_no_evidence() -> None:
    """No total, or no items: p is 1."""
    assert compute_p_of_total_noise_exceedances(0, 10, 5, 7) == compute_p_of_total_noise_exceedances(3, 0, 5, 7) == 1.0


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 30), st.integers(0, 50))
def test_more_is_less_likely(items: int, repeats: int, looks: int, total: int) -> None:
    """p falls with the total and stays in (0, 1]."""
    most = items * looks
    first, second = (
        compute_p_of_total_noise_exceedances(min(total + more, most), items, repeats, looks) for more in (0, 1)
    )
    assert 0 < second <= first <= 1


def test_the_law_holds_in_worlds_without_a_change() -> None:
    """Repeats and seven looks from one heavy-tailed law: totals follow the stated law, and small p are as rare."""
    rng = np.random.default_rng(7)
    worlds, items, repeats, looks = 4_000, 20, 4, 7
    noise = rng.standard_t(2, size=(worlds, items, repeats + looks)) ** 2
    exceeds = noise[..., repeats:] > noise[..., :repeats].max(axis=-1, keepdims=True)
    totals = exceeds.sum(axis=(1, 2))
    for level in (0.2, 0.05, 0.01):
        share = np.mean(
            [compute_p_of_total_noise_exceedances(int(total), items, repeats, looks) <= level for total in totals]
        )
        assert share <= level + 3 * np.sqrt(level * (1 - level) / worlds)
        assert share >= 0.5 * level


def test_one_answer_far_off_is_an_outlier() -> None:
    """A value a hundred times the noise is found, and its item named; one within the tail is not."""
    rng = np.random.default_rng(0)
    repeats = 0.01 * np.exp(0.1 * rng.standard_normal((60, 5)))
    new = 0.01 * np.exp(0.1 * rng.standard_normal(60))
    assert find_outliers_and_smallest_p(new, repeats, FLOOR)[1] > 1e-3
    new[13] = 1.0
    outlying, p = find_outliers_and_smallest_p(new, repeats, FLOOR)
    assert outlying.nonzero()[0].tolist() == [13]
    assert p < 1e-9


def test_near_the_furthest_repeat_nothing_is_an_outlier() -> None:
    """However regular the noise is, less than FAR times its furthest repeat is none."""
    repeats = np.full((10, 5), 0.01)
    assert not find_outliers_and_smallest_p(np.full(10, 0.01 * FAR * 0.99), repeats, FLOOR)[0].any()


def test_one_repeat_has_no_spread() -> None:
    """Of one repeat no spread is known, so nothing is said."""
    assert find_outliers_and_smallest_p(np.ones(5), np.full((5, 1), 0.1), FLOOR)[1] == 1.0
