"""The one event loop that all remote calls run in, in a thread of its own.

Connections, pace and limits belong to one loop. So that they outlive `asyncio.run` and serve every thread
alike, calls travel to this loop, whoever makes them.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 2.0
"""Seconds that the end of a process waits for connections to close."""
_lock = Lock()
_closing: list[Callable[[], Awaitable[None]]] = []
_homes: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop of each process: a fork has none of its parent's threads."""


def home() -> asyncio.AbstractEventLoop:
    """The loop, started when first asked for."""
    with _lock:
        loop = _homes.get(os.getpid())
        if loop is None:
            loop = _homes[os.getpid()] = asyncio.new_event_loop()
            Thread(target=loop.run_forever, name="embassay-calls", daemon=True).start()
            atexit.register(_close, os.getpid())
        return loop


def closed_at_exit(close: Callable[[], Awaitable[None]]) -> None:
    """Have `close` done in the loop before the process ends: connections left open complain when they are collected."""
    _closing.append(close)


def _close(process: int) -> None:
    if process != os.getpid() or not _closing:
        return

    async def all_of_them() -> None:
        await asyncio.gather(*(close() for close in _closing), return_exceptions=True)

    with suppress(Exception):
        send_home(all_of_them).result(timeout=_PATIENCE)


def send_home(work: Callable[[], Awaitable[T]]) -> Future[T]:
    """Start `work` in the loop; cancelling the future cancels the work."""

    async def begin() -> T:
        return await work()

    return asyncio.run_coroutine_threadsafe(begin(), home())


async def at_home(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, done in the loop, awaited in whatever loop the caller has."""
    if asyncio.get_running_loop() is home():
        return await work()
    return await asyncio.wrap_future(send_home(work))


def wait_for(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, for a caller without a loop."""
    future = send_home(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def as_finished(jobs: Iterable[Callable[[], Awaitable[T]]], *, at_once: int) -> Iterator[tuple[int, T]]:
    """Do the jobs, at most `at_once` of them at a time, and yield (position, result) of each as it finishes.

    After an exception no job is started; those in flight are yielded, then the first exception is raised.
    Jobs still in flight when the caller stops asking are cancelled.
    """
    waiting = enumerate(jobs)
    running: dict[Future[T], int] = {}
    ended: SimpleQueue[Future[T]] = SimpleQueue()
    error: BaseException | None = None
    try:
        while True:
            if error is None:
                for position, job in islice(waiting, at_once - len(running)):
                    future = send_home(job)
                    running[future] = position
                    future.add_done_callback(ended.put)
            if not running:
                break
            future = ended.get()
            position = running.pop(future)
            failure = future.exception()
            if failure is None:
                yield position, future.result()
            error = error or failure
    finally:
        for future in running:
            future.cancel()
    if error is not None:
        raise error
