"""From an app to a running server: a socket, addresses to hand out, and an end without loss."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import signal
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from ipaddress import IPv6Address, ip_address
from threading import Lock
from typing import Any, Protocol
from urllib.parse import urlsplit

from embassay.errors import ModelError, UsageError
from embassay.machine import HANGUP

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


class HostAndBodyLimits(Protocol):
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


class HostAndBodyLimitMiddleware:
    """Stands before the app. Bodies are read here whole, so that nothing behind meets a long or a slow one."""

    def __init__(self, app: App, options: HostAndBodyLimits, headers: Headers) -> None:
        self._app, self._options, self._headers = app, options, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _wrap_send_with_response_headers(self._headers(scope["path"]), send)
        if not self._is_allowed_host(_read_header(scope, b"host")):
            await send_refusal(answer, 421, "This server does not accept that host name.")
            return
        try:
            body = await asyncio.wait_for(self._read_body(scope, receive), self._options.body_seconds)
        except TimeoutError:
            await send_refusal(answer, 408, "The request took too long to arrive.")
            return
        if body is None:
            await send_refusal(answer, 413, f"A request can have at most {self._options.most_bytes} bytes.")
            return
        await self._app(scope, _make_body_replaying_receive(body, receive), answer)

    def _is_allowed_host(self, host: str) -> bool:
        return not self._options.hosts or parse_host_name(host) in self._options.hosts

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where it is too long, by what it says of itself or by what it is."""
        announced = _read_header(scope, b"content-length")
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


def parse_host_name(host: str) -> str:
    """The name in a Host header, without a port.

    >>> parse_host_name("Example.org:8000"), parse_host_name("[::1]:8000")
    ('example.org', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _make_body_replaying_receive(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then whatever comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_replayed


def _wrap_send_with_response_headers(headers: Mapping[str, str], send: Send) -> Send:
    async def send_message_with_added_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            others = [(key, value) for key, value in message.get("headers", ()) if key.decode().lower() not in headers]
            message["headers"] = [*others, *((key.encode(), value.encode()) for key, value in headers.items())]
        await send(message)

    return send_message_with_added_headers


async def send_refusal(send: Send, status: int, sentence: str) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _read_header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


_MOST_KEPT = 10_000


class KeyedRateLimit:
    """At most `burst` at once and `per_second` in the long run, for each key. Safe to share between threads.

    The keys that were silent longest are forgotten, so that many addresses cannot fill the memory.
    """

    def __init__(self, burst: int, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def try_use_rate_allowance(self, key: str) -> bool:
        """Take one; whether there was one."""
        with self._lock:
            level = self._compute_remaining_requests(key)
            self._store_request_allowance_of_key(key, max(0.0, level - 1) if level >= 1 else level)
            return level >= 1

    def _compute_remaining_requests(self, key: str) -> float:
        level, at = self._levels.get(key, (float(self._burst), self._clock()))
        return min(self._burst, level + (self._clock() - at) * self._per_second)

    def _store_request_allowance_of_key(self, key: str, level: float) -> None:
        self._levels[key] = level, self._clock()
        self._levels.move_to_end(key)
        while len(self._levels) > _MOST_KEPT:
            self._levels.popitem(last=False)


def mask_client_address(host: str | None) -> str:
    """What stands for a client's address: of IPv6 the network of 64 bits, for a client has all of it.

    >>> mask_client_address("2001:db8::1") == mask_client_address("2001:db8::2"), mask_client_address(None)
    (True, 'unknown')
    """
    if host is None:
        return "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return str(int(address) >> 64) if isinstance(address, IPv6Address) else host


LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::", "")
_LAST_REQUESTS_SECONDS = 5
HEADER_SECONDS = 10
"""So long a client may take for the head of a request."""
_AT_ONCE, _QUEUE = 4, 2048
"""Connections that are taken in one go, and those that may wait for that in the system."""
_OWN_FILES = 48
"""Open files that are kept for the work itself and for what is taken in one go; connections may have the others."""
_MOST_FILES = 65_536


def is_local_only_host(host: str) -> bool:
    """Whether only this machine can reach a server on `host`."""
    return host in LOCAL_NAMES or host.startswith("127.")


def open_listening_socket(host: str, port: int) -> socket.socket:
    """A socket on `host` and `port` (0: any free one). Raises UsageError where it cannot be had, in one sentence."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _bind_listening_socket(family, kind, protocol, address)
    except OSError as error:
        raise _make_listen_error(host, port, error) from None


