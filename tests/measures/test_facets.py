"""Measures of facets: by hand, against plain code and pyndeval, and what holds of all rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import (
    MEASURES,
    complementarity,
    evaluate_graded,
    facet_alpha_ndcg,
    facet_recall,
    grade,
    grade_facets,
    redundancy,
    treat_unjudged,
)

FACETS = {"a": ["x", "y"], "b": ["x"], "c": ["z"], "d": ["y", "z"]}
"""Three facets; d completes b, and repeats a and c."""


def test_by_hand() -> None:
    """b, a, n (no facet), d: x; then y as well; then nothing; then z, so that nothing is left."""
    ranked = ["b", "a", "n", "d"]
    assert [facet_recall(FACETS, ranked, k) for k in (1, 2, 3, 4)] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1.0])
    # Of b, a and d each adds something; of a, b, d only b adds nothing.
    assert redundancy(FACETS, ranked, 4) == 0.0
    assert redundancy(FACETS, ["a", "b", "n", "d"], 4) == pytest.approx(1 / 3)
    # a and d have two of three each.
    assert complementarity(FACETS, ranked, 4) == pytest.approx(1 / 3)
    assert complementarity(FACETS, ["b", "c"], 2) == pytest.approx(1 / 2)
    assert complementarity(FACETS, ["a", "b"], 2) == 0.0
    # b: 1; a: x again 0.5 and y 1; d at rank 4: y again 0.5 and z 1. The ideal is a 2, d 1.5, then b or c 0.5 each.
    gained = 1 + 1.5 / math.log2(3) + 1.5 / math.log2(5)
    best = 2 + 1.5 / math.log2(3) + 0.5 / 2 + 0.5 / math.log2(5)
    assert facet_alpha_ndcg(FACETS, ranked, 4) == pytest.approx(gained / best)


def test_where_nothing_is_said_there_is_no_value() -> None:
    facets = {"q1": FACETS, "q2": {}, "q3": {"a": ["x"]}}
    retrieved = {"q1": ["a"], "q2": ["a"], "q3": ["n"]}
    assert np.isnan(facet_recall(facets, retrieved, 2)).tolist() == [False, True, False]
    assert np.isnan(facet_alpha_ndcg(facets, retrieved, 2)).tolist() == [False, True, False]
    # Found none: nothing is repeated, and nothing adds up.
    assert np.isnan(redundancy(facets, retrieved, 2)).tolist() == [False, True, True]
    assert np.isnan(complementarity(facets, retrieved, 2)).tolist() == [False, True, True]
    # Never answered: found none of them.
    assert facet_recall({"q": {"a": ["x"]}}, {"other": ["a"]}, 2)[0] == 0.0


def test_what_is_needed_is_told() -> None:
    with pytest.raises(UsageError, match="facets"):
        evaluate_graded(["Facet-Recall@2"], grade({"a": 5}, ["a"]))
    with pytest.raises(UsageError, match="alpha"):
        facet_alpha_ndcg(FACETS, ["a"], 2, alpha=2)
    with pytest.raises(UsageError):
        facet_recall(FACETS, ["a"], 0)


def test_documents_that_are_taken_out_leave_their_rank() -> None:
    """`condense` takes out what nobody graded; grades and facets move up together."""
    graded = treat_unjudged(grade_facets(FACETS, ["n", "b", "m", "c"]), "condense")
    values = evaluate_graded(["Facet-Recall@2", "Facet-Recall@1"], graded)
    assert [float(values[name][0]) for name in values] == pytest.approx([2 / 3, 1 / 3])


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8)
TABLES = st.dictionaries(st.sampled_from("abcdefgh"), st.sets(st.sampled_from("xyzw"), min_size=1), min_size=1)


@given(TABLES, NAMES, st.integers(1, 8))
def test_plain_code_gives_the_same(facets: Mapping[str, set[str]], ranked: Sequence[str], k: int) -> None:
    """Written once more, a list at a time."""
    every = {facet for own in facets.values() for facet in own}
    first = [facets.get(name, set()) for name in ranked[:k]]
    covered = {facet for own in first for facet in own}
    assert facet_recall(facets, ranked, k) == pytest.approx(len(covered) / len(every))
    having = [place for place, own in enumerate(first) if own]
    if having:
        adds = [bool(first[at] - set().union(*first[:at])) for at in having]
        assert redundancy(facets, ranked, k) == pytest.approx(1 - sum(adds) / len(adds))
        assert complementarity(facets, ranked, k) == pytest.approx(1 - max(map(len, first)) / len(covered))
    else:
        assert math.isnan(float(redundancy(facets, ranked, k)))


@given(TABLES, NAMES, st.integers(1, 8))
def test_bounds_and_order(facets: Mapping[str, set[str]], ranked: Sequence[str], k: int) -> None:
    """More documents cover no less; covered facets do not depend on the order; all values lie within 0 and 1."""
    assert facet_recall(facets, ranked, k) <= facet_recall(facets, ranked, k + 1)
    turned = [*reversed(ranked[:k]), *ranked[k:]]
    assert facet_recall(facets, ranked, k) == facet_recall(facets, turned, k)
    for value in (facet_alpha_ndcg(facets, ranked, k), facet_recall(facets, ranked, k)):
        assert 0 <= float(value) <= 1
    best = sorted(facets, key=lambda name: -len(facets[name]))[:1]
    assert facet_alpha_ndcg(facets, best, 1) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_pyndeval_gives_the_same(seed: int) -> None:
    """The program of the TREC web tracks, on queries whose greedy ideal is clear: a document has one facet more than
    the next, so that no two are worth the same at first."""
    ndeval = pytest.importorskip("pyndeval")
    rng = np.random.default_rng(seed)
    facets = {f"d{n}": [f"f{i}" for i in rng.permutation(8)[: n + 1]] for n in range(6)}
    ranked = [f"d{n}" for n in rng.permutation(6)] + ["n1", "n2"]
    qrels = [ndeval.SubtopicQrel("1", facet[1:], name, 1) for name, own in facets.items() for facet in own]
    run = [ndeval.ScoredDoc("1", name, -float(rank)) for rank, name in enumerate(ranked)]
    [theirs] = ndeval.ndeval(qrels, run, measures=["alpha-nDCG@5", "strec@5"]).values()
    assert facet_recall(facets, ranked, 5) == pytest.approx(theirs["strec@5"], abs=1e-6)
    assert facet_alpha_ndcg(facets, ranked, 5) == pytest.approx(theirs["alpha-nDCG@5"], abs=1e-6)


def test_each_is_a_measure_by_name() -> None:
    for name in ("Facet-Recall", "Facet-alpha-nDCG", "Redundancy", "Complementarity"):
        assert "facets" in dict(MEASURES.get(name).facts)["needs"]
