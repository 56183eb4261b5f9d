"""What an index of words over passages takes in memory, from a sample of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embassay.protocols.footprint import sampled
from embassay.search.bm25 import words

_PER_PASSAGE, _PER_WORD, _PER_POSTING = 400, 5, 56
"""Bytes of ids and places, of a word as a number while documents are read, and of a score while they are laid out."""


def words_bytes(texts: Sequence[str], passages: int, asked: Iterable[str]) -> int:
    """So many passages, of which `texts` are some, in an index of the words of the queries `asked`."""
    known, some = {word for query in asked for word in words(query)}, sampled(texts)
    found = [words(text) for text in some]
    each = _PER_PASSAGE + sum(
        _PER_WORD * len(one) + _PER_POSTING * (1 + len(known.intersection(one))) for one in found
    ) / max(1, len(found))
    return round(1.25 * each * passages)
