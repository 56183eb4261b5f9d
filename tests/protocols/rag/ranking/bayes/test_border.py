"""The expected drop in wrong pairs across the border, against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from embassay.protocols.rag.ranking.choice import estimate_border_error_drop


def simulated(mean, covariance, in_top, order, top, window, fisher, rng, times=20_000):
    """Draw scores, observe them with noise of precision `fisher`, and see how surely pairs are then right."""
    n = len(mean)
    select = np.eye(n)[window]
    after = np.linalg.inv(np.linalg.inv(covariance) + select.T @ fisher @ select)
    moved = rng.multivariate_normal(mean, covariance - after, times, check_valid="ignore")
    drop = 0.0
    for above in order[:top]:
        for below in order[top:]:
            pair = np.zeros(n)
            pair[above], pair[below] = 1, -1
            before = ndtr(-abs(pair @ mean) / np.sqrt(pair @ covariance @ pair))
            then = ndtr(-np.abs(moved @ pair) / np.sqrt(pair @ after @ pair)).mean()
            weight = in_top[above] * (1 - in_top[below]) + in_top[below] * (1 - in_top[above])
            drop += weight * (before - then)
    return drop


def test_drop_is_that_of_simulated_answers():
    """Within the tenth that seven nodes of quadrature leave where the integrand has a kink."""
    rng = np.random.default_rng(11)
    n, top = 7, 3
    root = rng.normal(size=(n, n))
    covariance = root @ root.T / n + 0.2 * np.eye(n)
    mean = np.sort(rng.normal(size=n))[::-1].copy()
    order, in_top = np.arange(n), np.linspace(0.9, 0.1, n)
    windows = np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6]])
    fisher = np.array([np.eye(3) - 1 / 3] * 3) * 0.8
    found = estimate_border_error_drop(mean, covariance, in_top, order, top, windows, fisher)
    expected = [
        simulated(mean, covariance, in_top, order, top, window, one, rng)
        for window, one in zip(windows, fisher, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=0.12, atol=0.004)
    assert found.argmax() == np.argmax(expected) == 1


def test_an_answer_that_tells_nothing_mends_nothing():
    found = estimate_border_error_drop(
        np.zeros(4), np.eye(4), np.full(4, 0.5), np.arange(4), 2, np.array([[0, 1, 2]]), np.zeros((1, 3, 3))
    )
    assert found == pytest.approx(0)
