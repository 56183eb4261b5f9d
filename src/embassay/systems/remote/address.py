"""Where a server is."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from embassay.errors import UsageError

_LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}


@dataclass(frozen=True)
class Address:
    """A server's base URL: `url` without a slash at its end, `place` (host, port and path) for identities,
    and whether it is on this machine (`local`)."""

    url: str
    place: str
    local: bool

    @classmethod
    def of(cls, url: str) -> Address:
        """The address that `url` gives; UsageError when it is none, or holds a user name, password or query."""
        try:
            parts = urlsplit(url.strip())
            host = parts.hostname
            port = parts.port
        except ValueError:
            host = port = None
        if not host or parts.scheme not in ("http", "https"):
            raise UsageError(
                "base_url is not the address of a server.",
                mend="Write it like base_url=http://localhost:8000/v1",
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                f"base_url holds more than the address of {host}.",
                mend="Leave user name, password and query out; name the variable that holds the key: key=NAME",
            )
        place = (f"{host}:{port}" if port else host) + parts.path.rstrip("/")
        return cls(url.strip().rstrip("/"), place, host in _LOCAL)
