"""What is claimed of an order, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from embassay.protocols.rag.ranking.choice import estimate_agreement_of_draws_with_order, estimate_chance_in_top


def test_claims_are_means_over_draws():
    rng = np.random.default_rng(12)
    scores, order, top = rng.normal(size=(50, 9)) + np.arange(9), np.arange(9)[::-1].copy(), 4
    found = estimate_agreement_of_draws_with_order(scores, order, top)
    assert found.tau == pytest.approx(np.mean([kendalltau(one, np.arange(9)).statistic for one in scores]))
    tops = [set(np.argsort(-one)[:top].tolist()) for one in scores]
    wrong = np.array([len(set(order[:top].tolist()) - one) for one in tops])
    assert found.overlap == pytest.approx(1 - wrong.mean() / top)
    assert found.set_errors_at_most_0 == pytest.approx(np.mean(wrong == 0))
    assert found.set_errors_at_most_1 == pytest.approx(np.mean(wrong <= 1))
    assert found.set_errors_at_most_2 == pytest.approx(np.mean(wrong <= 2))
    np.testing.assert_allclose(
        estimate_chance_in_top(scores, top), np.mean([[i in one for i in range(9)] for one in tops], axis=0)
    )


def test_where_all_are_on_top_the_set_is_right():
    found = estimate_agreement_of_draws_with_order(np.random.default_rng(13).normal(size=(20, 3)), np.arange(3), 20)
    assert (found.overlap, found.set_errors_at_most_0) == (1, 1)
