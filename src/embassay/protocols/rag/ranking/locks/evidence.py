"""What speaks for a pair: how often it was judged so, and which of these pairs are locked."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from embassay.protocols.rag.ranking.locks.partial_order import PartialOrder

Pair = tuple[int, int]
"""Two positions, the better first."""


class Evidence:
    """Confirmations of pairs that are not locked yet, and the partial order of those that are (spec rag 4.1)."""

    def __init__(self, n: int, *, confirmations: int, net: bool, pending_edges: bool) -> None:
        """`net` sets what speaks against a pair off against what speaks for it. With `pending_edges` two paths of
        locked or pending pairs that share no item in between are strong evidence too (ambiguity 14)."""
        self.order = PartialOrder(n)
        self.pending: Counter[Pair] = Counter()
        self._confirmations, self._net, self._pending_edges = confirmations, net, pending_edges

    def judged(
        self, order: Sequence[int], is_clear: Callable[[int, int], bool], is_ahead: Callable[[int, int], bool]
    ) -> None:
        """Take in all pairs of a judged order, in that order; lock those for which there is enough.

        `is_clear` tells whether the margin of a pair is, which is enough; `is_ahead` whether its score is higher.
        """
        for better, worse in combinations(order, 2):
            # Asked anew for each pair: every lock adds paths, and a lock against one would close a cycle (T16).
            if self.order.has_path(better, worse) or self.order.has_path(worse, better):
                continue
            self.pending[better, worse] += 1
            if (
                self._is_confirmed(better, worse)
                or is_clear(better, worse)
                or (self._pending_edges and is_ahead(better, worse) and self._is_implied_twice(better, worse))
            ):
                self.order.add(better, worse)
                del self.pending[better, worse]
        for pair in [pair for pair in self.pending if self.order.has_path(*pair)]:
            del self.pending[pair]

    def _is_confirmed(self, better: int, worse: int) -> bool:
        against = self.pending.get((worse, better), 0) if self._net else 0
        return self.pending[better, worse] - against >= self._confirmations

    def _is_implied_twice(self, better: int, worse: int) -> bool:
        edges = [*self.order.pairs, *self.pending]
        return disjoint_paths(edges, better, worse) >= 2


def disjoint_paths(pairs: Iterable[Pair], better: int, worse: int) -> int:
    """How many paths there are from one item to the other that share no item in between, 2 at most; the pair itself
    is none.

    By augmenting paths in the graph where every item is split into an entry and an exit (Menger's theorem).

    >>> disjoint_paths([(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)], 0, 3)
    2
    >>> disjoint_paths([(0, 1), (1, 2), (2, 3), (1, 3)], 0, 3)
    1
    """
    room: dict[tuple[int, bool], dict[tuple[int, bool], int]] = {}

    def edge(start: tuple[int, bool], end: tuple[int, bool]) -> None:
        room.setdefault(start, {})[end] = 1
        room.setdefault(end, {}).setdefault(start, 0)

    for above, below in pairs:
        if (above, below) != (better, worse):
            edge((above, True), (below, False))
            edge((above, False), (above, True))
            edge((below, False), (below, True))
    found = 0
    while found < 2 and _augment(room, (better, True), (worse, False)):
        found += 1
    return found


def _augment(
    room: Mapping[tuple[int, bool], dict[tuple[int, bool], int]],
    start: tuple[int, bool],
    end: tuple[int, bool],
) -> bool:
    """Send one unit from `start` to `end` through what room there is."""
    came_from: dict[tuple[int, bool], tuple[int, bool]] = {start: start}
    waiting = deque([start])
    while waiting and end not in came_from:
        node = waiting.popleft()
        for following, free in room.get(node, {}).items():
            if free and following not in came_from:
                came_from[following] = node
                waiting.append(following)
    if end not in came_from:
        return False
    while end != start:
        before = came_from[end]
        room[before][end] -= 1
        room[end][before] += 1
        end = before
    return True
