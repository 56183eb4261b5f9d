"""The app: addresses that only read, the guard before them, and a thread that looks at the folder."""

from __future__ import annotations

import logging
import mimetypes
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from embassay.web.leaderboard.answers import HTML, JSON, Packed, Service, is_known, pack
from embassay.web.leaderboard.library import Library
from embassay.web.leaderboard.page import files, render_error
from embassay.web.server import HEADERS, Guard, RateLimit, Receive, Send, address_key

_BURST, _PER_SECOND = 40, 4.0
"""Comparisons of one address: the only answers that are made for the asker alone."""
_NOTHING = "There is nothing here", "The board, system or report may have gone, or the address is not whole."


class Routes:
    """The routes of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limit = RateLimit(_BURST, _PER_SECOND)

    def add_to(self, app: FastAPI) -> None:
        """Add every address, and how errors are answered."""
        for path, answer in self._paths.items():
            app.add_api_route(path, answer, methods=["GET", "HEAD"], response_model=None)
        app.add_exception_handler(HTTPException, _told)
        app.add_exception_handler(RequestValidationError, _unreadable)
        app.add_exception_handler(Exception, _broken)

    @cached_property
    def _paths(self) -> Mapping[str, Callable[..., Response]]:
        return {
            "/": self._home,
            "/b/{board}": self._to_page,
            "/b/{board}/": self._page,
            "/b/{board}/system": self._card_page,
            "/static/{name}": _static,
            "/runs/{run:path}/report.html": self._report,
            "/api/boards": self._boards,
            "/api/boards/{board}": self._board,
            "/api/boards/{board}/cells": self._cells,
            "/api/boards/{board}/changes": self._changes,
            "/api/boards/{board}/compare": self._compare,
            "/api/boards/{board}/system": self._card,
            "/api/boards/{board}/download.{kind}": self._download,
            "/health": self._health,
            "/favicon.ico": _no_icon,
        }

    def _home(self, request: Request) -> Response:
        return _sent(request, self._service.page(None))

    def _to_page(self, board: str) -> Response:
        if self._service.board(board) is None:
            raise HTTPException(404)
        return Response(status_code=308, headers={"location": f"{board}/"})

    def _page(self, request: Request, board: str) -> Response:
        return _sent(request, self._service.page(board))

    def _card_page(self, request: Request, board: str, name: str) -> Response:
        return _sent(request, self._service.card_page(board, name))

    def _report(self, request: Request, run: str) -> Response:
        return _sent(request, self._service.report(run))

    def _boards(self, request: Request) -> Response:
        return _sent(request, self._service.boards())

    def _board(self, request: Request, board: str) -> Response:
        return _sent(request, self._service.board(board))

    def _cells(self, request: Request, board: str, column: list[str] = Query()) -> Response:  # noqa: B008
        return _sent(request, self._service.cells(board, column))

    def _changes(self, request: Request, board: str, since: str = "") -> Response:
        return _sent(request, self._service.changes(board, since))

    def _compare(self, request: Request, board: str, a: str, b: str) -> Response:
        client = request.client.host if request.client is not None else None
        if not self._limit.allows(address_key(client)):
            return _said(429, "Too many comparisons at once. Try again in a few seconds.")
        return _sent(request, self._service.compare(board, a, b))

    def _card(self, request: Request, board: str, name: str) -> Response:
        return _sent(request, self._service.card(board, name))

    def _download(self, request: Request, board: str, kind: str) -> Response:
        found = self._service.download(board, kind)
        more = {"content-disposition": f'attachment; filename="{board}.{kind}"'} if found is not None else {}
        return _sent(request, found, more)

    def _health(self, request: Request) -> Response:
        return _sent(request, pack('{"status":"ok"}', JSON))


def _sent(request: Request, found: Packed | None, more: Mapping[str, str] | None = None) -> Response:
    """An answer, zipped for whoever takes that; nothing but its tag for whoever has it."""
    if found is None:
        raise HTTPException(404)
    headers = {"etag": found.etag, "vary": "Accept-Encoding", **(more or {})}
    if is_known(found.etag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    if found.zipped is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(found.zipped, media_type=found.media, headers={**headers, "content-encoding": "gzip"})
    return Response(found.body, media_type=found.media, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header allows gzip.

    >>> _takes_gzip("br, gzip;q=0.8"), _takes_gzip("gzip;q=0"), _takes_gzip("identity")
    (True, False, False)
    """
    offers = (one.replace(" ", "").partition(";q=") for one in accepted.lower().split(","))
    return any(
        name in ("gzip", "*") and quality not in ("0", "0.0", "0.00", "0.000") for name, _, quality in offers
    )


