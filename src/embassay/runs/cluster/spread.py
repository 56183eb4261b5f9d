"""The parts of a cell, done on the machines of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from embassay.contracts import Encoder
from embassay.errors import ModelError
from embassay.runs.cluster.cache import SharedCache
from embassay.runs.cluster.encoder import SpreadEncoder
from embassay.runs.cluster.library import go_to, gotten, library
from embassay.runs.cluster.losses import DIED, RETRIES, Losses, insisted
from embassay.runs.cluster.pools import Described, Wanted, other
from embassay.runs.cluster.travelling import Raised, packed, raised, unpacked

A = TypeVar("A")
B = TypeVar("B")


class OverRay:
    """A `Spread` for the cell `user`: at most `width` parts are in work or wait to be taken, however many there are,
    and of more than one no more than `room` bytes (0: any number), so that what there is of them in memory is bounded.
    `expected` is the identity that the driver knows the cell's system by, `cards` whether encoders shall use the
    nodes' GPUs. It pickles."""

    def __init__(
        self, desk: Any, user: str, width: int, *, room: int = 0, expected: str = "", cards: bool = False
    ) -> None:
        self._desk, self._user, self._width, self._room = desk, user, max(1, width), room
        self._expected, self._cards = expected, cards

    def map(self, work: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Parts as tasks of one CPU; `work` travels once to each machine."""
        ray = library()
        part = ray.remote(_part).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
        sent, folder = [ray.put(work)], str(Path.cwd())
        losses = Losses(ray)

        def taken(item: A, reference: Any) -> B:
            while True:
                try:
                    found = ray.get(reference)
                except losses.kinds as error:
                    if not losses.again("part", error):
                        raise ModelError(f"A part of the work cannot be done: {DIED}.") from error
                    reference = part.remote(sent, packed(item), folder)
                    continue
                losses.forget("part")
                if isinstance(found, Raised):
                    raise found.error
                return found  # type: ignore[no-any-return]

        waiting, held = deque[tuple[A, int, Any]](), 0
        for item in items:
            content = packed(item)
            while waiting and self._room and held + len(content) > self._room:
                first, size, reference = waiting.popleft()
                held -= size
                yield taken(first, reference)
            waiting.append((item, len(content), part.remote(sent, content, folder)))
            held += len(content)
            if len(waiting) >= self._width:
                first, size, reference = waiting.popleft()
                held -= size
                yield taken(first, reference)
        for item, _, reference in waiting:
            yield taken(item, reference)

    def encoder(self, encoder: Encoder, made: Callable[[], Encoder], /) -> Encoder:
        """The encoder's pool."""
        if isinstance(encoder, SpreadEncoder):
            return encoder
        return SpreadEncoder(self._desk, Described.of(encoder), Wanted(packed(made), False), self._user)

    def opened(self, made: Callable[[], Encoder], accelerated: bool, /) -> Encoder:
        """The encoder's pool, described by one of its actors: the model is not loaded in the cell's process. ModelError
        where it is another than the driver's."""
        wanted = Wanted(packed(made), accelerated and self._cards)
        described = insisted(
            library(),
            lambda: gotten(self._desk.pool.remote(wanted, self._user))[0].described.remote(),
            "The encoder cannot be opened",
        )
        if isinstance(described, Raised):
            raise described.error
        if self._expected and described.identity not in self._expected:
            raise other(described.name, "the nodes", described.identity, self._expected)
        return SpreadEncoder(self._desk, described, wanted, self._user)

    def cache(self, opened: Callable[[], Any], /) -> Any:
        """The cache on the machine of the driver."""
        return SharedCache(self._desk, packed(opened))


_known: dict[str, Any] = {}
"""The last work that this process was sent, by the name of its object."""


def _part(sent: list[Any], item: bytes, folder: str) -> Any:
    """One part; what it raises is a value, so that it keeps its kind."""
    try:
        go_to(folder)
        name = sent[0].hex()
        if name not in _known:
            _known.clear()
            _known[name] = library().get(sent[0])
        return _known[name](unpacked(item))
    except Exception as error:
        return raised(error)
