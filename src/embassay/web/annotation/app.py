"""The app: its routes, and the guard before them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI, Response
from starlette.staticfiles import StaticFiles

from embassay.web.annotation.access import Door
from embassay.web.annotation.annotator_routes import AnnotatorRoutes
from embassay.web.annotation.faults import ANSWERS
from embassay.web.annotation.guard import headers_at
from embassay.web.annotation.owner_routes import OwnerRoutes
from embassay.web.annotation.page import STATIC
from embassay.web.annotation.pages import OWNER_STATIC
from embassay.web.annotation.service import Service
from embassay.web.guard import Guard

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
