"""The mean of a table of which rows and columns are samples: against independent computations, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from embassay.errors import UsageError
from embassay.stats import mixed_mean


def table(rows, columns):
    """Labels of a full table, row by row."""
    return np.repeat(np.arange(rows), columns).tolist(), np.tile(np.arange(columns), rows).tolist()


def drawn(rng, rows, columns, sd_rows, sd_columns, sd_residual):
    """A table of the model with mean 0, (rows, columns)."""
    return (
        sd_rows * rng.normal(size=(rows, 1)) + sd_columns * rng.normal(size=(1, columns))
        + sd_residual * rng.normal(size=(rows, columns))
    )  # fmt: skip


def by_anova(y):
    """Estimate, half-width and degrees of freedom by the mean squares of a full table, written out."""
    a, b = y.shape
    rows = b * ((y.mean(axis=1) - y.mean()) ** 2).sum() / (a - 1)
    columns = a * ((y.mean(axis=0) - y.mean()) ** 2).sum() / (b - 1)
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    residual = (rest**2).sum() / ((a - 1) * (b - 1))
    variance = (rows + columns - residual) / (a * b)
    parts = [(rows, a - 1), (columns, b - 1), (residual, (a - 1) * (b - 1))]
    df = (rows + columns - residual) ** 2 / sum(square**2 / of for square, of in parts)
    sds = np.sqrt([(rows - residual) / b, (columns - residual) / a, residual])
    return y.mean(), stats.t.ppf(0.975, df) * variance**0.5, df, sds


def test_a_full_table_gives_the_analysis_of_variance():
    """Interval, degrees of freedom and components are those of the mean squares."""
    y = drawn(np.random.default_rng(3), 9, 6, 3.0, 1.5, 0.5)
    mean, reach, df, sds = by_anova(y)
    found = mixed_mean(y.ravel(), *table(9, 6))
    assert (found.value, found.n) == (pytest.approx(mean), 54)
    assert (found.low, found.high, found.df) == pytest.approx((mean - reach, mean + reach, df))
    assert (found.sd_rows, found.sd_columns, found.sd_residual) == pytest.approx(tuple(sds))


def test_components_agree_with_restricted_maximum_likelihood():
    """In a full table with positive components both methods are one; the likelihood here is maximised numerically."""
    y = drawn(np.random.default_rng(8), 7, 5, 2.0, 1.0, 0.7)
    z = [np.kron(np.eye(7), np.ones((5, 1))), np.kron(np.ones((7, 1)), np.eye(5)), np.eye(35)]
    ones = np.ones((35, 1))

    def criterion(logs):
        covariance = sum(np.exp(2 * log) * part @ part.T for log, part in zip(logs, z, strict=True))
        inverse = np.linalg.inv(covariance)
        information = (ones.T @ inverse @ ones)[0, 0]
        rest = y.ravel() - (ones.T @ inverse @ y.ravel())[0] / information
        return np.linalg.slogdet(covariance)[1] + np.log(information) + rest @ inverse @ rest

    best = optimize.minimize(criterion, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    found = mixed_mean(y.ravel(), *table(7, 5))
    assert (found.sd_rows, found.sd_columns, found.sd_residual) == pytest.approx(tuple(np.exp(best.x)), rel=1e-3)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1)])
def test_one_row_or_one_column_is_a_t_interval(shape):
    """Runs of one dataset, or datasets of one run: the plain t interval; the components cannot be told apart."""
    y = np.random.default_rng(1).normal(size=6)
    found = mixed_mean(y, *table(*shape))
    low, high = stats.t.interval(0.95, 5, loc=y.mean(), scale=stats.sem(y))
    assert (found.low, found.high, found.df) == pytest.approx((low, high, 5))
    assert np.isnan([found.sd_rows, found.sd_columns]).all()
    assert found.sd_residual == pytest.approx(y.std(ddof=1))


def test_a_negative_component_is_taken_out():
    """Columns that differ less than the residual lets expect are no effect, and the rest is fitted without them."""
    y = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [13.0, 11.0, 12.0]])
    found = mixed_mean(y.ravel(), *table(3, 3))
    means = y.mean(axis=1)
    low, high = stats.t.interval(0.95, 2, loc=means.mean(), scale=stats.sem(means))
    assert found.sd_columns == 0
    assert (found.low, found.high, found.df) == pytest.approx((low, high, 2))


def test_no_variation_and_one_value():
    """Equal values are certain; one value says nothing of others."""
    same = mixed_mean([0.3] * 6, *table(2, 3))
    assert (same.low, same.high) == (0.3, 0.3)
    assert "no variation" in same.method
    one = mixed_mean([0.3], ["a"], [1])
    assert one.value == 0.3
    assert one.low is None
    assert "one value" in one.method


COVERED = {
    "datasets differ most": (9, 6, (3.0, 0.3, 0.5), 0),
    "all alike": (9, 6, (1.0, 1.0, 1.0), 0),
    "few of each": (4, 3, (1.0, 0.2, 0.5), 0),
    "runs alone": (9, 6, (0.0, 1.0, 1.0), 0),
    "a quarter missing": (9, 6, (1.5, 0.5, 1.0), 13),
}


def covered(case, tables):
    """The share of simulated tables of which the 95% interval holds the mean."""
    rows, columns, sds, holes = COVERED[case]
    rng = np.random.default_rng(len(case))
    kept = np.sort(rng.permutation(rows * columns)[holes:])
    labels = [[of[i] for i in kept] for of in table(rows, columns)]
    assert len(set(labels[0])) == rows
    hits = 0
    for _ in range(tables):
        found = mixed_mean(drawn(rng, rows, columns, *sds).ravel()[kept], *labels)
        hits += found.low <= 0 <= found.high
    return hits / tables


@pytest.mark.nightly
@pytest.mark.parametrize("case", COVERED)
def test_coverage(case):
    """95% intervals hold the mean in 93 to 97% of 1,000 simulated tables, full or with holes."""
    assert 0.93 <= covered(case, 1000) <= 0.97


def test_coverage_of_a_few():
    """What `test_coverage` has more of."""
    assert 0.9 <= covered("a quarter missing", 100) <= 1


def test_the_weights_say_of_what_the_mean_is():
    """Left out, each row counts alike however many values it has; given, they are taken as they are."""
    y, rows, columns = [1.0, 3.0, 8.0], ["a", "a", "b"], [1, 2, 1]
    assert mixed_mean(y, rows, columns).value == pytest.approx(5.0)
    assert mixed_mean(y, rows, columns, weights=[1 / 3] * 3).value == pytest.approx(4.0)


@given(
    st.integers(2, 5), st.integers(2, 5), st.integers(0, 2**32 - 1),
    st.floats(-5, 5), st.floats(0.1, 10),
)  # fmt: skip
def test_shift_scale_and_order(rows, columns, seed, shift, scale):
    """Moved and scaled values move and scale the interval; the order of the values does not matter."""
    rng = np.random.default_rng(seed)
    y, labels = rng.normal(size=rows * columns), table(rows, columns)
    plain = mixed_mean(y, *labels)
    order = rng.permutation(len(y))
    other = mixed_mean(shift + scale * y[order], *([of[i] for i in order] for of in labels))
    ends = np.array([plain.value, plain.low, plain.high])
    assert np.allclose([other.value, other.low, other.high], shift + scale * ends, rtol=1e-6, atol=1e-8)
    assert other.df == pytest.approx(plain.df, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "shape"),
        (([1.0, np.nan], [1, 2], [1, 1]), "not finite"),
        (([1.0, 2.0], [1], [1, 1]), "2 values and 1 labels"),
        (([1.0, 2.0], ["a", "a"], [1, 1]), "two values for"),
    ],
)
def test_what_is_refused(arguments, message):
    """No values, values that are not finite, labels that do not fit, a pair twice."""
    with pytest.raises(UsageError, match=message):
        mixed_mean(*arguments)


def test_weights_must_sum_to_one():
    """Else it is no mean."""
    with pytest.raises(UsageError, match="sum to 2"):
        mixed_mean([1.0, 2.0], [1, 2], [1, 1], weights=[1, 1])
