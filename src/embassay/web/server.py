"""From an app to a running server: a socket, addresses to hand out, and an end without loss."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from embassay.errors import ModelError, UsageError

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


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server on `host`."""
    return host in LOCAL_NAMES or host.startswith("127.")


def listen(host: str, port: int) -> socket.socket:
    """A socket on `host` and `port` (0: any free one). Raises UsageError where it cannot be had, in one sentence."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _listening(family, kind, protocol, address)
    except OSError as error:
        raise _cannot_listen(host, port, error) from None


def _listening(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made


def base_url(host: str, listening: socket.socket) -> str:
    """How the server is reached, without a path."""
    name = socket.gethostname() if host in _EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{listening.getsockname()[1]}"


def hosts_answered(host: str, public_url: str | None, more: tuple[str, ...]) -> tuple[str, ...]:
    """The names a server on `host` answers to: where anybody may reach it and nobody said its name, to any (empty).

    On this machine only its own names: another site's name that leads here is how a page elsewhere would get in.
    """
    public = (urlsplit(public_url).hostname or "",) if public_url else ()
    named = tuple(name.lower() for name in (*public, *more))
    if not named and not is_local(host):
        return ()
    own = () if host in _EVERYWHERE else (host.lower(),)
    return tuple(dict.fromkeys((*LOCAL_NAMES, *own, *named)))


def origin_of(url: str) -> str:
    """Host and port of an address, as browsers name the origin of a page.

    >>> origin_of("https://Annotate.example.org/study")
    'annotate.example.org'
    """
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def serve(
    make_app: Callable[[], Any],
    listening: socket.socket,
    *,
    command: str,
    proxy_headers: bool,
    ready: Callable[[], None],
) -> None:
    """Serve until Ctrl-C or TERM, then let the last requests end. `make_app` may import what the extra `web` brings;
    `ready` is called before the first request is taken.

    `proxy_headers`: believe X-Forwarded-For and X-Forwarded-Proto of proxies on this machine, or of those named in
    FORWARDED_ALLOW_IPS. Raises ModelError, naming `command`, where the extra `web` is missing.
    """
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        server = _server(make_app, command, proxy_headers)
        ready()
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # what was acknowledged is stored: a stopped server has lost nothing
    finally:
        signal.signal(signal.SIGTERM, before)


def _server(make_app: Callable[[], Any], command: str, proxy_headers: bool) -> Any:
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
        app, http=_impatient(), log_level="warning", access_log=False, server_header=False, backlog=_AT_ONCE,
        proxy_headers=proxy_headers, timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS,
    )  # fmt: skip
    return type("Server", (_Frugal, uvicorn.Server), {})(config)


class _Frugal:
    """Before uvicorn's server: a process that has no open files left says so once. asyncio tries to take one more as
    often as its backlog is long, each time with a traceback; so that is short, and the system's queue long again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets=sockets)  # type: ignore[misc]
        for one in sockets or ():
            one.listen(_QUEUE)

    _told = False

    def _failed(self, loop: Any, context: dict[str, Any]) -> None:
        if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not self._told:
            self._told = True
            logging.getLogger("uvicorn.error").warning(
                "No more open files are allowed: connections have to wait. Allow more: ulimit -n 4096."
            )


class _Impatient:
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
        self._wait()
        if len(self.connections) > self.most:
            waiting = [one for one in self.connections if one._timer is not None]
            first = min(waiting, key=lambda one: one._timer.when())
            first._stop()  # it is not to be the first again
            first.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # type: ignore[misc]
        if not self._is_waiting():
            self._stop()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # type: ignore[misc]
        if self._is_waiting():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)  # type: ignore[misc]

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _impatient() -> type[Any]:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    return type("Impatient", (_Impatient, AutoHTTPProtocol), {"most": max(8, _files_allowed() - _OWN_FILES)})


def _files_allowed() -> int:
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


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    where = f"{host or 'all addresses'}, port {port}"
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"Something else listens on {where} already.", mend=f"Stop it, or give another: --port {port + 1}"
        )
    if error.errno == errno.EACCES:
        return UsageError(f"This user may not listen on {where}.", mend="Give a --port above 1023.")
    return UsageError(
        f"Nothing can listen on {where}: {(error.strerror or str(error)).lower()}.",
        mend="Give a --host of this machine, such as 127.0.0.1.",
    )
