"""What holds for every request and answer of any of our servers: size, host, and headers that keep pages to
themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
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
