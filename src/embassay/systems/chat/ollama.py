"""Chat models that Ollama serves, over its own HTTP interface: the one that takes a seed and a context length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from embassay.contracts import ChatMessage, SamplingSettings, Usage
from embassay.systems.chat.server import ChatServerReply, ServedChatModel
from embassay.systems.remote import Ledger, MalformedServerAnswer, ServerReply, TokenPrice
from embassay.systems.remote.http import OLLAMA, ModelServerSettings, VendorConnection, select_given_options

_LEAST_CONTEXT = 4096


class OllamaChat(ServedChatModel):
    """`ollama:gemma3:27b`, at $OLLAMA_HOST or on this machine; a token costs nothing, unless `price` says so.

    `num_ctx` is how many tokens of the conversation it reads (Ollama's default is short, and what is longer
    loses its beginning without a word; `suited` gives it one that is long enough); `think` switches the thinking of
    models that can (true, false, or `low`, `high` where there are grades), which is never part of an answer;
    `keep_alive` is how long the model stays loaded (`10m`).
    """

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        server: ModelServerSettings = ModelServerSettings(timeout=600.0),  # noqa: B008 - frozen
        num_ctx: int | None = None,
        think: bool | str | None = None,
        keep_alive: str | None = None,
    ) -> None:
        self._connection = VendorConnection.of(OLLAMA, server)
        facts = [f"{key}={value}" for key, value in select_given_options(num_ctx=num_ctx, think=think).items()]
        super().__init__(
            name or f"ollama:{target}",
            ":".join(["ollama", target, server.describe_server_identity(self._connection.address), *facts]),
            f"ollama:{target}",
            price=TokenPrice(server.price or 0.0, server.price or 0.0),
            ledger=ledger,
            limits=server.limits,
        )
        self.is_local = self._connection.address.local
        self._target, self.num_ctx, self.think, self._keep_alive = target, num_ctx, think, keep_alive

    def make_chat_model_with_context_size(self, *, tokens: int, think: bool | str | None = None) -> OllamaChat:
        """The same model, reading conversations of so many tokens, answers included, and thinking or not, where its
        spec does not say.

        The context becomes the next power of two from 4,096 on: one for all that is asked, since Ollama loads a
        model anew for every other. It is not in the identity, as answers do not depend on room that they do not use.
        """
        twin = copy(self)
        if self.num_ctx is None:
            twin.num_ctx = max(_LEAST_CONTEXT, 1 << max(0, tokens - 1).bit_length())
            twin.identity += ":num_ctx=suited"
        if self.think is None and think is not None:
            twin.think = think
            twin.identity += "".join(f":{key}={value}" for key, value in select_given_options(think=think).items())
        return twin

    async def request(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Mapping[str, Any] | None
    ) -> ServerReply[ChatServerReply]:
        """One POST to /api/chat; a JSON schema goes into `format`, which binds what the model may write."""
        answer = read_ollama_reply(
            await self._connection.post("api/chat", self.build_request_payload(messages, sampling, schema))
        )
        # Ollama drops the beginning of what is too long without a word; a full context is how that shows.
        read_tokens = answer.value.read
        if self.num_ctx is not None and isinstance(read_tokens, int) and read_tokens >= self.num_ctx:
            return replace(answer, value=replace(answer.value, finish="context"))
        return answer

    def build_request_payload(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The body of the request."""
        return {
            "model": self._target,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "stream": False,
            "options": select_given_options(
                seed=sampling.seed,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                num_predict=sampling.max_tokens,
                num_ctx=self.num_ctx,
            ),
            **select_given_options(format=schema, think=self.think, keep_alive=self._keep_alive),
        }


def read_ollama_reply(answer: Any) -> ServerReply[ChatServerReply]:
    """The reply in Ollama's answer; Malformed when there is none, or it is not done."""
    try:
        text, done = answer["message"]["content"], answer["done"]
        reply = ChatServerReply(
            text,
            answer.get("model") or "",
            answer.get("done_reason") or "stop",
            read=answer.get("prompt_eval_count"),
            written=answer.get("eval_count"),
        )
        worked = sum(int(answer.get(f"{part}_duration") or 0) for part in ("prompt_eval", "eval")) / 1e9
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise MalformedServerAnswer("an answer without a message") from None
    if not isinstance(text, str) or not done:
        raise MalformedServerAnswer("an incomplete answer")
    return ServerReply(reply, Usage(), worked)
