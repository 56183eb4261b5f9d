"""The paired randomisation test: exact where small, seeded where not."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats import randomization_test

pairs = st.integers(1, 8).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 10).map(lambda i: i / 10), min_size=n, max_size=n) for _ in range(2)))
)


@given(pairs)
def test_small_samples_go_through_all_patterns(both: tuple[list[float], list[float]]) -> None:
    """p is the share of all sign patterns at least as far from 0, rounding apart."""
    d = np.subtract(*both)
    means = [abs(np.dot(d, signs)) / len(d) for signs in product([-1, 1], repeat=len(d))]
    result = randomization_test(*both)
    assert result.p == pytest.approx(np.mean([mean >= abs(d.mean()) - 1e-9 for mean in means]))
    assert result.method == f"all {2 ** len(d)} sign patterns"


def test_random_patterns_come_close_to_the_exact_answer() -> None:
    """With more items than can be gone through, near the t test on normal differences."""
    rng = np.random.default_rng(3)
    b = rng.random(100)
    a = b + rng.normal(0.02, 0.1, 100)
    result = randomization_test(a, b)
    expected = scipy.stats.ttest_rel(a, b)
    assert result.p == pytest.approx(expected.pvalue, abs=0.02)
    low, high = expected.confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((low, high), abs=0.002)
    assert result.statistic == result.value == pytest.approx((a - b).mean())
    assert result.n == 100
    assert randomization_test(a, b) == result
    assert randomization_test(a, b, seed=2) != result
    assert randomization_test(b, a).p == pytest.approx(result.p)


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the blocks is invisible."""
    a, b = np.random.default_rng(4).random((2, 40))
    expected = randomization_test(a, b, n_resamples=200)
    monkeypatch.setattr("embassay.stats.tests._DRAWS", 1)
    assert randomization_test(a, b, n_resamples=200).p == expected.p


def test_no_difference_is_no_evidence() -> None:
    """Equal systems have p = 1; one item has no interval."""
    assert randomization_test([0.3] * 30, [0.3] * 30).p == 1
    single = randomization_test([1.0], [0.0])
    assert single.p == 1
    assert single.low is None


def test_refused() -> None:
    """Unequal lengths, undefined items, no resamples."""
    with pytest.raises(UsageError, match="a has 1 items and b has 2"):
        randomization_test([1], [1, 2])
    with pytest.raises(UsageError, match="b is not finite"):
        randomization_test([1, 2], [1, math.nan])
    with pytest.raises(UsageError, match="resamples is 0"):
        randomization_test([1, 2], [1, 3], n_resamples=0)
