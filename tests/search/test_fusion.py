"""Reciprocal rank fusion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search.fusion import (
    FusionRule,
    ScoredList,
    fuse_by_reciprocal_rank,
    fuse_two_ranked_lists,
    parse_fusion_rule,
)

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
    with pytest.raises(UsageError, match="RRF constant"):
        fuse_by_reciprocal_rank([["a"]], c)


A = ScoredList(["a", "b", "c"], [0.9, 0.5, 0.1], -1.0)
B = ScoredList(["c", "d"], [8.0, 2.0], 0.0)


def _by_id(rule: FusionRule) -> dict[str, float]:
    return {hit.id: hit.score for hit in fuse_two_ranked_lists(A, B, rule)}


def test_scores_are_scaled_from_the_least_that_there_can_be() -> None:
    """Worked by hand: a is (0.9 + 1) / 1.9 of the first list, c (0.1 + 1) / 1.9 and 8 / 8 of the second."""
    told = _by_id(FusionRule("convex", 0.25))
    wanted = {"a": 0.5, "b": 0.5 * 1.5 / 1.9, "c": 0.5 * 1.1 / 1.9 + 1.5, "d": 1.5 * 0.25}
    assert told == pytest.approx(wanted)


def test_scores_are_scaled_by_their_spread() -> None:
    """Mean .5 and sd sqrt(.32 / 3) of the first, 5 and 3 of the second."""
    told = _by_id(FusionRule("dbsf"))
    spread = (0.32 / 3) ** 0.5
    wanted = {"a": 0.5 + 0.4 / (6 * spread), "b": 0.5, "c": 0.5 - 0.4 / (6 * spread) + 0.5 + 3 / 18, "d": 0.5 - 3 / 18}
    assert told == pytest.approx(wanted)
    assert (
        fuse_two_ranked_lists(ScoredList(["x"], [3.0], 0.0), ScoredList([], [], 0.0), FusionRule("dbsf"))[0].score
        == 0.5
    )


@given(st.lists(st.sampled_from("abcdef"), max_size=6), st.lists(st.sampled_from("abcdef"), max_size=6))
def test_fusion_with_equal_weights_is_reciprocal_rank_fusion(first: list[str], second: list[str]) -> None:
    """The same order and the same scores to the last bit; a weight of 1 is the first list, of 0 the second."""
    sides = [ScoredList(ids, [float(-n) for n in range(len(ids))], -10.0) for ids in (first, second)]
    assert fuse_two_ranked_lists(*sides, FusionRule(), 60.0) == fuse_by_reciprocal_rank([first, second], 60.0)
    for weight, side in ((1.0, first), (0.0, second)):
        alone = [hit.id for hit in fuse_two_ranked_lists(*sides, FusionRule("rrf", weight)) if hit.score > 0]
        assert alone == list(dict.fromkeys(side))


@pytest.mark.parametrize("text", ["rfr", "rrf:x", "rrf?k=3", "convex?c=3", "convex?weight=2", "rrf?c=-1", "rrf?c=x"])
def test_what_is_no_fusion_is_refused(text: str) -> None:
    """Another name, a target, a parameter that it does not have, a value out of range."""
    with pytest.raises(UsageError):
        parse_fusion_rule(text)


def test_scores_that_are_no_numbers_cannot_be_scaled() -> None:
    """A server may give NaN."""
    with pytest.raises(ModelError, match="finite"):
        fuse_two_ranked_lists(ScoredList(["a"], [float("nan")], 0.0), B, FusionRule("convex"))
