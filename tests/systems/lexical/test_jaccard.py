"""Jaccard similarity, against Python sets."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

from embassay.systems.lexical.overlap import jaccard
from embassay.text import open_tokenizer

WORDS = open_tokenizer("words")
TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), max_size=10).map(" ".join)


@cache
def tokens(text: str) -> frozenset[int]:
    return frozenset(WORDS.encode(text))


def oracle(a: str, b: str) -> float:
    x, y = tokens(a), tokens(b)
    return float(Fraction(len(x & y), len(x | y))) if x | y else 1.0


@given(st.lists(TEXT, min_size=1, max_size=6), st.lists(TEXT, min_size=1, max_size=6))
def test_search_scores_are_exact_quotients(queries, corpus):
    """Scores are the correctly rounded quotients of sets, bit by bit: equal values tie."""
    found = jaccard(tokenizer=WORDS).search(queries, corpus, len(corpus))
    for row, query in enumerate(queries):
        for place in range(len(corpus)):
            assert found.scores[row, place] == oracle(query, corpus[found.indices[row, place]])


def test_worked_example():
    """Sets, not multisets: {a, b} and {a, c} share one of three."""
    assert jaccard(tokenizer=WORDS).pairs(["a a b"], ["a c c"])[0] == pytest.approx(1 / 3)


@pytest.mark.shared
def test_real_texts_equal_sets(abstracts):
    """Distances and pairs on SciFact."""
    system, texts = jaccard(tokenizer=WORDS), abstracts[:80]
    expected = np.array([[oracle(a, b) for b in texts] for a in texts])
    np.testing.assert_allclose(1 - squareform(system.distances(texts)), expected, atol=1e-6)
    np.testing.assert_allclose(system.pairs(texts, texts[::-1]), np.diag(expected[:, ::-1]), atol=1e-6)
