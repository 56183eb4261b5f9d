"""What the stub says of itself, for a client in another process: `GET /stub/counts`."""

from __future__ import annotations

from typing import Any

from .wire import Request


def counts(request: Request) -> dict[str, Any]:
    server = request.server
    assert server is not None
    return {
        "requests": dict(server.requests),
        "statuses": {str(status): n for status, n in server.statuses.items()},
        "faults": dict(server.injected),
        "paid": sum(server.paid.values()),
        "paid_distinct": len(server.paid),
        "most": server.most,
    }


def forget(request: Request) -> dict[str, Any]:
    assert request.server is not None
    in_flight = request.server.in_flight
    request.server.forget()
    request.server.in_flight = in_flight
    return {}


ROUTES = {("GET", "/stub/counts"): counts, ("POST", "/stub/forget"): forget}
