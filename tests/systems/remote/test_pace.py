"""The pace against servers of every kind, in virtual time: what counts is shares and rates, not our seconds."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

import pytest

from embassay.systems.remote.pace import AdaptiveRequestLimit, CallLimits, TokenBucket
from stub.virtual import run

LATENCY = 0.2


@dataclass
class Server:
    """A server: `limit` at once or a refusal after `refusal` seconds, `queue` at once or waiting, refusals by
    chance, latencies that vary."""

    limit: int | None = None
    queue: int | None = None
    chance: float = 0.0
    refusal: float = 0.002
    varied: bool = False


@dataclass
class Course:
    """What happened after the first 500 answers: their rate per second, the share refused; the most at once."""

    rate: float
    refused: float
    most: int
    last_limit: int


async def _asked(server: Server, calls: int, limits: CallLimits) -> Course:
    loop = asyncio.get_running_loop()
    pace, dice = AdaptiveRequestLimit(limits, loop.time), random.Random(7)
    room = asyncio.Semaphore(server.queue or calls)
    events: list[tuple[float, bool]] = []
    at_once, most = 0, 0

    async def served() -> bool:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        refused = (server.limit is not None and at_once > server.limit) or dice.random() < server.chance
        if refused:
            await asyncio.sleep(server.refusal)
        else:
            async with room:
                await asyncio.sleep(dice.expovariate(1 / LATENCY) if server.varied else LATENCY)
        at_once -= 1
        events.append((loop.time(), not refused))
        return not refused

    async def call() -> None:
        for attempt in range(100):
            ticket, start = await pace.wait_for_request_turn(1), loop.time()
            if await served():
                return pace.note_request_answered(ticket, loop.time() - start)
            pace.note_pushback(ticket, None)
            await asyncio.sleep(min(30, 0.5 * 2**attempt) * dice.uniform(0.5, 1))
        raise AssertionError("refused 100 times")

    async def work(numbers) -> None:
        for _ in numbers:
            await call()

    numbers = iter(range(calls))
    await asyncio.gather(*(work(numbers) for _ in range(300)))
    warm = [at for at, answered in events if answered][500]
    later = [answered for at, answered in events if at > warm]
    return Course(sum(later) / (loop.time() - warm), later.count(False) / len(later), most, pace.limit)


def course(server: Server, calls: int = 8000, limits: CallLimits | None = None) -> Course:
    return run(_asked(server, calls, limits or CallLimits()))


@pytest.mark.parametrize("server", [Server(limit=64), Server(queue=64)])
def test_a_server_of_64_at_once_is_kept_busy(server):
    """At least 90% of what it can do, 64 / 0.2 s, whether it refuses or lets wait."""
    found = course(server)
    assert found.rate >= 0.9 * 64 / LATENCY
    assert found.refused <= 0.01


def test_varied_latencies_do_not_mislead():
    """Answers that take 0.2 s on average, some ten times as long: still 90%."""
    assert course(Server(limit=64, varied=True)).rate >= 0.9 * 64 / LATENCY


@pytest.mark.parametrize("server", [Server(limit=8), Server(limit=8, varied=True), Server(limit=1)])
def test_a_small_limit_is_found_and_kept(server):
    """No more than 5% are refused, in fact under 1%, and the server is not starved."""
    found = course(server, calls=3000)
    assert found.refused <= 0.01
    assert found.rate >= 0.9 * server.limit / LATENCY
    assert found.last_limit <= server.limit + 1


@pytest.mark.parametrize("limit", [8, 64])
def test_late_refusals_are_few(limit):
    """A server that answers 429 only after its usual time: no more than 5%, at some cost of speed."""
    found = course(Server(limit=limit, refusal=LATENCY))
    assert found.refused <= 0.05
    assert found.rate >= 0.7 * limit / LATENCY


def test_more_at_once_is_not_asked_of_a_server_that_only_queues():
    """Where it brings no more answers, the number in flight does not grow on and on."""
    assert course(Server(queue=1), calls=1500).most <= 32


@pytest.mark.parametrize("chance", [0.02, 0.07, 0.2])
def test_refusals_by_chance_do_not_starve(chance):
    """A server that refuses a share of requests whatever their number is not asked one by one."""
    found = course(Server(chance=chance))
    assert found.last_limit >= 64


def test_growth_stops_at_the_most():
    """`concurrency` is never exceeded, even by a server that would bear more."""
    found = course(Server(), limits=CallLimits(concurrency=20))
    assert found.most == found.last_limit == 20


def test_a_server_that_refuses_everything_is_left_alone():
    """Nothing but refusals: the pauses grow, and few requests are sent in ten minutes."""

    async def ask() -> int:
        loop = asyncio.get_running_loop()
        pace, sent = AdaptiveRequestLimit(CallLimits(), loop.time), 0

        async def call() -> None:
            nonlocal sent
            while loop.time() < 600:
                ticket = await pace.wait_for_request_turn(1)
                sent += 1
                pace.note_pushback(ticket, None)
                await asyncio.sleep(1)

        await asyncio.gather(*(call() for _ in range(100)))
        return sent

    assert run(ask()) < 1000


def test_a_wait_that_is_asked_for_is_kept():
    """After refusals without any answer, nothing is sent for as long as the server says."""

    async def ask() -> float:
        loop = asyncio.get_running_loop()
        pace = AdaptiveRequestLimit(CallLimits(concurrency=1), loop.time)
        for wait in (None, None, 20.0):
            for _ in range(4):
                pace.note_pushback(await pace.wait_for_request_turn(1), wait)
        before = loop.time()
        await pace.wait_for_request_turn(1)
        return loop.time() - before

    assert run(ask()) == pytest.approx(20.0)


@pytest.mark.parametrize(("limits", "tokens"), [(CallLimits(rpm=600), 1), (CallLimits(tpm=60_000), 100)])
def test_no_more_per_minute_than_allowed(limits, tokens):
    """In no minute are more than 600 requests, or 60,000 tokens, sent, but for the second's worth saved up."""

    async def ask() -> list[float]:
        loop = asyncio.get_running_loop()
        pace, sent = AdaptiveRequestLimit(limits, loop.time), []

        async def call() -> None:
            ticket = await pace.wait_for_request_turn(tokens)
            sent.append(loop.time())
            await asyncio.sleep(0.05)
            pace.note_request_answered(ticket, 0.05)

        await asyncio.gather(*(call() for _ in range(2000)))
        return sent

    sent = run(ask())
    busiest = max(sum(start <= at < start + 60 for at in sent) for start in sent[::50])
    assert busiest <= 612
    assert 2000 / sent[-1] == pytest.approx(10, rel=0.02)


def test_tokens_that_were_not_needed_are_given_back():
    """A request that was put down at ten times its tokens slows the others only until it is answered."""

    async def ask(correction: int) -> float:
        loop = asyncio.get_running_loop()
        pace = AdaptiveRequestLimit(CallLimits(tpm=60_000), loop.time)

        async def call() -> None:
            ticket = await pace.wait_for_request_turn(1000)
            await asyncio.sleep(0.01)
            pace.note_request_answered(ticket, 0.01, correction=correction)

        await asyncio.gather(*(call() for _ in range(100)))
        return loop.time()

    assert run(ask(-900)) < 0.2 * run(ask(0))


def test_a_request_larger_than_the_bucket_passes():
    """It goes into debt, and the next one waits for that."""
    now = 0.0
    bucket = TokenBucket(60, lambda: now)
    assert bucket.wait(30) == 0
    bucket.take_tokens_without_waiting(30)
    assert bucket.wait(1) == pytest.approx(30)
