"""The app: routes that only read, the guard before them, and a thread that looks at the folder."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI

from embassay.web.guard import HEADERS, Guard, Receive, Send
from embassay.web.leaderboard.library import Library
from embassay.web.leaderboard.routes import Routes
from embassay.web.leaderboard.service import Service

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
