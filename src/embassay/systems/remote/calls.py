"""The calls to one server: its key, kept out of all that is shown; paced, tried again, counted, and in the budget."""

from __future__ import annotations

import asyncio
import atexit
import base64
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from queue import SimpleQueue
from socket import gaierror
from threading import Lock, Thread
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from embassay.contracts import Usage
from embassay.errors import ModelError, TextRefused, UsageError
from embassay.systems.remote.ledger import BudgetReservation, Ledger
from embassay.systems.remote.pace import AdaptiveRequestLimit, CallLimits, RequestConcurrencyRecord

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pa|co|jina|xai|gsk|hf)[-_][A-Za-z0-9_*.-]{8,}|\bAIza[\w-]{20,}"
    r"|(?<=Bearer )\S+|(?<=[?&]key=)[^&\s\"']+|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
)
_DUMMY = "none-needed"
_SHORT = 8
_read: set[str] = set()
"""Every key this process has read, so that none is ever shown."""
_needed: ContextVar[bool] = ContextVar("needed", default=True)


@contextmanager
def allow_models_without_keys() -> Iterator[None]:
    """Inside, models open without their keys: for a plan, which sends nothing."""
    token = _needed.set(False)
    try:
        yield
    finally:
        _needed.reset(token)


def read_api_key(vendor: str, names: Sequence[str], *, key: str | None = None, local: bool = False) -> str:
    """The key for `vendor`: from the environment variable `key` where it is given, else the first of `names`
    that is set.

    A server on this machine (`local`) needs none and gets a dummy. ModelError when there is no key,
    UsageError when `key` is no name of a variable (it may be a key: it is not repeated).
    """
    if key is not None and not _NAME.fullmatch(key):
        raise UsageError(
            "`key=` takes the NAME of an environment variable in capitals, not the key itself.",
            mend=f"Run export {names[0] if names else 'MY_KEY'}=..., then pass the variable's name: key=NAME",
        )
    variables = [key] if key is not None else list(names)
    for name in variables:
        value = os.environ.get(name, "").strip()
        if value:
            _read.add(value)
            return value
    if (local and key is None) or not _needed.get():
        return _DUMMY
    raise ModelError(
        f"{vendor} needs a key, but {' or '.join(variables)} is not set.", mend=f"export {variables[0]}=..."
    )


def _list_encodings_of_api_key(secret: str) -> set[str]:
    """How a key may come back: as it is, from its end, and as headers, addresses, JSON and dumps of bytes have it."""
    if len(secret) < _SHORT:
        return {secret}
    encoded = base64.b64encode(secret.encode()).decode()
    return {
        secret,
        secret[::-1],
        quote(secret, safe=""),
        encoded,
        encoded.rstrip("="),
        *(_encode_key_in_base64_at_offset(secret, before) for before in range(3)),
        secret.encode().hex(),
        json.dumps(secret)[1:-1],
    }


def _encode_key_in_base64_at_offset(secret: str, before: int) -> str:
    """What base64 makes of the key behind so many bytes, as in `Basic user:key`, without the letters that also depend
    on its neighbours."""
    # Three bytes are four letters: one byte before moves two letters of the first group, two bytes three.
    encoded = base64.b64encode(b" " * before + secret.encode()).decode()
    whole = (before + len(secret.encode())) // 3 * 4
    return encoded[before + bool(before) : whole]


def _build_regex_for_secret(form: str) -> str:
    """A short one (what a local server is told for a key) is taken out where it stands alone, not inside of words; a
    longer one whatever its case, and with blanks between its letters."""
    if len(form) < _SHORT:
        return rf"(?<!\w){re.escape(form)}(?!\w)"
    return r"(?i:" + r"\s?".join(map(re.escape, form)) + ")"


def redact_keys(text: str) -> str:
    """`text` without any key this process has read, and without what looks like one.

    >>> redact_keys("Incorrect API key provided: sk-abcdefgh12345678.")
    'Incorrect API key provided: [key]'
    """
    # The longest first: one key may be the beginning of another.
    for secret in sorted(set().union(*map(_list_encodings_of_api_key, _read)), key=len, reverse=True):
        text = re.sub(_build_regex_for_secret(secret), "[key]", text)
    return _LIKE_A_KEY.sub("[key]", text)


Kind = Literal["pushback", "passing", "final"]

