"""What queries tell each other of the judge."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.rag.ranking.bayes import CELLS, WIDTHS, compute_shared_log_priors
from embassay.protocols.rag.ranking.posterior import RELIABILITY, SHARPNESS, compute_log_prior_weights

POINTS = len(SHARPNESS) * len(RELIABILITY)


def by_hand(evidences, query):
    """Sums over common point, width and each query's own point, one by one."""
    at = [(a, b) for a in np.log(SHARPNESS) for b in range(len(RELIABILITY))]
    prior = np.zeros(POINTS)
    for width in WIDTHS:
        kernel = np.array(
            [[np.exp(-(((a - c) / width) ** 2 + ((b - d) / (CELLS * width)) ** 2) / 2) for c, d in at] for a, b in at]
        )
        kernel /= kernel.sum(axis=1, keepdims=True)
        others = np.exp(compute_log_prior_weights())
        for r, evidence in enumerate(evidences):
            if r != query:
                others = others * (kernel @ np.exp(evidence))
        prior += others @ kernel
    return prior / prior.sum()


def test_priors_are_the_sums_over_all_that_is_unknown():
    rng = np.random.default_rng(14)
    evidences = 3 * rng.normal(size=(3, POINTS))
    found = compute_shared_log_priors(evidences)
    for query in range(3):
        expected = by_hand(evidences, query)
        np.testing.assert_allclose(np.exp(found[query]) / np.exp(found[query]).sum(), expected, rtol=1e-6)


def test_a_constant_says_nothing_and_a_query_is_told_nothing_by_itself():
    rng = np.random.default_rng(15)
    evidences = 50 * rng.normal(size=(4, POINTS))
    found = compute_shared_log_priors(evidences)
    np.testing.assert_allclose(compute_shared_log_priors(evidences + np.arange(4)[:, None] * 100), found, atol=1e-9)
    evidences[2] = rng.normal(size=POINTS)
    np.testing.assert_allclose(compute_shared_log_priors(evidences)[2], found[2], atol=1e-9)


def test_many_that_agree_leave_little_doubt():
    sharp = SHARPNESS[np.repeat(np.arange(len(SHARPNESS)), len(RELIABILITY))]
    evidences = np.tile(-0.5 * np.log(sharp / 4.0) ** 2 / 0.5**2, (30, 1))
    weights = np.exp(compute_shared_log_priors(evidences)[0])
    near = weights[np.abs(np.log(sharp / 4.0)) < 0.75].sum() / weights.sum()
    assert near > 0.95
    assert near == pytest.approx(1, abs=0.05)
