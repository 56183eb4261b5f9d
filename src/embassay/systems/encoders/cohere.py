"""Cohere's embedding models, over its HTTP interface (version 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from embassay.contracts import Role
from embassay.systems.encoders.server import HttpPostEncoder
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import COHERE, ModelServerSettings, select_given_options

InputType = Literal["search_document", "search_query", "clustering", "classification"]


class CohereEncoder(HttpPostEncoder):
    """`cohere:embed-v4.0`. The server is told what a text is for: a query, a document, and `input_type` where a
    text has no role (clustering, for pairs and groups; classification and the search types are the others).

    `dimensions` asks for shorter vectors. A text longer than the model reads is refused, or with `truncate` cut
    by the server, which does not say so.
    """

    path = "v2/embed"
    most_texts = 96
    uses_roles = True

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008
        dimensions: int | None = None,
        input_type: InputType = "clustering",
        truncate: bool = False,
    ) -> None:
        facts = {"input_type": input_type, "truncate": truncate}
        super().__init__(COHERE, target, server, ledger, name=name, dimensions=dimensions, facts=facts)
        self._input_types = {"query": "search_query", "document": "search_document", None: input_type}
        self._truncate = "END" if truncate else "NONE"

    def build_request_payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:
        """Texts with the type of their role; vectors are asked for as floats."""
        return {
            "model": self.target,
            "texts": list(texts),
            "input_type": self._input_types[role],
            "embedding_types": ["float"],
            "truncate": self._truncate,
            **select_given_options(output_dimension=self.dimensions),
        }

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`embeddings.float`, in the order of the texts, and the tokens that were billed."""
        billed = (answer.get("meta") or {}).get("billed_units") or {}
        tokens = billed.get("input_tokens")
        return answer["embeddings"]["float"], None if tokens is None else int(tokens)
