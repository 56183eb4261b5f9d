"""Degrees of freedom of what was resampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from embassay.records import HeadlineComponent, ResampledUnitGroup
from embassay.stats import (
    NORMAL,
    compare_replicates,
    freedom_of_difference,
    freedom_of_units,
    resample_means,
    t_quantile,
    t_tail,
    t_test,
)
from embassay.stats.intervals import (
    KEPT,
    Freedom,
    degrees_of_freedom_of_strata,
    list_resampled_strata,
    pool_freedom_over_pair_differences,
    scale_strata_by_weight,
)


def stratum(units: int, sd: float, seed: int = 0) -> ResampledUnitGroup:
    return ResampledUnitGroup(units, np.random.default_rng(seed).normal(0, sd, KEPT))


def test_one_stratum_is_the_t_test_of_its_items() -> None:
    """The mended bootstrap error of a mean is its standard error, and p is scipy's of a paired t test."""
    rng = np.random.default_rng(3)
    items = rng.normal(0.1, 0.3, 12)
    draws = resample_means(items, n_resamples=40_000, rng=rng)[:, 0]
    free = degrees_of_freedom_of_strata([ResampledUnitGroup(12, draws)])
    assert free.df == pytest.approx(11)
    assert free.error(draws) == pytest.approx(items.std(ddof=1) / math.sqrt(12), rel=0.02)
    expected = scipy_stats.ttest_1samp(items, 0).pvalue
    assert t_test(items.mean(), free.error(draws), 1, free.df)[1] == pytest.approx(expected, rel=0.1)


