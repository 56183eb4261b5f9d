"""The engine over Ray: cells and their parts are tasks on the machines; the driver alone writes files."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder
from embassay.errors import ModelError
from embassay.machine import choose_cuda_card, find_cache_folder
from embassay.runs.cluster.connection import (
    ClusterHeartbeatMonitor,
    ClusterNode,
    RaisedError,
    check_cluster_nodes,
    count_cluster_cpus,
    enter_driver_folder,
    fetch_ray_value,
    hold_ray_cluster_connection,
    import_ray,
    inspect_cluster_nodes,
    list_cluster_nodes,
    make_dead_ray_daemon_error,
    make_node_schedule_strategy,
    pack_value_for_ray,
    unpack_value_from_ray,
    wrap_error_for_sending,
)
from embassay.runs.cluster.pools import (
    DIED,
    RETRIES,
    ActorPoolEncoder,
    EncoderActorPools,
    EncoderDescription,
    EncoderToOpen,
    LostWorkCounter,
    fetch_ray_value_with_retries,
    make_encoder_mismatch_error,
)
from embassay.runs.execution import (
    CellAttempt,
    RayWorkers,
    RunListener,
    Work,
    attempt_cell_evaluation,
    describe_error,
    make_attempt_of_dead_cell_process,
    save_cell_attempt,
)
from embassay.runs.folder import CellRecord, RunCell, RunFolder

Event = tuple[str, str, int]
"""A cell's key and what of it: `started`, or `advanced` by so many texts."""


