"""The mode of the posterior and the Gaussian around it."""

from __future__ import annotations

import numpy as np

from embassay.protocols.rag.ranking.posterior import (
    RankingPosteriorMixturePoint,
    accumulate_likelihood_and_slopes,
    factor_cholesky_in_place,
    factor_posterior_precision,
    learn_answer_and_return_evidence,
    solve_cholesky_system,
    solve_upper_triangular,
)


def problem(sharpness):
    rng = np.random.default_rng(4)
    n, m, calls = 9, 4, 12
    z = rng.normal(size=n)
    orders = np.array(
        [sorted(rng.permutation(n)[:m], key=lambda i: -z[i] - rng.gumbel() / sharpness) for _ in range(calls)]
    )
    places = np.array([rng.permutation(np.linspace(-1, 1, m)) for _ in range(calls)])
    mean = np.append(sharpness * 0.3 * rng.normal(size=n), 0)
    precision = np.append(np.full(n, sharpness**-2.0), 4.0)
    return mean, precision, orders, places


def test_at_the_mode_prior_and_answers_pull_alike():
    for sharpness in (0.5, 4.0, 40.0):
        mean, precision, orders, places = problem(sharpness)
        modes = mean[None].copy()
        for calls in range(1, len(orders) + 1):
            learn_answer_and_return_evidence(modes, mean[None], precision[None], orders[:calls], places[:calls], 0.02)
        slope, curvature = -precision * (modes[0] - mean), np.diag(precision)
        accumulate_likelihood_and_slopes(modes[0], orders, places, 0.02, slope, curvature)
        left = slope @ np.linalg.solve(curvature, slope)
        assert left < 1e-3, f"{left} nats to gain at sharpness {sharpness}"


def test_factor_draws_and_covariance_are_those_of_the_curvature():
    mean, precision, orders, places = problem(4.0)
    curvature = np.diag(precision)
    accumulate_likelihood_and_slopes(mean, orders, places, 0.02, np.zeros(len(mean)), curvature)
    factor = np.triu(factor_posterior_precision(mean, precision, orders, places, 0.02))
    np.testing.assert_allclose(factor.T @ factor, curvature, atol=1e-12)
    part = RankingPosteriorMixturePoint(1.0, 4.0, 0.9, mean, factor)
    np.testing.assert_allclose(part.compute_score_covariance(), np.linalg.inv(curvature), atol=1e-10)
    np.testing.assert_allclose(
        factor @ solve_upper_triangular(factor, np.eye(len(mean))), np.eye(len(mean)), atol=1e-12
    )
    drawn = part.draws(np.random.default_rng(5).standard_normal((len(mean), 20_000)))
    np.testing.assert_allclose(np.cov(drawn.T), np.linalg.inv(curvature), atol=0.35)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1)


def test_the_written_out_algebra_is_numpys():
    """Factor, both solves, whatever stands in the lower half; and neither side is overwritten."""
    rng = np.random.default_rng(6)
    for d in (1, 2, 5, 41):
        root = rng.normal(size=(d, d))
        matrix, side = root @ root.T + np.eye(d), rng.normal(size=d)
        factor, solved, kept = (np.triu(matrix) + np.tril(np.full((d, d), np.nan), -1), np.empty(d), side.copy())
        factor_cholesky_in_place(factor)
        np.testing.assert_allclose(np.triu(factor), np.linalg.cholesky(matrix).T, rtol=1e-12, atol=1e-12)
        solve_cholesky_system(factor, side, solved)
        np.testing.assert_allclose(solved, np.linalg.solve(matrix, side), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(side, kept)
        columns = rng.normal(size=(d, 3))
        np.testing.assert_allclose(np.triu(factor) @ solve_upper_triangular(factor, columns), columns, atol=1e-12)
