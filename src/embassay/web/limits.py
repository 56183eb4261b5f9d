"""How often somebody may ask: a bucket of tokens each, that fills again with time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from threading import Lock

_MOST_KEPT = 10_000


class RateLimit:
    """At most `burst` at once and `per_second` in the long run, for each key. Safe to share between threads.

    The keys that were silent longest are forgotten, so that many addresses cannot fill the memory.
    """

    def __init__(self, burst: int, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: str) -> bool:
        """Take one; whether there was one."""
        with self._lock:
            level = self._level(key)
            self._keep(key, max(0.0, level - 1) if level >= 1 else level)
            return level >= 1

    def is_spent(self, key: str) -> bool:
        """Whether there is none left, without taking one."""
        with self._lock:
            return self._level(key) < 1

    def _level(self, key: str) -> float:
        level, at = self._levels.get(key, (float(self._burst), self._clock()))
        return min(self._burst, level + (self._clock() - at) * self._per_second)

    def _keep(self, key: str, level: float) -> None:
        self._levels[key] = level, self._clock()
        self._levels.move_to_end(key)
        while len(self._levels) > _MOST_KEPT:
            self._levels.popitem(last=False)


def address_key(host: str | None) -> str:
    """What stands for a client's address: of IPv6 the network of 64 bits, for a client has all of it.

    >>> address_key("2001:db8::1") == address_key("2001:db8::2"), address_key(None)
    (True, 'unknown')
    """
    if host is None:
        return "unknown"
    try:
        found = ip_address(host)
    except ValueError:
        return host
    return str(int(found) >> 64) if isinstance(found, IPv6Address) else host
