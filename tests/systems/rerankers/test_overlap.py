"""The lexical reranker: numbers by hand, and what makes it a good baseline."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embassay.systems.rerankers.overlap import OverlapReranker

DOCUMENTS = ["The cat sat.", "A dog ran.", "Cat and dog and bird.", ""]


def test_by_hand():
    """N = 4; cat in 2: ln(1 + 2.5/2.5) = ln 2; bird in 1: ln(1 + 3.5/1.5); the total is their sum."""
    cat, bird = math.log(2), math.log1p(3.5 / 1.5)
    expected = [cat / (cat + bird), 0, 1, 0]
    assert OverlapReranker().score("cat bird", DOCUMENTS) == pytest.approx(expected, rel=1e-6)


def test_a_word_that_no_candidate_has_lowers_all_alike():
    """It is part of the query's weight, so no document reaches 1; the order stays."""
    scores = OverlapReranker().score("cat bird zebra", DOCUMENTS)
    assert scores.max() < 1
    assert scores.argsort(kind="stable").tolist() == [1, 3, 0, 2]


def test_repeating_a_word_gains_nothing():
    """Coverage, not frequency: a document cannot win by saying one word of two often."""
    scores = OverlapReranker().score("cat bird", ["cat " * 50, "a bird"])
    assert scores[0] == scores[1] == np.float32(0.5)


def test_case_does_not_count():
    """The query's case is nothing that a reader would go by."""
    assert OverlapReranker().score("CAT", ["cat", "dog"]).tolist() == [1, 0]


@pytest.mark.parametrize("query", ["", "   ", "?!"])
def test_a_query_without_words_scores_nothing(query):
    """All 0: the order stays as given, and spaces and marks are no match."""
    assert OverlapReranker().score(query, ["a?!", " ", ""]).tolist() == [0, 0, 0]


def test_no_documents():
    """No rows."""
    assert OverlapReranker().score("a", []).shape == (0,)


def test_order_of_candidates_changes_no_score():
    """Scores move with their documents."""
    scores = OverlapReranker().score("cat bird dog", DOCUMENTS)
    assert np.array_equal(OverlapReranker().score("cat bird dog", DOCUMENTS[::-1]), scores[::-1])
