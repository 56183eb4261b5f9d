"""Plackett-Luce with random answers and a bias for places, against brute force and finite differences."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from embassay.protocols.rag.ranking.posterior import accumulate_likelihood_and_slopes, compute_answers_log_likelihood


def by_hand(x, order, place, random):
    scores = [x[i] - z * x[-1] for i, z in zip(order, place, strict=True)]
    real = np.prod([np.exp(s) / sum(np.exp(scores[k:])) for k, s in enumerate(scores)])
    return (1 - random) * real + random / factorial(len(order))


def some_answers(rng, n=6, calls=4, m=4):
    orders = np.array([rng.permutation(n)[:m] for _ in range(calls)])
    places = np.array([rng.permutation(np.linspace(-1, 1, m)) for _ in range(calls)])
    return orders, places


def slopes(x, orders, places, random):
    slope, curvature = np.zeros(len(x)), np.zeros((len(x), len(x)))
    value = accumulate_likelihood_and_slopes(x, orders, places, random, slope, curvature)
    return value, slope, curvature


@pytest.mark.parametrize("random", [0.0, 0.1])
def test_probabilities_are_those_of_the_formula_and_sum_to_one(random):
    rng = np.random.default_rng(1)
    x, place = rng.normal(size=6), np.array([1.0, -1.0, 0.0, 0.5])
    total = 0.0
    for chosen in permutations([0, 2, 3, 5]):
        shown_at = place[[(0, 2, 3, 5).index(i) for i in chosen]]
        found = compute_answers_log_likelihood(x, np.array([chosen]), shown_at[None], random)
        assert np.exp(found) == pytest.approx(by_hand(x, chosen, shown_at, random))
        total += np.exp(found)
    assert total == pytest.approx(1)


@pytest.mark.parametrize("random", [0.0, 0.1])
def test_gradient_is_the_finite_difference(random):
    rng = np.random.default_rng(2)
    orders, places = some_answers(rng)
    x = rng.normal(size=7)
    value, slope, _ = slopes(x, orders, places, random)
    assert value == pytest.approx(compute_answers_log_likelihood(x, orders, places, random))
    for i, step in enumerate(1e-6 * np.eye(7)):
        up, down = (compute_answers_log_likelihood(x + s, orders, places, random) for s in (step, -step))
        assert slope[i] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_curvature_is_the_finite_difference_of_the_gradient():
    """Where no answer may be random; else each answer's is weighted by its chance to be a real one."""
    rng = np.random.default_rng(3)
    orders, places = some_answers(rng)
    x = rng.normal(size=7)
    _, _, curvature = slopes(x, orders, places, 0.0)
    for i, step in enumerate(1e-6 * np.eye(7)):
        up, down = (slopes(x + s, orders, places, 0.0)[1] for s in (step, -step))
        np.testing.assert_allclose(-curvature[i], (up - down) / 2e-6, atol=1e-5)


def test_an_answer_against_all_odds_counts_as_random():
    """It pulls at no score, however sure these are, and nothing overflows at scores of a thousand."""
    x = np.array([1000.0, 0.0, -1000.0, 0.0])
    value, slope, curvature = slopes(x, np.array([[2, 1, 0]]), np.zeros((1, 3)), 0.02)
    assert value == pytest.approx(np.log(0.02 / 6))
    assert np.abs(slope).max() < 1e-9
    assert np.abs(curvature).max() < 1e-9
