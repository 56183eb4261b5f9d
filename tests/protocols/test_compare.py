"""A difference with all that is known of it, against other ways to the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from embassay.protocols.compare import (
    SystemStandingWithItemValues,
    compute_one_sided_p,
    contrast_two_systems_by_test,
    is_higher_measure_better,
)
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding
from embassay.stats import compare_replicates, randomization_test

RNG = np.random.default_rng(3)
N = 50
MENDED = math.sqrt(N / (N - 1))
"""By so much resampling N items makes an error too small."""
FIRST, SECOND = RNG.normal(0.7, 0.02, 400), RNG.normal(0.66, 0.02, 400)


def side(
    name: str, value: float | None, replicates: object = (), items: object = None, **more: object
) -> SystemStandingWithItemValues:
    draws = np.asarray(replicates, dtype=np.float64)
    headline = SystemHeadlineValue(name, value, N, draws, reason="" if value is not None else "out of memory")
    return SystemStandingWithItemValues(SystemStanding("sts", "", "spearman", headline, **more), items)  # type: ignore[arg-type]


def test_it_is_the_t_test_of_the_ranks() -> None:
    a, b = side("a", 0.7, FIRST), side("b", 0.66, SECOND)
    found, strata = (
        contrast_two_systems_by_test(a, b),
        [one.standing.headline.list_separately_resampled_strata for one in (a, b)],
    )
    [pair] = compare_replicates(np.stack([FIRST, SECOND]), [0.7, 0.66], strata=strata)
    assert found.df == pair.df == pytest.approx(N - 1)
    assert found.difference == pytest.approx(0.04)
    assert (found.low, found.high, found.p) == pytest.approx((pair.low, pair.high, pair.p))


def test_what_could_have_been_seen_is_seen_four_times_in_five() -> None:
    """Of items whose mean differs by `smallest`, a t test finds it in 80% of the cases."""
    found = contrast_two_systems_by_test(side("a", 0.7, FIRST), side("b", 0.66, SECOND))
    items = RNG.normal(found.smallest, found.error * math.sqrt(N), (20_000, N))
    seen = scipy_stats.ttest_1samp(items, 0, axis=1).pvalue < 0.05
    assert seen.mean() == pytest.approx(0.8, abs=0.01)


def test_without_pairing_the_errors_add_up_and_items_are_left() -> None:
    items = {str(i): float(i % 3) for i in range(30)}
    a, b = side("a", 0.7, FIRST, items), side("b", 0.66, SECOND, items)
    found = contrast_two_systems_by_test(a, b, paired=False)
    assert found.error == pytest.approx(MENDED * math.hypot(FIRST.std(ddof=1), SECOND.std(ddof=1)))
    assert N - 1 < found.df < 2 * N - 2
    assert found.by_item is None
    assert contrast_two_systems_by_test(a, b).by_item is not None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30), st.integers(0, 9))
def test_by_item(pairs: list[tuple[float, float]], lost: int) -> None:
    """Items lost on one side are left out on both; p are those of the tests by themselves."""
    x = {str(i): a for i, (a, _) in enumerate(pairs)}
    y = {str(i): b for i, (_, b) in enumerate(pairs)}
    found = contrast_two_systems_by_test(
        side("a", 0.5, FIRST, {**x, "lost": math.nan}), side("b", 0.5, SECOND, {**y, "lost": 0.3})
    )
    items = found.by_item
    assert items is not None
    assert items.n == len(pairs)
    # Items are taken in the order of their names: random swaps depend on it.
    order = sorted(x)
    a, b = np.array([x[one] for one in order]), np.array([y[one] for one in order])
    assert items.randomization_p == randomization_test(a, b).p
    if (a - b).std(ddof=1) > 0:
        assert items.effect == pytest.approx((a - b).mean() / (a - b).std(ddof=1))


@given(st.floats(-1, 1), st.floats(0.01, 1))
def test_one_sided(difference: float, error: float) -> None:
    found = replace(
        contrast_two_systems_by_test(side("a", 0.7, FIRST), side("b", 0.66, SECOND)), difference=difference, error=error
    )
    assert compute_one_sided_p(found) == pytest.approx(float(scipy_stats.t.cdf(difference / error, N - 1)), abs=1e-9)


def test_what_cannot_be_compared_says_why() -> None:
    missing = contrast_two_systems_by_test(side("a", None), side("b", 0.6, SECOND))
    assert missing.difference is None
    assert missing.reason == "a: out of memory"
    other = contrast_two_systems_by_test(side("a", 0.7, FIRST), side("b", 0.6, SECOND, group="classical"))
    assert "different methods" in other.reason
    bare = contrast_two_systems_by_test(side("a", 0.7), side("b", 0.6))
    assert bare.difference == pytest.approx(0.1)
    assert math.isnan(bare.p)
    assert "nothing to resample" in bare.reason


def test_few_undefined_resamples_are_left_out_and_many_leave_no_interval() -> None:
    few, many = FIRST.copy(), FIRST.copy()
    few[:10], many[:40] = np.nan, np.nan
    assert contrast_two_systems_by_test(side("a", 0.7, few), side("b", 0.66, SECOND)).error == pytest.approx(
        MENDED * (FIRST - SECOND)[10:].std(ddof=1)
    )
    assert math.isnan(contrast_two_systems_by_test(side("a", 0.7, many), side("b", 0.66, SECOND)).error)


def test_more_is_worse_of_what_noise_costs_and_of_harm() -> None:
    """All else, and what nobody knows, is better when higher."""
    assert not any(map(is_higher_measure_better, ("drop", "Harm@10")))
    assert all(map(is_higher_measure_better, ("overall", "ndcg@10", "unheard_of")))
