"""Encoders on a cluster: pools of actors, and asking again for what a lost process took along.

An actor books no CPU: a cell that waits for vectors gives its own back, and the actor uses that. If actors booked what
tasks need, a small cluster would wait for ever. On machines with GPUs the actors of an encoder that can use one book a
share of each, so that all models of the run have their place.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Role
from embassay.errors import ModelError, TextRefused
from embassay.runs.cluster.connection import (
    ClusterNode,
    RaisedError,
    enter_driver_folder,
    fetch_ray_value,
    import_ray,
    list_cluster_nodes,
    make_node_schedule_strategy,
    unpack_value_from_ray,
    wrap_error_for_sending,
)

T = TypeVar("T")

LIVES = 4
"""Times that a piece of work may lose its process, each time after the attempts of Ray itself: more often, and it is
the work that kills it. A machine that is lost does not count."""
RETRIES = 3
"""Ray's own attempts for one call."""
DIED = (
    "its process died repeatedly, most likely because it ran out of memory. Start the nodes with fewer CPUs "
    "(ray start --num-cpus) to run less at once, or use larger nodes. Ray's logs on each node show "
    "the cause: /tmp/ray/session_latest/logs"
)


class LostWorkCounter:
    """Counts what a piece of work has lost."""

    def __init__(self, ray: Any) -> None:
        exceptions = ray.exceptions
        # A machine that was taken away (a spot instance) says nothing against the work that was on it.
        self._innocent = (exceptions.NodeDiedError, exceptions.ObjectLostError)
        self.kinds: tuple[type[BaseException], ...] = (
            *self._innocent,
            exceptions.WorkerCrashedError,
            exceptions.OutOfMemoryError,
            exceptions.LocalRayletDiedError,
            exceptions.RayActorError,
        )
        self._lost: dict[Any, int] = {}

    def count_loss_and_wait_to_retry(self, what: Any, error: BaseException) -> bool:
        """Whether `what`, which this befell, is to be asked again; it waits a little where it is."""
        if not isinstance(error, self._innocent):
            self._lost[what] = self._lost.get(what, 0) + 1
        count = self._lost.get(what, 0)
        if count >= LIVES:
            return False
        # Ray needs a while to see that a node is gone, and would give the work to it again.
        time.sleep(min(8.0, 0.5 * 2**count))
        return True

    def forget(self, what: Any) -> None:
        """It is done."""
        self._lost.pop(what, None)


def fetch_ray_value_with_retries(ray: Any, ask: Callable[[], Any], what: str) -> Any:
    """The value of the reference that `ask` gives, asked again where it is lost. ModelError where that is in vain."""
    losses = LostWorkCounter(ray)
    while True:
        try:
            return ray.get(ask())
        except losses.kinds as error:
            if not losses.count_loss_and_wait_to_retry(what, error):
                raise ModelError(f"{what}: {DIED}.") from error


Encoded = tuple[NDArray[np.float32], int]
"""A chunk's vectors, and how many of its texts were cut."""


@dataclass(frozen=True)
class EncoderToOpen:
    """An encoder that is to be opened: `made`, pickled, makes it; `accelerated` says whether it shall use a GPU."""

    made: bytes
    accelerated: bool


@dataclass(frozen=True)
class EncoderDescription:
    """What an encoder says of itself."""

    name: str
    identity: str
    dim: int
    max_tokens: int | None
    chunk_size: int | None
    uses_roles: bool
    similarity: str

    @classmethod
    def of(cls, encoder: Encoder) -> EncoderDescription:
        """The description of an encoder: its attributes, with those beside its contract."""
        return cls(
            encoder.name,
            encoder.identity,
            encoder.dim,
            encoder.max_tokens,
            getattr(encoder, "chunk_size", None),
            getattr(encoder, "uses_roles", True),
            getattr(encoder, "similarity", "cosine"),
        )


class EncoderActor:
    """One actor: an encoder, opened at the first call. Errors are given back and not raised, so that they keep their
    kind."""

    def __init__(self, wanted: EncoderToOpen, folder: str) -> None:
        enter_driver_folder(folder)
        self._wanted = wanted
        self._encoder: Encoder | None = None

    def described(self) -> EncoderDescription | RaisedError:
        """What the encoder is."""
        try:
            return EncoderDescription.of(self._open_encoder_once())
        except Exception as error:
            return wrap_error_for_sending(error)

    def encode(
        self, chunks: list[list[str]], role: Role | None, identity: str, count: bool
    ) -> list[Encoded | RaisedError]:
        """Some chunks with the encoder of this `identity`; `count` asks how many texts of each are cut."""
        try:
            encoder = self._open_encoder_once()
            # Checked where the work is done: a node may have another version of the model, whose vectors would be mixed
            # in silently.
            if encoder.identity != identity:
                raise make_encoder_mismatch_error(encoder.name, socket.gethostname(), encoder.identity, identity)
            return _encode_chunks(encoder, chunks, role, count)
        except Exception as error:
            return [wrap_error_for_sending(error)] * len(chunks)  # the model did not open: so it is for all of them

    def count_truncated(self, texts: list[str]) -> int | RaisedError:
        """Count the texts that the encoder cuts at its limit."""
        try:
            return self._open_encoder_once().count_truncated(texts)
        except Exception as error:
            return wrap_error_for_sending(error)

    def _open_encoder_once(self) -> Encoder:
        if self._encoder is None:
            self._encoder = unpack_value_from_ray(self._wanted.made)()
        return self._encoder


