"""Reciprocal rank fusion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.search.fusion import fuse_by_reciprocal_rank

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def test_the_example_of_the_spec():
    """Spec rag 3.4: dense a,b,c,d; sparse c,a,e; c = 60."""
    fused = fuse_by_reciprocal_rank([list("abcd"), list("cae")])
    assert [one.id for one in fused] == list("acbed")
    expected = [0.03252247, 0.03226646, 0.01612903, 0.01587302, 0.015625]
    assert [one.score for one in fused] == pytest.approx(expected, abs=5e-9)
    assert fused[0].ranks == (1, 2)
    assert fused[3].ranks == (None, 3)


def test_ties_go_to_the_dense_list_then_the_sparse_then_the_id():
    """1 + 2 and 2 + 1 tie, and so do equal ranks in one list each."""
    assert [one.id for one in fuse_by_reciprocal_rank([["b", "a"], ["a", "b"]])] == ["b", "a"]
    assert [one.id for one in fuse_by_reciprocal_rank([["b"], ["a"]])] == ["b", "a"]
    assert [one.id for one in fuse_by_reciprocal_rank([["z"], ["a"], ["a", "z"]])] == ["a", "z"]


def test_what_is_there_twice_counts_once():
    """Where it stands first; what follows moves up."""
    assert fuse_by_reciprocal_rank([["a", "a", "b"]])[1].ranks == (2,)


@given(IDS, IDS, st.floats(0, 200))
def test_it_is_the_sum_of_reciprocals(dense, sparse, c):
    """The union, every score by its formula, sorted; more of the same never changes it."""
    fused = fuse_by_reciprocal_rank([dense, sparse], c)
    assert {one.id for one in fused} == set(dense) | set(sparse)
    for one in fused:
        places = [ranking.index(one.id) + 1 for ranking in (dense, sparse) if one.id in ranking]
        assert one.score == pytest.approx(sum(1 / (c + place) for place in places))
    assert sorted((one.score for one in fused), reverse=True) == [one.score for one in fused]


@pytest.mark.parametrize("c", [-1, float("nan"), float("inf")])
def test_an_impossible_constant_is_refused(c):
    """Not a ranking of nonsense."""
    with pytest.raises(UsageError, match="constant of RRF"):
        fuse_by_reciprocal_rank([["a"]], c)
