"""The desk beside the driver: an actor on its machine that outlives every other one.

It hears how far cells are, opens the encoders that they ask for, and keeps vectors in the cache of the driver's
machine; so a machine that is lost takes nothing along that a run has already computed.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.runs.cluster.library import go_to, library, on_node
from embassay.runs.cluster.pools import Pools, Wanted
from embassay.runs.cluster.travelling import unpacked

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
