"""A partial order that grows by one pair at a time and can never hold a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush


class PartialOrder:
    """Pairs (better, worse) of n items, and what follows from them.

    What is below an item is a bit set, kept up to date as pairs come in, so that asking for a path costs nothing.
    """

    def __init__(self, n: int) -> None:
        self.pairs: list[tuple[int, int]] = []
        self._worse: list[list[int]] = [[] for _ in range(n)]
        self._below = [0] * n
        self._above = [0] * n
        self._direct_above = [0] * n

    def has_path(self, better: int, worse: int) -> bool:
        """Whether the pairs say, directly or through others, that one is better than the other."""
        return bool(self._below[better] >> worse & 1)

    def add(self, better: int, worse: int) -> None:
        """Add a pair; ValueError if it contradicts what is known, or is one of an item with itself."""
        if better == worse or self.has_path(worse, better):
            raise ValueError(f"{better} over {worse} would close a cycle")
        self.pairs.append((better, worse))
        self._worse[better].append(worse)
        self._direct_above[worse] += 1
        over, under = self._above[better] | 1 << better, self._below[worse] | 1 << worse
        for item in _members(over):
            self._below[item] |= under
        for item in _members(under):
            self._above[item] |= over

    def sorted(self, scores: Sequence[float], ties: Sequence[int]) -> tuple[int, ...]:
        """All items, best first: always the one with the highest score among those that nothing left is better than;
        equal scores by the least of `ties`.

        >>> order = PartialOrder(5)
        >>> order.add(0, 1); order.add(4, 2)
        >>> order.sorted([4.1, 5, 4.5, 4.5, 2], range(5))
        (3, 0, 1, 4, 2)
        """
        left = list(self._direct_above)
        free = [(-scores[item], ties[item], item) for item, count in enumerate(left) if not count]
        heapify(free)
        found = []
        while free:
            item = heappop(free)[2]
            found.append(item)
            for worse in self._worse[item]:
                left[worse] -= 1
                if not left[worse]:
                    heappush(free, (-scores[worse], ties[worse], worse))
        return tuple(found)


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
