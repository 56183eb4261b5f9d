"""Overlap and rank correlation of two rankings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import list_tau, overlap

A, B = ["d1", "d2", "d3", "d4", "d5"], ["d2", "d1", "d3", "d6", "d4"]
rankings = st.lists(st.integers(0, 12).map(str), max_size=12)


def test_worked_example() -> None:
    """The specification's two lists."""
    assert overlap(A, B, 5) == 0.8
    assert list_tau(A, B, 5) == pytest.approx(0.666667, abs=1e-6)
    assert list_tau(A, B, 5, "union") == pytest.approx(0.6, abs=1e-6)


@given(st.lists(st.tuples(rankings, rankings), max_size=4), st.integers(1, 12))
def test_tau_is_that_of_scipy(pairs: list[tuple[list[str], list[str]]], k: int) -> None:
    """On ranks of common items, and with missing items at rank k + 1; NaN where scipy has none."""
    a, b = ({str(i): pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    for items in ("common", "union"):
        expected = [_by_scipy(*(list(dict.fromkeys(one))[:k] for one in pair), k, items) for pair in pairs]
        if pairs:
            assert list_tau(a, b, k, items) == pytest.approx(expected, nan_ok=True)
    shared = [len({*dict.fromkeys(one)} & {*other}) for one, other in pairs]
    if pairs and k == 12:
        assert overlap(a, b, 12) == pytest.approx(np.array(shared) / 12, abs=2 / 12)


def _by_scipy(one: list[str], other: list[str], k: int, items: str) -> float:
    compared = [item for item in one if item in other] if items == "common" else list({*one, *other})
    if len(compared) < 2:
        return math.nan
    ranks = [[side.index(item) + 1 if item in side else k + 1 for item in compared] for side in (one, other)]
    return float(scipy.stats.kendalltau(*ranks).statistic)


def test_many_queries_scores_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value per query of the first; scores rank; a query that the other lacks shares nothing."""
    a = {"q1": A, "q2": {"x": 0.1, "y": 0.9}, "q3": ["z"]}
    b = {"q2": ["y", "x"], "q1": B}
    assert overlap(a, b, 2).tolist() == [1, 1, 0]
    assert list_tau(a, b, 5).tolist() == [pytest.approx(2 / 3), 1, pytest.approx(math.nan, nan_ok=True)]
    monkeypatch.setattr("embassay.measures.correlation._COMPARISONS", 1)
    assert list_tau(a, b, 5)[:2].tolist() == [pytest.approx(2 / 3), 1]


@pytest.mark.parametrize("items", ["common", "union"])
def test_long_lists(items: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists are compared in another way, with the same result; undefined ones among them."""
    rng = np.random.default_rng(2)
    a, b = ({f"q{i}": [f"d{j}" for j in rng.permutation(60)[:40]] for i in range(20)} for _ in range(2))
    a["short"], b["short"] = ["x"], ["x"]
    expected = list_tau(a, b, 40, items)
    monkeypatch.setattr("embassay.measures.correlation._WIDE", 10)
    assert list_tau(a, b, 40, items) == pytest.approx(expected, nan_ok=True)


def test_what_cannot_be_compared_is_refused() -> None:
    """Cutoffs below 1, other items, one query against many."""
    with pytest.raises(UsageError, match="cutoff is 0"):
        overlap(A, B, 0)
    with pytest.raises(UsageError, match="no items 'all'"):
        list_tau(A, B, 5, "all")
    with pytest.raises(UsageError, match="one query, the other for many"):
        overlap(A, {"q": B}, 5)
    assert overlap({}, {}, 5) == 0
    assert math.isnan(list_tau([], [], 5))
