"""Fleiss' and Cohen's kappa and the share of agreement: HUME's check values, scikit-learn, invariances."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import cohen_kappa, fleiss, fleiss_kappa, krippendorff_alpha, percent_agreement

SENTIMENT = (["neg", "pos", "pos", "pos", "neu", "neg"], ["neg", "neg", "neu", "pos", "pos", "neu"])
TEN = (list("aabbccabca"), list("abbbcaabcc"))
# Fleiss 1971 in its usual small form: how often 14 raters chose each of 5 categories for 10 subjects.
SUBJECTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "of_fleiss", "of_cohen", "share"), [(SENTIMENT, -0.021277, 0, 1 / 3), (TEN, 0.548872, 0.552239, 0.7)]
)
def test_check_values(ratings: tuple, of_fleiss: float, of_cohen: float, share: float) -> None:
    """HUME section 6."""
    assert fleiss_kappa(ratings) == pytest.approx(of_fleiss, abs=1e-6)
    assert cohen_kappa(*ratings) == pytest.approx(of_cohen, abs=1e-6)
    assert percent_agreement(ratings) == pytest.approx(share)


def test_textbook_value_of_many_raters() -> None:
    """14 raters, 10 subjects: .210."""
    each = [[value for value, times in enumerate(row) for _ in range(times)] for row in SUBJECTS]
    assert fleiss_kappa(list(zip(*each, strict=True))) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("both", "neither", "first", "second", "of_fleiss", "of_cohen", "share"),
    [(15, 20, 19, 21, 0.55, 0.550898, 0.777778), (15, 10, 20, 25, 0.238095, 0.25, 0.625)],
    ids=["toxic", "sentiment eng"],
)
def test_published_agreement(
    both: int, neither: int, first: int, second: int, of_fleiss: float, of_cohen: float, share: float
) -> None:
    """HUME section 10.1, from the counts that the published scores imply: how often each said one of the two labels,
    both did, neither did."""
    agreed = [0] * both + [1] * neither
    one = agreed + [0] * (first - both) + [1] * (second - both)
    other = agreed + [1] * (first - both) + [0] * (second - both)
    assert percent_agreement([one, other]) == pytest.approx(share, abs=1e-6)
    assert cohen_kappa(one, other) == pytest.approx(of_cohen, abs=1e-6)
    assert fleiss_kappa([one, other]) == pytest.approx(of_fleiss, abs=1e-6)


labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


@given(labels, st.sampled_from([None, "linear", "quadratic"]))
def test_cohen_agrees_with_scikit_learn(pairs: list[tuple[int, int]], weights: str | None) -> None:
    """Also weighted; symmetric in the two raters; at most 1."""
    from sklearn.metrics import cohen_kappa_score

    one, other = [list(side) for side in zip(*pairs, strict=True)]
    value = cohen_kappa(one, other, weights=weights)
    assert cohen_kappa(other, one, weights=weights) == pytest.approx(value, nan_ok=True)
    if math.isnan(value):
        assert len({*one, *other}) == 1
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score(one, other, weights=weights)
    assert value == pytest.approx(expected, abs=1e-12)
    assert value <= 1


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12), st.permutations(range(4))
)
def test_fleiss_by_its_definition(items: list[list[int]], renamed: list[int]) -> None:
    """Mean share of equal pairs per item against that of chance; labels may be renamed, raters and items reordered."""
    ratings = [list(row) for row in zip(*items, strict=True)]
    value = fleiss_kappa(ratings)
    pool = [one for item in items for one in item]
    chance = sum((pool.count(v) / len(pool)) ** 2 for v in range(4))
    observed = sum((a == b) + (a == c) + (b == c) for a, b, c in items) / 3 / len(items)
    if len(set(pool)) == 1:
        assert math.isnan(value)
        return
    assert value == pytest.approx((observed - chance) / (1 - chance))
    assert fleiss_kappa([[renamed[v] for v in row[::-1]] for row in ratings[::-1]]) == pytest.approx(value)
    # Alpha is the same coefficient with chance drawn without replacement: 1 - (1 - 1/N)(1 - kappa).
    alpha = krippendorff_alpha(ratings, "nominal")
    assert alpha == pytest.approx(1 - (1 - 1 / len(pool)) * (1 - value))


def test_items_with_another_number_of_ratings_are_left_out_and_counted() -> None:
    """The commonest number from two on; the larger of two equally common ones; one rating is no agreement."""
    three = [list("aab_"), list("abb_"), list("a_b_")]
    gaps = [[None if value == "_" else value for value in row] for row in three]
    found = fleiss(gaps)
    assert (found.items, found.ratings_per_item, found.dropped) == (2, 3, 2)
    assert found.value == 1
    tied = fleiss([["a", "b"], ["a", "b"], ["b", None]])
    assert (tied.items, tied.ratings_per_item, tied.dropped) == (1, 3, 1)
    single = fleiss([["a", None, None], [None, "b", "a"]])
    assert (single.items, single.dropped) == (0, 3)
    assert math.isnan(single.value)


def test_missing_ratings_leave_cohen_the_common_items() -> None:
    """None and NaN alike; nothing in common is undefined."""
    assert cohen_kappa([*TEN[0], None, "a"], [*TEN[1], "b", None]) == pytest.approx(0.552239, abs=1e-6)
    assert math.isnan(cohen_kappa(["a", None], [None, "a"]))
    assert math.isnan(percent_agreement([["a", None], [None, "a"]]))


def test_a_scale_puts_values_apart_that_nobody_used() -> None:
    """0 and 5 are five steps apart on 0 to 5, one where only they and 1 are known."""
    one, other = [0, 0, 1, 5, 5], [0, 1, 1, 5, 0]
    on_scale = cohen_kappa(one, other, weights="linear", scale=range(6))
    # Disagreement 1 + 5; by chance (2 * [2*1 + 1*5] + 1 * [2*1 + 4] + 2 * [2*5 + 2*4]) / 5.
    assert on_scale == pytest.approx(1 - 6 / ((2 * (2 * 1 + 1 * 5) + (2 * 1 + 1 * 4) + 2 * (2 * 5 + 2 * 4)) / 5))
    # The values found are 0, 1, 2 steps apart: disagreement 1 + 2, by chance 23 / 5.
    assert cohen_kappa(one, other, weights="linear") == pytest.approx(1 - 3 / (23 / 5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1], [1], weights="cubic"), "weights 'cubic'"),
        (lambda: cohen_kappa([1, 2], [1]), "items"),
        (lambda: cohen_kappa([1, 7], [1, 2], scale=[1, 2]), "scale lacks .*7"),
        (lambda: cohen_kappa([1, "a"], ["a", 1], weights="linear"), "cannot be sorted"),
        (lambda: fleiss_kappa([[1, 2], [1]]), "items"),
        (lambda: percent_agreement([[1, 2]]), "needs two raters"),
    ],
)
def test_refused(call, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        call()
