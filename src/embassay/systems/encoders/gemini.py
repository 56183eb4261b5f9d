"""Google's embedding models, over the HTTP interface of the Gemini API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from embassay.contracts import Role
from embassay.systems.encoders.server import HttpPostEncoder
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import GEMINI, ModelServerSettings, select_given_options

TaskType = Literal[
    "SEMANTIC_SIMILARITY", "CLUSTERING", "CLASSIFICATION", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY", "none"
]


class GeminiEncoder(HttpPostEncoder):
    """`gemini:gemini-embedding-001`. The server is told what a text is for: a query, a document, and `task` where
    a text has no role; with the task `none` it is told nothing. Models since gemini-embedding-2 take no task but
    a prompt before the text, from the known-model table.

    `dimensions` asks for shorter vectors; those of gemini-embedding-001 are not of unit length then, which
    cosine does not mind (`normalize=true` where something else does). The server cuts a text longer than the
    model reads, and does not say so.
    """

    most_texts = 100
    uses_roles = True

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008
        dimensions: int | None = None,
        task: TaskType = "SEMANTIC_SIMILARITY",
    ) -> None:
        self.path = f"v1beta/models/{target}:batchEmbedContents"
        super().__init__(GEMINI, target, server, ledger, name=name, dimensions=dimensions, facts={"task": task})
        self._tasks: dict[Role | None, str] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT", None: task}
        if task == "none" or self.served.prompts:
            self._tasks = {}
            self.uses_roles = bool(self.served.prompts)

    def build_request_payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:
        """One request for each text inside the request."""
        common = select_given_options(taskType=self._tasks.get(role), outputDimensionality=self.dimensions)
        return {
            "requests": [
                {"model": f"models/{self.target}", "content": {"parts": [{"text": text}]}, **common} for text in texts
            ]
        }

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`embeddings`, in the order of the texts; older models do not say how many tokens they read."""
        tokens = (answer.get("usageMetadata") or {}).get("promptTokenCount")
        vectors = [embedding["values"] for embedding in answer["embeddings"]]
        return vectors, None if tokens is None else int(tokens)
