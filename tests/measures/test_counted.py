"""Measures on resamples given as counts: that of the repeated items, as scipy and scikit-learn have it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from embassay.errors import UsageError
from embassay.measures import pair_average_precision, spearman
from embassay.measures.summary import resample_average_precision, resample_spearman

# Few distinct values, so that ties are usual; counts may be 0.
items = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12)


@given(items)
def test_spearman_is_that_of_the_repeated_items(rows):
    """Equal to scipy's, ties and copies sharing the mean of their ranks; NaN where scipy has none."""
    x, y, counts = (np.array(column) for column in zip(*rows, strict=True))
    value = resample_spearman(x, y, [counts])[0]
    left, right = np.repeat(x, counts), np.repeat(y, counts)
    if len(set(left)) < 2 or len(set(right)) < 2:
        assert math.isnan(value)
    else:
        assert value == pytest.approx(spearmanr(left, right)[0], abs=1e-12)
        assert value == pytest.approx(spearman(left, right), abs=1e-12)


@given(items)
def test_average_precision_is_that_of_the_repeated_items(rows):
    """Equal to scikit-learn's, equal scores as one step; NaN where no drawn item has the label 1."""
    scores, labels, counts = (np.array(column) for column in zip(*rows, strict=True))
    labels = (labels > 2).astype(int)
    value = resample_average_precision(labels, scores, [counts])[0]
    left, right = np.repeat(labels, counts), np.repeat(scores, counts)
    if not left.any():
        assert math.isnan(value)
    else:
        assert value == pytest.approx(average_precision_score(left, right), abs=1e-12)
        assert pair_average_precision(left, right) == pytest.approx(value, abs=1e-12)


def test_many_resamples_at_once():
    """Every row of counts has its own value; the items' order means nothing."""
    rng = np.random.default_rng(7)
    x, y = rng.random(50), rng.random(50).round(1)
    counts = rng.multinomial(50, np.full(50, 1 / 50), size=20)
    values = resample_spearman(x, y, counts)
    assert values.shape == (20,)
    for value, row in zip(values, counts, strict=True):
        assert value == pytest.approx(spearmanr(np.repeat(x, row), np.repeat(y, row))[0], abs=1e-12)
    order = rng.permutation(50)
    np.testing.assert_allclose(resample_spearman(x[order], y[order], counts[:, order]), values, atol=1e-12)
    labels = (y > 0.5).astype(int)
    precise = resample_average_precision(labels, x, counts)
    np.testing.assert_allclose(
        resample_average_precision(labels[order], x[order], counts[:, order]), precise, atol=1e-12
    )


def test_what_is_never_drawn_may_be_unknown():
    """A lost item has the count 0 and any value, NaN too; drawn, it is an error."""
    x, y, labels = [0.1, np.nan, 0.3, 0.2], [1, 2, 3, 4], [1, 0, 0, 1]
    assert resample_spearman(x, y, [[1, 0, 1, 1]])[0] == pytest.approx(0.5)
    assert resample_average_precision(labels, x, [[1, 0, 1, 1]])[0] == pytest.approx((1 / 2 + 2 / 3) / 2)
    for measure in (resample_spearman, lambda a, b, c: resample_average_precision(b, a, c)):
        with pytest.raises(UsageError, match="not finite"):
            measure(x, y, [[1, 1, 1, 1]])


def test_hand_worked_precision():
    """Scores .9 (1), .5 (0, 1 and 1: one step), .1 (0): recall gains 1/3 at precision 1, then 2/3 at 3/4."""
    labels, scores = [1, 0, 1, 1, 0], [0.9, 0.5, 0.5, 0.5, 0.1]
    assert pair_average_precision(labels, scores) == pytest.approx(1 / 3 + 2 / 3 * 3 / 4)
    # All alike: the share of label 1, whatever the order.
    assert pair_average_precision([1, 0, 0, 1, 0], [0.5] * 5) == pytest.approx(2 / 5)
    assert math.isnan(pair_average_precision([0, 0], [0.1, 0.2]))
    assert math.isnan(pair_average_precision([], []))


def test_what_does_not_fit():
    """Shapes, negative counts and other labels are errors."""
    for arguments in (
        ([1, 2], [1, 2], [1, 1]),
        ([1, 2], [1, 2], [[1, 1, 1]]),
        ([1, 2, 3], [1, 2], [[1, 1]]),
        ([1, 2], [1, 2], [[1, -1]]),
    ):
        with pytest.raises(UsageError):
            resample_spearman(*arguments)
        with pytest.raises(UsageError):
            resample_average_precision(*arguments)
    with pytest.raises(UsageError, match="neither 0 nor 1"):
        pair_average_precision([1, 2], [0.1, 0.2])


def test_nothing_to_count():
    """No items and no resamples are no error."""
    assert np.isnan(resample_spearman([], [], np.zeros((2, 0)))).all()
    assert resample_spearman([1, 2], [1, 2], np.zeros((0, 2))).shape == (0,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(resample_spearman([1, 2], [1, 2], [[0, 0]]))[0]
