"""A Ray cluster as a run would find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embassay.doctor.checks import Check, extras
from embassay.errors import UsageError
from embassay.machine import card
from embassay.runs.cluster.connection import connected, threads
from embassay.runs.cluster.library import on_node
from embassay.runs.cluster.nodes import Seen, check, cpus, nodes
from embassay.runs.cluster.nodes import look as look_at
from embassay.runs.cluster.pools import seats
from embassay.runs.engines.contract import Ray

_SECONDS = 60.0


@dataclass(frozen=True)
class NodeFacts:
    """A machine: what it offers Ray and has installed (`seen`), the accelerators that NVIDIA's driver names there, the
    extras that are installed, those of them that only this machine has (`lacks`), and the bytes free for a cache."""

    seen: Seen
    accelerators: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    disk_free: int | None = None


@dataclass(frozen=True)
class ClusterFacts:
    """The machines and what a run would use of them together, and whether it could: `cells` at a time, processes of an
    encoder without a GPU (`encoders`) and with one (`accelerated`; 0 where GPUs stay idle), threads of each. `device`
    is where this machine computes vectors, which decides for all."""

    address: str
    nodes: tuple[NodeFacts, ...]
    cells: int
    gpus: int
    encoders: int
    accelerated: int
    threads: int
    device: str
    check: Check


def examine_cluster(address: str | None) -> ClusterFacts:
    """Join the cluster, or start the one that a run of this machine alone would have, look, and leave. UsageError where
    there is none."""
    device = card() or "cpu"
    with connected(Ray(address)) as ray:
        found = nodes(ray)
        seen = look_at(ray, found)
        gpus = sum(int(one.gpus) for one in found)
        used = len(seats(found, accelerated=True, models=1)) if gpus and device != "cpu" else 0
        return ClusterFacts(
            "started for the run" if address is None else ray.get_runtime_context().gcs_address,
            tuple(_facts(ray, one) for one in seen),
            sum(one.cpus for one in found), gpus, len(seats(found, accelerated=False, models=1)), used,
            int(threads()["OMP_NUM_THREADS"]), device, _checked(seen),
        )  # fmt: skip


def _facts(ray: Any, seen: Seen) -> NodeFacts:
    """What Embassay finds on a node; nothing where it is not there or does not answer."""
    if seen.error:
        return NodeFacts(seen)
    place = on_node(ray, seen.node.id)
    asked = ray.remote(_found_there).options(num_cpus=0, scheduling_strategy=place).remote()
    try:
        accelerators, installed, disk_free = ray.get(asked, timeout=_SECONDS)
    except (ray.exceptions.RayError, ValueError):  # another version of Embassay; that is said elsewhere
        return NodeFacts(seen)
    lacks = tuple(one.name for one in extras() if one.here and one.name not in installed)
    return NodeFacts(seen, accelerators, installed, lacks, disk_free)


def _found_there() -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """On a node: accelerators, extras, free bytes."""
    from embassay.doctor.machine import look
    from embassay.runs.store import cache_folder

    machine = look(cache_folder())
    return machine.accelerators, tuple(one.name for one in extras() if one.here), machine.disk_free


def _checked(seen: Sequence[Seen]) -> Check:
    try:
        cpus([one.node for one in seen])
        check(seen)
    except UsageError as error:
        return Check("cluster", "broken", error.message, error.mend)
    return Check("cluster", "ok", "every node can do the work of a run")
