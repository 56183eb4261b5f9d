"""Mutual and Fisher information of answers, against enumeration."""

from __future__ import annotations

from itertools import permutations
from math import lgamma

import numpy as np
import pytest

from embassay.protocols.rag.ranking.choice import (
    FISHER_EVERY,
    bound_log_det_information,
    list_neighbour_windows,
    measure_window_and_fisher_information,
    sample_fisher_information,
)
from embassay.protocols.rag.ranking.posterior import accumulate_likelihood_and_slopes, compute_answers_log_likelihood


def enumerated(scores, window):
    """Mutual information by its definition, and the mean Hessian, over all orders of the window."""
    m = len(window)
    orders = list(permutations(window))
    x = np.column_stack([scores, np.zeros(len(scores))])
    nowhere = np.zeros((1, m))
    chances = np.array(
        [[np.exp(compute_answers_log_likelihood(one, np.array([o]), nowhere, 0.0)) for o in orders] for one in x]
    )

    def entropy(p):
        return -np.sum(p * np.log(p), axis=-1)

    fisher = np.zeros((m, m))
    used = range(0, len(x), FISHER_EVERY)
    for draw in used:
        for chance, order in zip(chances[draw], orders, strict=True):
            curvature = np.zeros((x.shape[1], x.shape[1]))
            accumulate_likelihood_and_slopes(x[draw], np.array([order]), nowhere, 0.0, np.zeros(x.shape[1]), curvature)
            fisher += chance * curvature[np.ix_(window, window)]
    return entropy(chances.mean(axis=0)) - entropy(chances).mean(), fisher / len(used)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_information_is_that_of_all_orders(m):
    rng = np.random.default_rng(8)
    scores = 2 * rng.normal(size=(9, 6))
    windows = np.array([rng.permutation(6)[:m] for _ in range(3)])
    information, fisher = measure_window_and_fisher_information(scores, windows)
    for window, found, matrix in zip(windows, information, fisher, strict=True):
        mutual, mean_curvature = enumerated(scores, window)
        assert found == pytest.approx(mutual, abs=1e-12)
        np.testing.assert_allclose(matrix, mean_curvature, atol=1e-12)


def test_information_lies_between_none_and_all():
    """Nothing of what is known, log m! of a judge without noise on scores of which nothing is known."""
    known = np.tile(np.array([400.0, 300, 200, 100, 0]), (64, 1))
    assert measure_window_and_fisher_information(known, np.arange(5)[None])[0][0] == pytest.approx(0, abs=1e-9)
    unknown = 100.0 * np.array(list(permutations(range(5))), dtype=float)
    assert measure_window_and_fisher_information(unknown, np.arange(5)[None])[0][0] == pytest.approx(
        np.log(120), abs=1e-9
    )


def test_simulated_answers_give_the_same_fisher_information():
    rng = np.random.default_rng(9)
    scores = np.tile(rng.normal(size=5), (4000, 1))
    window = np.arange(5)[None]
    _, exact = measure_window_and_fisher_information(scores[:1], window)
    np.testing.assert_allclose(sample_fisher_information(scores, window, rng.gumbel(size=(4000, 5))), exact, atol=0.03)


def test_log_det_stays_below_what_an_order_can_tell():
    """And is the linear one where little is told."""
    rng = np.random.default_rng(10)
    root = rng.normal(size=(3, 8, 8))
    fisher, covariance = root @ root.transpose(0, 2, 1), 1e6 * np.eye(8)[None].repeat(3, axis=0)
    assert (bound_log_det_information(fisher, covariance) < lgamma(9)).all()
    little = bound_log_det_information(fisher, 1e-8 * covariance)
    linear = 0.5 * np.linalg.slogdet(np.eye(8) + fisher @ (1e-8 * covariance))[1]
    np.testing.assert_allclose(little, linear, rtol=0.05)


def test_windows_are_neighbours_of_the_order():
    np.testing.assert_array_equal(list_neighbour_windows(np.array([3, 0, 2, 1]), 3), [[3, 0, 2], [0, 2, 1]])
