"""Pairs whose rating is known beforehand, made from the data by rule: nearly identical ones and unrelated ones."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.randomness import random_bytes

_ENDINGS = ".!?…。！？؟।۔"
_WIDE = frozenset({"zh", "zho", "cmn", "ja", "jpn"})
_LEAST_WORDS = 3
_LOOKED_AT = 300


def nearly_identical(texts: Sequence[str], lang: str, seed: int, number: int) -> tuple[str, str]:
    """A text and the same text with or without its final punctuation mark.

    Texts of three words or more are taken before shorter ones. ValueError where there is no text.
    """
    order = _drawn(texts, seed, f"nearly identical {number}")
    if not order:
        raise ValueError("no text")
    text = next((one for one in order if len(one.split()) >= _LEAST_WORDS), order[0])
    ended = text.rstrip()
    if ended[-1] in _ENDINGS and ended[:-1].strip():
        return text, ended[:-1].rstrip()
    return text, ended + ("。" if lang.split("-")[0].lower() in _WIDE else ".")


def unrelated(texts: Sequence[str], seed: int, number: int) -> tuple[str, str]:
    """A drawn text, and of up to 300 others the one that shares the fewest runs of three characters with it.

    That they share no meaning either is for a person to see before the files are sent. ValueError for fewer than two
    texts.
    """
    order = _drawn(texts, seed, f"unrelated {number}")
    if len(order) < 2:
        raise ValueError("fewer than two texts")
    first, *others = order
    return first, min(others[:_LOOKED_AT], key=lambda other: _shared(first, other))


def _drawn(texts: Sequence[str], seed: int, purpose: str) -> list[str]:
    """The distinct texts in an order that depends on them and the seed alone."""
    return sorted(
        (text for text in dict.fromkeys(texts) if text.strip()),
        key=lambda text: random_bytes(8, seed, purpose, text),
    )


def _shared(a: str, b: str) -> float:
    first, second = _runs(a), _runs(b)
    return len(first & second) / max(len(first | second), 1)


def _runs(text: str) -> set[str]:
    plain = f"  {' '.join(text.casefold().split())} "
    return {plain[i : i + 3] for i in range(len(plain) - 2)}
