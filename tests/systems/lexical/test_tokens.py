"""Texts as tokens: once each, numbered by first appearance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.systems.lexical import bags as module
from embassay.systems.lexical.bags import tokenise_distinct_texts
from embassay.systems.lexical.bm25 import BM25
from embassay.systems.lexical.overlap import jaccard, rouge

TEXTS = st.lists(st.text(alphabet="abc", max_size=4), max_size=6)


class Letters:
    """A token is a letter; remembers what it was asked."""

    name = identity = "letters"

    def __init__(self):
        self.asked = []

    def encode_batch(self, texts):
        self.asked += texts
        return [[ord(letter) for letter in text] for text in texts]


@given(TEXTS, TEXTS)
def test_rows_lead_back_to_the_texts(one, other):
    """Through its row every text has its own tokens, equal tokens equal numbers."""
    letters = Letters()
    tokens, rows = tokenise_distinct_texts(letters, one, other)
    assert sorted(letters.asked) == sorted({*one, *other})
    numbers = {}
    for texts, places in zip((one, other), rows, strict=True):
        taken = tokens.take_rows(places)
        assert len(taken) == len(texts)
        for i, text in enumerate(texts):
            for letter, number in zip(text, taken.ids[taken.starts[i] : taken.starts[i + 1]], strict=True):
                assert numbers.setdefault(letter, int(number)) == number
    assert len(set(numbers.values())) == len(numbers) == tokens.vocabulary


def test_numbers_follow_first_appearance():
    """Whatever the tokenizer's ids are."""
    tokens, _ = tokenise_distinct_texts(Letters(), ["ba", "cab"])
    assert tokens.ids.tolist() == [0, 1, 2, 1, 0]


def test_batches_do_not_matter(monkeypatch):
    """Texts go to the tokenizer a batch at a time."""
    texts = [f"{i:b}" for i in range(50)]
    whole, _ = tokenise_distinct_texts(Letters(), texts)
    monkeypatch.setattr(module, "_TEXTS_PER_CALL", 7)
    parts, _ = tokenise_distinct_texts(Letters(), texts)
    np.testing.assert_array_equal(whole.ids, parts.ids)
    np.testing.assert_array_equal(whole.starts, parts.starts)


@pytest.mark.parametrize("system", [BM25, jaccard, rouge])
def test_a_call_tokenises_each_distinct_text_once(system):
    """Copies in queries, candidates and shards cost nothing."""
    for call in (
        lambda made: made.pairs(["ab", "ab", "c"], ["c", "ab", "c"]),
        lambda made: made.distances(["ab", "c", "ab"]),
        lambda made: made.search(["x", "y", "x"], ["ab", "c", "ab"], 2),
    ):
        letters = Letters()
        call(system(tokenizer=letters))
        assert sorted(set(letters.asked) - {"x", "y"}) == ["ab", "c"]
        assert len(letters.asked) == len(set(letters.asked))
