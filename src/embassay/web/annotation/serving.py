"""From a service to a running server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from embassay.web import serving
from embassay.web.annotation.service import Service


def serve(
    service: Service, listening: socket.socket, *, proxy_headers: bool, ready: Callable[[], None]
) -> None:
    """Serve a study until Ctrl-C or TERM; see `web.serving.serve`. ModelError where the extra `web` is missing."""

    def make() -> Any:
        from embassay.web.annotation.app import make_app

        return make_app(service)

    serving.serve(make, listening, command="hume serve", proxy_headers=proxy_headers, ready=ready)
