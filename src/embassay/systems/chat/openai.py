"""OpenAI's chat models, and those of any server with its API."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from embassay.contracts import ChatMessage, SamplingSettings, Usage
from embassay.systems.chat.server import (
    ChatServerReply,
    ServedChatModel,
    add_schema_in_words,
    can_schema_be_enforced_strictly,
)
from embassay.systems.remote import Ledger, MalformedServerAnswer, ServerReply, TokenPrice
from embassay.systems.remote.calls import is_field_refused
from embassay.systems.remote.http import OPENAI, ModelServerSettings, OpenAIClient, find_openai_address

_WAYS = ("json_schema", "json_object with schema", "json_object", "words")
_SETTABLE = ("temperature", "top_p", "seed", "top_k")
_WORDINGS = len(_WAYS) + len(_SETTABLE)
"""How often a request may be put in another way: three more for the schema, one for the longest answer, and one for
every part of the sampling that a model does not take."""


class OpenAIChat(ServedChatModel):
    """`openai:MODEL`: chat completions of OpenAI, or with `base_url` of a server with its API.

    `effort` is how much a reasoning model may think (`minimal`, `low` ...); `server` says where, with which
    key, how fast and at what price (of tokens read; `price_output` is that of tokens written),
    see `ModelServerSettings`.

    A server that does not take a JSON schema is told it in words, and one that wants `max_tokens` by another
    name gets that; each is found out once. So is what of the sampling a model does not take (reasoning models draw
    as they please): it is `left_out` from then on, with a warning.
    """

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        effort: str | None = None,
        price_output: float | None = None,
        server: ModelServerSettings = ModelServerSettings(timeout=600.0),  # noqa: B008 - frozen
    ) -> None:
        address = find_openai_address(server.base_url)
        identity = f"openai:{target}:{server.describe_server_identity(address)}" + (
            f":effort={effort}" if effort else ""
        )
        super().__init__(
            name or f"openai:{target}",
            identity,
            f"openai:{target}",
            price=TokenPrice.choose_chat_model_price(target, server.price, price_output),
            ledger=ledger,
            limits=server.limits,
        )
        self.is_local = address.local
        self._client = OpenAIClient(address, key=server.key)
        self._target, self._effort = target, effort
        self._way = 0
        self.left_out: tuple[str, ...] = ()
        # OpenAI's newer models refuse max_tokens, and other servers may know no other name.
        self._longest = "max_completion_tokens" if address.url == OPENAI else "max_tokens"

    async def request(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Mapping[str, Any] | None
    ) -> ServerReply[ChatServerReply]:
        """Request one chat completion from the server."""
        for _ in range(_WORDINGS):
            way, longest, left_out = self._way, self._longest, self.left_out
            try:
                return _read_openai_reply(await self._create_completion(messages, sampling, schema))
            except Exception as error:
                if self._drop_refused_sampling(error, sampling, left_out):
                    continue
                if not self._try_request_adaptation_after_refusal(error, way, longest, asked=schema is not None):
                    raise
        return _read_openai_reply(await self._create_completion(messages, sampling, schema))

    def _try_request_adaptation_after_refusal(self, error: Exception, way: int, longest: str, *, asked: bool) -> bool:
        """Adapt the request where the server refuses what can be said another way; whether it does.

        Several calls may find out at once: what another has changed already needs only another attempt.
        """
        if asked and way < len(_WAYS) - 1 and is_field_refused(error, "response_format", "json_schema"):
            self._way = max(self._way, way + 1)  # never back: another call may be further already
            return True
        alternative = "max_tokens" if longest == "max_completion_tokens" else "max_completion_tokens"
        # Who refuses one name recommends the other; a refusal with one name alone may be of its value.
        if is_field_refused(error, longest) and is_field_refused(error, alternative):
            self._longest = alternative
            return True
        return False

    def _drop_refused_sampling(self, error: Exception, sampling: SamplingSettings, before: tuple[str, ...]) -> bool:
        """Leave out a part of the sampling that the model refuses; whether there is one."""
        if not is_field_refused(error, "nsupported", "not support", "nrecognized"):
            return False
        sent = [name for name in _SETTABLE if getattr(sampling, name) is not None and name not in before]
        minded = next((name for name in sent if is_field_refused(error, f"'{name}'", f"`{name}`", f": {name}")), None)
        if minded is not None and minded not in self.left_out:
            self.left_out = (*self.left_out, minded)
            warnings.warn(
                f"{self.model} does not accept {minded}; requests are sent without it.", RuntimeWarning, stacklevel=2
            )
        return minded is not None

    async def _create_completion(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Mapping[str, Any] | None
    ) -> Any:
        fields: dict[str, Any] = {
            **{name: getattr(sampling, name) for name in _SETTABLE if name not in self.left_out},
            self._longest: sampling.max_tokens,
            "reasoning_effort": self._effort,
        }
        if schema is not None:
            fields["response_format"] = _response_format(_WAYS[self._way], schema)
            messages = messages if self._way == 0 else add_schema_in_words(messages, schema)
        body = {
            "model": self._target,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            **{name: value for name, value in fields.items() if value is not None},
        }
        # Not through `chat.completions.create`, whose checks of types take a third of a call's time.
        return await self._client().post("/chat/completions", cast_to=object, body=body)


def _response_format(way: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    if way == "words":
        return None
    if way == "json_object with schema":  # as llama.cpp's server has it
        return {"type": "json_object", "schema": schema}
    if way == "json_object":
        return {"type": way}
    shape = {"name": "answer", "schema": schema, "strict": can_schema_be_enforced_strictly(schema)}
    return {"type": way, "json_schema": shape}


def _read_openai_reply(found: Any) -> ServerReply[ChatServerReply]:
    """The reply in the server's answer; Malformed when there is none."""
    try:
        choice = found["choices"][0]
        message, used = choice["message"], found.get("usage") or {}
        reply = ChatServerReply(
            text=message.get("content") or "",
            model=found.get("model") or "",
            finish=choice.get("finish_reason") or "stop",
            refusal=message.get("refusal") or "",
            read=used.get("prompt_tokens"),
            written=used.get("completion_tokens"),
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise MalformedServerAnswer("an answer without a message") from None
    if not isinstance(reply.text, str):
        raise MalformedServerAnswer("an answer that is not text")
    return ServerReply(reply, Usage())
