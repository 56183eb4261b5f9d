"""The answers of several people to one item put together, to be gold for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from embassay.protocols.hume.study import Label, Marks


def most_votes(votes: Sequence[Label]) -> frozenset[Label]:
    """The labels with the most votes: several where the vote is tied.

    >>> sorted(most_votes(["b", "a", "b", "a", "c"]))
    ['a', 'b']
    """
    counted = Counter(votes)
    most = max(counted.values())
    return frozenset(label for label, times in counted.items() if times == most)


def relevant_to_most(marks: Sequence[Marks]) -> Marks:
    """1 for every document that at least half of the people marked.

    >>> relevant_to_most([(1, 1, 0), (1, 0, 0)])
    (1, 1, 0)
    """
    return tuple(int(2 * sum(document) >= len(document)) for document in zip(*marks, strict=True))