# 529 is Anthropic's status for a server that is overloaded.
_PUSHBACK = {429, 503, 529}
# 520 to 524 come from Cloudflare, for a server behind it.
_PASSING = {408, 409, 425, 500, 502, 504, 520, 521, 522, 523, 524}
_BEHIND = {504, 524}
"""A gateway gave up waiting for the server, which may have read the request."""
_NO_MONEY = ("insufficient_quota", "billing_hard_limit", "exceeded your current quota, please check your plan")
_OF_TEXTS = {400, 413, 422}
_OF_ACCOUNT = ("api key", "api_key", "billing", "credit")
_OF_MODEL = ("model_not_found", "unknown model", "supported models", "does not support", "dimension")
_CROWDED = ("overloaded", "rate_limit")
_LONGEST = 300
_READ = 20_000
"""Characters of what a server says that are looked at: an error page may be of any size."""


class ServerStatusError(Exception):
    """The server answered with an error: `status`, `headers` (names in lower case) and `body` (as JSON where it is)."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers, self.body = status, headers, body


class MalformedServerAnswer(Exception):
    """The server answered, but not with what was asked for: another number of vectors, NaN, broken JSON.

    `of_texts` where it may be the texts that bring this about (NaN), should it happen every time.
    """

    def __init__(self, reason: str, *, of_texts: bool = False) -> None:
        super().__init__(reason)
        self.of_texts = of_texts


class ServerAnswerTooLong(Exception):
    """The server's answer is longer than is read; `mend` says how to allow more."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(reason)
        self.mend = mend


@dataclass(frozen=True)
class RequestFailure:
    """A request that failed: `reason` in one line without keys; `wait` the seconds the server asks for, if it
    does; `charged` whether the server may have read what was sent, and so may want money for it, and `answered` whether
    it did the work, to an answer that cannot be used; `of_texts` whether
    it is what was sent that the server will not take, rather than who sends it; `unreached` whether there was no
    connection to send it by; `mend` what a user can do."""

    kind: Kind
    reason: str
    wait: float | None = None
    charged: bool = False
    answered: bool = False
    of_texts: bool = False
    unreached: bool = False
    mend: str = field(default="", compare=False)


def classify_request_error(error: Exception) -> RequestFailure | None:
    """What `error` means for its request; None for one that no server causes (a bug of ours)."""
    status = _error_status(error)
    if status is not None:
        headers, body = _error_headers(error), _error_body(error)
        return _classify_error_response(status, headers, body)
    if isinstance(error, ServerAnswerTooLong):
        return RequestFailure("final", str(error), charged=True, answered=True, mend=error.mend)
    if isinstance(error, MalformedServerAnswer):
        return RequestFailure(
            "passing", _make_safe_single_line(str(error)), charged=True, answered=True, of_texts=error.of_texts
        )
    if isinstance(error, TimeoutError) or _is_http_library_error_named(error, "TimeoutException", "APITimeoutError"):
        return RequestFailure("passing", "no answer in time", charged=True)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or _is_http_library_error_named(
        error, "APIResponseValidationError", "DecodingError"
    ):
        return RequestFailure("passing", "the answer is incomplete JSON", charged=True, answered=True)
    if isinstance(error, OSError) or _is_http_library_error_named(error, "TransportError", "APIConnectionError"):
        reason = f"no connection ({_describe_cause(error)})"
        mend = "Check base_url, and that the server is running."
        unsent = _was_never_sent(error)
        return RequestFailure("passing", reason, charged=not unsent, unreached=unsent, mend=mend)
    return None


def _classify_error_response(status: int, headers: Mapping[str, str], body: Any) -> RequestFailure:
    words = read_error_message(body)
    reason = f"status {status}" + (f": {words}" if words else "")
    text = f"{_error_code(body)} {words}".lower()
    # Before the status: vendors send 429 for an empty account too, and waiting mends nothing there.
    if any(sign in text for sign in _NO_MONEY):
        return RequestFailure("final", reason, mend="Check your account with the vendor.")
    if status in _PUSHBACK or any(sign in _error_code(body).lower() for sign in _CROWDED):
        return RequestFailure("pushback", reason, read_retry_wait(headers, body))
    if status in _PASSING or (status >= 500 and status not in (501, 505)):
        return RequestFailure("passing", reason, read_retry_wait(headers, body), charged=status in _BEHIND)
    of_texts = status in _OF_TEXTS and not any(sign in text for sign in (*_OF_ACCOUNT, *_OF_MODEL))
    return RequestFailure("final", reason, of_texts=of_texts, mend=_suggest_fix_for_http_status(status, text))


