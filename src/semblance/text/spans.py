"""Text added and text removed, in tokens (SAGE, section 6)."""

from __future__ import annotations

from fractions import Fraction

from semblance.contracts import Tokenizer
from semblance.text.needle import needle_pieces


def floor_share(share: float, n: int) -> int:
    """The whole part of `share` of `n`, the share taken as the decimal it is written as.

    >>> floor_share(0.15, 100), int(0.29 * 100), floor_share(0.29, 100)
    (15, 28, 29)
    """
    return int(Fraction(repr(float(share))) * n)


def insert_needle(text: str, tokenizer: Tokenizer, p: float, q: float) -> str:
    """`text` with the first `floor(p * n)` needle tokens (at least one) at character `floor(q * len(text))`.

    n counts the tokens of `text`. No separator is added, and the place may be inside a word [A16].
    """
    count = max(1, floor_share(p, len(tokenizer.encode(text))))
    needle = b"".join(needle_pieces(tokenizer, count)).decode()
    at = floor_share(q, len(text))
    return text[:at] + needle + text[at:]


def remove_span(text: str, tokenizer: Tokenizer, p: float, q: float) -> str:
    """`text` without `k = floor(p * n)` of its n tokens (at least one), from token `floor(q * (n - k))` on.

    A character of which only a part is removed becomes U+FFFD. A text without tokens stays as it is.
    """
    pieces = tokenizer.pieces(text)
    count = min(len(pieces), max(1, floor_share(p, len(pieces))))
    start = floor_share(q, len(pieces) - count)
    return b"".join(pieces[:start] + pieces[start + count :]).decode("utf-8", "replace")
