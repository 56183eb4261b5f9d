"""JSON over HTTP for vendors without a light client of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from embassay.errors import ModelError
from embassay.systems.remote.body import read_body
from embassay.systems.remote.failures import Malformed, Refused
from embassay.systems.remote.turns import Turns

_clients: dict[int, Turns[Any]] = {}


async def post(url: str, path: str, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
    """The JSON that the server answers `payload` with. Call it inside `Calls.do`, which sets the time limit.

    Raises what `classify` understands: Refused for an error status, Malformed for what is no JSON, httpx's
    errors for a connection that fails. ModelError where httpx is not installed.
    """
    where = f"{url.rstrip('/')}/{path.lstrip('/')}"
    answer = await _client().post(where, json=dict(payload), headers=dict(headers))
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        body = None
    if answer.status_code >= 300:
        said = body if body is not None else answer.content.decode("utf-8", "replace")
        raise Refused(answer.status_code, answer.headers, said)
    if body is None:
        raise Malformed("the answer is not whole JSON")
    return body


def check_installed() -> None:
    """ModelError where httpx is not installed; it is not imported yet."""
    if find_spec("httpx") is None:
        raise ModelError(
            "Remote models need the package httpx, which is not installed.",
            mend="pip install 'embassay[llm]'",
        )


def _client() -> Any:
    """A client of this process, made and used in the loop of `home`."""
    if os.getpid() not in _clients:
        _clients[os.getpid()] = Turns(_made)
    return _clients[os.getpid()].next()


def _made() -> Any:
    check_installed()
    import httpx

    # The time limit is that of Calls; how many connections are open follows from its pace.
    return httpx.AsyncClient(
        timeout=None,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=512),
        event_hooks={"response": [read_body]},
    )
