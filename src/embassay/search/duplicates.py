"""Near copies among a query's candidates, found by the runs of words they have in common.

Exactly, and not by MinHash as a check of a whole dataset does it: a query has at most a few hundred candidates, whose
shingles are counted in milliseconds, and an estimate would err just at the threshold.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.search.bm25 import words

Shingle = tuple[str, ...]


@dataclass(frozen=True)
class Distinct:
    """Positions of the candidates that stay, in order, and for each that was dropped (`copies`) the position of the
    kept one that it is most similar to, the earliest of equals."""

    kept: tuple[int, ...]
    copies: Mapping[int, int]


def distinct(texts: Sequence[str], threshold: float, size: int = 3) -> Distinct:
    """Keep the first of near copies: a text goes whose similarity with an earlier kept one is at least `threshold`.

    Similarity is `jaccard` of word shingles, in [0, 1], so a threshold above 1 drops none. UsageError for a threshold
    that is not above 0 and a size below 1. Source: RAG spec, section 9 (near-duplicate removal before reranking); it
    names no measure, this is Broder's resemblance (Compression and Complexity of Sequences, 1997).

    >>> distinct(["a b c d", "e f g h", "a b c d!"], 0.8)
    Distinct(kept=(0, 1), copies={2: 0})
    """
    if not threshold > 0 or size < 1:
        raise UsageError(
            f"Near copies cannot be told with the threshold {threshold:g} and runs of {size} words.",
            mend="The threshold is a similarity above 0, at most 1; a run has 1 word or more.",
        )
    kept: dict[int, int] = {}
    copies: dict[int, int] = {}
    having: dict[Shingle, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        own = shingles(text, size)
        similarity, earlier = _nearest(own, having, kept)
        if similarity >= threshold:
            copies[position] = earlier
            continue
        kept[position] = len(own)
        for shingle in own:
            having[shingle].append(position)
    return Distinct(tuple(kept), copies)


def jaccard(a: str, b: str, size: int = 3) -> float:
    """Common shingles over all shingles of two texts, in [0, 1]; 1 for two texts without words.

    >>> jaccard("the cat sat down", "The cat sat up.")
    0.3333333333333333
    """
    one, other = shingles(a, size), shingles(b, size)
    return len(one & other) / len(one | other)


def shingles(text: str, size: int = 3) -> frozenset[Shingle]:
    """The runs of `size` consecutive words of a text, as a set; of a shorter text, all its words as one run.

    Words are those of our BM25: case and punctuation make no difference. A text without words has one empty run.
    """
    found = words(text)
    return frozenset(tuple(found[start : start + size]) for start in range(max(1, len(found) - size + 1)))


def _nearest(
    own: frozenset[Shingle], having: Mapping[Shingle, Sequence[int]], sizes: Mapping[int, int]
) -> tuple[float, int]:
    """The highest similarity with a kept text and which one it is; (-inf, -1) where none has a shingle in common."""
    common = Counter(position for shingle in own for position in having.get(shingle, ()))
    best = (-math.inf, -1)
    for position in sorted(common):
        similarity = common[position] / (len(own) + sizes[position] - common[position])
        if similarity > best[0]:
            best = similarity, position
    return best
