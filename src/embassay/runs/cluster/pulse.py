"""Whether the cluster is still there.

Calls that need its head wait without an end once that is gone, and where Ray's daemon of this machine dies, Ray ends
the process of the driver without a word some 10 s later. So both are asked by a thread of its own, and the driver looks
at how long ago they answered.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from embassay.errors import ModelError

SILENCE = 30.0
"""Seconds without an answer after which the cluster is given up; a head that is started anew has less."""
_PERIOD = 1.0
_REFUSALS = 3
_MEND = (
    "What is finished is kept: the same command resumes, on any cluster or with --engine local. Why it died is in "
    "Ray's logs there, in /tmp/ray/session_latest/logs."
)


class Pulse:
    """The CPUs of the cluster, as its head said last; nothing waits for it."""

    def __init__(self, ray: Any, cpus: int) -> None:
        self._ray, self.cpus = ray, max(1, cpus)
        self._daemon, self._refused = _daemon(ray), 0
        self._heard, self._ended = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._ask, name="pulse", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """ModelError where this machine's daemon is gone, or the head has been silent for too long."""
        if self._refused >= _REFUSALS:
            raise left_alone()
        if self._silent() > SILENCE:
            # This process may have been stopped for a while: then an answer is on its way.
            time.sleep(3 * _PERIOD)
            if self._silent() > SILENCE:
                raise ModelError(
                    f"The head of the Ray cluster has not answered for {self._silent():.0f} s.", mend=_MEND
                )

    def stop(self) -> None:
        """Ask no more: whoever asks a library that has left its cluster gets an error or a new cluster."""
        self._ended.set()
        self._thread.join(timeout=3 * _PERIOD)

    def _silent(self) -> float:
        return time.monotonic() - self._heard

    def _ask(self) -> None:
        while not self._ended.wait(_PERIOD):
            self._refused = self._refused + 1 if _refuses(self._daemon) else 0
            try:
                found = self._ray.cluster_resources()
            except Exception:  # whatever Ray raises, it is no answer
                continue
            self.cpus, self._heard = max(1, int(found.get("CPU", 1))), time.monotonic()


def left_alone() -> ModelError:
    """Ray's daemon of the driver's own machine has died: nothing that is sent from here arrives any more."""
    return ModelError("The Ray processes of this machine have died.", mend=_MEND)


def _daemon(ray: Any) -> tuple[str, int]:
    """Where this machine's daemon of Ray listens."""
    here = ray.get_runtime_context().get_node_id()
    found = next(one for one in ray.nodes() if one["NodeID"] == here)
    return found["NodeManagerAddress"], int(found["NodeManagerPort"])


def _refuses(where: tuple[str, int]) -> bool:
    """Whether nobody listens there any more; a daemon that is merely slow does not refuse."""
    try:
        socket.create_connection(where, timeout=_PERIOD).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
