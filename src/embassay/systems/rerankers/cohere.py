"""Cohere's rerankers, over its HTTP interface (version 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embassay.systems.models import find_known_model
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import COHERE, ModelServerSettings, select_given_options
from embassay.systems.rerankers.server import HttpPostReranker

# Cohere bills up to so many documents as one search.
_PER_SEARCH = 100


class CohereReranker(HttpPostReranker):
    """`cohere:rerank-v3.5`: relevance in [0, 1]. Documents are cut by the server at `max_tokens_per_doc` (4096 by
    default). It charges by the search, one for each hundred documents of a query; `price` is US dollars per
    thousand searches.
    """

    path = "v2/rerank"

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008 - frozen
        max_tokens_per_doc: int | None = None,
    ) -> None:
        facts = {"max_tokens_per_doc": max_tokens_per_doc}
        super().__init__(COHERE, target, server, ledger, name=name, facts=facts)
        self._longest = max_tokens_per_doc

    def build_request_payload(self, query: str, documents: Sequence[str]) -> dict[str, Any]:
        """Query and documents; without `top_n` all are scored."""
        return {
            "model": self.target,
            "query": query,
            "documents": list(documents),
            **select_given_options(max_tokens_per_doc=self._longest),
        }

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`results`; tokens are not counted, as they are not what is charged."""
        return answer["results"], None

    def usd(self, tokens: int, documents: int) -> float | None:  # noqa: ARG002
        """The price in dollars of one search for each hundred documents."""
        row = find_known_model(self.target)
        listed = row.usd_per_thousand_searches if row else None
        price = self._given_price if self._given_price is not None else listed
        return None if price is None else -(-documents // _PER_SEARCH) * price / 1000
