"""Many calls at once, each with an outcome of its own; and when to give up on who is called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Generic, TypeVar

from embassay.errors import ModelError, TextRefused

__all__ = ["Failure", "Hope", "all_of"]

T = TypeVar("T")

_HOPELESS = 8
"""So many calls since the last answer that fail for no reason of their own mean that the model cannot be had."""


@dataclass(frozen=True)
class Failure:
    """A call without an answer, and why; `error` as it was raised."""

    reason: str
    error: ModelError | None = field(default=None, compare=False)


class Hope:
    """Whether a model can still be had. What fails takes longest, so at the end of all calls failures come in a row;
    only those that were begun after the last answer say that there will be no more."""

    def __init__(self) -> None:
        self._answered = float("-inf")
        self._failures = 0

    def answered(self) -> None:
        """The model did its work, if only to refuse a text."""
        self._answered, self._failures = perf_counter(), 0

    def is_lost(self, begun: float) -> bool:
        """Note a call that was begun at this `perf_counter` and failed for no reason of its own."""
        self._failures += begun > self._answered
        return self._failures >= _HOPELESS


async def all_of(
    jobs: Iterable[Callable[[], Awaitable[T]]],
    *,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> AsyncIterator[tuple[int, T | Failure]]:
    """Start the jobs, at most `at_once` of them at a time, and yield (position, outcome) of each as it comes.

    `progress` is called with 1 for each. No job's result is None.

    A job that fails with a ModelError is a Failure and the others go on. BudgetExceeded and other errors, and the
    ModelError of a model that cannot be had (8 since the last answer that are no matter of their job), are raised after
    what is in flight has been yielded.
    """
    waiting = enumerate(jobs)
    running: dict[asyncio.Task[T], tuple[int, float]] = {}
    ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()
    stop: _Stop[T] = _Stop()
    try:
        while True:
            if stop.error is None:
                for position, job in islice(waiting, at_once - len(running)):
                    task: asyncio.Task[T] = asyncio.ensure_future(_begun(job))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = position, perf_counter()
            if not running:
                break
            task = await ended.get()
            position, begun = running.pop(task)
            outcome = stop.outcome(task, begun)
            if outcome is not None:
                if progress is not None:
                    progress(1)
                yield position, outcome
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    if stop.error is not None:
        raise stop.error


async def _begun(job: Callable[[], Awaitable[T]]) -> T:
    return await job()


class _Stop(Generic[T]):
    """Whether the work is to stop, and the error that it stops with."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._hope = Hope()

    def outcome(self, task: asyncio.Task[T], begun: float) -> T | Failure | None:
        """What came of the task; None for an error that is no outcome but the end."""
        error = task.exception()
        if error is None:
            self._hope.answered()
            return task.result()
        if not isinstance(error, ModelError):
            self.error = self.error or error
            return None
        if isinstance(error, TextRefused):
            self._hope.answered()
        elif self._hope.is_lost(begun):
            self.error = self.error or error
        return Failure(str(error), error)
