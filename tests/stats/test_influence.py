"""How far items move a score: the scores themselves, and what they change by when an item weighs a little more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embassay.measures.summary import resample_average_precision, resample_spearman
from embassay.stats.influence import (
    ScoreWithInfluence,
    average_precision_with_influence,
    mean_with_influence,
    spearman_with_influence,
)

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], ScoreWithInfluence]


def columns(seed: int, n: int, *, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns that go together, with equal values where asked for, and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = first + rng.normal(size=n)
    if ties:
        first, second = first.round(), second.round()
    return first, second, rng.integers(0, 3, n).astype(np.float64)


def hits(first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> ScoreWithInfluence:
    """Average precision of what is above 0 in the second, by the first."""
    return average_precision_with_influence((second > 0).astype(np.float64), first, weight)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_values_are_those_of_items_repeated_as_often_as_they_weigh(seed: int, ties: bool) -> None:
    first, second, weight = columns(seed, 25, ties=ties)
    counts = weight.astype(np.int64)[None]
    rho, precision = spearman_with_influence(first, second, weight), hits(first, second, weight)
    assert rho.value == pytest.approx(resample_spearman(first, second, counts)[0], nan_ok=True)
    labels = (second > 0).astype(int)
    assert precision.value == pytest.approx(resample_average_precision(labels, first, counts)[0], nan_ok=True)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("score", [spearman_with_influence, hits])
def test_influences_are_what_a_little_weight_does(score: Score, ties: bool) -> None:
    """By adding a millionth of all weight to one item after another."""
    first, second, weight = columns(3, 40, ties=ties)
    linear, more = score(first, second, weight), 1e-6
    changes = []
    for item in range(len(first)):
        moved = (1 - more) * weight / weight.sum()
        moved[item] += more
        changes.append((score(first, second, moved).value - linear.value) / more)
    assert linear.influence == pytest.approx(np.array(changes), abs=1e-4)
    assert weight @ linear.influence == pytest.approx(0.0, abs=1e-9)


def test_what_nothing_weighs_has_no_score() -> None:
    values, nothing = np.array([1.0, 2.0]), np.zeros(2)
    for linear in (
        mean_with_influence(values, nothing),
        spearman_with_influence(values, values, nothing),
        average_precision_with_influence(values, values, nothing),
        spearman_with_influence(np.ones(2), values, np.ones(2)),
        average_precision_with_influence(np.zeros(2), values, np.ones(2)),
    ):
        assert np.isnan(linear.value)
        assert not linear.influence.any()
