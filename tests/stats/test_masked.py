"""Bootstrap and sign test of columns with holes, against the plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.stats import randomization_test, resample_means
from embassay.stats.resampling import compute_sign_flip_p_values, resample_defined_means


def _draw(seed: int, n: int = 70, m: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, m))


@pytest.mark.parametrize("n", [1, 7, 70, 3000])
def test_without_holes_it_is_the_plain_bootstrap(n: int) -> None:
    """The same draws, so the same means but for the order of summation."""
    columns = _draw(1, n)
    plain = resample_means(columns, n_resamples=50, rng=make_seeded_generator(0, "resample"))
    masked = resample_defined_means(columns, n_resamples=50, rng=make_seeded_generator(0, "resample"))
    np.testing.assert_allclose(masked, plain, atol=1e-12)


def test_holes_are_left_out_of_each_resample() -> None:
    """Every column has the mean of its own defined items among those drawn, by hand."""
    columns = _draw(2, 9, 3)
    columns[[0, 4], 1] = np.nan
    columns[1:, 2] = np.nan
    means = resample_defined_means(columns, n_resamples=40, rng=make_seeded_generator(3, "resample"))
    rows = make_seeded_generator(3, "resample").integers(0, 9, size=(40, 9))
    with np.errstate(invalid="ignore"):
        expected = np.array([[_mean(columns[row, i]) for i in range(3)] for row in rows])
    np.testing.assert_allclose(means, expected, atol=1e-12)
    assert np.isnan(means[:, 2]).any()


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def test_what_cannot_be_resampled() -> None:
    """No items, one dimension and infinite values are the caller's mistakes."""
    for columns in (np.empty((0, 2)), np.ones(3), np.array([[np.inf]])):
        with pytest.raises(UsageError, match="columns have the shape"):
            resample_defined_means(columns, n_resamples=5, rng=make_seeded_generator(0))
    with pytest.raises(UsageError, match="columns have the shape"):
        compute_sign_flip_p_values(np.ones(3), n_resamples=5, rng=make_seeded_generator(0))


def test_sign_flips_agree_with_the_test_of_one_column() -> None:
    """p as of `randomization_test`, to what 20,000 patterns leave of chance; holes do not count."""
    columns = _draw(4, 60, 4) + np.array([0.0, 0.1, 0.25, 0.6])
    columns[::3, 3] = np.nan
    found = compute_sign_flip_p_values(columns, n_resamples=20_000, rng=make_seeded_generator(0, "x"))
    for i in range(4):
        known = columns[~np.isnan(columns[:, i]), i]
        one = randomization_test(known, np.zeros(len(known)), n_resamples=20_000)
        assert found[i] == pytest.approx(one.p, abs=0.015)


def test_no_difference_has_p_of_one() -> None:
    """Zeros and holes say nothing."""
    table = np.array([[0.0, np.nan]] * 5)
    np.testing.assert_array_equal(
        compute_sign_flip_p_values(table, n_resamples=99, rng=make_seeded_generator(0)), [1.0, 1.0]
    )


def test_groups_are_drawn_whole() -> None:
    """Each resample draws groups, with all their rows: means by hand, of plain columns and of such with holes."""
    columns, groups = _draw(5, 9, 2), np.array([0, 1, 0, 2, 2, 2, 1, 3, 0])
    columns[[1, 3], 1] = np.nan
    drawn = make_seeded_generator(3, "resample").integers(0, 4, size=(40, 4))
    rows = [np.concatenate([np.flatnonzero(groups == group) for group in row]) for row in drawn]
    masked = resample_defined_means(columns, n_resamples=40, rng=make_seeded_generator(3, "resample"), groups=groups)
    expected = np.array([[_mean(columns[row, i]) for i in range(2)] for row in rows])
    np.testing.assert_allclose(masked, expected, atol=1e-12)
    plain = resample_means(columns[:, [0]], n_resamples=40, rng=make_seeded_generator(3, "resample"), groups=groups)
    np.testing.assert_allclose(plain, expected[:, [0]], atol=1e-12)


def test_the_items_of_a_group_have_one_sign() -> None:
    """Six equal differences in two groups: of the four patterns of signs two are as extreme, not 2 of 64."""
    column = np.ones((6, 1))
    alone = compute_sign_flip_p_values(column, n_resamples=20_000, rng=make_seeded_generator(0, "x"))
    together = compute_sign_flip_p_values(
        column, n_resamples=20_000, rng=make_seeded_generator(0, "x"), groups=np.array([0, 0, 0, 1, 1, 1])
    )
    assert alone[0] == pytest.approx(2 / 64, abs=0.005)
    assert together[0] == pytest.approx(1 / 2, abs=0.02)
