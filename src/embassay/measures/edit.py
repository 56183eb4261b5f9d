"""How far a text was reworded: the edit distance of its words, as a share of the longer text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

_ALL_CORES = -1


def edit_distance(a: str, b: str) -> float:
    """Levenshtein distance of the words of `a` and `b` over the number of words of the longer one.

    Words are what stands between white space, case and punctuation count; an insertion, a deletion and a
    substitution cost 1 each. 0 to 1: 0 for the same words (and for two texts without any), 1 where no word could be
    kept. No direction: large is a free rewording, and also an unrelated text.
    Source: PTEB, section on the choice of a paraphraser; spec section 7.

    >>> edit_distance("a b c", "a x c d")
    0.5
    """
    return float(edit_distances([a], [b])[0])


def edit_distances(a: Sequence[str], b: Sequence[str]) -> NDArray[np.float64]:
    """`edit_distance` of `a[i]` and `b[i]`, (n,). Raises UsageError for unequal lengths.

    >>> edit_distances(["a b c", ""], ["a x c d", "a"]).tolist()
    [0.5, 1.0]
    """
    if len(a) != len(b):
        raise UsageError(
            f"There are {len(a)} texts and {len(b)} other wordings.", mend="Give one wording per text."
        )
    if not len(a):
        return np.empty(0)
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    pairs = [_spelled(first, second) for first, second in zip(a, b, strict=True)]
    left, right = zip(*pairs, strict=True)
    return np.asarray(
        cpdist(left, right, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=_ALL_CORES)
    )


def _spelled(a: str, b: str) -> tuple[str, str]:
    """Both texts with every word as one character, equal characters for equal words: strings are compared
    fastest, and exactly, as hashes of words would not be."""
    known: dict[str, str] = {}
    first, second = (
        "".join(known.setdefault(word, chr(len(known))) for word in text.split()) for text in (a, b)
    )
    return first, second
