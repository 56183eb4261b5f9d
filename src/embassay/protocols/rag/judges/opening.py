"""From a spec string to a language model that judges, with its answers kept."""

from __future__ import annotations

from pathlib import Path

from embassay.contracts import ChatModel
from embassay.errors import UsageError
from embassay.protocols.rag.judges.chat import ChatJudge, ChatOptions
from embassay.protocols.rag.judges.prompts import KINDS, prompt
from embassay.runs.answer_cache import AnswerCache
from embassay.runs.cached_chat import CachedChat
from embassay.spec import Value
from embassay.systems.chat import open_chat_as
from embassay.systems.remote.ledger import Ledger

_LONGEST = 48_000
"""Bytes of question and passages where nobody says: eight of them of 6,000."""
_ANSWER = 1_024


def llm(
    target: str,
    *,
    ledger: Ledger | None = None,
    cache: AnswerCache | Path | None = None,
    seed: int = 1337,
    longest: int | None = None,
    **parameters: Value,
) -> ChatJudge:
    """The model that `target` names (`openai:gpt-5-mini`). Of its parameters those of `ChatOptions` say how it judges,
    the others belong to the model."""
    if not target:
        raise UsageError("The judge 'llm' needs a language model.", mend="Write llm:ollama:gemma3:27b.")
    chat, options, name = open_chat_as(target, ChatOptions, parameters, ledger=ledger)
    chat = suited(chat, longest or _LONGEST)
    answers = cache if isinstance(cache, AnswerCache) else AnswerCache.open(cache)
    return ChatJudge(CachedChat(chat, answers), options, seed=seed, name=name)


def suited(chat: ChatModel, longest: int) -> ChatModel:
    """The model as a judge wants it where it can be set and the user did not: without thinking, and reading questions
    with passages of so many UTF-8 bytes whole."""
    suit = getattr(chat, "suited", None)
    if suit is None:
        return chat
    instructions = max(len(prompt(kind).text.encode()) for kind in KINDS)
    # Tokenizers of language models make a token of two bytes or more, whatever the language.
    fitted: ChatModel = suit(tokens=(instructions + longest) // 2 + _ANSWER, think=False)
    return fitted
