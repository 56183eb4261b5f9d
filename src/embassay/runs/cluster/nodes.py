"""The machines of a cluster: what they offer, and whether they can do the work of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.runs.cluster.library import on_node

_SECONDS = 120.0
_CPUS_PER_ACTOR = 8


@dataclass(frozen=True)
class Node:
    """A machine as Ray counts it: CPUs and GPUs that tasks may book, bytes of memory and of the object store."""

    id: str
    host: str
    cpus: int
    gpus: float
    memory: int
    object_store: int

    @property
    def seats(self) -> int:
        """Processes of one encoder that it holds: an encoder has threads of its own, on all cores."""
        return max(1, self.cpus // _CPUS_PER_ACTOR)


@dataclass(frozen=True)
class Seen:
    """What a process on a node finds there. `error` where Embassay cannot be imported."""

    node: Node
    python: str
    embassay: str
    ray: str
    missing: tuple[str, ...] = ()
    error: str = ""


def nodes(ray: Any) -> tuple[Node, ...]:
    """The machines that are there, by name."""
    found = [
        Node(
            one["NodeID"],
            one["NodeManagerHostname"] if _alone(one) else one["NodeManagerAddress"],
            int(one["Resources"].get("CPU", 0)),
            float(one["Resources"].get("GPU", 0)),
            int(one["Resources"].get("memory", 0)),
            int(one["Resources"].get("object_store_memory", 0)),
        )
        for one in ray.nodes()
        if one["Alive"]
    ]
    return tuple(sorted(found, key=lambda one: (one.host, one.id)))


def cpus(found: Sequence[Node]) -> int:
    """The CPUs of all together. UsageError where there is none."""
    total = sum(one.cpus for one in found)
    if not total:
        raise UsageError(
            "The Ray cluster has no CPU for tasks.", mend="Start its nodes with --num-cpus of 1 or more."
        )
    return total


def look(ray: Any, found: Sequence[Node], files: Sequence[Path] = ()) -> list[Seen]:
    """What each machine finds, asked there, all at once; `files` are looked for."""
    probe = ray.remote(_probe())
    wanted, here = [str(one) for one in files], str(Path.cwd())
    asked = [
        probe.options(num_cpus=0, scheduling_strategy=on_node(ray, one.id)).remote(wanted, here)
        for one in found
    ]
    return [_seen(ray, node, answer) for node, answer in zip(found, asked, strict=True)]


def check(seen: Sequence[Seen]) -> None:
    """UsageError, with the machine and the mend, where one cannot do the work of a run as this machine would."""
    from embassay import __version__

    for one in seen:
        if one.error:
            raise UsageError(
                f"The node {one.node.host} cannot do the work: {one.error}",
                mend="Install the same Embassay, with the same extras, for the Python of every node.",
            )
        if one.embassay != __version__:
            raise UsageError(
                f"The node {one.node.host} has Embassay {one.embassay}, this machine {__version__}.",
                mend="Install the same version on every node.",
            )
        if one.missing:
            raise UsageError(
                f"The node {one.node.host} does not see {one.missing[0]}.",
                mend="Put it on a file system that all nodes mount at the same path, and name it by that path.",
            )


def _alone(plain: dict[str, Any]) -> bool:
    return bool(plain["NodeManagerHostname"])


def _seen(ray: Any, node: Node, answer: Any) -> Seen:
    try:
        return Seen(node, **ray.get(answer, timeout=_SECONDS))
    except ray.exceptions.GetTimeoutError:
        return Seen(node, "", "", "", error=f"it did not answer within {_SECONDS:.0f} s")
    except ray.exceptions.RayError as error:
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
        return Seen(node, "", "", "", error=lines[-1].strip())


def _probe() -> Callable[[list[str], str], dict[str, Any]]:
    """A function that travels by value: where Embassay is missing, it can say so."""

    def probe(files: list[str], folder: str) -> dict[str, Any]:
        import os
        import platform

        import ray

        told = {"python": platform.python_version(), "ray": ray.__version__, "embassay": "", "error": ""}
        try:
            import embassay

            told["embassay"] = embassay.__version__
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}"
        if os.path.isdir(folder):  # noqa: PTH112
            os.chdir(folder)
        return {**told, "missing": tuple(file for file in files if not os.path.exists(file))}  # noqa: PTH110

    return probe
