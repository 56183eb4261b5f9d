"""HTTP/1.1 as far as JSON clients need it: requests in, answers out, connections kept."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import StubServer


@dataclass
class Request:
    """A request: `path` without the query, `match` of the route's pattern, the fault that is to befall it
    (`spoilt`: one of the faults that only the endpoint can bring about)."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes
    server: StubServer | None = None
    match: re.Match[str] | None = None
    spoilt: str = ""
    inputs: list[str] = field(default_factory=list)
    """What an endpoint was asked about; counted as paid for when the answer is sent with status 200."""

    @property
    def json(self) -> Any:
        """The body; a Problem when it is no JSON."""
        try:
            return json.loads(self.content)
        except ValueError:
            raise Problem(400, "the body is not JSON") from None

    @property
    def key(self) -> str:
        """The key that the client showed, in whichever header."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return bearer or self.headers.get("x-goog-api-key", "") or self.headers.get("api-key", "")


class Problem(Exception):
    """An endpoint's refusal: `body` is what its vendor would send; a text is put where OpenAI puts it."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, body)
        self.status = status
        self.headers = headers or {}
        self.body = {"error": {"message": body, "type": "stub"}} if isinstance(body, str) else body


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target.partition("?")[0], headers, content)


def answer(status: int, content: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """An answer as it goes over the wire."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status in _KNOWN else 'Stub'}"]
    fields = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


_KNOWN = {status.value for status in HTTPStatus}
