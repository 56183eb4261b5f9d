"""Large language models that answer messages, found by spec string."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from embassay.contracts import ChatModel
from embassay.registry import Registry
from embassay.spec import QUERY, Spec, Value
from embassay.systems.remote.ledger import Ledger

__all__ = ["CHAT_MODELS", "fit_chat_without_thinking_to_context", "open_chat", "open_chat_with_options"]

T = TypeVar("T")

CHAT_MODELS: Registry[ChatModel] = Registry(
    "llm", makes=[["complete"]], advice="embassay.systems.models:describe_fix_for_unknown_chat_model"
)
"""Every chat model by name. A factory may ask for `name` (the canonical spec) and `ledger` (the run's)."""

CHAT_MODELS.add(
    "openai",
    "embassay.systems.chat.openai:OpenAIChat",
    "OpenAI's chat models, or any server with the same API (base_url=)",
    needs="embassay[llm], OPENAI_API_KEY",
)
CHAT_MODELS.add(
    "ollama",
    "embassay.systems.chat.ollama:OllamaChat",
    "chat models that Ollama serves: ollama:gemma3:27b",
    needs="embassay[llm]",
)


def fit_chat_without_thinking_to_context(chat: ChatModel, tokens: int) -> ChatModel:
    """The model without thinking and with room for so many tokens, where it can be told and the user did not."""
    suit: Callable[..., ChatModel] | None = getattr(chat, "make_chat_model_with_context_size", None)
    return chat if suit is None else suit(tokens=tokens, think=False)


def open_chat(text: str, *, ledger: Ledger | None = None, **context: Any) -> ChatModel:
    """The chat model that a spec string names: `openai:gpt-5-mini`,
    `openai:NAME?base_url=http://localhost:8000/v1`, `ollama:gemma3:27b`.

    `ledger` keeps the accounts and the limit of cost; a factory gets of `context` what it asks for. UsageError
    for unknown names and parameters, ModelError when the key or the package it needs is missing.
    """
    spec = CHAT_MODELS.parse_spec(text)
    return CHAT_MODELS.build(spec, name=CHAT_MODELS.format(spec), ledger=ledger or Ledger(), **context)


def open_chat_with_options(
    target: str, options: type[T], parameters: Mapping[str, Value], *, ledger: Ledger | None = None
) -> tuple[ChatModel, T, str]:
    """The model that `target` names for a use that has options of its own (a dataclass), those, and the whole spec.

    Of `parameters` and those of `target` the fields of `options` are for the use, the others belong to the model.
    Errors as for `open_chat`.
    """
    spec = QUERY.parse(target)
    whole = QUERY.format(Spec(spec.name, spec.target, {**spec.params, **parameters}))
    model, chosen = CHAT_MODELS.split(CHAT_MODELS.parse_spec(whole), options)
    also = list(inspect.signature(options).parameters)
    return CHAT_MODELS.build(model, also, name=QUERY.format(model), ledger=ledger or Ledger()), chosen, whole
