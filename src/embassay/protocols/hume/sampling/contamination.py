"""Whether a model may have seen the items: their texts, or near copies, among those it is trained on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embassay.protocols.hume.sampling.repeats import plain
from embassay.search.bm25 import words
from embassay.search.duplicates import Shingle, shingles

THRESHOLD = 0.8
"""The share of common runs of three words from which two texts are near copies."""


@dataclass(frozen=True)
class Twin:
    """A text of the training data that is an item's text: at which position, and how alike, 1 for the same text."""

    position: int
    similarity: float


def twins(texts: Sequence[str], trained: Iterable[str], threshold: float = THRESHOLD) -> dict[int, Twin]:
    """Position of a text -> the training text that is most like it, the first of equals, where one is near enough.

    Texts are the same where they differ in case and white space only. Near copies have `threshold` of their runs of
    three words in common (Jaccard); texts of less than three words must be the same. One pass over `trained`, of which
    nothing is kept. Source: spec hume 8 (overlap of train and test), trap T11.

    >>> twins(["a cat sat here", "dogs"], ["Dogs ", "the a cat sat here"])
    {1: Twin(position=0, similarity=1.0)}
    """
    same: dict[str, list[int]] = defaultdict(list)
    having: dict[Shingle, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, text in enumerate(texts):
        same[plain(text)].append(place)
        own = shingles(text) if len(words(text)) > 2 else frozenset()
        sizes.append(len(own))
        for one in own:
            having[one].append(place)
    found: dict[int, Twin] = {}
    for number, other in enumerate(trained):
        for place in same.get(plain(other), ()):
            _better(found, place, Twin(number, 1.0))
        theirs = shingles(other)
        for place, common in Counter(place for one in theirs for place in having.get(one, ())).items():
            similarity = common / (sizes[place] + len(theirs) - common)
            # Two texts of the same words in other writing are near, not the same: below 1.
            if similarity >= threshold:
                _better(found, place, Twin(number, min(similarity, 0.999)))
    return dict(sorted(found.items()))


def _better(found: dict[int, Twin], place: int, twin: Twin) -> None:
    if place not in found or twin.similarity > found[place].similarity:
        found[place] = twin
