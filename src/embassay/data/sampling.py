"""Seeded draws of items: by a keyed hash of their ids, so a draw does not depend on the order of the file."""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.randomness import random_bytes

T = TypeVar("T")


class Draw(Generic[T]):
    """The `limit` offered items whose ids have the smallest keyed hashes; all of them without a limit.

    `required` ids are always drawn; they count towards the limit and may exceed it. Holds at most `limit`
    items besides the required ones, and the draw of a smaller limit is part of the draw of a larger one.
    """

    def __init__(self, limit: int | None, seed: int, required: Container[str] = ()) -> None:
        check_limit(limit)
        self._limit = limit
        self._seed = seed
        self._required = required
        self._offered = 0
        self._kept: list[tuple[int, T]] = []
        self._others: list[tuple[int, int, T]] = []

    def offer(self, key: str, item: T) -> None:
        """Consider `item`, whose id is `key`."""
        self._offered += 1
        if self._limit is None or key in self._required:
            self._kept.append((self._offered, item))
            return
        # Negated, so that the heap's smallest entry is the largest hash held, the one to give way.
        entry = (-_rank(key, self._seed), self._offered, item)
        if len(self._others) < self._limit:
            heapq.heappush(self._others, entry)
        elif entry[0] > self._others[0][0]:
            heapq.heapreplace(self._others, entry)

    def taken(self) -> list[T]:
        """The drawn items, in the order they were offered."""
        room = max((self._limit or 0) - len(self._kept), 0)
        others = [(place, item) for _, place, item in heapq.nlargest(room, self._others, key=lambda e: e[:2])]
        return [item for _, item in sorted((*self._kept, *others), key=lambda entry: entry[0])]


def draw(ids: Sequence[str], limit: int | None, seed: int) -> list[int]:
    """Positions of `limit` of the ids, ascending: the same ids are drawn whatever their order."""
    chosen = Draw[int](limit, seed)
    for position, key in enumerate(ids):
        chosen.offer(key, position)
    return chosen.taken()


def drawn_places(
    ids: Sequence[str], limit: int, seed: int, required: Container[str] = ()
) -> NDArray[np.int64]:
    """Positions of what `Draw` takes of the ids, ascending, in 9 bytes an id."""
    check_limit(limit)
    ranks, kept = np.empty(len(ids), np.uint64), np.zeros(len(ids), np.bool_)
    for place, key in enumerate(ids):
        ranks[place], kept[place] = _rank(key, seed), key in required
    room = max(limit - int(kept.sum()), 0)
    others = np.flatnonzero(~kept)
    if room < len(others):
        # Of equal ranks the first: a stable order.
        others = others[np.argsort(ranks[others], kind="stable")[:room]]
    return np.sort(np.concatenate([np.flatnonzero(kept), others]))


def draw_stratified(ids: Sequence[str], labels: Sequence[str], limit: int | None, seed: int) -> list[int]:
    """Positions of `limit` of the ids, ascending, with every label represented in proportion to its size.

    Each label gets at least one place while there are places; the rest is shared by largest remainder, ties
    by a keyed hash of the label. With fewer places than labels, those with the smallest hashes get them.
    """
    check_limit(limit)
    strata: dict[str, list[int]] = {}
    for position, label in enumerate(labels):
        strata.setdefault(label, []).append(position)
    if limit is None or limit >= len(ids):
        return list(range(len(ids)))
    places = _places({label: len(members) for label, members in strata.items()}, limit, seed)
    return sorted(
        members[position]
        for label, members in strata.items()
        if places[label]
        for position in draw([ids[member] for member in members], places[label], seed)
    )


def check_limit(limit: int | None) -> None:
    """UsageError unless there is no limit or it is at least 1."""
    if limit is not None and limit < 1:
        raise UsageError(
            f"The limit is {limit}, but at least 1 item is needed.", mend="Leave --limit out for all."
        )


def _places(sizes: dict[str, int], limit: int, seed: int) -> dict[str, int]:
    order = sorted(sizes, key=lambda label: _rank(label, seed))
    if limit <= len(sizes):
        return {label: int(position < limit) for position, label in enumerate(order)}
    # One place each first; what is left is shared in proportion to what each label still has.
    spare = {label: size - 1 for label, size in sizes.items()}
    left, total = limit - len(sizes), sum(spare.values())
    places = {label: 1 + left * spare[label] // total for label in sizes}
    remainders = {label: left * spare[label] % total for label in sizes}
    neediest = sorted(order, key=lambda label: -remainders[label])
    for label in neediest[: limit - sum(places.values())]:
        places[label] += 1
    return places


def _rank(key: str, seed: int) -> int:
    return int.from_bytes(random_bytes(8, seed, "limit", key), "big")