def test_two_strata_are_welch() -> None:
    """The difference of two means over other items has the degrees of Welch's test."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(0, 1, 8), rng.normal(0, 0.2, 40)
    a, b = (resample_means(one, n_resamples=20_000, rng=rng)[:, 0] for one in (x, y))
    found = freedom_of_difference([ResampledUnitGroup(8, a)], [ResampledUnitGroup(40, b)], paired=False)
    welch = scipy_stats.ttest_ind(x, y, equal_var=False)
    assert found.df == pytest.approx(welch.df, rel=0.05)


@given(st.lists(st.tuples(st.integers(2, 500), st.floats(0.01, 10)), min_size=1, max_size=6))
def test_degrees_lie_between_the_fewest_and_all(sizes: list[tuple[int, float]]) -> None:
    strata = [stratum(units, sd, seed) for seed, (units, sd) in enumerate(sizes)]
    found = degrees_of_freedom_of_strata(strata)
    assert min(units for units, _ in sizes) - 1 <= found.df * (1 + 1e-9)
    assert found.df <= (1 + 1e-9) * sum(units - 1 for units, _ in sizes)
    assert 1 < found.factor <= math.sqrt(2) + 1e-9
    assert degrees_of_freedom_of_strata(scale_strata_by_weight(strata, 0.2)).df == pytest.approx(found.df)


def test_where_two_agree_a_stratum_counts_for_nothing() -> None:
    """Five hundred queries on which both are the same do not lend their degrees to three clustering sets."""
    same, few, other = stratum(500, 1.0), stratum(3, 0.1, 1), stratum(3, 0.1, 2)
    assert degrees_of_freedom_of_strata([same, few]).df > 100
    assert freedom_of_difference([same, few], [same, other]).df == pytest.approx(2)


def test_all_pairs_know_a_share_better_than_one() -> None:
    """Three sets with a tenth of the variance do not make all tests be of three sets; with all of it they do, also for
    a pair whose three sets happen to agree."""
    tenth = [[stratum(3, 0.33, 2 * i), stratum(40, 1.0, 2 * i + 1)] for i in range(6)]
    shared = pool_freedom_over_pair_differences(tenth)
    assert shared is not None
    alone = freedom_of_difference(tenth[0], tenth[1])
    beside = freedom_of_difference(tenth[0], tenth[1], most=shared.df)
    assert alone.df < 25 < beside.df <= shared.df
    assert alone.factor == beside.factor
    mostly = [[stratum(3, sd, 2 * i), stratum(40, 0.1, 2 * i + 1)] for i, sd in enumerate([1, 1, 1, 1, 1e-3, 1e-3])]
    shared = pool_freedom_over_pair_differences(mostly)
    assert shared is not None
    assert freedom_of_difference(mostly[4], mostly[5]).df > 30
    assert freedom_of_difference(mostly[4], mostly[5], most=shared.df).df < 3


def test_two_systems_or_other_strata_share_nothing() -> None:
    few, many = [stratum(3, 1.0)], [stratum(3, 1.0), stratum(9, 1.0)]
    assert pool_freedom_over_pair_differences([few, few]) is None
    assert pool_freedom_over_pair_differences([few, few, many]) is None
    assert pool_freedom_over_pair_differences([few, few, few]) is None, "nothing differs"


def test_nothing_that_varies_is_no_certainty() -> None:
    """Nine units that differ alike do so by chance in 1 of 2^8 cases; two of them hardly say anything."""
    still, few = ResampledUnitGroup(9, np.zeros(5)), ResampledUnitGroup(2, np.zeros(5))
    assert degrees_of_freedom_of_strata([]) == NORMAL
    assert degrees_of_freedom_of_strata([still]) == freedom_of_difference([still], [still]) == Freedom(8.0, 1.0)
    assert degrees_of_freedom_of_strata([still, few]).df == 1.0
    draws, values = np.array([[0.7] * 5, [0.5] * 5]), [0.7, 0.5]
    for units, p in ((9, 2.0**-8), (3, 0.25)):
        strata = [(ResampledUnitGroup(units, row),) for row in draws]
        [pair] = compare_replicates(draws, values, strata=strata)
        assert pair.p == p
    assert freedom_of_units(1) == NORMAL


def test_other_strata_are_no_pairs() -> None:
    """Then the fewer degrees and the larger factor count."""
    a, b = [stratum(9, 1.0)], [stratum(5, 1.0), stratum(50, 1.0, 1)]
    found = freedom_of_difference(a, b)
    assert (found.df, found.factor) == (
        min(degrees_of_freedom_of_strata(a).df, degrees_of_freedom_of_strata(b).df),
        max(degrees_of_freedom_of_strata(a).factor, degrees_of_freedom_of_strata(b).factor),
    )


def test_undefined_draws_are_left_out() -> None:
    draws = np.array([1.0, np.nan, -1.0, 0.5])
    assert degrees_of_freedom_of_strata([ResampledUnitGroup(7, draws)]).df == 6


def test_a_component_says_what_was_resampled() -> None:
    draws = np.arange(500.0)
    assert list_resampled_strata(HeadlineComponent(0.5, 40)) == ()
    assert [one.units for one in list_resampled_strata(HeadlineComponent(0.5, 40, draws))] == [40]
    assert [one.units for one in list_resampled_strata(HeadlineComponent(0.5, 40, draws, units=7))] == [7]
    assert len(list_resampled_strata(HeadlineComponent(0.5, 40, draws))[0].draws) == KEPT


@given(st.floats(-6, 6), st.integers(1, 300))
def test_t_is_scipys(score: float, df: int) -> None:
    assert t_tail(score, df) == pytest.approx(float(scipy_stats.t.sf(score, df)), abs=1e-12)
    assert t_quantile(0.975, df) == pytest.approx(float(scipy_stats.t.ppf(0.975, df)))
    assert t_tail(score, math.inf) == pytest.approx(float(scipy_stats.norm.sf(score)), abs=1e-12)


@pytest.mark.parametrize(
    ("worlds", "least", "most"), [(1000, 0.03, 0.075), pytest.param(10_000, 0.044, 0.055, marks=pytest.mark.nightly)]
)
def test_few_units_beside_many_do_not_make_a_test_err(worlds: int, least: float, most: float) -> None:
    """Four tasks of 200 items and one of five sets: two equal systems are told apart in 5% of the worlds. Welch's rule
    alone errs in 5.9%: where the five sets happen to differ little it believes the error and its degrees."""
    units = np.array([200, 200, 200, 100, 5])
    rng = np.random.default_rng(3)
    variances = rng.chisquare(units - 1, (worlds, len(units))) / (units - 1) / units
    differences = rng.normal(0, np.sqrt((1 / units).sum()), worlds)
    told_apart = 0
    for difference, seen in zip(differences, variances, strict=True):
        strata = [
            ResampledUnitGroup(int(n), np.sqrt(variance * (n - 1) / n / 2) * np.array([-1.0, 1.0]))
            for n, variance in zip(units, seen, strict=True)
        ]
        told_apart += 2 * t_tail(abs(difference) / np.sqrt(seen.sum()), degrees_of_freedom_of_strata(strata).df) < 0.05
    assert least < told_apart / worlds < most