def _static(request: Request, name: str) -> Response:
    """A file of the pages, by its name among those that are there."""
    return _sent(request, _files().get(name))


@lru_cache(maxsize=1)
def _files() -> Mapping[str, Packed]:
    return {name: _file(name, body) for name, body in files().items()}


def _file(name: str, body: bytes) -> Packed:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return pack(body, "text/javascript" if name.endswith(".js") else kind)


def _no_icon() -> Response:
    """Browsers ask for one; an error in their console would look like one of ours."""
    return Response(status_code=204)


def _told(request: Request, error: Any) -> Response:
    """What is not there, in words to a person and as JSON to a program."""
    if error.status_code != 404:
        return _said(
            error.status_code, "This server only answers GET and HEAD." if error.status_code == 405 else "No."
        )
    path = request.scope["path"]  # its `url` would decode the query too, which may be no text
    if "/api/" in path or "text/html" not in request.headers.get("accept", ""):
        return _said(404, f"{_NOTHING[0]}.")
    depth = request.scope["path"].strip("/").count("/") + request.scope["path"].endswith("/")
    base = "../" * depth if depth else ""
    return Response(render_error(404, *_NOTHING, base=base or ""), 404, media_type=HTML)


def _unreadable(_: Request, error: Any) -> Response:  # noqa: ARG001
    return _said(400, "The address lacks what it must name.")


def _broken(_: Request, error: Any) -> Response:  # noqa: ARG001
    """A mistake of ours: its traceback goes to the log of the server."""
    return _said(500, "Something went wrong on the server.")


def _said(status: int, sentence: str) -> Response:
    packed = pack(f'{{"error":"{sentence}"}}', JSON)
    return Response(packed.body, status, media_type=JSON)


_REPORTS = "/runs/"
# A report is one file with its own script and style, which its own policy allows by their hashes; whatever else lies
# under that name gets no origin, no network and no address but this one.
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PATIENCE, _LONGEST = 5, 10.0
"""Looking at a folder takes at most one part in so many of the time, but no pause is longer than so many seconds."""
_log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True)
class LeaderboardOptions:
    """`hosts` as for the guard. `root_path` is a prefix that a proxy leaves before every path (`/boards`); one that it
    takes away needs none. The folder is looked at every `every` seconds."""

    hosts: tuple[str, ...] = ()
    root_path: str = ""
    every: float = 2.0
    most_bytes: int = 0
    body_seconds: float = 10.0


def make_app(library: Library, options: LeaderboardOptions) -> Prefix:
    """The app that serves a folder. It describes itself to nobody: there are no pages of its interface."""
    app = FastAPI(
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        lifespan=partial(_watched, library, options.every),
    )  # fmt: skip
    Routes(Service(library)).add_to(app)
    return Prefix(Guard(app, options, headers_at), options.root_path)


class Prefix:
    """Takes a proxy's prefix away where it is there. All addresses in pages are relative: nothing needs to know it."""

    def __init__(self, app: Guard, prefix: str) -> None:
        self._app, self._prefix = app, prefix.rstrip("/")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request below the prefix."""
        path = scope.get("path", "")
        if scope["type"] == "http" and self._prefix and path == self._prefix:
            name = self._prefix.rpartition("/")[2]
            await _redirect(send, f"{name}/")
            return
        if self._prefix and path.startswith(self._prefix + "/"):
            scope = {**scope, "path": path[len(self._prefix) :]}
        await self._app(scope, receive, send)


def headers_at(path: str) -> Mapping[str, str]:
    """The headers of the answer at a path. Answers may be kept, but are asked after each time."""
    policy = _REPORT_POLICY if path.startswith(_REPORTS) else HEADERS["content-security-policy"]
    return {**HEADERS, "content-security-policy": policy, "cache-control": "no-cache"}


async def _redirect(send: Send, to: str) -> None:
    headers = [(b"location", to.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _watched(library: Library, every: float, _: FastAPI) -> AsyncIterator[None]:
    """The folder is looked at while the app runs, beside the requests."""
    ended = threading.Event()
    watching = threading.Thread(target=_watch, args=(library, every, ended), name="folder", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        library.wake.set()


def _watch(library: Library, every: float, ended: threading.Event) -> None:
    while not ended.is_set():
        began = time.monotonic()
        try:
            library.refresh()
        except Exception:  # one bad moment of a disk must not end the watch
            _log.exception("The folder could not be read; it is tried again.")
        library.wake.wait(max(every, min(_PATIENCE * (time.monotonic() - began), _LONGEST)))
        library.wake.clear()