def _suggest_fix_for_http_status(status: int, text: str) -> str:
    if status in (401, 403) or "api key" in text or "api_key" in text:
        return "Check the key, or pass the environment variable that contains it: key=NAME."
    if status < 400:
        return "Redirects are not followed. Set base_url to the address that the server redirects to."
    return "Check base_url and the name of the model." if status in (404, 405) else ""


def read_retry_wait(headers: Mapping[str, str], body: Any = None, *, now: datetime | None = None) -> float | None:
    """The seconds the server asks to wait: `retry-after-ms`, `Retry-After` (seconds or a date), or the
    `retryDelay` in a Google error.

    >>> read_retry_wait({"retry-after": "2"}), read_retry_wait({"retry-after-ms": "1500"})
    (2.0, 1.5)
    """
    milliseconds = _parse_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    after = headers.get("retry-after")
    if after is None:
        match = re.search(r"['\"]retryDelay['\"]: ['\"](\d+(?:\.\d+)?)s['\"]", str(body))
        return float(match[1]) if match else None
    seconds = _parse_number(after)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        # A date without a zone is in UTC, as HTTP has them all.
        at = parsedate_to_datetime(after)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, OverflowError):
        return None


def is_field_refused(error: Exception, *fields: str) -> bool:
    """Whether the server refuses the request, and its words name one of these fields of it. Some say so with a failure
    of their own, status 500 and the words of a validation error."""
    words = str(_error_body(error))
    refused = _error_status(error) in _OF_TEXTS or (_error_status(error) == 500 and "validation error" in words.lower())
    return refused and any(field in words for field in fields)


def read_error_message(body: Any) -> str:
    """What an error body says, in one line: the vendors' `error.message`, `message`, `detail` or `error`."""
    if isinstance(body, str):
        return _make_safe_single_line(body)
    if isinstance(body, list) and body:
        return read_error_message(body[0])
    if not isinstance(body, Mapping):
        return ""
    for key in ("error", "message", "detail", "title"):
        if body.get(key):
            return read_error_message(body[key]) or _make_safe_single_line(str(body[key]))
    return ""


def _error_code(body: Any) -> str:
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return ""
    return " ".join(str(inner[key]) for key in ("code", "type", "status") if inner.get(key))


def _error_status(error: Exception) -> int | None:
    for owner in (error, getattr(error, "response", None)):
        for name in ("status", "status_code"):
            value = getattr(owner, name, None)
            if isinstance(value, int) and value >= 300:
                return value
    return None


def _error_headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(error, "headers", None) or getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(key).lower(): str(value) for key, value in headers.items()}


def _error_body(error: Exception) -> Any:
    body = getattr(error, "body", None)
    if body is not None:
        return body
    try:
        return error.response.json()  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return getattr(getattr(error, "response", None), "text", None)


def _is_http_library_error_named(error: BaseException, *names: str) -> bool:
    """Whether an HTTP library calls the error so; asked by name, so that none is imported for it."""
    return any(
        kind.__name__ in names and kind.__module__.split(".")[0] in ("openai", "httpx2", "httpcore2")
        for kind in type(error).__mro__
    )


