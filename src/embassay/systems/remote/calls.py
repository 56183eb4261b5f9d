"""The calls to one server: paced, tried again, counted, and within the budget."""

from __future__ import annotations

import asyncio
import atexit
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

from embassay.contracts import Usage
from embassay.errors import ModelError, TextRefused
from embassay.systems.remote.failures import Failure, classify
from embassay.systems.remote.ledger import Ledger, Reservation
from embassay.systems.remote.pace import Limits, Pace, Ticket

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


_LONGEST_BACKOFF = 30.0
_POLL = 0.02


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a request brought, and what it cost; `worked` are the seconds that the server says it worked for it, without
    a queue or loading a model, 0 where it does not say."""

    value: T
    usage: Usage
    worked: float = 0.0


class Calls:
    """Calls of `model` to one server. Safe from any thread and any event loop: they all run in the loop of
    `home`, with one pace."""

    def __init__(self, model: str, ledger: Ledger | None = None, limits: Limits = Limits()) -> None:  # noqa: B008
        self.model = model
        self.ledger = ledger or Ledger()
        self.limits = limits
        self._paces: dict[int, Pace] = {}

    async def do(
        self, send: Callable[[], Awaitable[Answer[T]]], *, tokens: int, usd: float | None = None
    ) -> T:
        """The value of `ask`, for what is billed by what is read alone."""
        return (await self.ask(send, tokens=tokens, usd=usd, read_usd=usd)).value

    async def ask(
        self,
        send: Callable[[], Awaitable[Answer[T]]],
        *,
        tokens: int,
        usd: float | None = None,
        read_usd: float | None = None,
    ) -> Answer[T]:
        """The answer that `send` gets, tried again while a failure may pass; its usage counts every request, and the
        money of the one that was answered.

        `send` raises what `classify` understands. `tokens` and `usd` are what the request will take, or a bound
        above: they pass the limits and are put aside in the ledger until the answer says what it really was. Of a
        request that failed, what was put aside is free again but for what may be billed: nothing where the server
        refused it or was not reached, `read_usd` (the prompt alone) where it may have read it, all of `usd` where it
        answered what cannot be used.
        ModelError, with the reason, when the call fails for good (TextRefused where it is what was sent that the
        server will not take); BudgetExceeded when there is no money for it.
        """
        return await at_home(lambda: _Call(self, self._pace(), send, tokens, (usd, read_usd)).do())

    def _pace(self) -> Pace:
        # A forked process has no loop yet, and none of its parent's requests in flight.
        if os.getpid() not in self._paces:
            self._paces[os.getpid()] = Pace(self.limits)
        return self._paces[os.getpid()]


class _Call(Generic[T]):
    """One call: its requests, one after another, until one is answered or there is no use."""

    def __init__(
        self,
        calls: Calls,
        pace: Pace,
        send: Callable[[], Awaitable[Answer[T]]],
        tokens: int,
        prices: tuple[float | None, float | None],
    ) -> None:
        self.model, self.ledger, self.limits, self.pace = calls.model, calls.ledger, calls.limits, pace
        self.send, self.tokens, (self.usd, self.read_usd) = send, tokens, prices
        self.requests = 0
        self.passing = 0
        self.pushed_since: float | None = None
        self.pushes = 0

    async def do(self) -> Answer[T]:
        while True:
            outcome = await self._request()
            if isinstance(outcome, Answer):
                return replace(outcome, usage=replace(outcome.usage, requests=self.requests))
            wait = self._wait(outcome)
            if wait is None:
                self.ledger.gave_up(self.model)
                kind = TextRefused if outcome.of_texts else ModelError
                place = (
                    f" from base_url={self.limits.place}"
                    if self.limits.place and not outcome.of_texts
                    else ""
                )
                said = f"{self.model}: {outcome.reason}".rstrip(".") + place
                raise kind(f"{said}{self._tries()}.", mend=outcome.mend) from None
            await asyncio.sleep(wait)

    async def _request(self) -> Answer[T] | Failure:
        ticket = await self.pace.enter(self.tokens)
        try:
            reservation = await self._reserved()
        except BaseException:
            self.pace.failed()
            raise
        return await self._sent(ticket, reservation)

    async def _reserved(self) -> Reservation:
        """Money for the request. Others' requests in flight may turn out cheaper than what was put aside, so
        while there are some it is worth waiting."""
        while (reservation := self.ledger.try_reserve(self.model, self.usd)) is None:
            await asyncio.sleep(_POLL)
        return reservation

    async def _sent(self, ticket: Ticket, reservation: Reservation) -> Answer[T] | Failure:
        self.requests += 1
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self.limits.timeout):
                answer = await self.send()
        except Exception as error:
            failure = classify(error)
            self._failed(reservation, failure, start)
            if failure is not None and failure.kind == "pushback":
                # Others wait with it, and must not wait longer than they would for themselves.
                wait = None if failure.wait is None else min(failure.wait, self.limits.patience)
                self.pace.pushed_back(ticket, wait)
            else:
                self.pace.failed()
            if failure is None:
                raise
            return failure
        except BaseException:
            # Cancelled on its way: the server may have read it, and want its money.
            self._failed(reservation, None, start)
            self.pace.failed()
            raise
        self.ledger.settle(
            reservation, answer.usage, retry=self.requests > 1, seconds=time.perf_counter() - start
        )
        used = answer.usage.input_tokens + answer.usage.output_tokens
        seconds = time.perf_counter() - start
        self.pace.succeeded(ticket, seconds, correction=used - self.tokens)
        return replace(answer, usage=replace(answer.usage, seconds=answer.worked or seconds))

    def _failed(self, reservation: Reservation, failure: Failure | None, start: float) -> None:
        """Account for a request that brought nothing: see `Calls.ask`."""
        possible: float | None = self.usd
        if possible is not None and failure is not None and not failure.charged:
            possible = 0.0
        elif possible is not None and not (failure is not None and failure.answered):
            possible = self.read_usd if self.read_usd is not None else self.usd
        seconds = time.perf_counter() - start
        self.ledger.unanswered(reservation, possible, retry=self.requests > 1, seconds=seconds)

    def _wait(self, failure: Failure) -> float | None:
        """Seconds until the next attempt; None when there is to be none."""
        if failure.kind == "final":
            return None
        now = time.monotonic()
        if failure.kind == "pushback":
            self.pushes += 1
            self.pushed_since = self.pushed_since or now
            used_up = now + (failure.wait or 0) - self.pushed_since > self.limits.patience
        else:
            self.passing += 1
            # A server that is down may say when it is back, but nobody waits for it till next week.
            used_up = self.passing >= self.limits.attempts or (failure.wait or 0) > self.limits.patience
        if used_up:
            return None
        jitter = random.uniform(0.5, 1.0)
        if failure.wait is not None:
            return failure.wait * (1 + 0.1 * jitter)
        times = self.pushes if failure.kind == "pushback" else self.passing
        return float(min(_LONGEST_BACKOFF, self.limits.backoff * 2 ** (times - 1)) * jitter)

    def _tries(self) -> str:
        return f" ({self.requests} attempts)" if self.requests > 1 else ""