def make_encoder_mismatch_error(name: str, where: str, found: str, expected: str) -> ModelError:
    """Make the error that an encoder is not what it is on another machine of the run."""
    return ModelError(
        f"The encoder {name!r} is different on {where}: {found}, expected {expected}.",
        mend="Install the same version of the model on every node; EMBASSAY_DEVICE=cpu avoids GPUs, "
        "EMBASSAY_BACKEND=onnx avoids OpenVINO.",
    )


def _encode_chunks(
    encoder: Encoder, chunks: list[list[str]], role: Role | None, count: bool
) -> list[Encoded | RaisedError]:
    """Encode chunks: all at once where the encoder lays chunks together on a card."""
    cut = encoder.count_truncated if count else lambda texts: 0  # noqa: ARG005
    many = getattr(encoder, "encode_chunks", None) if getattr(encoder, "joins_chunks", False) else None
    if many is not None:
        in_order = sorted(many(chunks, role=role), key=itemgetter(0))
        return [(vectors, cut(chunks[place])) for place, vectors in in_order]
    answers: list[Encoded | RaisedError] = []
    for texts in chunks:
        try:
            answers.append((encoder.encode(texts, role=role), cut(texts)))
        except Exception as error:
            answers.append(wrap_error_for_sending(error))
    return answers


@dataclass
class _ActorPool:
    actors: list[Any]
    users: set[str] = field(default_factory=set)


class EncoderActorPools:
    """The pools of a run. `models` are at work at once, at most: each has its share of the GPUs."""

    def __init__(self, models: int) -> None:
        self._models = max(1, models)
        self._pools: dict[EncoderToOpen, _ActorPool] = {}
        self._lock = Lock()

    def open(self, wanted: EncoderToOpen, user: str) -> list[Any]:
        """The actors for this model."""
        with self._lock:
            ray = import_ray()
            if wanted not in self._pools:
                self._close_unused_encoder_pools(ray)
                places = plan_actor_placements(list_cluster_nodes(ray), wanted.accelerated, self._models)
                self._pools[wanted] = _ActorPool([_start_encoder_actor(ray, wanted, seat) for seat in places])
            self._pools[wanted].users.add(user)
            return self._pools[wanted].actors

    def release(self, user: str) -> None:
        """The cell `user` has ended."""
        with self._lock:
            for pool in self._pools.values():
                pool.users.discard(user)

    def _close_unused_encoder_pools(self, ray: Any) -> None:
        """Close pools that nobody uses, to make room for a model that is wanted."""
        for key, pool in list(self._pools.items()):
            if not pool.users:
                for actor in pool.actors:
                    ray.kill(actor)
                del self._pools[key]


@dataclass(frozen=True)
class ActorPlacement:
    """A place for an actor: the node, and its share of a GPU there."""

    node: str
    gpus: float = 0.0


