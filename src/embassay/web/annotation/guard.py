"""What holds for every answer of an annotation server: its headers keep links and answers out of caches."""

from __future__ import annotations

from collections.abc import Mapping

from embassay.web.guard import HEADERS, POLICY

# The link is the only key, so no address may leave the page: no-referrer is among HEADERS.
_STATIC = "/static/"


def headers_at(path: str) -> Mapping[str, str]:
    """The headers of the answer at a path."""
    return {**HEADERS, "cache-control": "no-cache" if path.startswith(_STATIC) else "no-store"}


__all__ = ["HEADERS", "POLICY", "headers_at"]
