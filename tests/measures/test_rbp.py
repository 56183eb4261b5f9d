"""Rank-biased precision: hand-worked values, the published formula, and an implementation of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import MEASURES, evaluate_graded, grade, rbp

GRADES = {"a": 5, "b": 4, "c": 1}


def published(grades: Mapping[str, int], ranking: Sequence[str], p: float, level: int) -> float:
    """Moffat and Zobel 2008, section 3: (1 - p) times the sum over ranks i of r_i p^(i - 1)."""
    gains = [grades.get(document, 0) >= level for document in ranking]
    return (1 - p) * math.fsum(gain * p ** (rank - 1) for rank, gain in enumerate(gains, 1))


@pytest.mark.parametrize(
    ("ranking", "p", "level", "expected"),
    [
        ("a", 0.8, 4, 0.2),  # 0.2 x 1
        ("acb", 0.8, 4, 0.328),  # 0.2 x (1 + 0.64)
        ("cab", 0.8, 4, 0.288),  # 0.2 x (0.8 + 0.64)
        ("acb", 0.5, 5, 0.5),  # only the first is relevant enough
        ("xyzb", 0.5, 4, 0.0625),  # 0.5 x 0.5^3: what nobody graded takes its rank
        ("acb", 0.5, 1, 0.875),  # 0.5 x (1 + 0.5 + 0.25)
        ("ba", 0.0, 4, 1.0),  # nobody reads on
        ("ca", 0.0, 4, 0.0),
        ("x", 0.8, 4, 0.0),
        ("", 0.8, 4, 0.0),
        ("aab", 0.8, 4, 0.36),  # 0.2 x (1 + 0.8): of a repeated document the first counts
    ],
)
def test_values_by_hand(ranking: str, p: float, level: int, expected: float) -> None:
    """Worked out on paper."""
    assert rbp(GRADES, list(ranking), p=p, level=level) == pytest.approx(expected, abs=1e-12)


def test_a_long_list() -> None:
    """Relevant at ranks 1, 2, 6, 11 and 17 of 20, with p of 0.5, 0.8 and 0.95."""
    ranking = [f"d{rank}" for rank in range(1, 21)]
    grades = {f"d{rank}": 5 if rank in (1, 2, 6, 11, 17) else 1 for rank in range(1, 21)}
    values = [rbp(grades, ranking, p=p) for p in (0.5, 0.8, 0.95)]
    assert values == pytest.approx([0.76612091, 0.45264034, 0.18813223], abs=1e-8)


def test_undefined_without_a_relevant_document() -> None:
    """No value, where 0 would say that the ranking was bad."""
    assert math.isnan(rbp({"a": 1}, ["a"]))
    assert math.isnan(rbp({"a": 4}, ["a"], level=5))


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan])
def test_a_chance_that_is_none(p: float) -> None:
    """With 1 everybody reads for ever, and every value would be 0."""
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        rbp(GRADES, ["a"], p=p)
    with pytest.raises(UsageError, match=r"Grades are 1, 2, 3, 4 and 5"):
        rbp(GRADES, ["a"], level=0)


@given(
    grades=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    unjudged=st.integers(0, 10),
    p=st.floats(0, 0.999),
    level=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_the_published_formula(grades: list[int], unjudged: int, p: float, level: int, seed: int) -> None:
    """Whatever stands where; long lists and great patience included."""
    judged = {f"d{i}": grade for i, grade in enumerate(grades)}
    ranking = np.random.default_rng(seed).permutation([*judged, *(f"u{i}" for i in range(unjudged))]).tolist()
    value = rbp(judged, ranking, p=p, level=level)
    if max(grades) < level:
        assert math.isnan(value)
    else:
        assert value == pytest.approx(published(judged, ranking, p, level), abs=1e-12)


def test_many_queries_and_the_name() -> None:
    """One value each, in the order of the judgements, one of them unanswered; by function and by name."""
    grades = {"q1": GRADES, "q2": {"a": 1}, "q3": GRADES}
    runs = {"q3": ["c", "a"], "q1": ["a", "b"]}
    expected = [0.36, math.nan, 0.16]
    assert np.allclose(rbp(grades, runs), expected, equal_nan=True)
    assert np.allclose(evaluate_graded(["RBP"], grade(grades, runs))["RBP"], expected, equal_nan=True)
    assert MEASURES.build("RBP(p=0.5, rel=5)")(GRADES, ["a", "b"]) == 0.5
