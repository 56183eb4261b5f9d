"""Large language models that answer messages, found by spec string."""

from __future__ import annotations

from typing import Any

from semblance.contracts import ChatModel
from semblance.registry import Registry
from semblance.systems.remote.ledger import Ledger

__all__ = ["CHAT_MODELS", "open_chat"]

CHAT_MODELS: Registry[ChatModel] = Registry("llm", makes=[["complete"]])
"""Every chat model by name. A factory may ask for `name` (the canonical spec) and `ledger` (the run's)."""

CHAT_MODELS.add(
    "openai",
    "semblance.systems.chat.openai:OpenAIChat",
    "chat models of OpenAI, or of any server that speaks like it (base_url=)",
    needs="semblance[llm], OPENAI_API_KEY",
)
CHAT_MODELS.add(
    "ollama",
    "semblance.systems.chat.ollama:OllamaChat",
    "chat models that Ollama serves: ollama:gemma3:27b",
    needs="semblance[llm]",
)


def open_chat(text: str, *, ledger: Ledger | None = None, **context: Any) -> ChatModel:
    """The chat model that a spec string names: `openai:gpt-5-mini`,
    `openai:NAME?base_url=http://localhost:8000/v1`, `ollama:gemma3:27b`.

    `ledger` keeps the accounts and the limit of cost; a factory gets of `context` what it asks for. UsageError
    for unknown names and parameters, ModelError when the key or the package it needs is missing.
    """
    spec = CHAT_MODELS.parse(text)
    return CHAT_MODELS.build(spec, name=CHAT_MODELS.format(spec), ledger=ledger or Ledger(), **context)
