"""The app: its routes, the guard before them all, and what goes wrong as an answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from embassay.errors import ModelError
from embassay.web.annotation.access import Door, Refusal, not_found
from embassay.web.annotation.annotator import AnnotatorRoutes
from embassay.web.annotation.overview import OWNER_STATIC, OwnerRoutes
from embassay.web.annotation.page import STATIC
from embassay.web.annotation.service import Service
from embassay.web.guard import HEADERS, Guard

_THREADS = 16


def make_app(service: Service) -> Guard:
    """The app that serves a study. It describes itself to nobody: there are no pages of its interface."""
    app = FastAPI(
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=_few_threads
    )
    door = Door(service.links, service.options)
    app.include_router(AnnotatorRoutes(service, door).router())
    app.include_router(OwnerRoutes(service, door).router())
    app.mount("/static/owner", StaticFiles(directory=OWNER_STATIC))
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    app.add_api_route("/health", partial(_health, service))
    app.add_api_route("/favicon.ico", _no_icon)
    for kind, answer in ANSWERS:
        app.add_exception_handler(kind, answer)
    return Guard(app, service.options, headers_at)


def _no_icon() -> Response:
    """Browsers ask for one; an error in their console would look like one of ours."""
    return Response(status_code=204)


@asynccontextmanager
async def _few_threads(_: FastAPI) -> AsyncIterator[None]:
    """Each thread may hold a connection to the database."""
    from anyio.to_thread import current_default_thread_limiter

    current_default_thread_limiter().total_tokens = _THREADS
    yield


def _health(service: Service) -> dict[str, str]:
    """Whether answers can be read; ModelError where not."""
    service.store.annotators()
    return {"status": "ok"}


# The link is the only key, so no address may leave the page: no-referrer is among HEADERS.
_STATIC = "/static/"


def headers_at(path: str) -> Mapping[str, str]:
    """The headers of the answer at a path."""
    return {**HEADERS, "cache-control": "no-cache" if path.startswith(_STATIC) else "no-store"}


_FIELDS = {"value", "seconds", "flag", "comment", "seq", "tab", "paused", "take", "name", "settings"}
_SAID = {405: "That cannot be done here.", 400: "This cannot be read."}
_NOTHING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Nothing here</title></head>
<body><main><h1>There is nothing here</h1>
<p>If somebody sent you a link, check that all of it arrived, or ask them for a new one.</p></main></body></html>
"""
_log = logging.getLogger("uvicorn.error")


def refused(request: Request, refusal: Any) -> Response:
    """A refusal of ours; to somebody who opens a link that is none, in words."""
    if refusal.status == 404 and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_NOTHING, 404)
    return JSONResponse(refusal.body, refusal.status)


def unreadable(_: Request, error: Any) -> Response:
    """A body that is no answer: which field, never what was in it."""
    places = (one["loc"] for one in error.errors())
    names = {str(place[1]) for place in places if len(place) > 1 and isinstance(place[1], str)} & _FIELDS
    return JSONResponse({"error": f"This cannot be read: {', '.join(sorted(names)) or 'the body'}."}, 400)


def told(request: Request, error: Any) -> Response:
    """What the framework refuses by itself."""
    if error.status_code == 404:
        return refused(request, not_found())
    return JSONResponse({"error": _SAID.get(error.status_code, "This was refused.")}, error.status_code)


def away(_: Request, error: Any) -> Response:
    """The database does not answer: whoever runs the server reads why, and the page keeps the answer meanwhile."""
    _log.warning("%s", error)
    return JSONResponse({"error": "The answers cannot be stored just now. Try again in a moment."}, 503)


def broken(_: Request, error: Any) -> Response:  # noqa: ARG001
    """A mistake of ours: its traceback goes to the log of the server."""
    return JSONResponse({"error": "Something went wrong on the server."}, 500)


ANSWERS = (
    (Refusal, refused),
    (RequestValidationError, unreadable),
    (HTTPException, told),
    (ModelError, away),
    (Exception, broken),
)
"""By kind of error, how it is answered."""
