"""Queries with relevant documents among hard negatives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.hume.sampling.draws import (
    HARD,
    JudgedQuery,
    draw_reranking_items,
    draw_shown_documents,
    make_judged_queries_from_corpus,
    make_judged_queries_from_lists,
)
from embassay.protocols.hume.sampling.options import TaskSampleRequest
from embassay.records import Documents, RerankingSet, RetrievalSet

TEXTS = {f"t{place}": f"words of text number w{place} and no other w{place}x" for place in range(12)}


@given(
    st.dictionaries(st.sampled_from(sorted(TEXTS)), st.integers(0, 4)), st.permutations(sorted(TEXTS)),
    st.integers(1, 3), st.integers(4, 8), st.integers(0, 3),
)  # fmt: skip
def test_documents_shown(gains: dict[str, int], order: list[str], relevant: int, total: int, seed: int) -> None:
    """Up to so many relevant ones of the highest gain, then the hardest others; none where there are too few."""
    one = JudgedQuery("q", "query", gains, TEXTS)
    hard = [document for document in order if not gains.get(document)]
    found = draw_shown_documents(one, hard, relevant, total, seed)
    good = [document for document, gain in gains.items() if gain > 0]
    kept = min(relevant, len(good))
    if not kept or kept + len(hard) < total:
        assert found is None
        return
    assert found is not None
    assert len(set(found)) == len(found) == total
    assert sum(document in good for document in found) == kept
    assert set(found) - set(good) == set(hard[: total - kept])
    assert min(gains[d] for d in found if d in good) >= max((gains[d] for d in good if d not in found), default=0)


def test_near_copies_and_empty_documents_are_not_shown() -> None:
    """Neither a copy of a relevant document that is not shown, nor one of another negative, nor an empty one."""
    texts = {
        "good": "a long text about the price of eggs in the spring of that year",
        "good too": "another text entirely about how a hen house is built from old doors",
        "copy": "Another text entirely about how a hen house is built from old doors!",
        "void": " ",
        "hard": "eggs and spring have been in many songs of the north",
        "hard copy": "Eggs and spring have been in many songs of the north",
        "easy": "nothing to see here at all",
    }
    one = JudgedQuery("q", "eggs", {"good": 2, "good too": 1, "void": 1}, texts)
    found = draw_shown_documents(one, ["copy", "void", "hard", "hard copy", "easy"], 1, 3, 1)
    assert found is not None
    assert set(found) == {"good", "hard", "easy"}
    assert draw_shown_documents(one, ["copy", "hard"], 1, 3, 1) is None


def _corpus() -> RetrievalSet:
    texts = {
        "a": "hens lay eggs in spring", "b": "eggs keep for weeks in a cellar", "c": "eggs are eaten at Easter by many",
        "d": "boats sail", "e": "the cellar is cold and eggs are in it", "f": "", "g": "trains run late",
    }  # fmt: skip
    return RetrievalSet(
        Documents(tuple(texts), tuple(texts.values())),
        Documents(("q1", "q2", "q3"), ("eggs in a cellar", "boats", "Eggs in a cellar")),
        {"q1": {"b": 3, "e": 0}, "q2": {"d": 1}, "q3": {"b": 1}},
    )


def test_negatives_from_a_corpus_are_those_that_words_find() -> None:
    """Only documents that share a word with the query and are not relevant; a query without enough is passed over."""
    asked, negatives = make_judged_queries_from_corpus(_corpus())
    assert next(iter(negatives(asked[0]))) == "e"
    assert set(negatives(asked[0])) == {"a", "c", "e"}
    drawn = draw_reranking_items(
        asked, negatives, TaskSampleRequest(data="x", relevant=1, candidates=3, practice=0), 5, 1
    )
    assert len(drawn.items) == 1
    item = drawn.items[0]
    assert item.source_id in ("q1", "q3")
    assert sorted(item.gold) == [0, 0, 1]
    assert item.documents[item.gold.index(1)] == "b"
    assert [one["id"] for one in item.payload["documents"]] == ["d1", "d2", "d3"]
    assert drawn.notes == (
        "1 query skipped: fewer than 3 documents to show", "1 repeated query left out"
    )  # fmt: skip
    assert drawn.about_gold == ("relevant documents per query (number of queries): 1 (1)",)


def test_negatives_of_a_list_are_its_own() -> None:
    """Those that share most words with the query, from the query's own candidates."""
    data = RerankingSet(
        ("q",), (("how long do eggs keep",),),
        (("eggs keep long in the cold", "eggs keep falling, how long", "a boat", "long may it be"),),
        (np.array([1.0, 0, 0, 0]),),
    )  # fmt: skip
    asked, negatives = make_judged_queries_from_lists(data)
    assert list(negatives(asked[0])) == ["q#2", "q#4", "q#3"]
    assert set(draw_shown_documents(asked[0], negatives(asked[0]), 3, 3, 0) or ()) == {"q#1", "q#2", "q#4"}


def test_the_place_of_the_relevant_document_varies() -> None:
    """Documents are shuffled per query: no place tells."""
    asked = [JudgedQuery(f"q{place}", f"query {place}", {"t0": 1}, TEXTS) for place in range(60)]
    request = TaskSampleRequest(data="x", practice=2)
    drawn = draw_reranking_items(asked, lambda _: sorted(TEXTS)[1:], request, 50, 9)
    assert {item.gold.index(1) for item in drawn.items} == set(range(7))
    practised = {one.payload["query"] for one in drawn.practice}
    assert len(practised) == 2
    assert not practised & {item.payload["query"] for item in drawn.items}


def test_negatives_are_drawn_among_the_hardest() -> None:
    """Not the very first ones alone, and none beyond the twenty hardest while there are enough."""
    texts = {f"n{k:02d}": f"text number {k} of w{k} and v{k}" for k in range(60)} | {"good": "the good one it is"}
    asked = [JudgedQuery(f"q{k}", f"query {k}", {"good": 1}, texts) for k in range(40)]
    request = TaskSampleRequest(data="x", practice=0)
    drawn = draw_reranking_items(asked, lambda _: sorted(texts)[1:], request, 40, 3)
    places = {int(key[1:]) for item in drawn.items for key in item.documents if key != "good"}
    assert places == set(range(HARD))


def test_a_short_list_gives_its_harder_half() -> None:
    """Of eight negatives the four hardest; all of them where so many are to be shown."""
    texts = {f"n{k}": f"text number {k} of w{k} and v{k}" for k in range(8)} | {"good": "the good one it is"}
    asked = [JudgedQuery(f"q{k}", f"query {k}", {"good": 1}, texts) for k in range(30)]
    for candidates, places in ((4, set("0123")), (9, set("01234567"))):
        request = TaskSampleRequest(data="x", practice=0, candidates=candidates)
        drawn = draw_reranking_items(asked, lambda _: sorted(texts)[1:], request, 30, 3)
        assert {key[1:] for item in drawn.items for key in item.documents if key != "good"} == places
