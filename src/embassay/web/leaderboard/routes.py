"""The addresses of the leaderboard. All are read, none is written."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from embassay.web.leaderboard.answers import HTML, JSON, Packed, is_known, pack
from embassay.web.leaderboard.page import STATIC, render_error
from embassay.web.leaderboard.service import Service
from embassay.web.limits import RateLimit, address_key

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
    return {path.name: _file(path) for path in STATIC.iterdir() if path.is_file()}


def _file(path: Path) -> Packed:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return pack(path.read_bytes(), "text/javascript" if path.suffix == ".js" else kind)


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