class ClusterDriverActor:
    """The actor of the driver, which the cells of a cluster call; several calls at a time."""

    def __init__(self, models: int, folder: str, environment: dict[str, str]) -> None:
        os.environ.update(environment)
        enter_driver_folder(folder)
        self._pools = EncoderActorPools(models)
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

    def pool(self, wanted: EncoderToOpen, user: str) -> list[Any]:
        """The actors that encode with this model, for the cell `user`; opened when they are first asked for."""
        return self._pools.open(wanted, user)

    def release(self, user: str) -> None:
        """The cell has ended: it wants no encoder any more."""
        self._pools.release(user)

    def read(self, cache: bytes, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """Read the vectors kept under `key`, as `EmbeddingCache` does; so the next four."""
        vectors = self._open_cache(cache).read(key, shape)
        return None if vectors is None else np.array(vectors)

    def holds(self, cache: bytes, key: bytes) -> bool:
        """Whether there are vectors under `key`."""
        return bool(self._open_cache(cache).holds(key))

    def write(self, cache: bytes, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep vectors."""
        self._open_cache(cache).write(key, encoder, vectors)

    def read_truncated_count(self, cache: bytes, key: bytes) -> int | None:
        """How many texts of a chunk were cut."""
        cut: int | None = self._open_cache(cache).read_truncated_count(key)
        return cut

    def write_truncated_count(self, cache: bytes, key: bytes, texts: int) -> None:
        """Keep how many texts of a chunk were cut."""
        self._open_cache(cache).write_truncated_count(key, texts)

    def _open_cache(self, opened: bytes) -> Any:
        with self._lock:
            if opened not in self._caches:
                self._caches[opened] = unpack_value_from_ray(opened)()
            return self._caches[opened]


def start_driver_actor(models: int, environment: dict[str, str]) -> Any:
    """Start the actor on the machine of the driver; `models` are at work at once, at most."""
    ray = import_ray()
    node = ray.get_runtime_context().get_node_id()
    actor = ray.remote(ClusterDriverActor).options(
        num_cpus=0,
        max_concurrency=16,
        # Started anew as often as it dies: what it forgets is progress, and vectors are on disk.
        max_restarts=-1,
        max_task_retries=-1,
        scheduling_strategy=make_node_schedule_strategy(ray, node),
    )
    return actor.remote(models, str(Path.cwd()), environment)


_PATIENCE = 5.0
"""Seconds that the driver waits for an answer, before it looks whether there is still a cluster."""


@dataclass(frozen=True)
class CellProgressReporter:
    """Tells the desk what a cell has done, from any process that works for it: it pickles. 0 says that it has begun."""

    desk: Any
    key: str
    attempt: str = field(default_factory=lambda: secrets.token_hex(8))

    def __call__(self, texts: int) -> None:
        self.desk.hear.remote(self.key, self.attempt, texts)


class CellProgressRelay:
    """Tells the listener what the cells have told the desk."""

    def __init__(self, ray: Any, desk: Any, cells: Sequence[RunCell], listener: RunListener) -> None:
        self._ray, self._desk, self._listener = ray, desk, listener
        self._cells = {cell.key: cell for cell in cells}
        self._attempts: dict[str, list[str]] = {}
        self._texts: dict[str, int] = {}
        self._asked: Any = None

    def relay_progress_to_listener(self) -> None:
        """Tell the listener what there is to hear; where the desk does not answer, that is heard later."""
        self._asked = self._asked or self._desk.heard.remote()
        if not self._ray.wait([self._asked], timeout=_PATIENCE)[0]:
            return
        answer, self._asked = self._asked, None
        try:
            heard = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            # The desk is started anew, unless its machine is gone: this one.
            raise make_dead_ray_daemon_error() from error
        for key, tries, texts in heard:
            self.hear(key, tries, texts)

    def forget(self, cell: RunCell) -> None:
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


class SharedEmbeddingCache:
    """What `CachedEncoder` wants of an EmbeddingCache, through the desk; see there. Writing does not wait for the
    disk, but no more than a few writes are under way."""

    def __init__(self, desk: Any, opened: bytes) -> None:
        self._desk, self._opened = desk, opened
        self._writing: deque[Any] = deque()

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedEmbeddingCache, (self._desk, self._opened)

    def read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """The vectors kept under `key`."""
        vectors: NDArray[np.float32] | None = self._call_ray_actor_method("read", key, shape)
        return vectors

    def holds(self, key: bytes) -> bool:
        """Whether there are vectors under `key`."""
        return bool(self._call_ray_actor_method("holds", key))

    def write(self, key: bytes, encoder: str, vectors: NDArray[np.float32]) -> None:
        """Keep vectors."""
        self._send_call_to_driver_cache("write", key, encoder, vectors)

    def read_truncated_count(self, key: bytes) -> int | None:
        """How many texts of a chunk were cut."""
        cut: int | None = self._call_ray_actor_method("read_truncated_count", key)
        return cut

    def write_truncated_count(self, key: bytes, texts: int) -> None:
        """Keep how many."""
        self._send_call_to_driver_cache("write_truncated_count", key, texts)

    def _call_ray_actor_method(self, method: str, *arguments: Any) -> Any:
        return fetch_ray_value(getattr(self._desk, method).remote(self._opened, *arguments))

    def _send_call_to_driver_cache(self, method: str, *arguments: Any) -> None:
        self._writing.append(getattr(self._desk, method).remote(self._opened, *arguments))
        if len(self._writing) > _IN_FLIGHT:
            fetch_ray_value(self._writing.popleft())  # the oldest one, which also raises what went wrong


A = TypeVar("A")
B = TypeVar("B")


class RayCellPartExecutor:
    """A `CellPartExecutor` for the cell `user`: at most `width` parts are in work or wait to be taken, however many
    there are, and of more than one no more than `room` bytes (0: any number), so that what there is of them in memory
    is bounded. `expected` is the identity that the driver knows the cell's system by, `cards` whether encoders shall
    use the nodes' GPUs. It pickles."""

    def __init__(
        self, desk: Any, user: str, width: int, *, room: int = 0, expected: str = "", cards: bool = False
    ) -> None:
        self._desk, self._user, self._width, self._room = desk, user, max(1, width), room
        self._expected, self._cards = expected, cards

    def map(self, work: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Map `work` over parts as tasks of one CPU; it travels once to each machine."""
        ray = import_ray()
        part = ray.remote(_run_work_part).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
        sent, folder = [ray.put(work)], str(Path.cwd())
        losses = LostWorkCounter(ray)

        def await_part(item: A, reference: Any) -> B:
            while True:
                try:
                    result = ray.get(reference)
                except losses.kinds as error:
                    if not losses.count_loss_and_wait_to_retry("part", error):
                        raise ModelError(f"Part of the work failed: {DIED}.") from error
                    reference = part.remote(sent, pack_value_for_ray(item), folder)
                    continue
                losses.forget("part")
                if isinstance(result, RaisedError):
                    raise result.error
                return result  # type: ignore[no-any-return]

        waiting, held = deque[tuple[A, int, Any]](), 0
        for item in items:
            # Packed here and not by Ray, to know its size before it takes room in the store.
            content = pack_value_for_ray(item)
            while waiting and self._room and held + len(content) > self._room:
                first, size, reference = waiting.popleft()
                held -= size
                yield await_part(first, reference)
            waiting.append((item, len(content), part.remote(sent, content, folder)))
            held += len(content)
            if len(waiting) >= self._width:
                first, size, reference = waiting.popleft()
                held -= size
                yield await_part(first, reference)
        for item, _, reference in waiting:
            yield await_part(item, reference)

    def encoder(self, encoder: Encoder, made: Callable[[], Encoder], /) -> Encoder:
        """The encoder's pool."""
        if isinstance(encoder, ActorPoolEncoder):
            return encoder
        return ActorPoolEncoder(
            self._desk, EncoderDescription.of(encoder), EncoderToOpen(pack_value_for_ray(made), False), self._user
        )

    def open_encoder_remotely(self, made: Callable[[], Encoder], accelerated: bool, /) -> Encoder:
        """The encoder's pool, described by one of its actors: the model is not loaded in the cell's process. ModelError
        where it is another than the driver's."""
        wanted = EncoderToOpen(pack_value_for_ray(made), accelerated and self._cards)
        described = fetch_ray_value_with_retries(
            import_ray(),
            lambda: fetch_ray_value(self._desk.pool.remote(wanted, self._user))[0].described.remote(),
            "The encoder cannot be opened",
        )
        if isinstance(described, RaisedError):
            raise described.error
        if self._expected and described.identity not in self._expected:
            raise make_encoder_mismatch_error(described.name, "the nodes", described.identity, self._expected)
        return ActorPoolEncoder(self._desk, described, wanted, self._user)

    def cache(self, opened: Callable[[], Any], /) -> Any:
        """The cache on the machine of the driver."""
        return SharedEmbeddingCache(self._desk, pack_value_for_ray(opened))


_known: dict[str, Any] = {}
"""The last work that this process was sent, by the name of its object."""


def _run_work_part(sent: list[Any], item: bytes, folder: str) -> Any:
    """Do one part of the work; what it raises is a value, so that it keeps its kind."""
    try:
        enter_driver_folder(folder)
        name = sent[0].hex()
        if name not in _known:
            _known.clear()
            _known[name] = import_ray().get(sent[0])
        return _known[name](unpack_value_from_ray(item))
    except Exception as error:
        return wrap_error_for_sending(error)


_NONE: Mapping[str, str] = {}
_PERIOD = 0.5
"""Seconds after which the driver asks how far the cells are."""


@contextmanager
def join_ray_cluster(
    chosen: RayWorkers, folder: RunFolder, files: Sequence[Path] = (), identities: Mapping[str, str] = _NONE
) -> Iterator[RayCellEngine]:
    """The engine while the cluster is joined. UsageError where that cannot be, or a machine cannot do the work: it has
    another Embassay, or does not see one of the `files`. `identities` are those of the systems, by name, as this
    machine has them."""
    with hold_ray_cluster_connection(chosen) as ray:
        machines = list_cluster_nodes(ray)
        count_cluster_cpus(machines)
        check_cluster_nodes(inspect_cluster_nodes(ray, machines, files))
        engine = RayCellEngine(ray, folder, machines, identities)
        try:
            yield engine
        finally:
            engine.close()


class RayCellEngine:
    """Cells of a run on the machines that were found; others may join and leave while it goes on."""

    def __init__(
        self, ray: Any, folder: RunFolder, found: Sequence[ClusterNode], identities: Mapping[str, str]
    ) -> None:
        self._ray, self._folder, self._identities = ray, folder, identities
        self._desk: Any = None
        self._pulse = ClusterHeartbeatMonitor(ray, count_cluster_cpus(found))
        self._store = sum(node.object_store for node in found)
        self.facts: dict[str, Any] = {
            "ray": ray.__version__,
            "nodes": len(found),
            "cpus": count_cluster_cpus(found),
            "gpus": sum(node.gpus for node in found),
        }

    def do(self, cells: Sequence[RunCell], work: Work, listener: RunListener) -> Iterator[CellRecord]:
        """The records as they come; as many cells at a time as there are CPUs."""
        desk = self._desk or start_driver_actor(
            len({cell.system for cell in cells}), {"EMBASSAY_CACHE": str(find_cache_folder())}
        )
        self._desk = desk
        # Half of the store is for the parts of cells, the rest for what they give back.
        room = self._store // 2 // min(self._pulse.cpus, max(1, len(cells)))
        flight = _RunningCells(self._ray, desk, work, self._identities, self._pulse, room)
        ears = CellProgressRelay(self._ray, desk, cells, listener)
        todo = deque(cells)
        try:
            while todo or flight.flying:
                while todo and len(flight.flying) < flight.width():
                    flight.submit_cell_to_ray(todo.popleft())
                for cell, tried in flight.collect_ended_cells():
                    ears.relay_progress_to_listener()
                    if tried is None:
                        # At the front, where its next loss is soon found out.
                        todo.appendleft(cell)
                        continue
                    record = save_cell_attempt(cell, tried, self._folder)
                    ears.forget(cell)
                    listener.ended(cell, record)
                    yield record
                ears.relay_progress_to_listener()
                self._pulse.check()
        finally:
            flight.stop()

    def close(self) -> None:
        """Close the encoders, which the desk has opened."""
        self._pulse.stop()
        if self._desk is not None:
            self._ray.kill(self._desk)
            self._desk = None


class _RunningCells:
    """Cells that are in work."""

    def __init__(
        self, ray: Any, desk: Any, work: Work, identities: Mapping[str, str], pulse: ClusterHeartbeatMonitor, room: int
    ) -> None:
        self._room = room
        self._identities, self._pulse, self._cards = identities, pulse, choose_cuda_card() is not None
        self._ray, self._desk, self._work = ray, desk, ray.put(work)
        self._task = ray.remote(_run_remote_cell).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
        self._losses = LostWorkCounter(ray)
        self._folder = str(Path.cwd())
        self.flying: dict[Any, RunCell] = {}

    def width(self) -> int:
        """The width of the run: cells at a time; one that waits for its parts lends them its CPU."""
        return self._pulse.cpus

    def submit_cell_to_ray(self, cell: RunCell) -> None:
        """Start a cell."""
        expected = self._identities.get(cell.system, "")
        spread = RayCellPartExecutor(
            self._desk, cell.key, self.width() + 1, room=self._room, expected=expected, cards=self._cards
        )
        self.flying[self._task.remote(self._work, cell.job, cell.key, self._desk, spread, self._folder)] = cell

    def collect_ended_cells(self) -> Iterator[tuple[RunCell, CellAttempt | None]]:
        """Collect cells that ended within a moment, with None where one was lost and is to be sent again."""
        done, _ = self._ray.wait(list(self.flying), num_returns=1, timeout=_PERIOD)
        for reference in done:
            cell = self.flying.pop(reference)
            try:
                yield cell, self._ray.get(reference)
            except self._ray.exceptions.LocalRayletDiedError as error:
                raise make_dead_ray_daemon_error() from error
            except self._losses.kinds as error:
                yield (
                    cell,
                    None
                    if self._losses.count_loss_and_wait_to_retry(cell.key, error)
                    else make_attempt_of_dead_cell_process(DIED),
                )
            except self._ray.exceptions.RayError as error:
                yield (cell, make_attempt_of_dead_cell_process(describe_error(getattr(error, "cause", None) or error)))

    def stop(self) -> None:
        """Stop what is in work, with all its parts."""
        for reference in self.flying:
            self._ray.cancel(reference, force=True, recursive=True)
        self.flying.clear()


def _run_remote_cell(
    work: Work, job: Any, key: str, desk: Any, spread: RayCellPartExecutor, folder: str
) -> CellAttempt:
    """One cell, on a machine of the cluster."""
    enter_driver_folder(folder)
    advance = CellProgressReporter(desk, key)
    advance(0)
    try:
        return attempt_cell_evaluation(work, job, advance, spread=spread)
    finally:
        desk.release.remote(key)
