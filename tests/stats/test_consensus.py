"""One grade from several: the median, and Dawid and Skene against a hand-worked round and simulated judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats.consensus import MISSING, compute_median_votes, estimate_dawid_skene_classes


def test_the_lower_of_two_middle_votes():
    """And nothing where nobody voted."""
    assert compute_median_votes([[0, 4], [3, 1], [MISSING, 2], [MISSING, MISSING]]).tolist() == [0, 1, 2, MISSING]


def test_a_round_by_hand():
    """Two items, three judges, no smoothing: the posterior of the shares of votes is learned from and told again.

    Votes (0,0,1) and (1,1,1): shares 2/3,1/3 and 0,1. Prior: 1/3, 2/3. Judge 1 says 0 of class 0 with 1, and of class
    1 with (1/3)/(4/3) = 1/4; judge 3 never says 0. Item 1: 1/3 * 1 * 1 * 1 against 2/3 * 1/4 * 1/4 * 1 = 1/24, so 8/9.
    """
    from embassay.stats import consensus

    votes = np.array([[0, 0, 1], [1, 1, 1]])
    one_hot = consensus._encode_votes_one_hot(votes, 2)
    posterior = one_hot.sum(axis=1) / 3
    prior, confusion = consensus._estimate_class_shares_and_confusions(posterior, one_hot, 0.0)
    assert prior == pytest.approx([1 / 3, 2 / 3])
    assert confusion[0] == pytest.approx(np.array([[1, 0], [1 / 4, 3 / 4]]))
    assert confusion[2] == pytest.approx(np.array([[0, 1], [0, 1]]))
    told, _ = consensus._compute_class_probabilities(prior, confusion, one_hot)
    assert told[0] == pytest.approx([8 / 9, 1 / 9])


def _world(n=400, seed=3):
    """A careful judge, a careless one and one that says a grade too much, of three classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    careful = np.where(rng.random(n) < 0.92, truth, rng.integers(3, size=n))
    careless = np.where(rng.random(n) < 0.5, truth, rng.integers(3, size=n))
    lenient = np.where(rng.random(n) < 0.8, np.minimum(truth + 1, 2), truth)
    return truth, np.column_stack([careful, careless, lenient])


def test_who_errs_how_is_learned():
    """The model beats the median where a judge errs by rule, and knows whom to believe."""
    truth, votes = _world()
    found = estimate_dawid_skene_classes(votes, 3)
    assert found.converged
    assert np.mean(found.labels == truth) > np.mean(compute_median_votes(votes) == truth) + 0.1
    right = np.einsum("jtt,t->j", found.confusion, found.prior)
    assert right[0] > right[1] > right[2]


def test_missing_votes_are_none():
    """A judge that saw some of the items, and an item that nobody saw."""
    truth, votes = _world(200)
    votes[::3, 0] = MISSING
    votes[5] = MISSING
    found = estimate_dawid_skene_classes(votes, 3)
    assert found.posterior.sum(axis=1) == pytest.approx(1)
    assert found.posterior[5] == pytest.approx(found.prior, abs=0.01)
    assert np.mean(found.labels == truth) > 0.8


@given(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=1, max_size=12), st.randoms())
def test_the_order_of_items_is_no_matter(rows, random):
    """Probabilities, and the same ones in any order."""
    if all(vote == MISSING for row in rows for vote in row):
        rows[0][0] = 1
    found = estimate_dawid_skene_classes(rows, 3)
    assert ((found.posterior >= 0) & (found.posterior <= 1 + 1e-9)).all()
    order = list(range(len(rows)))
    random.shuffle(order)
    again = estimate_dawid_skene_classes([rows[i] for i in order], 3)
    assert again.posterior == pytest.approx(found.posterior[order], abs=1e-6)


@pytest.mark.parametrize("votes", [[[0]], [[MISSING, MISSING]], [[0, 3]], [[0.5, 1]], [[-2, 0]]])
def test_what_makes_no_consensus(votes):
    """One judge, no vote, a class too high, no whole number, less than none."""
    with pytest.raises(UsageError):
        estimate_dawid_skene_classes(votes, 3)
