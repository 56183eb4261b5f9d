"""The words' score beside a reranker's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search.bm25 import BM25Index
from embassay.search.fusion import add_bm25_boost_to_scores, scale_scores_to_unit_range

FLOATS = st.floats(-1e6, 1e6)
LISTS = st.lists(st.tuples(FLOATS, FLOATS), max_size=10).map(
    lambda rows: (np.array([a for a, _ in rows]), np.array([b for _, b in rows]))
)


def test_by_hand():
    """Logits -4, 0, -2 become 0, 1, 1/2; BM25 of 0, 3, 12 becomes 0, 1/4, 1; with weight 2: 0, 3/2, 5/2."""
    assert add_bm25_boost_to_scores(np.array([-4.0, 0, -2]), np.array([0.0, 3, 12]), 2).tolist() == [0, 1.5, 2.5]


@given(LISTS)
def test_no_weight_changes_nothing(lists):
    """The scores as they are, to the bit, not only their order."""
    scores, words = lists
    assert add_bm25_boost_to_scores(scores, words, 0).tolist() == scores.tolist()


@given(LISTS, st.floats(0, 100))
def test_both_lists_are_brought_to_one_scale(lists, weight):
    """From 0 to 1 + weight, whatever the units; the best of both lists is never beaten."""
    found = add_bm25_boost_to_scores(*lists, weight)
    if weight == 0 or not len(found):
        return
    assert ((found >= 0) & (found <= 1 + weight)).all()
    for place in range(len(found)):
        if all(one[place] == one.max() for one in lists):
            assert found[place] == found.max()


@given(LISTS, st.floats(0.01, 100))
def test_a_constant_list_moves_nothing(lists, weight):
    """Words that tell no candidate from another leave the scores' order, and the other way round."""
    scores, words = lists
    equal = np.full(len(scores), 7.5)
    assert add_bm25_boost_to_scores(scores, equal, weight).tolist() == scale_scores_to_unit_range(scores).tolist()
    assert (
        add_bm25_boost_to_scores(equal, words, weight).tolist() == (weight * scale_scores_to_unit_range(words)).tolist()
    )


@given(st.lists(st.integers(-1000, 1000), min_size=2), st.integers(1, 50), st.integers(-99, 99))
def test_units_do_not_count(values, scale, shift):
    """A reranker that counts in hundreds is boosted as one that counts in ones."""
    scores = np.array(values, dtype=np.float64)
    assert scale_scores_to_unit_range(scores * scale + shift) == pytest.approx(
        scale_scores_to_unit_range(scores), abs=1e-12
    )


def test_with_the_index_of_words():
    """A candidate that only the words speak for wins where the weight is large enough, and not before."""
    index = BM25Index.of(["a", "b", "c"], ["a red fox", "a hen", "nothing"])
    words = index.scores("red fox", ["b", "a"])
    scores = np.array([0.9, 0.2], dtype=np.float32)
    assert add_bm25_boost_to_scores(scores, words, 0.5).argmax() == 0
    assert add_bm25_boost_to_scores(scores, words, 1.5).argmax() == 1


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_an_impossible_weight_is_refused(weight):
    """Not an order of nonsense."""
    with pytest.raises(UsageError, match="weight of the lexical"):
        add_bm25_boost_to_scores(np.zeros(1), np.zeros(1), weight)


def test_lists_that_do_not_fit_are_refused():
    """Also by broadcasting."""
    with pytest.raises(UsageError, match="one score per candidate"):
        add_bm25_boost_to_scores(np.zeros(3), np.zeros(1), 1)


@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_scores_that_are_not_finite_are_refused(bad):
    """They would put every candidate on one value."""
    with pytest.raises(ModelError, match="not finite"):
        add_bm25_boost_to_scores(np.array([bad, 1]), np.zeros(2), 1)
