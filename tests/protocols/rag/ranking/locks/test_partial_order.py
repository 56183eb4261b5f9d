"""Locked pairs, what follows from them, and the order they allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.ranking.locks import PartialOrder

SCORES = [4.1, 5.0, 4.5, 4.5, 2.0]
Pairs = list[tuple[int, int]]


def test_worked_orders() -> None:
    """Scores a4.1 b5 c4.5 d4.5 e2: with a over b and e over c it is d a b e c, without pairs b c d a e."""
    order = PartialOrder(5)
    assert order.sort_items_respecting_order(SCORES, range(5)) == (1, 2, 3, 0, 4)
    order.add(0, 1)
    order.add(4, 2)
    assert order.sort_items_respecting_order(SCORES, range(5)) == (3, 0, 1, 4, 2)


def test_ties_go_by_what_is_given_for_them() -> None:
    """Equal scores stand by their ties, not by position."""
    assert PartialOrder(3).sort_items_respecting_order([1.0, 1.0, 1.0], [2, 0, 1]) == (1, 2, 0)


def test_a_cycle_is_an_error() -> None:
    """A pair that contradicts a path, or one of an item with itself, is refused."""
    order = PartialOrder(3)
    order.add(0, 1)
    order.add(1, 2)
    assert order.is_known_better(0, 2)
    with pytest.raises(ValueError, match="2 over 0 would close a cycle"):
        order.add(2, 0)
    with pytest.raises(ValueError, match="1 over 1"):
        order.add(1, 1)


@given(st.data(), st.integers(2, 9))
def test_paths_are_those_of_a_search(data: st.DataObject, n: int) -> None:
    """Whatever pairs come in, `has_path` says what a plain search finds, and the order respects every pair."""
    items = st.integers(0, n - 1)
    wanted: Pairs = data.draw(st.lists(st.tuples(items, items), max_size=20))
    order = PartialOrder(n)
    for better, worse in wanted:
        if better != worse and not order.is_known_better(worse, better):
            order.add(better, worse)
    for start in range(n):
        reached: set[int] = set()
        waiting = [start]
        while waiting:
            item = waiting.pop()
            following = {worse for better, worse in order.pairs if better == item} - reached
            reached |= following
            waiting += following
        assert reached == {item for item in range(n) if order.is_known_better(start, item)}
    scores = data.draw(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=n, max_size=n))
    found = order.sort_items_respecting_order(scores, range(n))
    assert sorted(found) == list(range(n))
    assert all(found.index(better) < found.index(worse) for better, worse in order.pairs)
