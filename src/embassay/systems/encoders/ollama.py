"""Embedding models that Ollama serves, over its own HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embassay.contracts import Role
from embassay.systems.encoders.server import EncoderPromptOptions, HttpPostEncoder
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import OLLAMA, ModelServerSettings, select_given_options


class OllamaEncoder(HttpPostEncoder):
    """`ollama:nomic-embed-text`, at $OLLAMA_HOST or on this machine. Vectors have unit length.

    Prompts go before the texts as by `openai:`; Ollama adds none. `num_ctx` is how many tokens
    it reads (Ollama's default may be below the model's own); a longer text is refused, or with `truncate` cut
    by the server, which does not say so. `keep_alive` is how long the model stays loaded (`10m`).
    """

    path = "api/embed"
    most_texts = 64

    def __init__(  # noqa: PLR0913 - the parameters of a user
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008
        dimensions: int | None = None,
        prompts: EncoderPromptOptions = EncoderPromptOptions(),  # noqa: B008 - frozen
        num_ctx: int | None = None,
        truncate: bool = False,
        keep_alive: str | None = None,
    ) -> None:
        facts = {"num_ctx": num_ctx, "truncate": truncate}
        super().__init__(OLLAMA, target, server, ledger, name=name, dimensions=dimensions, facts=facts, prompts=prompts)
        self._truncate, self._num_ctx, self._keep_alive = truncate, num_ctx, keep_alive

    def build_request_payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:  # noqa: ARG002
        """Texts, prompts before them; the role says nothing to the server."""
        return {
            "model": self.target,
            "input": list(texts),
            "truncate": self._truncate,
            **select_given_options(
                options=select_given_options(num_ctx=self._num_ctx) or None,
                dimensions=self.dimensions,
                keep_alive=self._keep_alive,
            ),
        }

    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """`embeddings`, in the order of the texts, and the tokens that were read."""
        tokens = answer.get("prompt_eval_count")
        return answer["embeddings"], None if tokens is None else int(tokens)
