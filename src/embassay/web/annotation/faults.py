"""What goes wrong, as an answer: a sentence, never what was sent, and nothing about the server."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from embassay.errors import ModelError
from embassay.web.annotation.refusals import Refusal, not_found

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
