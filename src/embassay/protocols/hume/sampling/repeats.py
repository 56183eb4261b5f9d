"""Texts that are there twice: dropped from a pool before anything is drawn, or left out with what contradicts them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def plain(text: str) -> str:
    """A text as it is compared: composed, without regard to case and to runs of white space.

    >>> plain("  A  Cat\\n") == plain("a cat")
    True
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def first_of_each(texts: Sequence[str]) -> list[int]:
    """Positions of the first of all that read the same, in order.

    >>> first_of_each(["a", "b", "A "])
    [0, 1]
    """
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        first.setdefault(plain(text), place)
    return list(first.values())


def contradicted(texts: Sequence[str], labels: Sequence[str]) -> frozenset[str]:
    """The texts, as compared, that are there with more than one label: whatever a person answers, a gold is against it.

    >>> sorted(contradicted(["so so", "So so", "good"], ["pos", "neg", "pos"]))
    ['so so']
    """
    seen: dict[str, set[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        seen.setdefault(plain(text), set()).add(label)
    return frozenset(text for text, found in seen.items() if len(found) > 1)
