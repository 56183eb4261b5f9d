"""The official OpenAI client, made for each process and server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from embassay.errors import ModelError
from embassay.systems.remote.address import Address
from embassay.systems.remote.body import read_body
from embassay.systems.remote.keys import read_key
from embassay.systems.remote.turns import Turns

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"

_clients: dict[tuple[int, str, str], Turns[AsyncOpenAI]] = {}
"""By process, server and key."""


def openai_address(base_url: str | None) -> Address:
    """The server of OpenAI's models: `base_url`, else $OPENAI_BASE_URL, else OpenAI itself."""
    return Address.of(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)


class OpenAIClient:
    """An AsyncOpenAI without retries and time limits of its own: those are the business of `Calls`.

    The key is read at once, so that its absence is known before any work; the client is made in the process
    that calls. ModelError when the key or the package is missing.
    """

    def __init__(
        self, address: Address, *, key: str | None = None, names: Sequence[str] = ("OPENAI_API_KEY",)
    ) -> None:
        _check_installed()
        self._address = address
        self._key = read_key("OpenAI", names, key=key, local=address.local)

    def __call__(self) -> AsyncOpenAI:
        """The client, to be used in the loop of `home`."""
        place = (os.getpid(), self._address.url, self._key)
        if place not in _clients:
            _clients[place] = Turns(self._made)
        return _clients[place].next()

    def _made(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        # Texts and key are for the server that was named, not for whoever it points at.
        own = DefaultAsyncHttpxClient(
            base_url=self._address.url, timeout=None, follow_redirects=False,
            event_hooks={"response": [read_body]},
        )  # fmt: skip
        return AsyncOpenAI(
            api_key=self._key, base_url=self._address.url, max_retries=0, timeout=None, http_client=own
        )


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("openai") is None:
        raise ModelError(
            "OpenAI's models need the package openai, which is not installed.",
            mend="pip install 'embassay[llm]'",
        )
