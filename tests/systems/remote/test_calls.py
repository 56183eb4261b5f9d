"""Calls: tried again, counted, and within the budget, from whatever loop or thread."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from embassay.contracts import Usage
from embassay.errors import BudgetExceeded, ModelError, TextRefused
from embassay.systems.remote import (
    CallLimits,
    Ledger,
    MalformedServerAnswer,
    ModelServerClient,
    ServerReply,
    ServerStatusError,
    iterate_finished_jobs,
)

QUICK = CallLimits(timeout=0.5, attempts=4, patience=5, backoff=0.001)


def ask(send, ledger=None, limits=QUICK, *, tokens=10, usd=0.5):
    calls = ModelServerClient("m", ledger, limits)
    return asyncio.run(calls.ask(send, tokens=tokens, usd=usd))


def failing(*errors):
    """Sends that raise these, one after another, and then answer."""
    left = list(errors)

    async def send():
        if left:
            raise left.pop(0)
        return ServerReply("done", Usage(7, 2, 1, 0.25))

    return send


def test_an_answer():
    """Its value and what it cost, settled in place of what was put aside."""
    ledger = Ledger()
    assert ask(failing(), ledger) == ServerReply("done", Usage(7, 2, 1, 0.25))
    assert (ledger.spent_usd, ledger.map_models_to_call_totals()["m"].requests) == (0.25, 1)


def test_how_long_the_answer_took(monkeypatch):
    """The request that was answered, without those before it and the waiting; what the server says where it does."""
    now = [0.0]
    monkeypatch.setattr("embassay.systems.remote.calls.time.perf_counter", lambda: now[0])
    left = []

    async def slowly(worked):
        now[0] += 2.0
        if left:
            raise left.pop()
        return ServerReply("done", Usage(), worked)

    assert ask(partial(slowly, 0.0)).usage.seconds == 2.0
    assert ask(partial(slowly, 0.25)).usage.seconds == 0.25
    left += [ServerStatusError(429, {"retry-after": "0.01"}, ""), ServerStatusError(500, {}, "")]
    assert ask(partial(slowly, 0.0)).usage.seconds == 2.0


def test_retries_are_counted_and_paid_for():
    """A refusal is free; a broken answer was work, and all that was put aside for it may be billed."""
    ledger = Ledger()
    send = failing(ServerStatusError(429, {}, ""), ServerStatusError(500, {}, ""), MalformedServerAnswer("half"))
    assert ask(send, ledger).usage == Usage(7, 2, 4, 0.25)
    totals = ledger.map_models_to_call_totals()["m"]
    assert (totals.requests, totals.retries, totals.failed) == (4, 3, 0)
    assert (totals.usd, totals.possible_usd, ledger.spent_usd) == (0.25, 0.5, 0.75)


@pytest.mark.parametrize(
    ("error", "possible"),
    [
        (ServerStatusError(429, {"retry-after": "5"}, ""), 0.0), (ServerStatusError(500, {}, ""), 0.0),
        (ServerStatusError(401, {}, ""), 0.0),
        (ConnectionRefusedError(), 0.0),  # never sent
        (ServerStatusError(504, {}, ""), 0.125), (TimeoutError(), 0.125), (ConnectionResetError(), 0.125),
         # may have been read
        (MalformedServerAnswer("half"), 0.5),  # answered
    ],
)  # fmt: skip
def test_what_may_be_billed_for_a_request_that_failed(error, possible):
    """Nothing, the prompt alone or the whole answer, and never as if it were billed; the rest is free at once."""
    ledger = Ledger(max_usd=1.0)
    calls = ModelServerClient("m", ledger, CallLimits(attempts=1, backoff=0.001, patience=0.0))
    with pytest.raises(ModelError):
        asyncio.run(calls.ask(failing(error), tokens=10, usd=0.5, read_usd=0.125))
    totals = ledger.map_models_to_call_totals()["m"]
    assert (totals.requests, totals.usd, totals.possible_usd, totals.input_tokens) == (1, 0.0, possible, 0)
    assert ledger.spent_usd == possible
    assert ledger._reserved == {}


def test_enough_is_enough():
    """After so many attempts the reason is given, with their number."""
    ledger = Ledger()
    with pytest.raises(ModelError, match=r"m: status 500: broke \(4 attempts\)"):
        ask(failing(*[ServerStatusError(500, {}, {"error": "broke"})] * 4), ledger)
    assert ledger.map_models_to_call_totals()["m"].failed == 1


@pytest.mark.parametrize(
    ("error", "kind"), [(ServerStatusError(401, {}, ""), ModelError), (ServerStatusError(400, {}, "long"), TextRefused)]
)
def test_a_final_failure_is_not_tried_again(error, kind):
    """Of the account or of the texts."""
    ledger = Ledger()
    with pytest.raises(ModelError) as caught:
        ask(failing(error), ledger)
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None  # whose text may hold the key
    assert ledger.map_models_to_call_totals()["m"].requests == 1


def test_pushback_does_not_use_up_attempts():
    """A crowded server is waited for, as long as patience lasts."""
    assert ask(failing(*[ServerStatusError(429, {}, "")] * 9)).usage.requests == 10
    with pytest.raises(ModelError, match="status 429"):
        ask(failing(ServerStatusError(429, {"retry-after": "3600"}, "")))


def test_a_bug_is_shown_as_it_is():
    """And nothing stays reserved."""
    ledger = Ledger(max_usd=1)
    with pytest.raises(KeyError):
        ask(failing(KeyError("x")), ledger)
    assert ledger._reserved == {}


def test_no_answer_in_time():
    """Counts as an attempt that may have to be paid."""

    async def send():
        await asyncio.sleep(10)

    with pytest.raises(ModelError, match="no answer in time"):
        ask(send, limits=CallLimits(timeout=0.01, attempts=2, backoff=0.001))


def test_the_budget_waits_for_what_is_in_flight():
    """Ten calls that may cost 0.5 and do cost 0.05 all fit into 1 dollar, though no more than two at once."""
    ledger, most, now = Ledger(max_usd=1.0), 0, 0

    async def send():
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return ServerReply(1, Usage(1, 0, 1, 0.05))

    calls = ModelServerClient("m", ledger, QUICK)
    jobs = [partial(calls.do, send, tokens=1, usd=0.5)] * 10
    assert sum(value for _, value in iterate_finished_jobs(jobs, at_once=10)) == 10
    assert most == 2
    assert ledger.spent_usd == pytest.approx(0.5)


def test_the_budget_ends_the_calls():
    """At the cap, with everything before it done."""
    ledger = Ledger(max_usd=1.0)

    async def send():
        return ServerReply(1, Usage(1, 0, 1, 0.3))

    calls, done = ModelServerClient("m", ledger, QUICK), []
    with pytest.raises(BudgetExceeded, match=r"\$0\.9000 spent"):
        done.extend(iterate_finished_jobs([partial(calls.do, send, tokens=1, usd=0.3)] * 50, at_once=20))
    assert len(done) == 3
    assert ledger.spent_usd == pytest.approx(0.9)
    assert ledger._reserved == {}


def test_loops_and_threads_share_a_pace():
    """`asyncio.run` again and again, and threads, make calls of one model, never more at once than allowed."""
    most = now = 0

    async def send():
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return ServerReply(threading.current_thread().name, Usage(usd=0.0))

    calls, names = ModelServerClient("m", None, CallLimits(concurrency=3)), []

    def work() -> None:
        for _ in range(5):
            names.append(asyncio.run(calls.do(send, tokens=1)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["embassay-calls"] * 30
    assert most <= 3


def test_cancelled_calls_leave_nothing_behind():
    """The slot is free again and the money is settled as spent, because the server may finish the work."""
    ledger = Ledger(max_usd=10)
    calls, begun = ModelServerClient("m", ledger, CallLimits(concurrency=1)), threading.Event()

    async def send():
        begun.set()
        await asyncio.Event().wait()

    async def give_up() -> None:
        call = asyncio.ensure_future(calls.do(send, tokens=1, usd=0.5))
        await asyncio.to_thread(begun.wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await calls.do(failing(), tokens=1, usd=0.5)

    asyncio.run(give_up())
    assert ledger.spent_usd == 0.75
    assert ledger._reserved == {}


def test_jobs_as_they_finish():
    """By position; after an error none is started, those in flight are given, and the error comes last."""
    started = []

    async def job(i):
        started.append(i)
        await asyncio.sleep(0.01 * (3 - i % 3))
        if i == 4:
            raise ModelError("four")
        return i * i

    done = []
    with pytest.raises(ModelError, match="four"):
        done.extend(iterate_finished_jobs((partial(job, i) for i in range(100)), at_once=3))
    assert sorted(done) == [(i, i * i) for i in sorted(started) if i != 4]
    assert len(started) < 12


def test_whoever_stops_asking_cancels():
    """Jobs in flight do not go on."""
    ended = threading.Semaphore(0)

    async def job():
        try:
            await asyncio.Event().wait()
        finally:
            ended.release()

    async def first():
        return 0

    steps = iterate_finished_jobs([first, job, job], at_once=3)
    assert next(steps) == (0, 0)
    steps.close()
    assert ended.acquire(timeout=60)
    assert ended.acquire(timeout=60)
