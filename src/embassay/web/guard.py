"""What holds for every request and answer of our servers: size, host, headers, and how often somebody may ask."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from ipaddress import IPv6Address, ip_address
from threading import Lock
from typing import Any, Protocol

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}


class Limits(Protocol):
    """`hosts` are the names a server answers to, without a port; empty: to any. A body has `most_bytes` and arrives
    within `body_seconds`."""

    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def most_bytes(self) -> int: ...
    @property
    def body_seconds(self) -> float: ...


Headers = Callable[[str], Mapping[str, str]]
"""The headers of the answers at a path; they replace those of the app."""


class Guard:
    """Stands before the app. Bodies are read here whole, so that nothing behind meets a long or a slow one."""

    def __init__(self, app: App, options: Limits, headers: Headers) -> None:
        self._app, self._options, self._headers = app, options, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(self._headers(scope["path"]), send)
        if not self._is_host(_header(scope, b"host")):
            await refuse(answer, 421, "This server does not go by that name.")
            return
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self._options.body_seconds)
        except TimeoutError:
            await refuse(answer, 408, "The request took too long to arrive.")
            return
        if body is None:
            await refuse(answer, 413, f"A request has at most {self._options.most_bytes} bytes.")
            return
        await self._app(scope, _again(body, receive), answer)

    def _is_host(self, host: str) -> bool:
        return not self._options.hosts or host_name(host) in self._options.hosts

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where it is too long, by what it says of itself or by what it is."""
        announced = _header(scope, b"content-length")
        if announced.isdecimal() and int(announced[:12]) > self._options.most_bytes:
            return None
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self._options.most_bytes:
                return None
            parts.append(part)
            more = message["type"] == "http.request" and message.get("more_body", False)
        return b"".join(parts)


def host_name(host: str) -> str:
    """The name in a Host header, without a port.

    >>> host_name("Example.org:8000"), host_name("[::1]:8000")
    ('example.org', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _again(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then whatever comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _with_headers(own: Mapping[str, str], send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (key, value) for key, value in message.get("headers", ()) if key.decode().lower() not in own
            ]
            message["headers"] = [*kept, *((key.encode(), value.encode()) for key, value in own.items())]
        await send(message)

    return sent


async def refuse(send: Send, status: int, sentence: str) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


_MOST_KEPT = 10_000


class RateLimit:
    """At most `burst` at once and `per_second` in the long run, for each key. Safe to share between threads.

    The keys that were silent longest are forgotten, so that many addresses cannot fill the memory.
    """

    def __init__(self, burst: int, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: str) -> bool:
        """Take one; whether there was one."""
        with self._lock:
            level = self._level(key)
            self._keep(key, max(0.0, level - 1) if level >= 1 else level)
            return level >= 1

    def is_spent(self, key: str) -> bool:
        """Whether there is none left, without taking one."""
        with self._lock:
            return self._level(key) < 1

    def _level(self, key: str) -> float:
        level, at = self._levels.get(key, (float(self._burst), self._clock()))
        return min(self._burst, level + (self._clock() - at) * self._per_second)

    def _keep(self, key: str, level: float) -> None:
        self._levels[key] = level, self._clock()
        self._levels.move_to_end(key)
        while len(self._levels) > _MOST_KEPT:
            self._levels.popitem(last=False)


def address_key(host: str | None) -> str:
    """What stands for a client's address: of IPv6 the network of 64 bits, for a client has all of it.

    >>> address_key("2001:db8::1") == address_key("2001:db8::2"), address_key(None)
    (True, 'unknown')
    """
    if host is None:
        return "unknown"
    try:
        found = ip_address(host)
    except ValueError:
        return host
    return str(int(found) >> 64) if isinstance(found, IPv6Address) else host
