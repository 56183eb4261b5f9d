"""Which items are drawn together, and that it is needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.kernel.estimates import estimate
from embassay.protocols.kernel.groups import (
    describe_bootstrap_units,
    find_item_groups,
    group_items_sharing_things,
    map_items_to_group_leader,
)
from embassay.protocols.tasks.task import PtebContext, PtebOptions
from embassay.records import Documents, RetrievalSet, ScoredTextPairs, SummaryRatings
from embassay.text import open_tokenizer


def pairs(*texts: tuple[str, str]) -> ScoredTextPairs:
    first, second = zip(*texts, strict=True)
    return ScoredTextPairs(tuple(f"p{i}" for i in range(len(texts))), first, second, np.zeros(len(texts)))


def test_pairs_that_share_a_text_on_either_side() -> None:
    data = pairs(("a", "b"), ("c", "d"), ("e", "a"), *((f"x{i}", f"y{i}") for i in range(9)))
    labels = find_item_groups(data)
    assert labels is not None
    assert labels.tolist() == [0, 1, 0, *range(2, 11)]
    assert {one for one, name in map_items_to_group_leader(data).items() if name == "p0"} == {"p0", "p2"}
    assert find_item_groups(pairs(("a", "b"), ("c", "d"))) is None
    assert map_items_to_group_leader(pairs(("a", "b"), ("c", "d"))) == {}


def test_ratings_of_one_source() -> None:
    ids = tuple("abcd")
    data = SummaryRatings(ids, ("s", "s", "t", "t"), ids, {"x": np.zeros(4)})
    labels = find_item_groups(data)
    assert labels is not None
    assert labels.tolist() == [0, 0, 1, 1]
    assert (
        describe_bootstrap_units("ratings", SummaryRatings, labels)
        == "cluster bootstrap over 2 groups of ratings of one source"
    )


def test_a_document_relevant_to_most_queries_ties_only_its_doubles() -> None:
    """Else there would be one group, and no interval."""
    ids = tuple(f"q{i}" for i in range(20))
    qrels = {one: {"popular": 1.0, f"d{i // 2 if i < 2 else i}": 2.0, "no": 0.0} for i, one in enumerate(ids)}
    docs = Documents(("popular",), ("text",))
    labels = find_item_groups(RetrievalSet(docs, Documents(ids, ids), qrels))
    assert labels is not None
    assert labels.tolist() == [0, 0, *range(1, 19)]


def test_the_most_frequent_documents_tie_nobody_where_they_tie_too_many() -> None:
    """Two hubs, each relevant to half of the queries, are left out; what two queries share beside them still ties."""
    ids = tuple(f"q{i}" for i in range(20))
    qrels = {one: {f"hub{i % 2}": 1.0, f"d{i // 2 if i < 4 else i}": 1.0} for i, one in enumerate(ids)}
    labels = find_item_groups(RetrievalSet(Documents(("hub0",), ("text",)), Documents(ids, ids), qrels))
    assert labels is not None
    assert labels.tolist() == [0, 0, 1, 1, *range(2, 18)]


def test_doubles_stay_together_whatever_else_is_left_out() -> None:
    """Twelve questions that all have the one relevant document are one unit."""
    labels = group_items_sharing_things([{"one"}] * 12)
    assert labels is not None
    assert labels.tolist() == [0] * 12


def test_questions_of_the_same_words_are_one_group() -> None:
    """Whatever is relevant to them: case and blanks are no difference."""
    ids, texts = ("a", "b", "c", "d"), ("Who won?", "who  won?", "When?", "")
    labels = find_item_groups(RetrievalSet(Documents(("x",), ("text",)), Documents(ids, texts), {}))
    assert labels is not None
    assert labels.tolist() == [0, 0, 1, 2]


@given(st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=3), max_size=30))
def test_whoever_shares_nothing_is_alone(shared: list[set[str]]) -> None:
    labels = group_items_sharing_things(shared)
    if labels is None:
        return
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    for place, things in enumerate(shared):
        if not things:
            assert (labels == labels[place]).sum() == 1


def test_context_numbers_groups_by_the_items_that_are_there() -> None:
    context = PtebContext("d", open_tokenizer("words"), groups={"a": "a", "b": "a", "c": "c"})
    labels = context.number_item_groups(["c", "b", "x", "a"])
    assert labels is not None
    assert labels.tolist() == [0, 1, 2, 1]
    assert context.number_item_groups(["c", "a", "x"]) is None


def test_summaries_of_one_source_are_no_items_of_their_own() -> None:
    """Forty sources of eight summaries: drawn one by one the interval holds the truth too rarely, by source as often
    as it says."""
    rng, held, labels = np.random.default_rng(8), np.zeros(2), np.repeat(np.arange(40), 8)
    for world in range(300):
        values = np.repeat(rng.normal(0, 1, 40), 8) + rng.normal(0, 1, 320)
        context = PtebContext(f"{world}", open_tokenizer("words"), 1, PtebOptions(resamples=300))
        for place, groups in enumerate((None, labels)):
            row = estimate(values[:, None], lambda means: means[..., 0], context, "items", groups=groups).score("m")
            assert row.ci_low is not None
            assert row.ci_high is not None
            held[place] += row.ci_low <= 0 <= row.ci_high
    alone, together = held / 300
    assert alone < 0.8
    assert together == pytest.approx(0.95, abs=0.025)


def test_lost_items_leave_their_group() -> None:
    values = np.array([[1.0], [np.nan], [3.0], [5.0]])
    context = PtebContext("d", open_tokenizer("words"), 1, PtebOptions(resamples=50))
    found = estimate(values, lambda means: means[..., 0], context, "items", groups=np.array([0, 1, 2, 2]))
    assert (found.n, found.units, found.value) == (3, 2, 3.0)
    one = estimate(values, lambda means: means[..., 0], context, "items", groups=np.array([0, 0, 0, 0]))
    assert not len(one.replicates)
