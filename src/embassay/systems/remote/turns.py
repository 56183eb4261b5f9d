"""Clients that take turns, because the pool of one looks through all its connections at every request."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from embassay.systems.remote.home import closed_at_exit

T = TypeVar("T")

_MOST = 8
_REQUESTS_EACH = 16


class Turns(Generic[T]):
    """Up to eight clients made by `make`, one more with every sixteen requests: a few calls need no second one, and
    of hundreds at once each client has its share. They are kept: one that is collected leaves its connections open."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._clients: list[T] = []
        self._requests = 0
        self._process = os.getpid()
        closed_at_exit(self._close)

    def next(self) -> T:
        """The client whose turn it is."""
        self._requests += 1
        if len(self._clients) < min(_MOST, 1 + self._requests // _REQUESTS_EACH):
            self._clients.append(self._make())
        return self._clients[self._requests % len(self._clients)]

    async def _close(self) -> None:
        """Close the clients of this process."""
        clients, self._clients = self._clients if self._process == os.getpid() else [], []
        for client in clients:
            closing: Any = getattr(client, "aclose", None) or getattr(client, "close", None)
            if closing is not None:
                await closing()
