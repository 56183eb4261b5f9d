"""Voyage's embedding models, over its HTTP interface."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import numpy as np

from embassay.contracts import Role
from embassay.systems.encoders.server import HttpPostEncoder, Vectors
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import VOYAGE, ModelServerSettings, select_given_options


class VoyageEncoder(HttpPostEncoder):
    """`voyage:voyage-3.5`. The server puts its own prompt before queries and documents, none before a text
    without a role.

    `dimensions` asks for other lengths than the usual one. A text longer than the model reads is refused, or
    with `truncate` cut by the server, which does not say so.
    """

    path = "embeddings"
    most_texts = 128
    uses_roles = True

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008
        dimensions: int | None = None,
        truncate: bool = False,
    ) -> None:
        facts = {"truncate": truncate}
        super().__init__(VOYAGE, target, server, ledger, name=name, dimensions=dimensions, facts=facts)
        self._truncate = truncate

    def build_request_payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:
        """Texts with their role; vectors are asked for as the bytes of float32, which are shorter than digits."""
        return {
            "model": self.target,
            "input": list(texts),
            "truncation": self._truncate,
            "encoding_format": "base64",
            **select_given_options(input_type=role, output_dimension=self.dimensions),
        }

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`data` by its indices, and the tokens of the texts with the server's prompts."""
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        if [row["index"] for row in rows] != list(range(len(rows))):
            raise ValueError("indices that are not 0, 1, 2 ...")
        tokens = (answer.get("usage") or {}).get("total_tokens")
        return [_read_vector(row["embedding"]) for row in rows], None if tokens is None else int(tokens)


def _read_vector(embedding: Any) -> Vectors:
    """A vector, sent as bytes or (by servers that only speak like Voyage) as numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)
