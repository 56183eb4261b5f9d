"""Text added and text removed, in tokens (SAGE, section 6)."""

from __future__ import annotations

from fractions import Fraction

from embassay.contracts import Tokenizer
from embassay.text.needle import needle, needle_of
from embassay.text.pieces import as_utf8, piece_ends


def floor_share(share: float, n: int) -> int:
    """The whole part of `share` of `n`, the share taken as the decimal it is written as.

    >>> int(0.29 * 100), floor_share(0.29, 100)
    (28, 29)
    """
    return int(Fraction(repr(float(share))) * n)


def insert_needle(text: str, tokenizer: Tokenizer, p: float, q: float, given: str = "") -> str:
    """`text` with the first `floor(p * n)` needle tokens (at least one) at character `floor(q * len(text))`.

    n counts the tokens of `text`. No separator is added, and the place may be inside a word [A16]. The needle is ours
    unless one is `given`; UsageError where that is too short.
    """
    count = max(1, floor_share(p, len(piece_ends(tokenizer)(text))))
    at = floor_share(q, len(text))
    inserted = needle_of(given, tokenizer, count) if given else needle(tokenizer, count)
    return text[:at] + inserted + text[at:]


def first_tokens(text: str, tokenizer: Tokenizer, most: int) -> str:
    """`text` up to its token number `most`; a character that is cut becomes U+FFFD."""
    ends = piece_ends(tokenizer)(text)
    return text if len(ends) <= most else as_utf8(text)[: ends[most - 1]].decode("utf-8", "replace")


def remove_span(text: str, tokenizer: Tokenizer, p: float, q: float) -> str:
    """`text` without `k = floor(p * n)` of its n tokens (at least one), from token `floor(q * (n - k))` on.

    A character of which only a part is removed becomes U+FFFD. An empty text stays as it is.
    """
    ends = [0, *piece_ends(tokenizer)(text).tolist()]
    n = len(ends) - 1
    count = min(n, max(1, floor_share(p, n)))
    start = floor_share(q, n - count)
    characters = as_utf8(text)
    return (characters[: ends[start]] + characters[ends[start + count] :]).decode("utf-8", "replace")
