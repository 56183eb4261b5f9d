"""Ray itself, imported when a cluster is wanted, and what goes from machine to machine as bytes and values."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.runs.engines.attempts import in_words

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # A task that is too large for its machine fails after some attempts, where it would be tried for ever.
    "RAY_task_oom_retries": "3",
    # Ray would end the process, a notebook say, a minute after the head of the cluster: see `pulse`.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
}


def library() -> Any:
    """The module. UsageError where the extra is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
            import ray.exceptions
            import ray.util.scheduling_strategies
    except ImportError as error:
        raise UsageError(
            f"--engine ray needs the package {error.name or 'ray'}, which is not installed.",
            mend="Install it, here and on the machines of the cluster: pip install 'embassay[ray]'",
        ) from error
    return ray


def on_node(ray: Any, node: str, *, soft: bool = False) -> Any:
    """The strategy that puts a task or an actor on this node; `soft`, elsewhere where that is gone."""
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=soft)


def go_to(folder: str) -> None:
    """Work in the folder of the driver, where this machine has it: relative paths then mean the same."""
    if Path(folder).is_dir():
        os.chdir(folder)


def gotten(reference: Any) -> Any:
    """What a reference stands for; what its task raised is raised as it was, without Ray's own words around it."""
    ray = library()
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error


@dataclass(frozen=True)
class Raised:
    """What a piece of work raised."""

    error: Exception


def raised(error: Exception) -> Raised:
    """The error, or its words in one that can be sent where it cannot."""
    try:
        unpacked(packed(error))
    except Exception:
        return Raised(RuntimeError(in_words(error)))
    return Raised(error)


def packed(what: Any) -> bytes:
    """Anything that Ray can send, as bytes that can be compared and kept."""
    return bytes(library().cloudpickle.dumps(what))


def unpacked(content: bytes) -> Any:
    """The inverse; only of what this run has packed itself."""
    return library().cloudpickle.loads(content)
