"""The app: routes, what goes wrong as JSON in a sentence, and the guard before it all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from semblance.errors import ModelError
from semblance.web.annotation.access import Door
from semblance.web.annotation.annotator_routes import AnnotatorRoutes
from semblance.web.annotation.guard import Guard
from semblance.web.annotation.owner_routes import OwnerRoutes
from semblance.web.annotation.page import STATIC
from semblance.web.annotation.pages import OWNER_STATIC
from semblance.web.annotation.refusals import Refusal, not_found
from semblance.web.annotation.service import Service

_THREADS = 16


def make_app(service: Service) -> FastAPI:
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
    app.add_middleware(Guard, options=service.options)
    for kind, answer in ((Refusal, _refused), (RequestValidationError, _unreadable), (HTTPException, _told),
                         (ModelError, _away)):  # fmt: skip
        app.add_exception_handler(kind, answer)
    return app


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


def _refused(_: Request, refusal: Any) -> JSONResponse:
    return JSONResponse(refusal.body, refusal.status)


def _unreadable(_: Request, error: Any) -> JSONResponse:
    """Which field, never what was in it."""
    places = (one["loc"] for one in error.errors())
    names = sorted(
        {str(place[1]) for place in places if len(place) > 1 and isinstance(place[1], str)} & _FIELDS
    )
    return JSONResponse({"error": f"This cannot be read: {', '.join(names) or 'the body'}."}, 400)


_FIELDS = {"value", "seconds", "flag", "comment", "seq", "tab", "paused", "take", "name", "settings"}


def _told(_: Request, error: Any) -> JSONResponse:
    if error.status_code == 404:
        return _refused(_, not_found())
    known = {405: "That cannot be done here.", 400: "This cannot be read."}
    return JSONResponse({"error": known.get(error.status_code, "This was refused.")}, error.status_code)


def _away(_: Request, error: Any) -> JSONResponse:  # noqa: ARG001
    return JSONResponse({"error": "The answers cannot be stored just now. Try again in a moment."}, 503)
