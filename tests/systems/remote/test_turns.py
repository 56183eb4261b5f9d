"""Clients that take turns."""

from __future__ import annotations

from collections import Counter
from itertools import count

from embassay.systems.remote.http import ClientPool


def test_few_requests_need_one_client():
    """The second is made with the sixteenth request."""
    turns = ClientPool(count().__next__)
    assert {turns.take_next_client() for _ in range(15)} == {0}
    turns.take_next_client()
    assert {turns.take_next_client() for _ in range(2)} == {0, 1}


def test_many_requests_are_shared_by_eight():
    """No ninth is made, and each has its share."""
    turns = ClientPool(count().__next__)
    for _ in range(1000):
        turns.take_next_client()
    shares = Counter(turns.take_next_client() for _ in range(800))
    assert shares == dict.fromkeys(range(8), 100)
