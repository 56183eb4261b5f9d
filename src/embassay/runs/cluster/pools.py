"""Pools of actors, one for each encoder that is at work.

An actor books no CPU: a cell that waits for vectors gives its own back, and the actor uses that. If actors booked what
tasks need, a small cluster would wait for ever. On machines with GPUs the actors of an encoder that can use one book a
share of each, so that all models of the run have their place.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Encoder, Role
from embassay.errors import ModelError
from embassay.runs.cluster.library import go_to, library, on_node
from embassay.runs.cluster.losses import RETRIES
from embassay.runs.cluster.nodes import Node, nodes
from embassay.runs.cluster.travelling import Raised, raised, unpacked

Encoded = tuple[NDArray[np.float32], int]
"""A chunk's vectors, and how many of its texts were cut."""


@dataclass(frozen=True)
class Wanted:
    """An encoder that is to be opened: `made`, pickled, makes it; `accelerated` says whether it shall use a GPU."""

    made: bytes
    accelerated: bool


@dataclass(frozen=True)
class Described:
    """What an encoder says of itself."""

    name: str
    identity: str
    dim: int
    max_tokens: int | None
    chunk_size: int | None
    uses_roles: bool

    @classmethod
    def of(cls, encoder: Encoder) -> Described:
        """Its attributes, with those beside its contract."""
        return cls(
            encoder.name,
            encoder.identity,
            encoder.dim,
            encoder.max_tokens,
            getattr(encoder, "chunk_size", None),
            getattr(encoder, "uses_roles", True),
        )


class Encoding:
    """One actor: an encoder, opened at the first call. Errors are given back and not raised, so that they keep their
    kind."""

    def __init__(self, wanted: Wanted, folder: str) -> None:
        go_to(folder)
        self._wanted = wanted
        self._encoder: Encoder | None = None

    def described(self) -> Described | Raised:
        """What the encoder is."""
        try:
            return Described.of(self._opened())
        except Exception as error:
            return raised(error)

    def encode(
        self, chunks: list[list[str]], role: Role | None, identity: str, count: bool
    ) -> list[Encoded | Raised]:
        """Some chunks with the encoder of this `identity`; `count` asks how many texts of each are cut."""
        try:
            encoder = self._opened()
            if encoder.identity != identity:
                raise other(encoder.name, socket.gethostname(), encoder.identity, identity)
            return _encoded(encoder, chunks, role, count)
        except Exception as error:
            return [raised(error)] * len(chunks)

    def count_truncated(self, texts: list[str]) -> int | Raised:
        """The encoder's count."""
        try:
            return self._opened().count_truncated(texts)
        except Exception as error:
            return raised(error)

    def _opened(self) -> Encoder:
        if self._encoder is None:
            self._encoder = unpacked(self._wanted.made)()
        return self._encoder


def other(name: str, where: str, found: str, expected: str) -> ModelError:
    """An encoder is not what it is on another machine of the run."""
    return ModelError(
        f"The encoder {name!r} is another on {where}: {found}, where {expected} was expected.",
        mend="Install the same model, of the same version, on every node; EMBASSAY_DEVICE=cpu leaves GPUs alone, "
        "EMBASSAY_BACKEND=onnx OpenVINO.",
    )


def _encoded(
    encoder: Encoder, chunks: list[list[str]], role: Role | None, count: bool
) -> list[Encoded | Raised]:
    """All at once where the encoder lays chunks together on a card."""
    cut = encoder.count_truncated if count else lambda texts: 0  # noqa: ARG005
    many = getattr(encoder, "encode_chunks", None) if getattr(encoder, "joins_chunks", False) else None
    if many is not None:
        return [
            (vectors, cut(chunks[place])) for place, vectors in sorted(many(chunks, role=role), key=_place)
        ]
    found: list[Encoded | Raised] = []
    for texts in chunks:
        try:
            found.append((encoder.encode(texts, role=role), cut(texts)))
        except Exception as error:
            found.append(raised(error))
    return found


def _place(one: tuple[int, Any]) -> int:
    return one[0]


@dataclass
class _Pool:
    actors: list[Any]
    users: set[str] = field(default_factory=set)


class Pools:
    """The pools of a run. `models` are at work at once, at most: each has its share of the GPUs."""

    def __init__(self, models: int) -> None:
        self._models = max(1, models)
        self._pools: dict[Wanted, _Pool] = {}
        self._lock = Lock()

    def open(self, wanted: Wanted, user: str) -> list[Any]:
        """The actors for this model."""
        with self._lock:
            ray, key = library(), wanted
            if key not in self._pools:
                self._close_idle(ray)
                places = seats(nodes(ray), wanted.accelerated, self._models)
                self._pools[key] = _Pool([_actor(ray, wanted, one) for one in places])
            self._pools[key].users.add(user)
            return self._pools[key].actors

    def release(self, user: str) -> None:
        """The cell `user` has ended."""
        with self._lock:
            for pool in self._pools.values():
                pool.users.discard(user)

    def _close_idle(self, ray: Any) -> None:
        """Models that nobody uses make room for one that is wanted."""
        for key, pool in list(self._pools.items()):
            if not pool.users:
                for actor in pool.actors:
                    ray.kill(actor)
                del self._pools[key]


@dataclass(frozen=True)
class Seat:
    """A place for an actor: the node, and its share of a GPU there."""

    node: str
    gpus: float = 0.0


def seats(found: tuple[Node, ...], accelerated: bool, models: int) -> list[Seat]:
    """Where the actors of one model sit, while so many `models` are at work: one for each GPU where the model can use
    them and there are any, else some on every machine, and always one.

    >>> node = Node("a", "a", cpus=16, gpus=2, memory=0, object_store=0)
    >>> seats((node,), accelerated=True, models=4)
    [Seat(node='a', gpus=0.25), Seat(node='a', gpus=0.25)]
    >>> [seat.node for seat in seats((node,), accelerated=False, models=1)]
    ['a', 'a']
    """
    share = int(10_000 / models) / 10_000
    if accelerated and any(one.gpus >= 1 for one in found):
        return [Seat(one.id, share) for one in found for _ in range(int(one.gpus))]
    # A machine without CPUs for tasks (a head, say) is left alone.
    able = [one for one in found if one.cpus] or list(found)[:1]
    return [Seat(one.id) for one in able for _ in range(max(1, one.seats // models))]


def _actor(ray: Any, wanted: Wanted, seat: Seat) -> Any:
    options: dict[str, Any] = {"num_gpus": seat.gpus} if seat.gpus else {}
    actor = ray.remote(Encoding).options(
        num_cpus=0,
        max_restarts=-1,
        max_task_retries=RETRIES,
        scheduling_strategy=on_node(ray, seat.node, soft=True),
        **options,
    )
    return actor.remote(wanted, str(Path.cwd()))
