"""Krippendorff's alpha: the textbook's examples, a plain second computation, invariances, resamples."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import gwet_ac2, krippendorff_alpha

_ = None
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example D: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
# Three coders, fifteen items, as in the encyclopedia's article on the coefficient.
CODERS = [
    [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
    [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
    [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
]
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("ratings", "level", "expected"),
    [
        (OBSERVERS, "nominal", 0.743),
        (OBSERVERS, "ordinal", 0.815),
        (OBSERVERS, "interval", 0.849),
        (CODERS, "nominal", 0.691),
        (CODERS, "interval", 0.811),
        (BINARY, "nominal", 0.095),
        (BINARY, "ordinal", 0.095),
    ],
)
def test_textbook_values(ratings: list[list[int | None]], level: str, expected: float) -> None:
    """As printed, to three decimals."""
    assert krippendorff_alpha(ratings, level) == pytest.approx(expected, abs=0.0005)


def plainly(ratings: list[list[int | None]], level: str) -> float:
    """The definition, pair by pair."""
    units = [[row[i] for row in ratings if row[i] is not None] for i in range(len(ratings[0]))]
    units = [unit for unit in units if len(unit) > 1]
    pool = [value for unit in units for value in unit]
    n = len(pool)

    def weight(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in pool) - (pool.count(a) + pool.count(b)) / 2
        return float(between**2) if a != b else 0.0

    observed = sum(sum(weight(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(weight(a, b) for a, b in permutations(pool, 2))
    return 1 - (n - 1) * observed / expected if expected else math.nan


tables = st.tuples(st.integers(2, 4), st.integers(1, 8)).flatmap(
    lambda shape: st.lists(
        st.lists(st.none() | st.integers(0, 5), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(tables, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_agrees_with_the_definition(ratings: list[list[int | None]], level: str) -> None:
    """Also with missing ratings, whatever the order of raters and items; never above 1."""
    value = krippendorff_alpha(ratings, level)
    assert value == pytest.approx(plainly(ratings, level), abs=1e-9, nan_ok=True)
    turned = [row[::-1] for row in ratings[::-1]]
    assert krippendorff_alpha(turned, level) == pytest.approx(value, abs=1e-12, nan_ok=True)
    assert math.isnan(value) or value <= 1 + 1e-12


@given(tables)
def test_scales(ratings: list[list[int | None]]) -> None:
    """Ordinal alpha keeps under any rising map, interval alpha under a linear one."""
    cubed = [[_ if value is None else (value + 1) ** 3 for value in row] for row in ratings]
    linear = [[_ if value is None else 7 - 2 * value for value in row] for row in ratings]
    assert krippendorff_alpha(cubed) == pytest.approx(krippendorff_alpha(ratings), abs=1e-9, nan_ok=True)
    expected = krippendorff_alpha(ratings, "interval")
    assert krippendorff_alpha(linear, "interval") == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("ratings", [[[3, 3, 3], [3, 3, 3]], [[1, _, 2], [_, 4, _]], [[1, 2, 3]], [[_, _], [_, _]]])
def test_undefined_without_pairs_or_without_variation(ratings: list[list[int | None]]) -> None:
    """NaN: nothing could have disagreed."""
    assert math.isnan(krippendorff_alpha(ratings))


def test_perfect_agreement_is_one_and_nan_is_missing() -> None:
    """Arrays work as lists do, and names as nominal values."""
    assert krippendorff_alpha(np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 5.0]])) == 1
    assert krippendorff_alpha([["cat", "dog"], ["cat", "dog"]], "nominal") == 1


@given(tables, st.integers(0, 1000))
def test_resamples_are_repeated_items(ratings: list[list[int | None]], seed: int) -> None:
    """Each row of counts gives the alpha of the items drawn so often."""
    items = len(ratings[0])
    counts = np.random.default_rng(seed).integers(0, 3, size=(4, items))
    values = krippendorff_alpha(ratings, counts=counts)
    for row, value in zip(counts, values, strict=True):
        drawn = [[rater[i] for i, times in enumerate(row) for _ in range(times)] for rater in ratings]
        expected = krippendorff_alpha(drawn) if row.sum() else math.nan
        assert value == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        ([[1, 2], [1]], {}, "items"),
        ([[1, 2], [1, 2]], {"level": "ratio"}, "level 'ratio'"),
        ([["a", "b"], ["a", "b"]], {}, "not a number"),
        ([[1, 2], [1, 2]], {"counts": [[1, 2, 3]]}, "do not match 2 items"),
        ([], {}, "items"),
    ],
)
def test_what_cannot_be_computed_is_refused(ratings: list, options: dict, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        krippendorff_alpha(ratings, **options)


SCALE = (1, 2, 3, 4, 5)


def plain_ac2(ratings, weights):
    """The formula, item by item and value by value."""
    q = len(SCALE)

    def w(k, m):
        if weights is None:
            return float(k == m)
        apart = abs(k - m) / (q - 1)
        return 1 - (apart if weights == "linear" else apart**2)

    items = [[value for value in column if value is not None] for column in zip(*ratings, strict=True)]
    agreed = []
    for item in (item for item in items if len(item) > 1):
        r = [item.count(value) for value in SCALE]
        stars = [sum(w(k, m) * r[m] for m in range(q)) for k in range(q)]
        agreed.append(sum(r[k] * (stars[k] - 1) for k in range(q)) / (len(item) * (len(item) - 1)))
    rated = [item for item in items if item]
    pi = [sum(item.count(value) / len(item) for item in rated) / len(rated) for value in SCALE]
    total = sum(w(k, m) for k in range(q) for m in range(q))
    expected = total / (q * (q - 1)) * sum(p * (1 - p) for p in pi)
    observed = sum(agreed) / len(agreed)
    return (observed - expected) / (1 - expected)


def test_gwets_first_coefficient_of_four_observers():
    """0.775 of his handbook for the same twelve units."""
    assert gwet_ac2(OBSERVERS, None, scale=SCALE) == pytest.approx(0.77544, abs=5e-6)


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=6, max_size=6), min_size=2, max_size=4),
    st.sampled_from([None, "linear", "quadratic"]),
)
def test_gwets_coefficient_is_the_formula(ratings, weights):
    """On any ratings with an item that two gave, whoever they are and in whatever order."""
    if not any(sum(value is not None for value in column) > 1 for column in zip(*ratings, strict=True)):
        assert math.isnan(gwet_ac2(ratings, weights, scale=SCALE))
        return
    found = gwet_ac2(ratings, weights, scale=SCALE)
    assert found == pytest.approx(plain_ac2(ratings, weights), abs=1e-9)
    assert found <= 1 + 1e-12
    assert gwet_ac2(ratings[::-1], weights, scale=SCALE) == pytest.approx(found, abs=1e-9)


def test_gwets_coefficient_of_resamples_is_that_of_items_drawn():
    """An item drawn twice counts as two."""
    twice = [[*row, *row[:6]] for row in OBSERVERS]
    counts = [[2] * 6 + [1] * 6, [1] * 12]
    found = gwet_ac2(OBSERVERS, scale=SCALE, counts=counts)
    assert found.tolist() == pytest.approx([gwet_ac2(twice, scale=SCALE), gwet_ac2(OBSERVERS, scale=SCALE)])


def test_what_gwets_coefficient_refuses():
    """A rating off the scale, other weights, counts that do not fit."""
    for wrong in ({"scale": (1, 2)}, {"scale": SCALE, "weights": "cubic"}, {"scale": SCALE, "counts": [[1]]}):
        with pytest.raises(UsageError):
            gwet_ac2(OBSERVERS, **wrong)
