"""Predicted probabilities of answers: against integrals, and what they must not depend on."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from embassay.protocols.rag.ranking.posterior import (
    NOISE,
    compute_answers_log_likelihood,
    estimate_log_orthant_chance,
    predict_answer_log_chance,
)


def chain(m):
    return np.eye(m)[:-1] - np.eye(m)[1:]


def predicted(mean, precision, order, place, random):
    """The probability's logarithm when scores are independent."""
    steps = np.empty((len(order) - 1, len(mean)))
    return predict_answer_log_chance(mean, np.diag(np.sqrt(precision)), order, place, random, steps)


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_of_equals_every_order_is_as_probable(m):
    steps = chain(m)
    found = estimate_log_orthant_chance(np.zeros(m - 1), steps @ steps.T)
    assert found == pytest.approx(-np.log(factorial(m)), abs=0.02)


def test_orthants_are_the_integrals():
    """Of random correlated Gaussians, within 0.02 nats of scipy's integration."""
    rng = np.random.default_rng(6)
    steps = chain(5)
    for _ in range(10):
        root = rng.normal(size=(5, 5)) * rng.uniform(0.3, 3)
        covariance = steps @ (root @ root.T + np.eye(5)) @ steps.T
        mean = steps @ rng.normal(size=5) * rng.uniform(0, 2)
        exact = multivariate_normal(-mean, covariance).cdf(np.zeros(4))
        assert estimate_log_orthant_chance(mean, covariance) == pytest.approx(np.log(exact), abs=0.02)


def test_one_condition_is_exact_and_its_far_tail_finite():
    assert estimate_log_orthant_chance(np.array([0.3]), np.array([[2.0]])) == pytest.approx(np.log(ndtr(0.3 / 2**0.5)))
    assert estimate_log_orthant_chance(np.array([-300.0]), np.array([[1.0]])) == pytest.approx(-45_006.6, rel=1e-4)


def test_a_first_answer_is_predicted_as_by_integrating_plackett_luce():
    """Three unequal candidates of a prior of moderate width: near the integral over their scores,
    although the judge's noise is taken as normal; and the six answers sum to one."""
    mean, precision = np.array([0.8, 0.0, -0.5, 0.0]), np.array([1.0, 0.7, 1.5, 25.0])
    place = np.array([-1.0, 0.0, 1.0])
    rng = np.random.default_rng(7)
    drawn = mean + rng.standard_normal((20_000, 4)) / np.sqrt(precision)
    total = 0.0
    for order in permutations(range(3)):
        order = np.array(order)
        found = np.exp(predicted(mean, precision, order, place[order], 0.02))
        one = [np.exp(compute_answers_log_likelihood(x, order[None], place[order][None], 0.02)) for x in drawn]
        assert found == pytest.approx(np.mean(one), rel=0.12)
        total += found
    assert total == pytest.approx(1, abs=0.01)


def test_the_order_of_equals_says_nothing_of_sharpness():
    """What Laplace's own evidence gets wrong: it loses where a judge is sharp."""
    found = [
        predicted(np.zeros(4), np.full(4, sharpness**-2), np.array([2, 0, 1]), np.zeros(3), 0.0)
        for sharpness in (0.5, 5.0, 50.0)
    ]
    np.testing.assert_allclose(found, -np.log(6), atol=0.005)


def test_noise_has_the_slope_of_the_logistic():
    """For two near candidates: 1/4 per unit of score."""
    chance = ndtr(1e-4 / (NOISE * 2**0.5))
    assert (chance - 0.5) / 1e-4 == pytest.approx(0.25, rel=1e-4)
