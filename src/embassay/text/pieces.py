"""Pieces: the bytes that the tokens of a text cover."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer

_KEPT_TOKENS = 1 << 24  # 64 MiB


def as_utf8(text: str) -> bytes:
    """The text in UTF-8; half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD as in tiktoken.

    >>> as_utf8("caf\\u00e9 \\ud800") == "caf\\u00e9 \\ufffd".encode()
    True
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def cut(text: str, ends: list[int]) -> list[bytes]:
    """The text cut after each of `ends`, in UTF-8; the last piece takes the rest, an empty text has no piece.

    >>> cut("one two ", [3, 7])
    [b'one', b' two ']
    """
    if not text:
        return []
    pieces, start = [], 0
    for end in [*ends[:-1], len(text)]:
        pieces.append(text[start : max(start, end)].encode())
        start = max(start, end)
    return pieces


class PieceEnds:
    """Where the tokens of a text end, in bytes of its UTF-8.

    Kept for the next variant of the same texts, as a text is often changed in a dozen ways; forgotten when
    they would be more than 16 million tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: dict[str, NDArray[np.uint32]] = {}
        self._room = _KEPT_TOKENS

    def __call__(self, text: str) -> NDArray[np.uint32]:
        """The ends, shape (tokens,)."""
        ends = self._kept.get(text)
        if ends is None:
            ends = np.fromiter(accumulate(map(len, self._tokenizer.pieces(text))), np.uint32)
            if len(ends) > self._room:
                self._kept, self._room = {}, _KEPT_TOKENS
            self._kept[text] = ends
            self._room -= len(ends)
        return ends


def piece_ends(tokenizer: Tokenizer) -> PieceEnds:
    """The one `PieceEnds` of a tokenizer."""
    return _piece_ends(tokenizer)  # type: ignore[arg-type]  # protocols do not say that objects hash


_piece_ends = lru_cache(maxsize=8)(PieceEnds)
