"""The vendors that are spoken to in plain JSON over HTTP: where they are, and how a key is shown to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from embassay.errors import UsageError
from embassay.systems.remote.http import Address, check_installed, post
from embassay.systems.remote.keys import read_key
from embassay.systems.remote.pace import Limits


@dataclass(frozen=True)
class Server:
    """What a user may say of any server: its address, requests and tokens per minute, the most requests at
    once, seconds for an answer, the NAME of the environment variable that holds the key, and the price in US
    dollars per million input tokens (of Cohere's rerankers per thousand searches). With a `name` what it answers is
    kept under that, wherever it is: two servers of one name must serve the same model."""

    base_url: str | None = None
    rpm: float | None = None
    tpm: float | None = None
    concurrency: int = 256
    timeout: float = 120.0
    key: str | None = None
    price: float | None = None
    name: str = ""

    @property
    def limits(self) -> Limits:
        """Its limits, for `Calls`."""
        return Limits(
            rpm=self.rpm,
            tpm=self.tpm,
            concurrency=self.concurrency,
            timeout=self.timeout,
            place=self.base_url or "",
        )

    def known_as(self, address: Address) -> str:
        """The server in identities: by its name, else by host, port and path."""
        return f"name={self.name}" if self.name else address.place


@dataclass(frozen=True)
class Vendor:
    """`spec` is its name in specs; `url` what its own client calls the base URL; `keys` the environment
    variables that its client reads, none where it needs no key; `header` carries the key, after `scheme`."""

    name: str
    spec: str
    url: str
    keys: tuple[str, ...] = ()
    header: str = "Authorization"
    scheme: str = "Bearer "


COHERE = Vendor("Cohere", "cohere", "https://api.cohere.com", ("COHERE_API_KEY", "CO_API_KEY"))
VOYAGE = Vendor("Voyage", "voyage", "https://api.voyageai.com/v1", ("VOYAGE_API_KEY",))
JINA = Vendor("Jina", "jina", "https://api.jina.ai/v1", ("JINA_API_KEY",))
GEMINI = Vendor(
    "Gemini",
    "gemini",
    "https://generativelanguage.googleapis.com",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    header="x-goog-api-key",
    scheme="",
)
OLLAMA = Vendor("Ollama", "ollama", "http://localhost:11434")


@dataclass(frozen=True)
class Connection:
    """A vendor's server with a user's key, which is in no identity and no text of this object."""

    vendor: Vendor
    address: Address
    _headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, vendor: Vendor, server: Server) -> Connection:
        """The connection that `server` describes; the key is read now, so that its absence is known before any
        work. ModelError when it or httpx is missing, UsageError for what is no address."""
        check_installed()
        address = Address.of(server.base_url or (ollama_url() if vendor is OLLAMA else vendor.url))
        if not vendor.keys and server.key is None:
            return cls(vendor, address, {})
        key = read_key(vendor.name, vendor.keys, key=server.key, local=address.local)
        return cls(vendor, address, {vendor.header: vendor.scheme + key})

    async def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """What the server answers, see `http.post`."""
        return await post(self.address.url, path, payload, self._headers)


def options(**values: Any) -> dict[str, Any]:
    """Those that are given: a vendor's default is what it does without the field."""
    return {key: value for key, value in values.items() if value is not None}


def ollama_url() -> str:
    """Where Ollama listens: $OLLAMA_HOST as Ollama's own client reads it, else port 11434 of this machine.

    A host without a port has 11434 (80 and 443 after http:// and https://); 0.0.0.0 is this machine.
    """
    host = os.environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    with_scheme = "://" in host
    try:
        parts = urlsplit(host if with_scheme else f"http://{host}")
        port = parts.port or ({"https": 443}.get(parts.scheme, 80) if with_scheme else 11434)
    except ValueError:
        raise UsageError("$OLLAMA_HOST is not the address of a server.", mend="Write HOST:PORT.") from None
    name = parts.hostname or "localhost"
    if name in ("0.0.0.0", "::"):
        name = "localhost"
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"
