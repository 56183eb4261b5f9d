"""The desk beside the driver: an actor that keeps the cache and how far the cells are.

It hears how far cells are, opens the encoders that they ask for, and keeps vectors in the cache of the driver's
machine; so a machine that is lost takes nothing along that a run has already computed.

Calls of the desk overtake one another, and those of a machine that is lost may come after those of the next, so each
says which attempt at the cell it is of, and no order is relied on.
"""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.runs.cells import Cell
from embassay.runs.cluster.connection import left_alone
from embassay.runs.cluster.library import go_to, gotten, library, on_node, unpacked
from embassay.runs.cluster.pools import Pools, Wanted
from embassay.runs.engines.contract import Listener

Event = tuple[str, str, int]
"""A cell's key and what of it: `started`, or `advanced` by so many texts."""


class Desk:
    """What the actor does; several calls at a time."""

    def __init__(self, models: int, folder: str, environment: dict[str, str]) -> None:
        os.environ.update(environment)
        go_to(folder)
        self._pools = Pools(models)
        self._events: list[Event] = []
        self._lock = Lock()
        self._caches: dict[bytes, Any] = {}

    def hear(self, key: str, attempt: str, texts: int) -> None:
        """A cell says what it has done since it last said so; `attempt` is another each time it begins."""
        with self._lock:
            self._events.append((key, attempt, texts))

    def heard(self) -> list[Event]:
        """What was heard since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def pool(self, wanted: Wanted, user: str) -> list[Any]:
        """The actors that encode with this model, for the cell `user`; opened when they are first asked for."""
        return self._pools.open(wanted, user)

    def release(self, user: str) -> None:
        """The cell has ended: it wants no encoder any more."""
        self._pools.release(user)

    def read(self, cache: bytes, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """See `EmbeddingCache`; so the next four."""
        found = self._cache(cache).read(key, shape)
        return None if found is None else np.array(found)

    def holds(self, cache: bytes, key: bytes) -> bool:
        """Whether there are vectors under `key`."""
        return bool(self._cache(cache).holds(key))

    def write(self, cache: bytes, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep vectors."""
        self._cache(cache).write(key, encoder, vectors)

    def read_cut(self, cache: bytes, key: bytes) -> int | None:
        """How many texts of a chunk were cut."""
        cut: int | None = self._cache(cache).read_cut(key)
        return cut

    def write_cut(self, cache: bytes, key: bytes, texts: int) -> None:
        """Keep how many."""
        self._cache(cache).write_cut(key, texts)

    def _cache(self, opened: bytes) -> Any:
        with self._lock:
            if opened not in self._caches:
                self._caches[opened] = unpacked(opened)()
            return self._caches[opened]


def open_desk(models: int, environment: dict[str, str]) -> Any:
    """The actor, on the machine of the driver; `models` are at work at once, at most."""
    ray = library()
    here = ray.get_runtime_context().get_node_id()
    actor = ray.remote(Desk).options(
        num_cpus=0,
        max_concurrency=16,
        max_restarts=-1,
        max_task_retries=-1,
        scheduling_strategy=on_node(ray, here),
    )
    return actor.remote(models, str(Path.cwd()), environment)


_PATIENCE = 5.0
"""Seconds that the driver waits for an answer, before it looks whether there is still a cluster."""


@dataclass(frozen=True)
class Advance:
    """Tells the desk what a cell has done, from any process that works for it: it pickles. 0 says that it has begun."""

    desk: Any
    key: str
    attempt: str = field(default_factory=lambda: secrets.token_hex(8))

    def __call__(self, texts: int) -> None:
        self.desk.hear.remote(self.key, self.attempt, texts)


class Ears:
    """Tells the listener what the cells have told the desk."""

    def __init__(self, ray: Any, desk: Any, cells: Sequence[Cell], listener: Listener) -> None:
        self._ray, self._desk, self._listener = ray, desk, listener
        self._cells = {cell.key: cell for cell in cells}
        self._attempts: dict[str, list[str]] = {}
        self._texts: dict[str, int] = {}
        self._asked: Any = None

    def listen(self) -> None:
        """Hear what there is to hear; where the desk does not answer, that is heard later."""
        self._asked = self._asked or self._desk.heard.remote()
        if not self._ray.wait([self._asked], timeout=_PATIENCE)[0]:
            return
        asked, self._asked = self._asked, None
        try:
            heard = self._ray.get(asked)
        except self._ray.exceptions.RayError as error:
            # The desk is started anew, unless its machine is gone: this one.
            raise left_alone() from error
        for key, attempt, texts in heard:
            self.hear(key, attempt, texts)

    def forget(self, cell: Cell) -> None:
        """It has ended: what is still said of it counts nothing."""
        del self._cells[cell.key]

    def hear(self, key: str, attempt: str, texts: int) -> None:
        """Tell the listener of one message: the first of a cell begins it, the first of another attempt takes back what
        a lost machine had done of it, and the last words of that machine count nothing."""
        cell, attempts = self._cells.get(key), self._attempts.setdefault(key, [])
        if cell is None or attempt in attempts[:-1]:
            return
        if not attempts:
            self._listener.started(cell)
        elif attempt != attempts[-1]:
            self._listener.advanced(cell, -self._texts[key])
        if attempt not in attempts:
            attempts.append(attempt)
            self._texts[key] = 0
        if texts:
            self._texts[key] += texts
            self._listener.advanced(cell, texts)


_IN_FLIGHT = 8


class SharedCache:
    """What `CachedEncoder` wants of an EmbeddingCache, through the desk; see there. Writing does not wait for the
    disk, but no more than a few writes are under way."""

    def __init__(self, desk: Any, opened: bytes) -> None:
        self._desk, self._opened = desk, opened
        self._writing: deque[Any] = deque()

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedCache, (self._desk, self._opened)

    def read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """The vectors kept under `key`."""
        found: NDArray[np.float32] | None = self._asked("read", key, shape)
        return found

    def holds(self, key: bytes) -> bool:
        """Whether there are vectors under `key`."""
        return bool(self._asked("holds", key))

    def write(self, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep vectors."""
        self._told("write", key, encoder, vectors)

    def read_cut(self, key: bytes) -> int | None:
        """How many texts of a chunk were cut."""
        cut: int | None = self._asked("read_cut", key)
        return cut

    def write_cut(self, key: bytes, texts: int) -> None:
        """Keep how many."""
        self._told("write_cut", key, texts)

    def _asked(self, method: str, *arguments: Any) -> Any:
        return gotten(getattr(self._desk, method).remote(self._opened, *arguments))

    def _told(self, method: str, *arguments: Any) -> None:
        self._writing.append(getattr(self._desk, method).remote(self._opened, *arguments))
        if len(self._writing) > _IN_FLIGHT:
            gotten(self._writing.popleft())