def _bind_listening_socket(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        # A port that a server has just left can be taken at once.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock


def build_base_url(host: str, listening: socket.socket) -> str:
    """How the server is reached, without a path."""
    name = socket.gethostname() if host in _EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{listening.getsockname()[1]}"


def list_allowed_host_names(host: str, public_url: str | None, more: tuple[str, ...]) -> tuple[str, ...]:
    """The names a server on `host` answers to: where anybody may reach it and nobody said its name, to any (empty).

    On this machine only its own names: another site's name that leads here is how a page elsewhere would get in.
    """
    public = (urlsplit(public_url).hostname or "",) if public_url else ()
    named = tuple(name.lower() for name in (*public, *more))
    if not named and not is_local_only_host(host):
        return ()
    bound = () if host in _EVERYWHERE else (host.lower(),)
    return tuple(dict.fromkeys((*LOCAL_NAMES, *bound, *named)))


def extract_url_host_and_port(url: str) -> str:
    """Host and port of an address, as browsers name the origin of a page.

    >>> extract_url_host_and_port("https://Annotate.example.org/study")
    'annotate.example.org'
    """
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def serve_until_signal(
    make_app: Callable[[], Any],
    listening: socket.socket,
    *,
    command: str,
    proxy_headers: bool,
    ready: Callable[[], None],
) -> None:
    """Serve until Ctrl-C, TERM or HUP (a terminal that closes), then let the last requests end. `make_app` may import
    what the extra `web` brings; `ready` is called before the first request is taken.

    `proxy_headers`: believe X-Forwarded-For and X-Forwarded-Proto of proxies on this machine, or of those named in
    FORWARDED_ALLOW_IPS. Raises ModelError, naming `command`, where the extra `web` is missing.
    """
    stops = [signal.SIGTERM, *(number for number in HANGUP if signal.getsignal(number) != signal.SIG_IGN)]
    before = {number: signal.signal(number, _raise_interrupt) for number in stops}
    try:
        server = _make_uvicorn_server(make_app, command, proxy_headers)
        ready()
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # what was acknowledged is stored: a stopped server has lost nothing
    finally:
        for number, answer in before.items():
            signal.signal(number, answer)


def _make_uvicorn_server(make_app: Callable[[], Any], command: str, proxy_headers: bool) -> Any:
    try:
        import uvicorn

        app = make_app()
    except ImportError as error:
        raise ModelError(
            f"{command} needs the package {error.name}, which is not installed.",
            mend="Install it: pip install 'embassay[web]'",
        ) from error
    # No log of requests: paths may hold what is not for everybody.
    config = uvicorn.Config(
        app, http=_make_timeout_protocol(), log_level="warning", access_log=False, server_header=False,
        backlog=_AT_ONCE,
        proxy_headers=proxy_headers, timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS
    )  # fmt: skip
    return type("Server", (_FileLimitWarningServer, uvicorn.Server), {})(config)


class _FileLimitWarningServer:
    """Before uvicorn's server: a process that has no open files left says so once. asyncio tries to take one more as
    often as its backlog is long, each time with a traceback; so that is short, and the system's queue long again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._warn_once_of_open_file_limit)
        await super().startup(sockets=sockets)  # type: ignore[misc]
        for sock in sockets or ():
            sock.listen(_QUEUE)

    _told = False

    def _warn_once_of_open_file_limit(self, loop: Any, context: dict[str, Any]) -> None:
        if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not self._told:
            self._told = True
            logging.getLogger("uvicorn.error").warning(
                "The limit on open files is reached, so connections have to wait. Raise it with ulimit -n 4096."
            )


class _HeaderTimeoutProtocol:
    """Before a protocol of uvicorn: ends a connection that has been open for HEADER_SECONDS without the whole head of a
    request, be it the first or a later one, and sooner where others need its open file. uvicorn's own limit is of
    connections that send nothing at all after an answer; half a head would stay for ever, and with it one of the
    process's open files."""

    most: int
    cycle: Any
    loop: Any
    transport: Any
    connections: set[Any]
    _timer: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._start_header_timer()
        if len(self.connections) > self.most:
            waiting = [connection for connection in self.connections if connection._timer is not None]
            first = min(waiting, key=lambda other: other._timer.when())
            first._stop_header_timer()  # it is not to be the first again
            first.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # type: ignore[misc]
        if not self._is_waiting_for_head():
            self._stop_header_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # type: ignore[misc]
        if self._is_waiting_for_head():
            self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)  # type: ignore[misc]

    def _is_waiting_for_head(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_header_timer(self) -> None:
        self._stop_header_timer()
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_header_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _make_timeout_protocol() -> type[Any]:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    return type(
        "Impatient",
        (_HeaderTimeoutProtocol, AutoHTTPProtocol),
        {"most": max(8, _raise_and_read_open_file_limit() - _OWN_FILES)},
    )


def _raise_and_read_open_file_limit() -> int:
    """How many files the process may have open, once it has asked for as many as it may ask for."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return _MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return _MOST_FILES if soft == resource.RLIM_INFINITY else soft


def _raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _make_listen_error(host: str, port: int, error: OSError) -> UsageError:
    where = f"{host or 'all addresses'}, port {port}"
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"Another program is already listening on {where}.", mend=f"Stop it, or use another port: --port {port + 1}"
        )
    if error.errno == errno.EACCES:
        return UsageError(f"This user has no permission to listen on {where}.", mend="Use a --port above 1023.")
    return UsageError(
        f"Cannot listen on {where}: {(error.strerror or str(error)).lower()}.",
        mend="Use a --host of this machine, such as 127.0.0.1.",
    )
