"""Finding passages by their words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.search.bm25 import BM25Index, split_words

TEXTS = st.lists(st.lists(st.sampled_from(["ein", "zwei", "drei", "vier"]), max_size=6), min_size=1, max_size=8)


def formula(query, texts, k1, b):
    """Lucene's BM25 as its documentation writes it, one document at a time."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for word in query:
            df = sum(word in other for other in texts)
            tf = text.count(word)
            if tf:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@given(TEXTS, st.lists(st.sampled_from(["ein", "zwei", "drei", "fremd"]), max_size=4))
def test_scores_are_those_of_the_formula(texts, query):
    """With repeated words of the query, empty documents and words that no document has."""
    ids = [f"d{number}" for number in range(len(texts))]
    expected = formula(query, texts, 1.2, 0.75)
    hits = BM25Index.of(ids, [" ".join(text) for text in texts]).search(" ".join(query), 20)
    assert {hit.id: pytest.approx(hit.score) for hit in hits} == {
        key: score for key, score in zip(ids, expected, strict=True) if score > 0
    }
    assert [hit.id for hit in hits] == sorted(
        (hit.id for hit in hits), key=lambda key: (-round(expected[ids.index(key)], 12), key)
    )


@given(TEXTS, st.lists(st.lists(st.sampled_from(["ein", "zwei", "drei", "fremd"]), max_size=4), min_size=1))
def test_an_index_for_known_queries_gives_the_same_bits(texts, queries):
    """It has their words alone, and documents are as long and words as rare as they are."""
    ids = [f"d{number}" for number in range(len(texts))]
    documents, asked = [" ".join(text) for text in texts], [" ".join(query) for query in queries]
    whole, made = BM25Index.of(ids, documents), BM25Index.of(ids, documents, asked=asked)
    for query in asked:
        assert made.search(query, 20) == whole.search(query, 20)
        assert made.scores(query, ids).tobytes() == whole.scores(query, ids).tobytes()


def test_an_index_for_known_queries_refuses_others():
    """It would not find what it left out."""
    index = BM25Index.of(["a", "b"], ["one two", "three"], asked=["one"])
    assert [hit.id for hit in index.search("one", 5)] == ["a"]
    with pytest.raises(UsageError, match="contain the word 'three'"):
        index.search("one three", 5)


def test_where_a_document_stands():
    """In the order in which texts were given, not of ids."""
    index = BM25Index.of(["c", "a", "b"], ["x", "y", "z"])
    assert [index.place(one) for one in "abc"] == [1, 2, 0]
    with pytest.raises(UsageError, match="no document 'd'"):
        index.place("d")


def test_ties_go_to_the_lower_id_whatever_the_order_of_the_file():
    """Equal texts have equal scores, and the first k are the lowest ids."""
    for ids in (["c", "a", "b"], ["b", "c", "a"]):
        index = BM25Index.of(ids, ["same words"] * 3)
        assert [hit.id for hit in index.search("words", 2)] == ["a", "b"]


def test_words_know_no_language():
    """Case folded and composed, marks kept, signs of unspaced scripts apart."""
    assert split_words("STRASSE Straße") == ["strasse", "strasse"]
    assert split_words("Cafe\u0301 Café") == ["café", "café"]
    assert split_words("हिन्दी") == ["हिन्दी"]
    assert split_words("日本語 test_1") == ["日", "本", "語", "test_1"]
    assert split_words("¿…!") == []


def test_nothing_is_found_for_nothing():
    """Not the first k documents: no word in common is no candidate."""
    index = BM25Index.of(["a", "b"], ["one", ""])
    assert index.search("two", 5) == []
    assert index.search("", 5) == []
    assert BM25Index.of(["a"], [""]).search("one", 5) == []
    assert BM25Index.of([], []).search("one", 5) == []


def test_what_cannot_be_is_refused():
    """Parameters out of range, and one id for two documents."""
    with pytest.raises(UsageError, match="k1=-1"):
        BM25Index.of(["a"], ["one"], k1=-1)
    with pytest.raises(UsageError, match="the same id"):
        BM25Index.of(["a", "a"], ["one", "two"])


@given(TEXTS, st.lists(st.integers(0, 7), max_size=5))
def test_scores_of_given_documents_are_those_of_the_search(texts, places):
    """In the order asked for, also twice; 0 for what the search does not find."""
    ids = [f"d{number}" for number in range(len(texts))]
    index = BM25Index.of(ids, [" ".join(text) for text in texts])
    asked = [ids[place % len(ids)] for place in places]
    found = {hit.id: hit.score for hit in index.search("ein drei", len(ids))}
    assert index.scores("ein drei", asked).tolist() == [found.get(one, 0.0) for one in asked]


@pytest.mark.parametrize("unknown", ["", "c", "zz"])
def test_scores_of_an_unknown_document_are_refused(unknown):
    """Before, between and after those that are there."""
    index = BM25Index.of(["b", "d"], ["ein", "zwei"])
    with pytest.raises(UsageError, match="no document"):
        index.scores("ein", ["b", unknown])
