"""Selection and merging of the best k, against a full sort."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.search import merge, top_k

# Few distinct values, so that ties at the boundary are the rule.
SCORES = st.integers(1, 4).flatmap(
    lambda q: st.integers(0, 12).flatmap(
        lambda n: arrays(np.float64, (q, n), elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 0.5, 1.0]))
    )
)


def sorted_best(scores: np.ndarray, k: int) -> RankedCandidates:
    """The definition: sort by (-score, index), drop cells without a candidate, fill up."""
    indices = np.full((len(scores), k), -1, dtype=np.int64)
    values = np.full((len(scores), k), -np.inf)
    for row, line in enumerate(scores):
        best = sorted((-score, column) for column, score in enumerate(line) if score > -np.inf)[:k]
        for place, (score, column) in enumerate(best):
            indices[row, place], values[row, place] = column, -score
    return RankedCandidates(indices, values)


def assert_same(found: RankedCandidates, expected: RankedCandidates) -> None:
    assert found.indices.dtype == np.int64
    assert found.scores.dtype == np.float64
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


@given(SCORES, st.integers(1, 15))
def test_top_k_equals_a_full_sort(scores, k):
    """Any scores, any k: the order is score descending, then index ascending, filled up with -1 and -inf."""
    assert_same(top_k(scores, k), sorted_best(scores, k))


@given(SCORES, st.integers(1, 15), st.data())
def test_merged_shards_equal_one_search(scores, k, data):
    """Cutting the candidates into shards changes nothing, wherever the cuts are."""
    n = scores.shape[1]
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=3))), n]
    shards = [top_k(scores[:, a:b], k) for a, b in pairwise(cuts)]
    assert_same(merge(shards, cuts[:-1], k), sorted_best(scores, k))


def test_merge_prefers_the_earlier_shard():
    """Equal scores: the order of the sequence decides, not the offset."""
    shard = RankedCandidates(np.array([[0, 1]]), np.array([[0.5, 0.5]]))
    assert merge([shard, shard], [100, 0], 3).indices.tolist() == [[100, 101, 0]]


def test_top_k_leaves_its_input_alone():
    """The scores of the caller are not reordered."""
    scores = np.array([[0.3, 0.1, 0.2]], dtype=np.float32)
    top_k(scores, 2)
    assert scores.tolist() == np.array([[0.3, 0.1, 0.2]], dtype=np.float32).tolist()


def test_top_k_refuses_scores_that_are_no_numbers():
    """NaN has no rank."""
    with pytest.raises(ModelError, match="query 1 and candidate 2"):
        top_k(np.array([[0.0, 1.0, 2.0], [0.0, 1.0, np.nan]]), 1)


@pytest.mark.parametrize(("shape", "k"), [((3,), 1), ((1, 3), 0)])
def test_top_k_refuses_what_has_no_meaning(shape, k):
    """One axis, or a best none."""
    with pytest.raises(UsageError, match="Cannot take the best"):
        top_k(np.zeros(shape), k)


def test_merge_refuses_shards_that_do_not_fit():
    """As many offsets as shards, and the same queries in each."""
    one, two = top_k(np.zeros((1, 3)), 1), top_k(np.zeros((2, 3)), 1)
    for shards, offsets in (([], []), ([one], [0, 1]), ([one, two], [0, 3])):
        with pytest.raises(UsageError, match="Cannot merge"):
            merge(shards, offsets, 1)
