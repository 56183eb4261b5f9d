"""Voyage's rerankers, over its HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embassay.systems.remote import Ledger
from embassay.systems.remote.http import VOYAGE, ModelServerSettings
from embassay.systems.rerankers.server import HttpPostReranker, read_total_tokens


class VoyageReranker(HttpPostReranker):
    """`voyage:rerank-2.5`: relevance in [0, 1]. A query and a document that are too long together are refused, or
    with `truncate` cut by the server, which does not say so.
    """

    path = "rerank"

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008 - frozen
        truncate: bool = False,
    ) -> None:
        super().__init__(VOYAGE, target, server, ledger, name=name, facts={"truncate": truncate})
        self._truncate = truncate

    def build_request_payload(self, query: str, documents: Sequence[str]) -> dict[str, Any]:
        """Query and documents; without `top_k` all are scored."""
        return {"model": self.target, "query": query, "documents": list(documents), "truncation": self._truncate}

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`data`, and the tokens of all pairs."""
        return answer["data"], read_total_tokens(answer)
