"""How a failed request is classed: the server pushes back, the failure may pass, or it is final."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from socket import gaierror
from typing import Any, Literal

from embassay.systems.remote.keys import redacted

Kind = Literal["pushback", "passing", "final"]

_PUSHBACK = {429, 503, 529}
_PASSING = {408, 409, 425, 500, 502, 504, 520, 521, 522, 523, 524}
_BEHIND = {504, 524}
"""A gateway gave up waiting for the server, which may have read the request."""
_NO_MONEY = (
    "insufficient_quota",
    "billing_hard_limit",
    "exceeded your current quota, please check your plan",
)
_OF_TEXTS = {400, 413, 422}
_OF_ACCOUNT = ("api key", "api_key", "billing", "credit")
_OF_MODEL = ("model_not_found", "unknown model", "supported models", "does not support", "dimension")
_CROWDED = ("overloaded", "rate_limit")
_LONGEST = 300
_READ = 20_000
"""Characters of what a server says that are looked at: an error page may be of any size."""


class Refused(Exception):
    """The server answered with an error: `status`, `headers` (names in lower case) and `body` (as JSON where it is)."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers, self.body = status, headers, body


class Malformed(Exception):
    """The server answered, but not with what was asked for: another number of vectors, NaN, broken JSON.

    `of_texts` where it may be the texts that bring this about (NaN), should it happen every time.
    """

    def __init__(self, reason: str, *, of_texts: bool = False) -> None:
        super().__init__(reason)
        self.of_texts = of_texts


class TooLong(Exception):
    """The server's answer is longer than is read; `mend` says how to allow more."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(reason)
        self.mend = mend


@dataclass(frozen=True)
class Failure:
    """A request that failed: `reason` in one line without keys; `wait` the seconds the server asks for, if it
    does; `charged` whether the server may have read what was sent, and so may want money for it, and `answered` whether
    it did the work, to an answer that cannot be used; `of_texts` whether
    it is what was sent that the server will not take, rather than who sends it; `mend` what a user can do."""

    kind: Kind
    reason: str
    wait: float | None = None
    charged: bool = False
    answered: bool = False
    of_texts: bool = False
    mend: str = field(default="", compare=False)


def classify(error: Exception) -> Failure | None:
    """What `error` means for its request; None for one that no server causes (a bug of ours)."""
    status = _status(error)
    if status is not None:
        headers, body = _headers(error), _body(error)
        return _refusal(status, headers, body)
    if isinstance(error, TooLong):
        return Failure("final", str(error), charged=True, answered=True, mend=error.mend)
    if isinstance(error, Malformed):
        return Failure("passing", _line(str(error)), charged=True, answered=True, of_texts=error.of_texts)
    if isinstance(error, TimeoutError) or _named(error, "TimeoutException", "APITimeoutError"):
        return Failure("passing", "no answer in time", charged=True)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or _named(
        error, "APIResponseValidationError", "DecodingError"
    ):
        return Failure("passing", "the answer is not whole JSON", charged=True, answered=True)
    if isinstance(error, OSError) or _named(error, "TransportError", "APIConnectionError"):
        reason = f"no connection ({_cause(error)})"
        mend = "Check base_url, and that the server runs."
        return Failure("passing", reason, charged=not _never_sent(error), mend=mend)
    return None


def _refusal(status: int, headers: Mapping[str, str], body: Any) -> Failure:
    said = message(body)
    reason = f"status {status}" + (f": {said}" if said else "")
    text = f"{_code(body)} {said}".lower()
    if any(sign in text for sign in _NO_MONEY):
        return Failure("final", reason, mend="Look after the account with the vendor.")
    if status in _PUSHBACK or any(sign in _code(body).lower() for sign in _CROWDED):
        return Failure("pushback", reason, asked_wait(headers, body))
    if status in _PASSING or (status >= 500 and status not in (501, 505)):
        return Failure("passing", reason, asked_wait(headers, body), charged=status in _BEHIND)
    of_texts = status in _OF_TEXTS and not any(sign in text for sign in (*_OF_ACCOUNT, *_OF_MODEL))
    return Failure("final", reason, of_texts=of_texts, mend=_mend(status, text))


def _mend(status: int, text: str) -> str:
    if status in (401, 403) or "api key" in text or "api_key" in text:
        return "Check the key; key=NAME names the variable that holds it."
    if status < 400:
        return "The server sends elsewhere, where texts and key do not go by themselves: give that address as base_url."
    return "Check base_url and the name of the model." if status in (404, 405) else ""


def asked_wait(headers: Mapping[str, str], body: Any = None, *, now: datetime | None = None) -> float | None:
    """The seconds the server asks to wait: `retry-after-ms`, `Retry-After` (seconds or a date), or the
    `retryDelay` in a Google error.

    >>> asked_wait({"retry-after": "2"}), asked_wait({"retry-after-ms": "1500"})
    (2.0, 1.5)
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    after = headers.get("retry-after")
    if after is None:
        found = re.search(r"['\"]retryDelay['\"]: ['\"](\d+(?:\.\d+)?)s['\"]", str(body))
        return float(found[1]) if found else None
    seconds = _number(after)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        at = parsedate_to_datetime(after)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, OverflowError):
        return None


def format_refused(error: Exception, *fields: str) -> bool:
    """Whether the server refuses the request, and its words name one of these fields of it."""
    return _status(error) in _OF_TEXTS and any(field in str(_body(error)) for field in fields)


def message(body: Any) -> str:
    """What an error body says, in one line: the vendors' `error.message`, `message`, `detail` or `error`."""
    if isinstance(body, str):
        return _line(body)
    if isinstance(body, list) and body:
        return message(body[0])
    if not isinstance(body, Mapping):
        return ""
    for key in ("error", "message", "detail", "title"):
        if body.get(key):
            return message(body[key]) or _line(str(body[key]))
    return ""


def _code(body: Any) -> str:
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return ""
    return " ".join(str(inner[key]) for key in ("code", "type", "status") if inner.get(key))


def _status(error: Exception) -> int | None:
    for owner in (error, getattr(error, "response", None)):
        for name in ("status", "status_code"):
            value = getattr(owner, name, None)
            if isinstance(value, int) and value >= 300:
                return value
    return None


def _headers(error: Exception) -> Mapping[str, str]:
    found = (
        getattr(error, "headers", None) or getattr(getattr(error, "response", None), "headers", None) or {}
    )
    return {str(key).lower(): str(value) for key, value in found.items()}


def _body(error: Exception) -> Any:
    body = getattr(error, "body", None)
    if body is not None:
        return body
    try:
        return error.response.json()  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return getattr(getattr(error, "response", None), "text", None)


def _named(error: BaseException, *names: str) -> bool:
    """Whether an HTTP library calls the error so; asked by name, so that none is imported for it."""
    return any(
        one.__name__ in names and one.__module__.split(".")[0] in ("openai", "httpx", "httpx2", "httpcore")
        for one in type(error).__mro__
    )


def _never_sent(error: BaseException | None) -> bool:
    """Whether there was not even a connection to send the request over."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | gaierror) or _named(error, "ConnectError"):
            return True
        error = error.__cause__ or error.__context__
    return False


def _cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return _line(str(error)) or type(error).__name__


def _line(text: str) -> str:
    """On one line that controls nothing, without keys: these first, since half of one would not be known for it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[:_READ])
    line = redacted(" ".join(plain.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