def plan_actor_placements(found: tuple[ClusterNode, ...], accelerated: bool, models: int) -> list[ActorPlacement]:
    """Where the actors of one model sit, while so many `models` are at work: one for each GPU where the model can use
    them and there are any, else some on every machine, and always one.

    >>> node = ClusterNode("a", "a", cpus=16, gpus=2, memory=0, object_store=0)
    >>> plan_actor_placements((node,), accelerated=True, models=4)
    [ActorPlacement(node='a', gpus=0.25), ActorPlacement(node='a', gpus=0.25)]
    >>> [seat.node for seat in plan_actor_placements((node,), accelerated=False, models=1)]
    ['a', 'a']
    """
    # Ray counts in ten-thousandths; rounded up, the last model would find no room.
    share = int(10_000 / models) / 10_000
    if accelerated and any(node.gpus >= 1 for node in found):
        return [ActorPlacement(node.id, share) for node in found for _ in range(int(node.gpus))]
    # A machine without CPUs for tasks (a head, say) is left alone.
    able = [node for node in found if node.cpus] or list(found)[:1]
    return [ActorPlacement(node.id) for node in able for _ in range(max(1, node.count_encoder_process_slots // models))]


def _start_encoder_actor(ray: Any, wanted: EncoderToOpen, seat: ActorPlacement) -> Any:
    options: dict[str, Any] = {"num_gpus": seat.gpus} if seat.gpus else {}
    actor = ray.remote(EncoderActor).options(
        num_cpus=0,
        max_restarts=-1,  # `LostWorkCounter` decides when it is enough
        max_task_retries=RETRIES,
        scheduling_strategy=make_node_schedule_strategy(
            ray, seat.node, soft=True
        ),  # soft: where the node is gone, on another
        **options,
    )
    return actor.remote(wanted, str(Path.cwd()))


_AHEAD = 2
"""Loads at an actor: it never waits for the next one."""
_LOAD = 16
"""Chunks of a load for a card, which lays them together; a load is one chunk elsewhere."""
Vectors = NDArray[np.float32]
Chunk = tuple[int, Sequence[str]]
"""Position and texts."""


class ActorPoolEncoder:
    """The encoder that `described` and `wanted` say, for the cell `user`. It pickles, and a copy asks the same pool."""

    def __init__(self, desk: Any, described: EncoderDescription, wanted: EncoderToOpen, user: str) -> None:
        self._desk, self._wanted, self._user = desk, wanted, user
        self._described = described
        self.name, self.identity = described.name, described.identity
        self.dim, self.max_tokens = described.dim, described.max_tokens
        self.uses_roles, self.similarity = described.uses_roles, described.similarity
        if described.chunk_size is not None:
            self.chunk_size = described.chunk_size
        # The actor counts as it encodes, and `count_truncated` is asked for the same chunk right after: no second
        # journey.
        self._cut: tuple[tuple[str, ...], int] = ((), 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return ActorPoolEncoder, (self._desk, self._described, self._wanted, self._user)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """One chunk."""
        for _, answer in self.encode_chunks([texts], role=role):
            if isinstance(answer, TextRefused):
                raise answer
            return answer
        raise AssertionError("the chunk has no answer")

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that the encoder cuts; that of the chunk given last is known."""
        key = tuple(texts)
        if self._cut[0] == key:
            return self._cut[1]
        ask = lambda: self._find_actors()[0].count_truncated.remote(list(key))  # noqa: E731
        count = fetch_ray_value_with_retries(import_ray(), ask, f"The encoder {self.name!r}")
        if isinstance(count, RaisedError):
            raise count.error
        return int(count)

    def encode_chunks(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, Vectors | TextRefused]]:
        """Each chunk by its position, as soon as it is there: as RemoteEncoder has it, with a few at each actor."""
        load = _LOAD if self._wanted.accelerated else 1
        flight = _ChunkLoadBalancer(self._find_actors(), self._described, role, load)
        failure: Exception | None = None
        todo, again = iter(enumerate(chunks)), deque[Chunk]()
        # After a failure nothing new is asked for, but what is under way is waited for and kept: it may have been paid
        # for.
        while flight.send_chunks_until_actors_are_busy(again, todo if failure is None else iter(())):
            for position, texts, answer in flight.collect_landed_chunks():
                if answer is None:
                    # Its actors may be gone with the process that had opened them.
                    again.append((position, texts))
                    flight.actors = self._find_actors()
                elif not isinstance(answer, RaisedError):
                    self._cut = tuple(texts), answer[1]
                    yield position, answer[0]
                elif isinstance(answer.error, TextRefused):
                    yield position, answer.error
                else:
                    failure = failure or answer.error
        if failure is not None:
            raise failure

    def _find_actors(self) -> list[Any]:
        actors: list[Any] = fetch_ray_value(self._desk.pool.remote(self._wanted, self._user))
        return actors


class _ChunkLoadBalancer:
    """Loads of chunks at their actors, the next one always where fewest are."""

    def __init__(self, actors: list[Any], encoder: EncoderDescription, role: Role | None, load: int) -> None:
        self._ray, self.actors, self._encoder, self._role, self._load = (import_ray(), actors, encoder, role, load)
        self.flying: dict[Any, tuple[list[Chunk], Any]] = {}
        self._losses = LostWorkCounter(self._ray)

    def send_chunks_until_actors_are_busy(self, again: deque[Chunk], todo: Iterator[Chunk]) -> bool:
        """Ask for chunks, those that were lost first, until no actor would wait for its next; False where none is
        asked for at all."""
        while len(self.flying) < _AHEAD * len(self.actors):
            load = [again.popleft()] if again else list(islice(todo, self._load))
            if not load:
                break
            self._send_chunks(load)
        return bool(self.flying)

    def _send_chunks(self, load: list[Chunk]) -> None:
        busy = [actor for _, actor in self.flying.values()]
        # By what is under way and not by turns: actors differ in speed, and a new one starts with nothing.
        actor = min(self.actors, key=busy.count)
        chunks, count = [list(texts) for _, texts in load], self._encoder.max_tokens is not None
        reference = actor.encode.remote(chunks, self._role, self._encoder.identity, count)
        self.flying[reference] = load, actor

    def collect_landed_chunks(self) -> Iterator[tuple[int, Sequence[str], Any]]:
        """Collect what came back next: a chunk's vectors and count, an error, or None where it was lost."""
        done, _ = self._ray.wait(list(self.flying), num_returns=1)
        for reference in done:
            load, _ = self.flying.pop(reference)
            try:
                answers = self._ray.get(reference)
            except self._losses.kinds as error:
                lost = RaisedError(ModelError(f"The encoder {self._encoder.name!r} failed: {DIED}."))
                answers = [None if self._losses.count_loss_and_wait_to_retry(load[0][0], error) else lost] * len(load)
            for (position, texts), answer in zip(load, answers, strict=True):
                yield position, texts, answer
