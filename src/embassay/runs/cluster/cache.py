"""The cache of the driver's machine, read and written from any other."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.runs.cluster.library import gotten

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
