"""Ends of tokens in characters: the counts of the tokenizer, at places of the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Tokenizer
from embassay.text import open_tokenizer
from embassay.text.tokenizers import WordTokenizer, encode_as_utf8, find_word_token_ends, token_ends

ANY_TEXT = st.text(st.characters(exclude_categories=()))


class Renamed(WordTokenizer):
    """The words under another name, which get no shortcut."""

    name = "renamed"


class Bytes:
    """A token is one byte: several end inside a character."""

    name = identity = "bytes"

    def pieces(self, text: str) -> list[bytes]:
        return [bytes([one]) for one in encode_as_utf8(text)]

    def encode(self, text: str) -> list[int]:
        return list(encode_as_utf8(text))

    def encode_batch(self, texts: list[str]) -> list[list[int]]:  # type: ignore[override]
        return [self.encode(text) for text in texts]


@given(st.text())
def test_words_by_character_table(text: str) -> None:
    """The table of characters finds the tokens that the tokenizer's expression finds."""
    assert len(find_word_token_ends(text)) == (len(WordTokenizer().encode(text)) if text.strip() else 0)
    ends = [0, *find_word_token_ends(text).tolist()]
    cut = [text[a:b].strip() for a, b in pairwise(ends)]
    pieces = [piece.decode().strip() for piece in WordTokenizer().pieces(text)]
    assert cut == [piece for piece in pieces if piece]


@given(ANY_TEXT)
def test_any_tokenizer_on_any_text(text: str) -> None:
    """As many ends as tokens, ascending, inside the text, halves of surrogate pairs and all."""
    tokenizers: tuple[Tokenizer, ...] = (Renamed(), Bytes())
    for tokenizer in tokenizers:
        ends = token_ends(tokenizer)(text).tolist()
        assert len(ends) == len(tokenizer.encode(text))
        assert ends == sorted(ends)
        assert not ends or (ends[0] >= 1 and ends[-1] == len(text))


@pytest.mark.parametrize("text", ["a bc", "naïve — café", "x\ud800y", "日本 語"])
def test_the_shortcut_says_the_same(text: str) -> None:
    """Through the pieces of the same tokens the ends are the same."""
    assert token_ends(Renamed())(text).tolist() == find_word_token_ends(text).tolist()
    assert token_ends(open_tokenizer("words")) is find_word_token_ends


def test_tokens_inside_a_character() -> None:
    """They end after it."""
    assert token_ends(Bytes())("é€x").tolist() == [1, 1, 2, 2, 2, 3]
    assert token_ends(Bytes())("\ud83d\ude00").tolist() == [2, 2, 2, 2]


@pytest.mark.shared
def test_cl100k(cl100k: Tokenizer) -> None:
    """The real tokenizer, with characters of several tokens."""
    text = "Jet noise 😀👍🏽 in 日本語, naïvely.\n\n\nEnd."
    ends = token_ends(cl100k)(text)
    assert len(ends) == len(cl100k.encode(text))
    assert ends[-1] == len(text)
