"""Accuracy, precision, recall and F1 of binary choices."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from embassay.errors import UsageError
from embassay.measures import binary_classification

choices = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n) for _ in range(2)))
)


@given(choices, st.sampled_from([0, 1]))
def test_agrees_with_scikit_learn(both: tuple[list[int], list[int]], positive: int) -> None:
    """Equal to scikit-learn's binary scores; NaN exactly where that divides by zero."""
    predicted, actual = both
    scores = binary_classification(predicted, actual, positive)
    expected = metrics.precision_recall_fscore_support(
        actual, predicted, labels=[positive], average=None, zero_division=math.nan
    )
    assert scores.accuracy == metrics.accuracy_score(actual, predicted)
    assert [scores.precision, scores.recall, scores.f1] == pytest.approx([x[0] for x in expected[:3]], nan_ok=True)


def test_by_hand() -> None:
    """Two hits, one false alarm, two misses, one right rejection."""
    scores = binary_classification([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 0])
    assert (scores.true_positive, scores.false_positive, scores.false_negative, scores.n) == (2, 1, 2, 6)
    assert scores.accuracy == 0.5
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == 0.5
    assert scores.f1 == pytest.approx(4 / 7)


def test_undefined() -> None:
    """Precision without a positive prediction, recall without a positive item, F1 without either."""
    none_predicted = binary_classification([0, 0], [0, 1])
    assert math.isnan(none_predicted.precision)
    assert (none_predicted.recall, none_predicted.f1) == (0, 0)
    nothing = binary_classification([0], [0])
    assert nothing.accuracy == 1
    assert all(math.isnan(value) for value in (nothing.precision, nothing.recall, nothing.f1))


def test_any_values() -> None:
    """Choices may be of any kind; the positive one is named."""
    assert binary_classification(["spam", "ham"], ["spam", "spam"], positive="spam").recall == 0.5


def test_refused() -> None:
    """Unequal lengths and no items at all."""
    with pytest.raises(UsageError, match="1 predicted and 2 actual"):
        binary_classification([1], [1, 0])
    with pytest.raises(UsageError, match="0 predicted"):
        binary_classification([], [])
