"""Where the tokens of a text end, in characters: what cutting a text at token boundaries needs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer

_UNKNOWN, _SPACE, _OTHER, _WORD = 0, 1, 2, 3
_KINDS = np.zeros(0x110000, np.uint8)
"""The kind of every character seen so far; filled as texts need it."""


class TokenEnds(Protocol):
    """Counts tokens: the end of each token of a text in characters, ascending, shape (tokens,), int64.

    Two tokens may share an end (parts of one character), and the last end is at most the length of the text.
    """

    def __call__(self, text: str) -> NDArray[np.int64]: ...


def word_ends(text: str) -> NDArray[np.int64]:
    """The ends of the tokens of `--tokenizer words`: runs of word characters and single other ones.

    A text of whitespace alone has none.

    >>> word_ends(" It's here. ").tolist()
    [3, 4, 5, 10, 11]
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _KINDS[points]
    if not kinds.all():
        _learn(np.unique(points[kinds == _UNKNOWN]))
        kinds = _KINDS[points]
    is_word = kinds == _WORD
    ends = kinds == _OTHER
    ends[:-1] |= is_word[:-1] & ~is_word[1:]
    ends[-1:] |= is_word[-1:]
    return np.flatnonzero(ends) + 1


def _learn(points: NDArray[np.uint32]) -> None:
    # `\w` is what str.isalnum says, and the underscore; `\s` is str.isspace.
    for point in points.tolist():
        letter = chr(point)
        is_word = letter.isalnum() or letter == "_"
        _KINDS[point] = _WORD if is_word else _SPACE if letter.isspace() else _OTHER


def token_ends(tokenizer: Tokenizer) -> TokenEnds:
    """The ends of any tokenizer's tokens; one that ends inside a character ends after it.

    >>> from embassay.text import open_tokenizer
    >>> token_ends(open_tokenizer("words"))("It works").tolist()
    [2, 8]
    """
    if tokenizer.name == "words":
        return word_ends

    def ends(text: str) -> NDArray[np.int64]:
        pieces = np.cumsum([len(piece) for piece in tokenizer.pieces(text)], dtype=np.int64)
        return np.searchsorted(_byte_ends(text), pieces, side="left") + 1

    return ends


def _byte_ends(text: str) -> NDArray[np.int64]:
    """The end of each character in bytes of the UTF-8 that tokenizers see, shape (characters,)."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000).astype(np.int64)
    # The halves of a surrogate pair are joined to one character of four bytes, which ends with the second.
    high = (points[:-1] >= 0xD800) & (points[:-1] < 0xDC00) & (points[1:] >= 0xDC00) & (points[1:] < 0xE000)
    sizes[:-1][high] = 0
    sizes[1:][high] = 4
    return np.cumsum(sizes)
