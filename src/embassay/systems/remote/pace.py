"""How fast a server is asked: as much at once as it bears, and no more per minute than its user may.

The number of requests in flight grows while that brings more answers per second, and shrinks to what the server
bears when it pushes back. A level that failed is tried again ever more rarely, so that a server with a fixed
limit is kept at it and seldom asked in vain.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CallLimits:
    """What a server's user sets: requests and tokens per minute (None: no limit), the most requests at once,
    seconds for one answer, attempts of one call, seconds a call lets itself be pushed back, and the seconds
    before the first retry; `place` is the address that the user gave, for messages."""

    rpm: float | None = None
    tpm: float | None = None
    concurrency: int = 256
    timeout: float = 60.0
    attempts: int = 6
    patience: float = 600.0
    backoff: float = 0.5
    place: str = ""


@dataclass(frozen=True)
class RequestConcurrencyRecord:
    """A request on its way: `level` requests were in flight with it, at a limit set by the change number `stage`."""

    level: int
    stage: int


class TokenBucket:
    """Tokens that flow in at `per_minute`; one second's worth can be saved up. A taker may go into debt, which
    the next one waits for, so that a single large request passes too."""

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._size = max(1.0, self._rate)
        self._level = self._size
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Seconds until `amount` can be taken, 0 when now."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def take_tokens_without_waiting(self, amount: float) -> None:
        """Take `amount`; a negative one gives back."""
        self._level = min(self._size, self._level - amount)


# Seconds; the rounding of a clock is no pause.
_INSTANT = 0.001
# Seconds of a pause at a time.
_STEP = 0.1
# Requests at once to begin with.
_START = 8
# Answers at a known ceiling before one request more is tried, doubled with each refusal up to the longest.
_HOLD = 128
_LONGEST_HOLD = 4096
# Answers that judge a level at least, and refusals below which nothing is concluded.
_SAMPLE = 24
_FEW = 4
# Share of refusals that is borne.
_TOLERATED = 1 / 20
# Share of refusals from which on it is plain that they are quick ones, and their number says nothing.
_PLAIN = 0.5
# Of the growth of a level, how much the answers per second must grow with it.
_GAIN = 0.2
# Share of a level that had stood, below which a burst of refusals does not take it.
_STOOD = 0.95
# Around a level that was refused: there the limit rises by one.
_NEAR = (0.9, 1.1)
# Windows, in multiples of the usual one, before a level that brought nothing is tried again.
_LONGEST_REST = 16


class AdaptiveRequestLimit:
    """The adaptive limit of one server. Used in one event loop only."""

    def __init__(self, limits: CallLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = min(_START, limits.concurrency)
        self.in_flight = 0
        self._most = limits.concurrency
        self._clock = clock
        self._requests = TokenBucket(limits.rpm, clock) if limits.rpm else None
        self._tokens = TokenBucket(limits.tpm, clock) if limits.tpm else None
        self._door = asyncio.Lock()
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._paused_until = 0.0
        self._growth = _RequestLimitGrowth(self.limit)
        self.answered = False
        """Whether the server has ever answered, if only to push back."""

    async def wait_for_request_turn(self, tokens: int) -> RequestConcurrencyRecord:
        """Wait, in order of arrival, until a request of so many tokens may be sent."""
        level = await self._wait_for_slot()
        try:
            async with self._door:
                while (pause := self._compute_seconds_until_send(tokens)) > _INSTANT:
                    # In short steps: tokens that an answer gives back shorten the wait.
                    await asyncio.sleep(min(pause, _STEP))
                self._take_from_buckets(tokens)
        except BaseException:
            self._free_slot_and_admit_waiting()
            raise
        return RequestConcurrencyRecord(level, self._growth.stage)

    async def _wait_for_slot(self) -> int:
        """A place among the requests in flight, their number with it."""
        if self.in_flight < self.limit:
            self.in_flight += 1
            return self.in_flight
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except BaseException:
            # The turn came as the wait was cancelled: it is passed on.
            if turn.done() and not turn.cancelled():
                self._free_slot_and_admit_waiting()
            raise

    def _take_from_buckets(self, tokens: int) -> None:
        if self._requests:
            self._requests.take_tokens_without_waiting(1)
        if self._tokens:
            self._tokens.take_tokens_without_waiting(tokens)

    def note_request_answered(self, ticket: RequestConcurrencyRecord, seconds: float, *, correction: int = 0) -> None:
        """It was answered in so many seconds; it had `correction` tokens more than was said."""
        self.answered = True
        if self._tokens:
            self._tokens.take_tokens_without_waiting(correction)
        # Where something else holds requests up, more at once is no use.
        full = bool(self._waiting) and not self._door.locked()
        self._growth.answered(ticket, seconds, full=full)
        self._free_slot_and_admit_waiting()

    def failed(self) -> None:
        """Note that a request failed for a reason that has nothing to do with how much is asked."""
        self._free_slot_and_admit_waiting()

    def note_pushback(self, ticket: RequestConcurrencyRecord, wait: float | None) -> None:
        """Note that the server has too much to do, and the seconds that it asks to wait, if it does."""
        self.answered = True
        pause = self._growth.note_pushback(ticket)
        if pause is not None:
            self._paused_until = max(self._paused_until, self._clock() + (pause if wait is None else wait))
        self._free_slot_and_admit_waiting()

    def _free_slot_and_admit_waiting(self) -> None:
        self.in_flight -= 1
        self.limit = min(self._growth.limit, self._most)
        self._growth.limit = self.limit
        # All places at once: one by one would take as many turns of a busy loop.
        while self._waiting and self.in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(self.in_flight)

    def _compute_seconds_until_send(self, tokens: int) -> float:
        waits = [self._paused_until - self._clock()]
        if self._requests:
            waits.append(self._requests.wait(1))
        if self._tokens:
            waits.append(self._tokens.wait(tokens))
        return max(waits)


class _RequestLimitGrowth:
    """How the limit moves: doubling at first, then by up to a quarter, at a known ceiling by one and rarely.

    A level is judged by a window of answers to requests that were sent at it while it was full. One that brings
    no more answers per second is left, and tried again after ever longer rests: the reason may have been noise.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.stage = 0
        self._last_cut = 0
        self._doubling = True
        self._step = 1
        self._rest = 1
        self._ceiling: int | None = None
        self._hold = _HOLD
        self._answers, self._refusals = 0, 0
        self._tolerated, self._suspicions = _TOLERATED, 0
        self._lowest = limit
        self._refused_at = 0
        self._calm = True
        self._severity = 0
        self._proven = (limit, 0.0)
        self._count, self._seconds = 0, 0.0

    def answered(self, ticket: RequestConcurrencyRecord, seconds: float, *, full: bool) -> None:
        if ticket.stage < self._last_cut:
            return
        self._answers += 1
        self._calm, self._severity = True, 0
        if ticket.stage == self.stage and full:
            self._count += 1
            self._seconds += seconds
            if self._count >= self._requests_until_limit_change() and not self._has_too_many_refusals():
                self._adjust_request_limit_level()

    def note_pushback(self, ticket: RequestConcurrencyRecord) -> float | None:
        """Seconds to send nothing at all, when there was no answer since the last cut; None otherwise."""
        if ticket.stage < self._last_cut:
            return None  # sent before the last cut, which has answered it
        self._refusals += 1
        self._lowest = min(self._lowest, ticket.level)
        if self._refusals < _FEW or not self._has_too_many_refusals():
            return None
        self._severity += not self._calm
        if self._severity > 1:
            self._lower_concurrent_request_limit(max(1, self.limit // 2))
            return float(min(30.0, 0.25 * 2**self._severity))
        share = self._refusals / (self._answers + self._refusals)
        self._suspicions = self._suspicions + 1 if share < _PLAIN else 0
        if self._suspicions > 1:
            self._tolerate_more_refusals()
            return None
        # A server that is slow to refuse bears what it answers; a quick one refuses the same place over and over.
        borne = int(self.limit * (1 - share)) if share < _PLAIN else self.limit
        # Doubling went far beyond the level that had stood.
        stood = self._proven[0] if self._doubling else self.limit
        # A few refusals in a burst are a poor measure of a level that had stood: not far below that at once.
        level, seconds = self._proven
        floor = int(_STOOD * level) if seconds and not self._doubling else 1
        self._lower_concurrent_request_limit(
            max(1, min(self.limit - 1, max(floor, min(self._lowest - 1, borne, stood))))
        )
        return None

    def _tolerate_more_refusals(self) -> None:
        """Fewer requests were refused just as often: it is not their number that the server minds."""
        self._tolerated, self._suspicions = min(0.5, 4 * self._tolerated), 0
        self._ceiling, self._hold = None, _HOLD
        self._set_request_limit_and_reset_counts(self.limit)

    def _has_too_many_refusals(self) -> bool:
        return self._refusals > self._tolerated * (self._answers + self._refusals)

    def _requests_until_limit_change(self) -> int:
        return self._hold if self._is_at_ceiling() else self._rest * max(2 * self.limit, _SAMPLE)

    def _is_at_ceiling(self) -> bool:
        return self._ceiling is not None and self.limit == self._ceiling - 1

    def _adjust_request_limit_level(self) -> None:
        """Judge the level of the limit after a window: keep it if it brought more, and try the next."""
        if self._refusals < _TOLERATED / 2 * self._answers:
            self._tolerated, self._suspicions = _TOLERATED, 0
        level, seconds = self._proven
        mean = self._seconds / self._count
        grown = self.limit / level - 1
        if grown > 0 and seconds > 0 and self.limit / mean < level / seconds * (1 + _GAIN * grown):
            self._rest = min(2 * self._rest, _LONGEST_REST)
            self._doubling = self._doubling and self._rest <= 2
            self._set_request_limit_and_reset_counts(level)
            self._proven = (level, 0.0)
            return
        if grown > 0:
            self._rest = 1
        if self._ceiling is not None and self.limit >= self._ceiling:
            self._ceiling, self._hold = None, _HOLD
        self._proven = (self.limit, mean)
        self._raise_limit()

    def _raise_limit(self) -> None:
        # Near a level that was refused a leap would be refused too; well above it, it says nothing any more.
        near = _NEAR[0] * self._refused_at <= self.limit <= _NEAR[1] * self._refused_at
        self._step = 1 if near or self._is_at_ceiling() else min(2 * self._step, max(1, self.limit // 4))
        step = self.limit if self._doubling else self._step
        target = self.limit + step
        if self._ceiling is not None and not self._is_at_ceiling():
            target = min(target, self._ceiling - 1)
        self._set_request_limit_and_reset_counts(target)

    def _lower_concurrent_request_limit(self, limit: int) -> None:
        if self._ceiling is not None and self.limit >= self._ceiling:
            self._hold = min(2 * self._hold, _LONGEST_HOLD)
        self._doubling, self._calm, self._ceiling, self._step = False, False, limit + 1, 1
        self._refused_at = self._lowest
        self._set_request_limit_and_reset_counts(limit)
        self._last_cut = self.stage
        self._proven = (limit, 0.0)

    def _set_request_limit_and_reset_counts(self, limit: int) -> None:
        self.limit = limit
        self.stage += 1
        self._lowest = limit
        self._answers, self._refusals = 0, 0
        self._count, self._seconds = 0, 0.0
