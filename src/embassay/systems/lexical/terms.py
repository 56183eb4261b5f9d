"""What BM25 counts in place of a tokenizer's tokens: words of any language, or their letters.

Scripts without spaces (Chinese, Japanese, Thai, Khmer) have no words to look up: single signs and runs of two or three
take their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from embassay.search.bm25 import is_unspaced_sign, split_words
from embassay.text.tokenizers import WordTokenizer, encode_as_utf8


def list_word_terms(text: str) -> Iterator[str]:
    """Words without regard to case, and of scripts without spaces every sign and every two.

    >>> list(list_word_terms("Die Häfen, 港口"))
    ['die', 'häfen', '港', '口', '港口']
    """
    for unspaced, group in groupby(split_words(text), is_unspaced_sign):
        words = list(group)
        yield from list_character_ngrams("".join(words), 1, 2) if unspaced else words


def list_letter_ngrams(text: str) -> Iterator[str]:
    """Every three and four letters of a word and the spaces around it, and of scripts without spaces every one to
    three signs.

    >>> list(list_letter_ngrams("hafen"))
    [' ha', 'haf', 'afe', 'fen', 'en ', ' haf', 'hafe', 'afen', 'fen ']
    """
    for unspaced, group in groupby(split_words(text), is_unspaced_sign):
        words = list(group)
        runs = [("".join(words), 1, 3)] if unspaced else [(f" {word} ", 3, 4) for word in words]
        for run in runs:
            yield from list_character_ngrams(*run)


def list_character_ngrams(text: str, shortest: int, longest: int) -> Iterator[str]:
    """Every run of so many characters, by length."""
    for size in range(shortest, longest + 1):
        yield from (text[start : start + size] for start in range(len(text) - size + 1))


class WordIdTokenizer(WordTokenizer):
    """Numbers of the words of any language."""

    name = "word terms"
    identity = f"word-terms/1 {WordTokenizer.identity}"

    def __reduce__(self) -> tuple[type[WordIdTokenizer], tuple[()]]:
        return type(self), ()

    def encode(self, text: str) -> list[int]:
        """Numbers of the terms, in their order; none of an empty text."""
        return [self._ids[term] for term in self.list_terms(encode_as_utf8(text).decode())]

    def list_terms(self, text: str) -> Iterator[str]:
        """List the terms of a text, which are numbered."""
        return list_word_terms(text)


class LetterNgramIdTokenizer(WordIdTokenizer):
    """Numbers of the letters of words of any language."""

    name = "letter terms"
    identity = f"letter-terms/1 {WordTokenizer.identity}"

    def list_terms(self, text: str) -> Iterator[str]:
        """What is numbered."""
        return list_letter_ngrams(text)


TERMS: Mapping[str, type[WordIdTokenizer]] = {"words": WordIdTokenizer, "letters": LetterNgramIdTokenizer}
"""By the name that a spec gives them."""
