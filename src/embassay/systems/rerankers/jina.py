"""Jina's rerankers, and those of servers that speak like it: vLLM, llama.cpp, Infinity, SGLang ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from embassay.systems.remote import Ledger
from embassay.systems.remote.http import JINA, ModelServerSettings
from embassay.systems.rerankers.server import HttpPostReranker, read_total_tokens

_TOGETHER = re.compile(r"jina-reranker-v(?:[3-9]|\d\d)")


class JinaReranker(HttpPostReranker):
    """`jina:jina-reranker-v2-base-multilingual`, or any model of a server with POST /rerank under `base_url`
    (`jina:BAAI/bge-reranker-v2-m3?base_url=http://localhost:8000/v1`). What scores mean is the model's affair.
    """

    path = "rerank"

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(JINA, target, server, ledger, name=name)
        # From version 3 on, Jina's models read all candidates in one context.
        self.pairwise = _TOGETHER.search(target.lower()) is None

    def build_request_payload(self, query: str, documents: Sequence[str]) -> dict[str, Any]:
        """Query and documents; the texts need not come back, and without `top_n` all are scored."""
        return {"model": self.target, "query": query, "documents": list(documents), "return_documents": False}

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`results`, and the tokens of all pairs where the server counts them."""
        return answer["results"], read_total_tokens(answer)
