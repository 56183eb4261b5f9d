"""What encoders behind a vendor's JSON endpoint share: one POST is one request, and the rest is `ServedEncoder`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from embassay.contracts import Role, Usage
from embassay.errors import UsageError
from embassay.systems.encoders.served import ServedEncoder, ServedModel, Vectors
from embassay.systems.models import known_model
from embassay.systems.remote import Answer, Ledger, Malformed, Price
from embassay.systems.remote.tokens import believed, likely_tokens, most_tokens
from embassay.systems.remote.vendors import Connection, Server, Vendor

_ROLES: tuple[Role | None, ...] = ("query", "document", None)


class PostedEncoder(ServedEncoder):
    """An encoder whose subclass says where to post (`path`), what (`payload`), and what the answer means (`read`).

    `most_texts` and `most_tokens` are what the vendor takes in one request. `facts` are what the vectors depend
    on beside model, server, dimensions and prompts.
    """

    path: str
    most_texts: int
    # Counted in bytes, as the models' tokenizers are not at hand: in any script fewer than 120,000 tokens.
    most_tokens: int = 300_000

    def __init__(
        self,
        vendor: Vendor,
        target: str,
        server: Server,
        ledger: Ledger | None,
        *,
        name: str = "",
        dimensions: int | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        if not target:
            raise UsageError(
                f"The system {vendor.spec!r} needs the name of a model.", mend=f"Write {vendor.spec}:MODEL."
            )
        # What follows a colon is Ollama's tag: a size or quantization of the same model.
        known = known_model(target) or known_model(target.partition(":")[0])
        prompts = {role: prompt for role in _ROLES if known and (prompt := known.prompt_for(role))}
        self.connection = Connection.of(vendor, server)
        self.target, self.dimensions = target, dimensions
        parts = [vendor.spec, target, server.known_as(self.connection.address), f"dimensions={dimensions}"]
        parts += [f"{key}={value}" for key, value in (facts or {}).items()]
        parts += [f"{role or 'text'}={prompt!r}" for role, prompt in prompts.items()]
        served = ServedModel(
            name=name or f"{vendor.spec}:{target}",
            identity=":".join(parts),
            model=f"{vendor.spec}:{target}",
            dim=dimensions or (known.dims if known else None),
            chunk_size=self.most_texts,
            texts=self.most_texts,
            tokens=self.most_tokens,
            price=Price.of(target, 0.0 if server.price is None and not vendor.keys else server.price),
            prompts=prompts,
        )
        super().__init__(served, ledger, server.limits)
        self.uses_roles = self.uses_roles or bool(prompts)

    @abstractmethod
    def payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:
        """The body of a request for the vectors of `texts`."""

    @abstractmethod
    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """The vectors in the order of the texts, and the tokens that the server counted. LookupError, TypeError or
        ValueError where the answer holds none."""

    async def request(self, texts: Sequence[str], role: Role | None) -> Answer[Vectors]:
        """One POST; its tokens as the server counted them, or about as many as they were."""
        answer = await self.connection.post(self.path, self.payload(texts, role))
        try:
            rows, counted = self.read(answer)
            vectors = np.array(rows, dtype=np.float32)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise Malformed("the answer holds no vectors") from None
        tokens = believed(counted, most_tokens(texts), likely_tokens(texts))
        price = self.served.price
        return Answer(vectors, Usage(tokens, 0, 1, price.usd(tokens) if price else None))
