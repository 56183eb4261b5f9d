"""Asking again for what a lost process or machine took along."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from embassay.errors import ModelError

T = TypeVar("T")

LIVES = 4
"""Times that a piece of work may lose its process, each time after the attempts of Ray itself: more often, and it is
the work that kills it. A machine that is lost does not count."""
RETRIES = 3
"""Ray's own attempts for one call."""
DIED = (
    "its process died again and again, most likely for lack of memory: start the nodes with fewer CPUs (ray start "
    "--num-cpus), so that less is done at once, or use larger ones; Ray's logs, /tmp/ray/session_latest/logs on each "
    "node, say what it died of"
)


class Losses:
    """Counts what a piece of work has lost."""

    def __init__(self, ray: Any) -> None:
        exceptions = ray.exceptions
        self._innocent = (exceptions.NodeDiedError, exceptions.ObjectLostError)
        self.kinds: tuple[type[BaseException], ...] = (
            *self._innocent,
            exceptions.WorkerCrashedError,
            exceptions.OutOfMemoryError,
            exceptions.LocalRayletDiedError,
            exceptions.RayActorError,
        )
        self._lost: dict[Any, int] = {}

    def again(self, what: Any, error: BaseException) -> bool:
        """Whether `what`, which this befell, is to be asked again; it waits a little where it is."""
        if not isinstance(error, self._innocent):
            self._lost[what] = self._lost.get(what, 0) + 1
        count = self._lost.get(what, 0)
        if count >= LIVES:
            return False
        time.sleep(min(8.0, 0.5 * 2**count))
        return True

    def forget(self, what: Any) -> None:
        """It is done."""
        self._lost.pop(what, None)


def insisted(ray: Any, ask: Callable[[], Any], what: str) -> Any:
    """The value of the reference that `ask` gives, asked again where it is lost. ModelError where that is in vain."""
    losses = Losses(ray)
    while True:
        try:
            return ray.get(ask())
        except losses.kinds as error:
            if not losses.again(what, error):
                raise ModelError(f"{what}: {DIED}.") from error
