"""The needle: fixed, long, without repeats, in natural sentences."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Tokenizer
from embassay.text.perturbations import make_needle_of_token_count, make_needle_of_word_count
from embassay.text.tokenizers import WordTokenizer


def test_opening() -> None:
    """It begins as Lorem ipsum always does."""
    assert make_needle_of_word_count(1).startswith(
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod"
    )
    assert make_needle_of_word_count(1).endswith("mollit anim id est laborum.")


def test_it_never_changes() -> None:
    """The first 100,000 words are these and no others."""
    assert sha256(make_needle_of_word_count(100_000).encode()).hexdigest()[:16] == "89d75801857a3b0d"


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_a_longer_one_begins_with_the_shorter(a: int, b: int) -> None:
    """Growing the needle does not change its beginning, and it has the words asked for."""
    short, long = sorted((a, b))
    assert make_needle_of_word_count(long).startswith(make_needle_of_word_count(short))
    assert len(make_needle_of_word_count(long).split()) >= long


def test_sentences_are_natural() -> None:
    """4 to 19 words, a capital first, a full stop last, ASCII throughout, no repeats."""
    sentences = re.split(r"(?<=\.) ", make_needle_of_word_count(20_000))
    assert all(4 <= len(sentence.split()) <= 19 for sentence in sentences)
    assert all(re.fullmatch(r"[A-Z][a-z, ]+\.", sentence) for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


@given(st.integers(1, 9000))
def test_counts_tokens(count: int) -> None:
    """`count` tokens are `count` tokens, at any length."""
    words = WordTokenizer()
    assert len(words.encode(make_needle_of_token_count(words, count))) == count


def test_what_one_document_gets_does_not_depend_on_others() -> None:
    """A fresh tokenizer and one that has seen longer needles give the same."""
    used, fresh = WordTokenizer(), WordTokenizer()
    make_needle_of_token_count(used, 30_000)
    assert make_needle_of_token_count(used, 700) == make_needle_of_token_count(fresh, 700)


@pytest.mark.shared
def test_in_cl100k(cl100k: Tokenizer) -> None:
    """At least 400 distinct tokens; about 3.6 characters a token at the length of an article [A16]."""
    text = make_needle_of_token_count(cl100k, 4000)
    assert len(cl100k.encode(text)) == 4000
    assert len(set(cl100k.encode(text))) >= 400
    assert 3.1 < len(make_needle_of_token_count(cl100k, 1000)) / 1000 < 3.9
