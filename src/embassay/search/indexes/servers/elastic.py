"""The Elasticsearch client: opened with what is secret kept to itself, its errors in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from embassay.errors import ModelError, UsageError
from embassay.search.indexes.servers.address import ServerAddress
from embassay.search.indexes.servers.dense_vectors import first_reason
from embassay.search.indexes.servers.quiet import keep_quiet

_PORTS = {"http": 9200, "https": 443}
_SECONDS = 60
_AGAIN = "Start it again and repeat the command: what is finished is kept."


class Elastic:
    """The server at `address`; `key` names the environment variable that holds an API key, `ca_certs` is the file of
    the authority that a server's own certificate is signed by.

    `client` is elasticsearch's own, safe to share between threads; it connects when it is first used.
    """

    def __init__(self, address: ServerAddress, key: str | None = None, ca_certs: str | None = None) -> None:
        elasticsearch = _library()
        keep_quiet("elastic_transport")
        self._address, api_key = _with_key(address, key)
        url, self.place = _complete(address)
        given = {"api_key": api_key, "ca_certs": ca_certs}
        with self.told():
            self.client = elasticsearch.Elasticsearch(
                url, request_timeout=_SECONDS, max_retries=1,
                **{name: value for name, value in given.items() if value is not None},
            )  # fmt: skip

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell what goes wrong inside as a ModelError that names the server, and no secret."""
        from elasticsearch import ApiError, TransportError, UnsupportedProductError
        from elasticsearch.helpers import BulkIndexError

        try:
            yield
        except UnsupportedProductError as error:
            raise ModelError(f"What answers at {self.place} is not Elasticsearch.") from error
        except BulkIndexError as error:
            raise self._refusal(first_reason(error.errors)) from error
        except ApiError as error:
            raise self._refusal(_reason(error), error.status_code) from error
        except TransportError as error:
            said = self._address.redacted(error)
            raise ModelError(
                f"Elasticsearch at {self.place} does not answer: {said}.", mend=_AGAIN
            ) from error
        except (LookupError, TypeError, ValueError) as error:
            # Its message may repeat the address, password and all.
            raise self._refusal(str(error)) from None

    def _refusal(self, said: str, status: int = 0) -> ModelError:
        mend = ""
        if status in (401, 403):
            mend = f"Check the user and the password in {self._address.origin}, or name an API key: key=VARIABLE."
        elif "compatible-with" in said or "media_type" in said:
            mend = "Install the client of the server's major version: pip install 'elasticsearch>=8,<9'."
        return ModelError(
            f"Elasticsearch at {self.place} refuses: {self._address.redacted(said)}.", mend=mend
        )


def _library() -> Any:
    try:
        import elasticsearch
    except ImportError as error:
        raise ModelError(
            f"elasticsearch needs the package {error.name}, which is not installed.",
            mend="Install it: pip install 'embassay[elastic]'",
        ) from error
    return elasticsearch


def _with_key(address: ServerAddress, key: str | None) -> tuple[ServerAddress, str | None]:
    if key is None:
        return address, None
    if not re.fullmatch("[A-Z_][A-Z0-9_]*", key):
        raise UsageError(
            "`key=` takes the NAME of an environment variable in capitals, not the key itself.",
            mend="Put the key into a variable (export MY_KEY=...) and name that.",
        )
    value = os.environ.get(key, "").strip()
    if not value:
        raise ModelError(f"elasticsearch needs a key, and {key} is not set.", mend=f"export {key}=...")
    return replace(address, secrets=(*address.secrets, value)), value


def _complete(address: ServerAddress) -> tuple[str, str]:
    """The URL with a port, which the client wants, and host and port."""
    try:
        parts = urlsplit(address.url)
        port = parts.port or _PORTS[parts.scheme]
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise UsageError(
            f"{address.origin} is not the address of a server.", mend="Write it like http://localhost:9200."
        )
    user, at, _ = parts.netloc.rpartition("@")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{user}{at}{shown}:{port}{parts.path}", f"{shown}:{port}"


def _reason(error: Any) -> str:
    """The server's own words, where its answer has any."""
    body = error.body if isinstance(error.body, dict) else {}
    found = body.get("error", "")
    if isinstance(found, dict):
        causes = found.get("root_cause") or [found]
        found = causes[0].get("reason") or found.get("reason")
    return str(found or f"{error.message} ({error.status_code})")
