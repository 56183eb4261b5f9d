"""OpenAI's embedding models, and those of any server with its API."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from embassay.contracts import Role
from embassay.errors import UsageError
from embassay.systems.encoders.server import ServedEncoder, ServedModel, Vectors
from embassay.systems.models import known_model
from embassay.systems.remote import Answer, Ledger, Malformed, Price
from embassay.systems.remote.calls import format_refused
from embassay.systems.remote.http import OpenAIClient, Server, openai_address
from embassay.systems.remote.ledger import own_tokenizer


class OpenAIEncoder(ServedEncoder):
    """`openai:MODEL`: vectors as the server sends them (OpenAI's are unit vectors).

    `dimensions` asks for shorter vectors; `server` says where (`base_url` is another server with the API of
    OpenAI), with which key, how fast and at what price, see `Server`. Prompts that the model is known to need
    (e5, bge ... behind a compatible server) go before the texts.
    """

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        dimensions: int | None = None,
        server: Server = Server(),  # noqa: B008 - frozen
    ) -> None:
        if not target:
            raise UsageError("The system 'openai' needs the name of a model.", mend="Write openai:MODEL.")
        address = openai_address(server.base_url)
        listed = known_model(target)
        prompts = {role: prompt for role in _ROLES if listed and (prompt := listed.prompt_for(role))}
        served = ServedModel(
            name=name or f"openai:{target}",
            identity=_identity(target, dimensions, server.known_as(address), prompts),
            model=f"openai:{target}",
            dim=dimensions or (listed.dims if listed else None),
            max_tokens=listed.context if listed else None,
            price=Price.of(target, server.price),
            tokenizer=own_tokenizer(target),
            prompts=prompts,
        )
        super().__init__(served, ledger, server.limits)
        self.uses_roles = bool(prompts)
        self._client = OpenAIClient(address, key=server.key)
        self._target, self._dimensions = target, dimensions
        self._format: Literal["base64", "float"] = "base64"

    async def request(self, texts: Sequence[str], role: Role | None) -> Answer[Vectors]:  # noqa: ARG002
        """One call of /embeddings."""
        try:
            answer = await self._create(texts)
        except Exception as error:
            # Bytes in base64 are a quarter of the digits; not every server with this API sends them.
            if self._format == "float" or not format_refused(error, "encoding_format", "base64"):
                raise
            self._format = "float"
            answer = await self._create(texts)
        vectors = _vectors(answer, len(texts))
        return Answer(vectors, self.usage(_counted(answer), texts))

    async def _create(self, texts: Sequence[str]) -> Any:
        shorter: dict[str, Any] = {} if self._dimensions is None else {"dimensions": self._dimensions}
        try:
            return await self._client().embeddings.create(
                model=self._target, input=list(texts), encoding_format=self._format, **shorter
            )
        except OverflowError:  # of the client, for a number that no float can hold
            raise Malformed("vectors that cannot be read") from None


_ROLES: tuple[Role | None, ...] = ("query", "document", None)


def _counted(answer: Any) -> object:
    """The tokens that the server says it has read; None where it does not say."""
    usage = getattr(answer, "usage", None)
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "total_tokens"))
    return next((count for count in counts if count), None)


def _identity(model: str, dimensions: int | None, place: str, prompts: dict[Role | None, str]) -> str:
    parts = [f"openai:{model}", place]
    if dimensions is not None:
        parts.append(f"dimensions={dimensions}")
    parts += [f"{role or 'text'}={prompt!r}" for role, prompt in prompts.items()]
    return ":".join(parts)


def _vectors(answer: Any, n: int) -> Vectors:
    """The vectors in the order of the texts; Malformed when the answer does not hold n of one length."""
    if not hasattr(answer, "data"):
        # What the client gives where the server sent a page, or nothing, in place of JSON.
        raise Malformed("the answer is not whole JSON")
    data = answer.data
    if not isinstance(data, list) or len(data) != n:
        raise Malformed(f"{len(data) if isinstance(data, list) else 'no'} vectors for {n} texts")
    try:
        if sorted(item.index for item in data) != list(range(n)):
            raise Malformed("vectors with wrong numbers")
        rows = [_row(item.embedding) for item in sorted(data, key=lambda item: int(item.index))]
        return np.stack(rows)
    except (ArithmeticError, AttributeError, TypeError, ValueError, binascii.Error):
        raise Malformed("vectors that cannot be read") from None


def _row(embedding: Any) -> Vectors:
    """A vector, sent as numbers or as their bytes in base64."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)
