"""An encoder whose chunks are made by a pool of actors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, TextRefused
from embassay.runs.cluster.library import gotten, library
from embassay.runs.cluster.losses import DIED, Losses, insisted
from embassay.runs.cluster.pools import Described, Wanted
from embassay.runs.cluster.travelling import Raised

_AHEAD = 2
"""Loads at an actor: it never waits for the next one."""
_LOAD = 16
"""Chunks of a load for a card, which lays them together; a load is one chunk elsewhere."""
Vectors = NDArray[np.float32]
Chunk = tuple[int, Sequence[str]]
"""Position and texts."""


class SpreadEncoder:
    """The encoder that `described` and `wanted` say, for the cell `user`. It pickles, and a copy asks the same pool."""

    def __init__(self, desk: Any, described: Described, wanted: Wanted, user: str) -> None:
        self._desk, self._wanted, self._user = desk, wanted, user
        self._described = described
        self.name, self.identity = described.name, described.identity
        self.dim, self.max_tokens = described.dim, described.max_tokens
        self.uses_roles = described.uses_roles
        if described.chunk_size is not None:
            self.chunk_size = described.chunk_size
        self._cut: tuple[tuple[str, ...], int] = ((), 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpreadEncoder, (self._desk, self._described, self._wanted, self._user)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """One chunk."""
        for _, found in self.encode_chunks([texts], role=role):
            if isinstance(found, TextRefused):
                raise found
            return found
        raise AssertionError("a chunk has an answer")

    def count_truncated(self, texts: Sequence[str]) -> int:
        """The encoder's count; that of the chunk that was given last is known."""
        asked = tuple(texts)
        if self._cut[0] == asked:
            return self._cut[1]
        ask = lambda: self._pool()[0].count_truncated.remote(list(asked))  # noqa: E731
        found = insisted(library(), ask, f"The encoder {self.name!r}")
        if isinstance(found, Raised):
            raise found.error
        return int(found)

    def encode_chunks(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, Vectors | TextRefused]]:
        """Each chunk by its position, as soon as it is there: as RemoteEncoder has it, with a few at each actor."""
        load = _LOAD if self._wanted.accelerated else 1
        flight = _Flight(self._pool(), self._described, role, load)
        failure: Exception | None = None
        todo, again = iter(enumerate(chunks)), deque[Chunk]()
        while flight.fill(again, todo if failure is None else iter(())):
            for position, texts, found in flight.landed():
                if found is None:
                    # Its actors may be gone with the process that had opened them.
                    again.append((position, texts))
                    flight.actors = self._pool()
                elif not isinstance(found, Raised):
                    self._cut = tuple(texts), found[1]
                    yield position, found[0]
                elif isinstance(found.error, TextRefused):
                    yield position, found.error
                else:
                    failure = failure or found.error
        if failure is not None:
            raise failure

    def _pool(self) -> list[Any]:
        actors: list[Any] = gotten(self._desk.pool.remote(self._wanted, self._user))
        return actors


class _Flight:
    """Loads of chunks at their actors, the next one always where fewest are."""

    def __init__(self, actors: list[Any], encoder: Described, role: Role | None, load: int) -> None:
        self._ray, self.actors, self._encoder, self._role, self._load = library(), actors, encoder, role, load
        self.flying: dict[Any, tuple[list[Chunk], Any]] = {}
        self._losses = Losses(self._ray)

    def fill(self, again: deque[Chunk], todo: Iterator[Chunk]) -> bool:
        """Ask for chunks, those that were lost first, until no actor would wait for its next; False where none is
        asked for at all."""
        while len(self.flying) < _AHEAD * len(self.actors):
            load = [again.popleft()] if again else list(islice(todo, self._load))
            if not load:
                break
            self._send(load)
        return bool(self.flying)

    def _send(self, load: list[Chunk]) -> None:
        busy = [actor for _, actor in self.flying.values()]
        actor = min(self.actors, key=busy.count)
        chunks, count = [list(texts) for _, texts in load], self._encoder.max_tokens is not None
        asked = actor.encode.remote(chunks, self._role, self._encoder.identity, count)
        self.flying[asked] = load, actor

    def landed(self) -> Iterator[tuple[int, Sequence[str], Any]]:
        """What is there next: a chunk's vectors and its count, what its encoder raised, or None where it was lost."""
        done, _ = self._ray.wait(list(self.flying), num_returns=1)
        for reference in done:
            load, _ = self.flying.pop(reference)
            try:
                found = self._ray.get(reference)
            except self._losses.kinds as error:
                lost = Raised(ModelError(f"The encoder {self._encoder.name!r} cannot work: {DIED}."))
                found = [None if self._losses.again(load[0][0], error) else lost] * len(load)
            for (position, texts), one in zip(load, found, strict=True):
                yield position, texts, one
