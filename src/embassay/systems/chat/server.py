"""What all chat models behind a server share: paced calls, thinking taken off, JSON asked for, checked and repaired."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embassay.contracts import ChatMessage, Completion, SamplingSettings
from embassay.errors import TextRefused, Unanswered, Why
from embassay.systems.chat.answers import UnfitAnswerError, extract_answer_json, strip_thinking
from embassay.systems.remote import (
    CallLimits,
    Ledger,
    MalformedServerAnswer,
    ModelServerClient,
    ServerReply,
    TokenPrice,
)
from embassay.systems.remote.ledger import (
    BookedTokenCount,
    estimate_most_server_tokens,
    estimate_server_tokens,
    make_usage_from_booked_tokens,
)

_LONGEST = 500


class AnswerNeverFitSchema(TextRefused):
    """What a model answered does not fit the schema, not even when asked for once more: its failure, no server's."""


def make_closed_json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a pydantic model, its objects closed to fields that it does not name."""
    closed: dict[str, Any] = _forbid_extra_fields(schema.model_json_schema())
    return closed


def can_schema_be_enforced_strictly(schema: Mapping[str, Any]) -> bool:
    """Whether servers can hold a model to it to the letter: every object names its fields and needs them all."""
    parts = [schema, *schema.get("$defs", {}).values(), *schema.get("properties", {}).values()]
    objects = [part for part in parts if part.get("type") == "object"]
    return all(part.get("properties") and set(part.get("required", ())) == set(part["properties"]) for part in objects)


def add_schema_in_words(messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> list[ChatMessage]:
    """The messages with the schema told in words, for a server that takes none."""
    words = "Answer with one JSON object that fits this JSON schema, and nothing else:\n" + json.dumps(schema)
    if messages and messages[0].role == "system":
        return [ChatMessage("system", f"{messages[0].content}\n\n{words}"), *messages[1:]]
    return [ChatMessage("system", words), *messages]


def parse_schema_answer(text: str, schema: Any) -> Any:
    """The object that `text` (JSON) describes, checked by the pydantic model `schema`; Unfit, with what is wrong."""
    from pydantic import ValidationError

    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'the whole'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise UnfitAnswerError(wrong[:_LONGEST]) from None


def make_retry_messages(messages: Sequence[ChatMessage], answer: str, wrong: UnfitAnswerError) -> list[ChatMessage]:
    """The conversation that asks for the answer once more, with what was wrong."""
    ask = f"That answer cannot be used: {wrong}. Give the whole corrected JSON, and nothing else."
    return [*messages, ChatMessage("assistant", answer or "(empty)"), ChatMessage("user", ask)]


def _forbid_extra_fields(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_forbid_extra_fields(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _forbid_extra_fields(value) for key, value in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


_USUAL_ANSWER = 1024
"""Tokens that an answer without a limit is believed to have at most, its thinking included, and so what is held aside;
a model that writes more has more held aside from then on."""
_MOST_LEARNED = 131_072
"""Tokens beyond which no server is believed that says how long answers are."""


@dataclass(frozen=True)
class ChatServerReply:
    """What a server answered: `text` as it came, `model` as it names itself, why it stopped (`stop`, `length`,
    `content_filter`, `context` for messages that it had no room for ...), and the words of a refusal if it has a field
    for them."""

    text: str
    model: str
    finish: str
    refusal: str = ""
    thought: bool = False
    """Whether there was any text before its thinking was taken off."""
    read: object = None
    written: object = None
    """The tokens that the server says it has read and written; None where it does not say."""


class ServedChatModel(ABC):
    """A chat model whose subclass only asks the server: `request` sends messages and reads the reply.

    An answer that was cut (`length`), filtered, refused, empty, or that does not fit the schema even when asked
    for once more, is a TextRefused with the reason (Unanswered, or NeverFits for the schema): the failure of this
    call, not of the model. `is_local` is whether the server is on this machine.
    """

    is_local = False

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        *,
        price: TokenPrice | None,
        ledger: Ledger | None,
        limits: CallLimits,
    ) -> None:
        self.name, self.identity, self.model = name, identity, model
        self.rpm, self.tpm = limits.rpm, limits.tpm
        self.price = price
        self._calls = ModelServerClient(model, ledger, limits)
        self._longest_answer = _USUAL_ANSWER

    @abstractmethod
    async def request(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, schema: Mapping[str, Any] | None
    ) -> ServerReply[ChatServerReply]:
        """One request; `schema` is the JSON schema that the answer is to fit. Raises what `classify` understands.
        What it cost is reckoned from the tokens that its reply says were read and written."""

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        sampling: SamplingSettings = SamplingSettings(),  # noqa: B008 - frozen
        schema: Any = None,
    ) -> Completion:
        """One answer; with `schema`, a pydantic model class, its `text` is the JSON and `parsed` the object. A schema
        that `reads_itself` makes what it will of any text, and nothing is asked for again.

        ModelError, with the reason, when the call fails for good (TextRefused for reasons of its own).
        """
        shape = make_closed_json_schema(schema) if schema is not None else None
        first = await self._request_chat_reply(messages, sampling, shape)
        if schema is None:
            return _make_completion(first, first.value.text, None)
        if getattr(schema, "reads_itself", False):
            return _make_completion(first, first.value.text, schema.model_validate_json(first.value.text))
        try:
            return _parse_completion(first, schema)
        except UnfitAnswerError as wrong:
            again = make_retry_messages(messages, first.value.text, wrong)
        second = await self._request_chat_reply(again, sampling, shape)
        # Both calls are paid for.
        second = ServerReply(second.value, first.usage + second.usage)
        try:
            return _parse_completion(second, schema)
        except UnfitAnswerError as wrong:
            raise AnswerNeverFitSchema(f"{self.model}: the answer does not match the schema: {wrong}.") from None

    async def _request_chat_reply(
        self, messages: Sequence[ChatMessage], sampling: SamplingSettings, shape: Mapping[str, Any] | None
    ) -> ServerReply[ChatServerReply]:
        """The reply without thinking, its usage priced. TextRefused for one that is no answer."""
        sent = [message.content for message in messages]
        if shape is not None:
            sent.append(json.dumps(shape))
        most_read = estimate_most_server_tokens(sent)
        most_written = sampling.max_tokens or self._longest_answer

        async def send_request() -> ServerReply[ChatServerReply]:
            answer = await self.request(messages, sampling, shape)
            said = answer.value
            read = BookedTokenCount.of(said.read, most=most_read, likely=estimate_server_tokens(sent))
            written = BookedTokenCount.of(said.written, most=most_written, likely=estimate_server_tokens([said.text]))
            self._raise_longest_answer_estimate(said.written)
            text = said.text.strip()
            reply = replace(said, text=strip_thinking(text), thought=bool(text))
            # With a seed, the server would say nothing once more.
            if not reply.text and reply.finish == "stop" and not reply.refusal and sampling.seed is None:
                raise MalformedServerAnswer("an empty answer", of_texts=True)
            return replace(
                answer, value=reply, usage=make_usage_from_booked_tokens(read, written, usd=self._price_tokens)
            )

        answer = await self._calls.ask(
            send_request,
            tokens=most_read + most_written,
            usd=self._price_tokens(most_read, most_written),
            read_usd=self._price_tokens(most_read, 0),
        )
        self._check_reply(answer.value)
        return answer

    def _raise_longest_answer_estimate(self, written: object) -> None:
        """Hold aside twice what the longest answer had, for those that nothing limits."""
        if isinstance(written, int) and written > self._longest_answer:
            self._longest_answer = min(2 * written, _MOST_LEARNED)

    def _price_tokens(self, input_tokens: int, output_tokens: int) -> float | None:
        return None if self.price is None else self.price.usd(input_tokens, output_tokens)

    def _check_reply(self, reply: ChatServerReply) -> None:
        if reply.refusal:
            raise Unanswered(f"{self.model}: the model declined: {reply.refusal}.", "declined")
        if reply.finish == "length":
            raise Unanswered(f"{self.model}: the answer was truncated at its maximum length (max_tokens).", "cut")
        if reply.finish == "content_filter":
            raise Unanswered(f"{self.model}: the answer was withheld by the server's content filter.", "withheld")
        if reply.finish == "context":
            raise TextRefused(f"{self.model}: the messages fill the model's context (num_ctx), so they were truncated.")
        if not reply.text:
            why: Why = "thinking" if reply.thought else "empty"
            content = "nothing but thinking" if reply.thought else "an empty answer"
            raise Unanswered(f"{self.model}: {content} (finish: {reply.finish}).", why)


def _parse_completion(answer: ServerReply[ChatServerReply], schema: Any) -> Completion:
    text = extract_answer_json(answer.value.text)
    return _make_completion(answer, text, parse_schema_answer(text, schema))


def _make_completion(answer: ServerReply[ChatServerReply], text: str, parsed: Any) -> Completion:
    return Completion(text, parsed, answer.usage, answer.value.model, answer.value.finish)
