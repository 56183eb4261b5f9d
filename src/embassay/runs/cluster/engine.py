"""The engine over Ray: cells and their parts are tasks on the machines; the driver alone writes files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from embassay.contracts import Encoder
from embassay.errors import ModelError
from embassay.machine import card
from embassay.runs.cells import Cell, CellRecord
from embassay.runs.cluster.connection import Pulse, connected, left_alone
from embassay.runs.cluster.desk import Advance, Ears, SharedCache, open_desk
from embassay.runs.cluster.library import Raised, go_to, gotten, library, packed, raised, unpacked
from embassay.runs.cluster.nodes import Node, check, cpus, look, nodes
from embassay.runs.cluster.pools import (
    DIED,
    RETRIES,
    Described,
    Losses,
    SpreadEncoder,
    Wanted,
    insisted,
    other,
)
from embassay.runs.engines.attempts import Attempt, attempt, in_words, keep, lost
from embassay.runs.engines.contract import Listener, Ray, Work
from embassay.runs.folder import RunFolder
from embassay.runs.store import cache_folder

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


_NONE: Mapping[str, str] = {}
_PERIOD = 0.5
"""Seconds after which the driver asks how far the cells are."""


@contextmanager
def over_ray(
    chosen: Ray, folder: RunFolder, files: Sequence[Path] = (), identities: Mapping[str, str] = _NONE
) -> Iterator[OnCluster]:
    """The engine while the cluster is joined. UsageError where that cannot be, or a machine cannot do the work: it has
    another Embassay, or does not see one of the `files`. `identities` are those of the systems, by name, as this
    machine has them."""
    with connected(chosen) as ray:
        found = nodes(ray)
        cpus(found)
        check(look(ray, found, files))
        engine = OnCluster(ray, folder, found, identities)
        try:
            yield engine
        finally:
            engine.close()


class OnCluster:
    """Cells of a run on the machines that were found; others may join and leave while it goes on."""

    def __init__(
        self, ray: Any, folder: RunFolder, found: Sequence[Node], identities: Mapping[str, str]
    ) -> None:
        self._ray, self._folder, self._identities = ray, folder, identities
        self._desk: Any = None
        self._pulse = Pulse(ray, cpus(found))
        self._store = sum(one.object_store for one in found)
        self.facts: dict[str, Any] = {
            "ray": ray.__version__,
            "nodes": len(found),
            "cpus": cpus(found),
            "gpus": sum(one.gpus for one in found),
        }

    def do(self, cells: Sequence[Cell], work: Work, listener: Listener) -> Iterator[CellRecord]:
        """The records as they come; as many cells at a time as there are CPUs."""
        desk = self._desk or open_desk(
            len({cell.system for cell in cells}), {"EMBASSAY_CACHE": str(cache_folder())}
        )
        self._desk = desk
        # Half of the store is for the parts of cells, the rest for what they give back.
        room = self._store // 2 // min(self._pulse.cpus, max(1, len(cells)))
        flight = _Cells(self._ray, desk, work, self._identities, self._pulse, room)
        ears = Ears(self._ray, desk, cells, listener)
        todo = deque(cells)
        try:
            while todo or flight.flying:
                while todo and len(flight.flying) < flight.width():
                    flight.send(todo.popleft())
                for cell, tried in flight.landed():
                    ears.listen()
                    if tried is None:
                        todo.appendleft(cell)
                        continue
                    record = keep(cell, tried, self._folder)
                    ears.forget(cell)
                    listener.ended(cell, record)
                    yield record
                ears.listen()
                self._pulse.check()
        finally:
            flight.stop()

    def close(self) -> None:
        """Close the encoders, which the desk has opened."""
        self._pulse.stop()
        if self._desk is not None:
            self._ray.kill(self._desk)
            self._desk = None


class _Cells:
    """Cells that are in work."""

    def __init__(
        self, ray: Any, desk: Any, work: Work, identities: Mapping[str, str], pulse: Pulse, room: int
    ) -> None:
        self._room = room
        self._identities, self._pulse, self._cards = identities, pulse, card() is not None
        self._ray, self._desk, self._work = ray, desk, ray.put(work)
        self._task = ray.remote(_do_there).options(
            num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD"
        )
        self._losses = Losses(ray)
        self._folder = str(Path.cwd())
        self.flying: dict[Any, Cell] = {}

    def width(self) -> int:
        """Cells at a time: a cell that waits for its parts lends them its CPU."""
        return self._pulse.cpus

    def send(self, cell: Cell) -> None:
        """Begin a cell."""
        expected = self._identities.get(cell.system, "")
        spread = OverRay(
            self._desk, cell.key, self.width() + 1, room=self._room, expected=expected, cards=self._cards
        )
        self.flying[self._task.remote(self._work, cell.job, cell.key, self._desk, spread, self._folder)] = (
            cell
        )

    def landed(self) -> Iterator[tuple[Cell, Attempt | None]]:
        """Those that have ended within a moment, with None where a cell was lost and is to be sent again."""
        done, _ = self._ray.wait(list(self.flying), num_returns=1, timeout=_PERIOD)
        for reference in done:
            cell = self.flying.pop(reference)
            try:
                yield cell, self._ray.get(reference)
            except self._ray.exceptions.LocalRayletDiedError as error:
                raise left_alone() from error
            except self._losses.kinds as error:
                yield cell, None if self._losses.again(cell.key, error) else lost(DIED)
            except self._ray.exceptions.RayError as error:
                yield cell, lost(in_words(getattr(error, "cause", None) or error))

    def stop(self) -> None:
        """Stop what is in work, with all its parts."""
        for reference in self.flying:
            self._ray.cancel(reference, force=True, recursive=True)
        self.flying.clear()


def _do_there(work: Work, job: Any, key: str, desk: Any, spread: OverRay, folder: str) -> Attempt:
    """One cell, on a machine of the cluster."""
    go_to(folder)
    advance = Advance(desk, key)
    advance(0)
    try:
        return attempt(work, job, advance, spread=spread)
    finally:
        desk.release.remote(key)
