"""How often somebody may ask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from embassay.web import server
from embassay.web.server import KeyedRateLimit, mask_client_address


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_a_burst_then_a_rate() -> None:
    """Three at once, then two a second, and never more than three saved up."""
    clock = Clock()
    limit = KeyedRateLimit(3, 2.0, clock=clock)
    assert [limit.try_use_rate_allowance("a") for _ in range(4)] == [True, True, True, False]
    assert limit._compute_remaining_requests("a") < 1
    clock.at += 0.5
    assert limit._compute_remaining_requests("a") >= 1
    assert [limit.try_use_rate_allowance("a"), limit.try_use_rate_allowance("a")] == [True, False]
    clock.at += 100
    assert [limit.try_use_rate_allowance("a") for _ in range(4)] == [True, True, True, False]


def test_each_has_their_own() -> None:
    """One who asks too much takes nothing from another."""
    limit = KeyedRateLimit(1, 0.0, clock=Clock())
    assert [limit.try_use_rate_allowance(key) for key in "aab"] == [True, False, True]


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 5), st.floats(0.1, 4))
def test_never_more_than_burst_and_rate(waits, burst, rate) -> None:
    """Over any stretch of time."""
    clock = Clock()
    limit = KeyedRateLimit(burst, rate, clock=clock)
    taken = []
    for wait in waits:
        clock.at += wait
        if limit.try_use_rate_allowance("a"):
            taken.append(clock.at)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + rate * (taken[last] - taken[first]) + 1e-6


def test_many_addresses_do_not_fill_the_memory(monkeypatch) -> None:
    """Who was silent longest is forgotten."""
    monkeypatch.setattr(server, "_MOST_KEPT", 10)
    limit = KeyedRateLimit(1, 0.0, clock=Clock())
    for at in range(100):
        limit.try_use_rate_allowance(str(at))
    assert len(limit._levels) == 10
    assert limit._compute_remaining_requests("99") < 1
    assert limit._compute_remaining_requests("0") >= 1


def test_an_address_of_version_six_is_its_network() -> None:
    """A client has all of it, and would be a new one with every request."""
    assert mask_client_address("2001:db8:1:2::1") == mask_client_address("2001:db8:1:2:ffff::9")
    assert mask_client_address("2001:db8:1:2::1") != mask_client_address("2001:db8:1:3::1")
    assert mask_client_address("192.0.2.1") != mask_client_address("192.0.2.2")
    assert mask_client_address("testclient") == "testclient"