def _was_never_sent(error: BaseException | None) -> bool:
    """Whether there was not even a connection to send the request over."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | gaierror) or _is_http_library_error_named(error, "ConnectError"):
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return _make_safe_single_line(str(error)) or type(error).__name__


def _make_safe_single_line(text: str) -> str:
    """On one line that controls nothing, without keys: these first, since half of one would not be known for it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[:_READ])
    line = redact_keys(" ".join(plain.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _parse_number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


T = TypeVar("T")

_PATIENCE = 2.0
"""Seconds that the end of a process waits for connections to close."""
_lock = Lock()
_closing: list[Callable[[], Awaitable[None]]] = []
_homes: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop of each process: a fork has none of its parent's threads."""


def start_remote_event_loop() -> asyncio.AbstractEventLoop:
    """The loop, started when first asked for."""
    with _lock:
        loop = _homes.get(os.getpid())
        if loop is None:
            loop = _homes[os.getpid()] = asyncio.new_event_loop()
            Thread(target=loop.run_forever, name="embassay-calls", daemon=True).start()
            atexit.register(_close_connections, os.getpid())
        return loop


def register_close_at_exit(close: Callable[[], Awaitable[None]]) -> None:
    """Have `close` done in the loop before the process ends: connections left open complain when they are collected."""
    _closing.append(close)


def _close_connections(process: int) -> None:
    # A fork has the list too, but not the loop that the clients belong to.
    if process != os.getpid() or not _closing:
        return

    async def close_all_connections() -> None:
        await asyncio.gather(*(close() for close in _closing), return_exceptions=True)

    with suppress(Exception):
        start_in_remote_loop(close_all_connections).result(timeout=_PATIENCE)


def start_in_remote_loop(work: Callable[[], Awaitable[T]]) -> Future[T]:
    """Start `work` in the loop; cancelling the future cancels the work."""

    async def await_work_result() -> T:
        return await work()

    return asyncio.run_coroutine_threadsafe(await_work_result(), start_remote_event_loop())


async def run_in_remote_loop(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, done in the loop, awaited in whatever loop the caller has."""
    if asyncio.get_running_loop() is start_remote_event_loop():
        return await work()
    return await asyncio.wrap_future(start_in_remote_loop(work))


def run_in_remote_loop_and_wait(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, for a caller without a loop."""
    future = start_in_remote_loop(work)
    try:
        return future.result()
    except BaseException:
        # Whoever was interrupted no longer wants the answer.
        future.cancel()
        raise


def iterate_finished_jobs(jobs: Iterable[Callable[[], Awaitable[T]]], *, at_once: int) -> Iterator[tuple[int, T]]:
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
                    future = start_in_remote_loop(job)
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


_PROBES = 2
"""Attempts at a server that has never answered and takes no connection: it is not there."""
_LONGEST_BACKOFF = 30.0
_POLL = 0.02


@dataclass(frozen=True)
class ServerReply(Generic[T]):
    """What a request brought, and what it cost; `worked` are the seconds that the server says it worked for it, without
    a queue or loading a model, 0 where it does not say."""

    value: T
    usage: Usage
    worked: float = 0.0


class ModelServerClient:
    """Calls of `model` to one server. Safe from any thread and any event loop: they all run in the loop of
    `start_remote_event_loop`, with one pace."""

    def __init__(self, model: str, ledger: Ledger | None = None, limits: CallLimits = CallLimits()) -> None:  # noqa: B008
        self.model = model
        self.ledger = ledger or Ledger()
        self.limits = limits
        self._paces: dict[int, AdaptiveRequestLimit] = {}

    async def do(self, send: Callable[[], Awaitable[ServerReply[T]]], *, tokens: int, usd: float | None = None) -> T:
        """The value of `ask`, for what is billed by what is read alone."""
        return (await self.ask(send, tokens=tokens, usd=usd, read_usd=usd)).value

    async def ask(
        self,
        send: Callable[[], Awaitable[ServerReply[T]]],
        *,
        tokens: int,
        usd: float | None = None,
        read_usd: float | None = None,
    ) -> ServerReply[T]:
        """The answer that `send` gets, tried again while a failure may pass; its usage counts every request, and the
        money of the one that was answered.

        `send` raises what `classify_request_error` understands. `tokens` and `usd` are what the request will take, or a
        bound above: they pass the limits and are put aside in the ledger until the answer says what it really was. Of a
        request that failed, what was put aside is free again but for what may be billed: nothing where the server
        refused it or was not reached, `read_usd` (the prompt alone) where it may have read it, all of `usd` where it
        answered what cannot be used.
        ModelError, with the reason, when the call fails for good (TextRefused where it is what was sent that the
        server will not take); BudgetExceeded when there is no money for it.
        """
        return await run_in_remote_loop(
            lambda: _RetriedServerCall(self, self._open_request_limit(), send, tokens, (usd, read_usd)).do()
        )

    def _open_request_limit(self) -> AdaptiveRequestLimit:
        # A forked process has no loop yet, and none of its parent's requests in flight.
        if os.getpid() not in self._paces:
            self._paces[os.getpid()] = AdaptiveRequestLimit(self.limits)
        return self._paces[os.getpid()]


class _RetriedServerCall(Generic[T]):
    """One call: its requests, one after another, until one is answered or there is no use."""

    def __init__(
        self,
        calls: ModelServerClient,
        pace: AdaptiveRequestLimit,
        send: Callable[[], Awaitable[ServerReply[T]]],
        tokens: int,
        prices: tuple[float | None, float | None],
    ) -> None:
        self.model, self.ledger, self.limits, self.pace = calls.model, calls.ledger, calls.limits, pace
        self.send, self.tokens, (self.usd, self.read_usd) = send, tokens, prices
        self.requests = 0
        self.passing = 0
        self.pushed_since: float | None = None
        self.pushes = 0

    async def do(self) -> ServerReply[T]:
        while True:
            outcome = await self._send_request()
            if isinstance(outcome, ServerReply):
                return replace(outcome, usage=replace(outcome.usage, requests=self.requests))
            wait = self._choose_retry_wait(outcome)
            if wait is None:
                self.ledger.note_call_failed(self.model)
                kind = TextRefused if outcome.of_texts else ModelError
                where = f" from base_url={self.limits.place}" if self.limits.place and not outcome.of_texts else ""
                reason = f"{self.model}: {outcome.reason}".rstrip(".") + where
                raise kind(f"{reason}{self._format_attempts()}.", mend=outcome.mend) from None
            await asyncio.sleep(wait)

    async def _send_request(self) -> ServerReply[T] | RequestFailure:
        ticket = await self.pace.wait_for_request_turn(self.tokens)
        try:
            reservation = await self._reserve_money()
        except BaseException:
            self.pace.failed()
            raise
        return await self._send_and_settle(ticket, reservation)

    async def _reserve_money(self) -> BudgetReservation:
        """Money for the request. Others' requests in flight may turn out cheaper than what was put aside, so
        while there are some it is worth waiting."""
        while (reservation := self.ledger.try_reserve_usd(self.model, self.usd)) is None:
            await asyncio.sleep(_POLL)
        return reservation

    async def _send_and_settle(
        self, ticket: RequestConcurrencyRecord, reservation: BudgetReservation
    ) -> ServerReply[T] | RequestFailure:
        self.requests += 1
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self.limits.timeout):
                answer = await self.send()
        except Exception as error:
            failure = classify_request_error(error)
            self._book_failed_request(reservation, failure, start)
            if failure is not None and failure.kind == "pushback":
                # Others wait with it, and must not wait longer than they would for themselves.
                wait = None if failure.wait is None else min(failure.wait, self.limits.patience)
                self.pace.note_pushback(ticket, wait)
            else:
                self.pace.failed()
            if failure is None:
                raise
            return failure
        except BaseException:
            # Cancelled on its way: the server may have read it, and want its money.
            self._book_failed_request(reservation, None, start)
            self.pace.failed()
            raise
        self.ledger.settle_reservation(
            reservation, answer.usage, retry=self.requests > 1, seconds=time.perf_counter() - start
        )
        used = answer.usage.input_tokens + answer.usage.output_tokens
        seconds = time.perf_counter() - start
        self.pace.note_request_answered(ticket, seconds, correction=used - self.tokens)
        return replace(answer, usage=replace(answer.usage, seconds=answer.worked or seconds))

    def _book_failed_request(
        self, reservation: BudgetReservation, failure: RequestFailure | None, start: float
    ) -> None:
        """Account for a request that brought nothing: see `ModelServerClient.ask`."""
        possible: float | None = self.usd
        if possible is not None and failure is not None and not failure.charged:
            possible = 0.0
        elif possible is not None and not (failure is not None and failure.answered):
            possible = self.read_usd if self.read_usd is not None else self.usd
        seconds = time.perf_counter() - start
        self.ledger.book_cost_of_unanswered_request(reservation, possible, retry=self.requests > 1, seconds=seconds)

    def _choose_retry_wait(self, failure: RequestFailure) -> float | None:
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
            absent = failure.unreached and not self.pace.answered
            attempts = min(_PROBES, self.limits.attempts) if absent else self.limits.attempts
            used_up = self.passing >= attempts or (failure.wait or 0) > self.limits.patience
        if used_up:
            return None
        # Not seeded: calls that failed together must not come back together.
        jitter = random.uniform(0.5, 1.0)
        if failure.wait is not None:
            # A little later than asked: clocks differ, and many were told the same.
            return failure.wait * (1 + 0.1 * jitter)
        times = self.pushes if failure.kind == "pushback" else self.passing
        return float(min(_LONGEST_BACKOFF, self.limits.backoff * 2 ** (times - 1)) * jitter)

    def _format_attempts(self) -> str:
        return f" ({self.requests} attempts)" if self.requests > 1 else ""
