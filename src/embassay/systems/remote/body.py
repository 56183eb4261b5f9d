"""The body of an answer, read up to a limit: a server may send without end."""

from __future__ import annotations

from typing import Any

from embassay.limits import ANSWER
from embassay.systems.remote.failures import TooLong


async def read_body(response: Any) -> None:
    """Read a response of httpx (or of the httpx2 that OpenAI's client has) whole; TooLong above ANSWER, unpacked.

    An event hook of a client, so that its proxies and certificates stay as they are.
    """
    most, pieces, held = ANSWER.most, [], 0
    async for piece in response.aiter_bytes():
        held += len(piece)
        if held > most:
            raise TooLong(
                f"the answer is longer than {ANSWER.shown(most)}",
                f"If it should be, allow more: export {ANSWER.raised}",
            )
        pieces.append(piece)
    # What `aread` looks for before it reads.
    response._content = b"".join(pieces)
