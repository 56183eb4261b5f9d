"""Speaking HTTP to a server: its address, JSON without a vendor's client, OpenAI's client, bounded bodies."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from embassay.errors import ModelError, UsageError
from embassay.limits import ANSWER
from embassay.systems.remote.calls import (
    MalformedServerAnswer,
    ServerAnswerTooLong,
    ServerStatusError,
    read_api_key,
    register_close_at_exit,
)
from embassay.systems.remote.pace import CallLimits

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2
    from openai import AsyncOpenAI


_LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}


@dataclass(frozen=True)
class ServerBaseUrl:
    """A server's base URL: `url` without a slash at its end, `place` (host, port and path) for identities,
    and whether it is on this machine (`local`)."""

    url: str
    place: str
    local: bool

    @classmethod
    def of(cls, url: str) -> ServerBaseUrl:
        """The address that `url` gives; UsageError when it is none, or holds a user name, password or query."""
        try:
            parts = urlsplit(url.strip())
            host = parts.hostname
            port = parts.port
        except ValueError:
            host = port = None
        if not host or parts.scheme not in ("http", "https"):
            raise UsageError(
                "base_url is not the address of a server.", mend="Write it like base_url=http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                f"base_url contains more than the address of {host}.",
                mend="Remove user name, password and query; pass the key in a variable: key=NAME",
            )
        path = "/".join(_hash_secret_path_part(part) for part in parts.path.rstrip("/").split("/"))
        location = (f"{host}:{port}" if port else host) + path
        return cls(url.strip().rstrip("/"), location, host in _LOCAL)


def check_url_without_key(url: str | None) -> None:
    """UsageError for an address whose path holds what looks like a key: what a command says is kept in its run."""
    if url is not None and any(_is_likely_secret(part) for part in urlsplit(url.strip()).path.split("/")):
        raise UsageError(
            "The path of base_url seems to contain a key, and runs record their command.",
            mend=("Remove the path and let your own server add it, or set the whole address as "
                "OPENAI_BASE_URL, which runs do not record.")
        )  # fmt: skip


def _hash_secret_path_part(part: str) -> str:
    """A part of a path as results keep it: what looks like a key by a digest, which tells two apart."""
    return f"hidden-{hashlib.sha256(part.encode()).hexdigest()[:8]}" if _is_likely_secret(part) else part


def _is_likely_secret(part: str) -> bool:
    """Whether a part of a path has twelve letters and digits in a row, or more, with two of each at least."""
    return any(
        len(re.findall("[0-9]", run)) > 1 and len(re.findall("[A-Za-z]", run)) > 1
        for run in re.findall("[A-Za-z0-9]{12,}", unquote(part))
    )


async def read_bounded_response_body(response: httpx2.Response) -> None:
    """Read a response of httpx2 whole; TooLong above ANSWER, unpacked.

    An event hook of a client, so that its proxies and certificates stay as they are.
    """
    most, pieces, held = ANSWER.most, [], 0
    async for piece in response.aiter_bytes():
        held += len(piece)
        if held > most:
            raise ServerAnswerTooLong(
                f"the answer is longer than {ANSWER.format_limited_number(most)}",
                f"If that is intended, raise the limit: export {ANSWER.doubled_limit_setting}",
            )
        pieces.append(piece)
    # What `aread` looks for before it reads.
    response._content = b"".join(pieces)


T = TypeVar("T")

_MOST = 8
_REQUESTS_EACH = 16


class ClientPool(Generic[T]):
    """Up to eight clients made by `make`, one more with every sixteen requests: a few calls need no second one, and
    of hundreds at once each client has its share. They are kept: one that is collected leaves its connections open."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._clients: list[T] = []
        self._requests = 0
        self._process = os.getpid()
        register_close_at_exit(self._close_clients)

    def take_next_client(self) -> T:
        """The client whose turn it is."""
        self._requests += 1
        if len(self._clients) < min(_MOST, 1 + self._requests // _REQUESTS_EACH):
            self._clients.append(self._make())
        return self._clients[self._requests % len(self._clients)]

    async def _close_clients(self) -> None:
        """Close the clients of this process."""
        clients, self._clients = self._clients if self._process == os.getpid() else [], []
        for client in clients:
            closing: Any = getattr(client, "aclose", None) or getattr(client, "close", None)
            if closing is not None:
                await closing()


_clients: dict[int, ClientPool[Any]] = {}


async def post_json(url: str, path: str, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
    """The JSON that the server answers `payload` with, see `request_json`."""
    where = f"{url.rstrip('/')}/{path.lstrip('/')}"
    return await request_json("POST", where, headers, payload=dict(payload))


async def request_json(
    method: str, url: str, headers: Mapping[str, str], *, payload: Any = None, params: Mapping[str, Any] | None = None
) -> Any:
    """The JSON that a request brings. Call it inside `ModelServerClient.do`, which sets the time limit.

    Raises what `classify` understands: Refused for an error status, Malformed for what is no JSON, httpx2's
    errors for a connection that fails. ModelError where httpx2 is not installed.
    """
    sent = {"params": dict(params)} if params else {}
    answer = await _take_pooled_http_client().request(method, url, json=payload, headers=dict(headers), **sent)
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        body = None
    if answer.status_code >= 300:
        words = body if body is not None else answer.content.decode("utf-8", "replace")
        raise ServerStatusError(answer.status_code, answer.headers, words)
    if body is None:
        raise MalformedServerAnswer("the answer is incomplete JSON")
    return body


def check_package_installed(package: str = "httpx2", who: str = "Remote models") -> None:
    """ModelError where the package is not installed; it is not imported yet."""
    if find_spec(package) is None:
        raise ModelError(
            f"{who} need the package {package}, which is not installed.", mend="pip install 'embassay[llm]'"
        )


def _take_pooled_http_client() -> Any:
    """A client of this process, made and used in the loop of `home`."""
    if os.getpid() not in _clients:
        _clients[os.getpid()] = ClientPool(_make_http_client)
    return _clients[os.getpid()].take_next_client()


def _make_http_client() -> httpx2.AsyncClient:
    check_package_installed()
    import httpx2

    # The time limit is that of Calls; how many connections are open follows from its pace. Texts and key are for the
    # server that was named, not for whoever it points at.
    return httpx2.AsyncClient(
        timeout=None,
        verify=_load_trusted_certificates(),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=512),
        follow_redirects=False,
        event_hooks={"response": [read_bounded_response_body]},
    )


@lru_cache(maxsize=1)
def _load_trusted_certificates() -> SSLContext:
    """Whose signatures are believed: reading them takes longer than many a request, so all clients share them."""
    import httpx2

    return httpx2.create_ssl_context()


OPENAI = "https://api.openai.com/v1"

_openai_clients: dict[tuple[int, str, str], ClientPool[AsyncOpenAI]] = {}
"""By process, server and key."""


def find_openai_address(base_url: str | None) -> ServerBaseUrl:
    """The server of OpenAI's models: `base_url`, else $OPENAI_BASE_URL, else OpenAI itself."""
    check_url_without_key(base_url)
    return ServerBaseUrl.of(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)


class OpenAIClient:
    """An AsyncOpenAI without retries and time limits of its own: those are the business of `ModelServerClient`.

    The key is read at once, so that its absence is known before any work; the client is made in the process
    that calls. ModelError when the key or the package is missing.
    """

    def __init__(
        self, address: ServerBaseUrl, *, key: str | None = None, names: Sequence[str] = ("OPENAI_API_KEY",)
    ) -> None:
        check_package_installed("openai", "OpenAI's models")
        self._address = address
        self._key = read_api_key("OpenAI", names, key=key, local=address.local)

    def __call__(self) -> AsyncOpenAI:
        """The client, to be used in the loop of `home`."""
        key = (os.getpid(), self._address.url, self._key)
        if key not in _openai_clients:
            _openai_clients[key] = ClientPool(self._make_sdk)
        return _openai_clients[key].take_next_client()

    def _make_sdk(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        # `ModelServerClient` repeats requests and limits their time: the client must do neither.
        return AsyncOpenAI(
            api_key=self._key, base_url=self._address.url, max_retries=0, timeout=None, http_client=_make_http_client()
        )


@dataclass(frozen=True)
class ModelServerSettings:
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
    def limits(self) -> CallLimits:
        """The limits of the server's calls, for `ModelServerClient`."""
        return CallLimits(
            rpm=self.rpm, tpm=self.tpm, concurrency=self.concurrency, timeout=self.timeout, place=self.base_url or ""
        )

    def describe_server_identity(self, address: ServerBaseUrl) -> str:
        """The server in identities: by its name, else by host, port and path."""
        return f"name={self.name}" if self.name else address.place


@dataclass(frozen=True)
class ModelApiVendor:
    """`spec` is its name in specs; `url` what its own client calls the base URL; `keys` the environment
    variables that its client reads, none where it needs no key; `header` carries the key, after `scheme`."""

    name: str
    spec: str
    url: str
    keys: tuple[str, ...] = ()
    header: str = "Authorization"
    scheme: str = "Bearer "


COHERE = ModelApiVendor("Cohere", "cohere", "https://api.cohere.com", ("COHERE_API_KEY", "CO_API_KEY"))
VOYAGE = ModelApiVendor("Voyage", "voyage", "https://api.voyageai.com/v1", ("VOYAGE_API_KEY",))
JINA = ModelApiVendor("Jina", "jina", "https://api.jina.ai/v1", ("JINA_API_KEY",))
GEMINI = ModelApiVendor(
    "Gemini",
    "gemini",
    "https://generativelanguage.googleapis.com",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    header="x-goog-api-key",
    scheme="",
)
OLLAMA = ModelApiVendor("Ollama", "ollama", "http://localhost:11434")


@dataclass(frozen=True)
class VendorConnection:
    """A vendor's server with a user's key, which is in no identity and no text of this object."""

    vendor: ModelApiVendor
    address: ServerBaseUrl
    _headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, vendor: ModelApiVendor, server: ModelServerSettings) -> VendorConnection:
        """The connection that `server` describes; the key is read now, so that its absence is known before any
        work. ModelError when it or httpx2 is missing, UsageError for what is no address."""
        check_package_installed()
        check_url_without_key(server.base_url)
        address = ServerBaseUrl.of(server.base_url or (find_ollama_url() if vendor is OLLAMA else vendor.url))
        if not vendor.keys and server.key is None:
            return cls(vendor, address, {})
        key = read_api_key(vendor.name, vendor.keys, key=server.key, local=address.local)
        return cls(vendor, address, {vendor.header: vendor.scheme + key})

    async def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """What the server answers, see `http.post_json`."""
        return await post_json(self.address.url, path, payload, self._headers)


def select_given_options(**values: Any) -> dict[str, Any]:
    """Those that are given: a vendor's default is what it does without the field."""
    return {key: value for key, value in values.items() if value is not None}


def find_ollama_url() -> str:
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
