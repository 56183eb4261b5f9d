"""ROUGE on token ids, against rouge-score with the same tokens."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from scipy.spatial.distance import squareform

from embassay.systems.lexical.overlap import compute_mean_rouge_f, rouge
from embassay.text import open_tokenizer

TEXT = st.lists(st.sampled_from(["a", "b", "c", "A", ".", ","]), max_size=12).map(" ".join)
WORDS = open_tokenizer("words")


class Tokens:
    """What rouge-score asks of a tokenizer."""

    tokenize = staticmethod(cache(WORDS.encode))


SCORER = RougeScorer(["rouge1", "rouge2"], tokenizer=Tokens())


def oracle(a: str, b: str) -> float:
    """rouge-score's mean F; by the spec 1 for two empty texts, where rouge-score has 0."""
    if not (a or b):
        return 1.0
    scores = SCORER.score(a, b)
    return (scores["rouge1"].fmeasure + scores["rouge2"].fmeasure) / 2


@given(st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_pairs_equal_rouge_score(pairs):
    """Any texts, empty and one-token ones too."""
    found = rouge(tokenizer=WORDS).pairs([a for a, _ in pairs], [b for _, b in pairs])
    np.testing.assert_allclose(found, [oracle(a, b) for a, b in pairs], atol=1e-6)


def test_worked_example():
    """Shared tokens the, cat (once clipped); shared pair the-cat: (2*2/(3+4) + 2*1/(2+3)) / 2."""
    found = rouge(tokenizer=WORDS).pairs(["the cat cat"], ["the cat sat down"])
    assert found[0] == pytest.approx((4 / 7 + 2 / 5) / 2)


def test_one_token_has_no_pairs():
    """ROUGE-2 of texts under two tokens is 0, so equal texts of one token have 0.5."""
    assert rouge(tokenizer=WORDS).pairs(["cat", "cat"], ["cat", "cat sat"]).tolist() == pytest.approx([0.5, 1 / 3])


def test_case_counts():
    """Nothing is lower-cased."""
    assert rouge(tokenizer=WORDS).pairs(["The Cat"], ["the cat"]).tolist() == [0]


@given(*[st.integers(0, 60) for _ in range(4)], st.integers(0, 60), st.integers(0, 60))
def test_equal_fractions_are_equal_floats(o1, o2, extra1, extra2, more, scale):
    """The mean of both F is one correctly rounded quotient."""
    a, b = o1 + extra1 + 2, o1 + extra2 + 2 + scale
    o2 = min(o2, a - 1, b - 1)
    found = compute_mean_rouge_f(
        [np.array([o1]), np.array([o2])],
        [np.array([a]), np.array([a - 1])],
        [np.array([b + more]), np.array([b + more - 1])],
    )
    exact = Fraction(o1, a + b + more) + Fraction(o2, a + b + more - 2)
    assert found[0] == float(exact)


@pytest.mark.shared
def test_real_texts_equal_rouge_score(abstracts, claims):
    """Pairs, distances and search on SciFact, to 1e-6."""
    system, texts = rouge(tokenizer=WORDS), abstracts[:25]
    expected = np.array([[oracle(a, b) for b in texts] for a in texts])
    np.testing.assert_allclose(1 - squareform(system.distances(texts)), expected, atol=1e-6)
    np.testing.assert_allclose(system.pairs(texts, texts[::-1]), np.diag(expected[:, ::-1]), atol=1e-6)
    found = system.search(claims, texts, 10)
    for claim, indices, scores in zip(claims, found.indices, found.scores, strict=True):
        every = np.array([oracle(claim, text) for text in texts])
        np.testing.assert_allclose(scores, np.sort(every)[::-1][:10], atol=1e-6)
        np.testing.assert_allclose(every[indices], scores, atol=1e-6)
