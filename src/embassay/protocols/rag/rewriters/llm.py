"""A language model as a rewriter: strict reading, another draw for what is no answer, nothing paid for twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from embassay.contracts import ChatModel, Message, Sampling
from embassay.errors import Unanswered, UsageError, Why
from embassay.protocols.rag.judges import Question
from embassay.randomness import random_bytes
from embassay.runs.folder import digest
from embassay.runs.store import AnswerCache, CachedChat
from embassay.spec import Value
from embassay.systems.chat import open_chat_as
from embassay.systems.remote.ledger import Ledger

PROMPT_VERSION = "1"
"""Raised when a word of the prompt, or how the question is laid out, changes."""

KEY = "rewrite"
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_LONGEST = 400
"""Characters that a rewriting may always have; beyond, it may not be longer than the question."""
_TOKENS = 8_192


@dataclass(frozen=True)
class RewriteOptions:
    """How a model rewrites: sampling, and the `attempts` at one answer."""

    temperature: float = 0.0
    top_p: float = 1.0
    attempts: int = 6

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1 or self.attempts < 1:
            raise UsageError(
                f"A rewriter cannot have temperature={self.temperature}, top_p={self.top_p}, "
                f"attempts={self.attempts}.",
                mend="Take a temperature from 0 to 2, a top_p above 0 and at most 1, 1 or more attempts.",
            )


class Malformed(ValueError):
    """An answer that is no rewriting, and why."""


class ChatRewriter:
    """`chat` as a rewriter; `seed` names its draws."""

    def __init__(
        self,
        chat: CachedChat,
        options: RewriteOptions = RewriteOptions(),
        *,
        seed: int = 1337,
        name: str = "",
    ) -> None:
        self._chat, self.options, self._seed = chat, options, seed
        self.name = name or f"llm:{chat.name}"
        self.identity = (
            f"rewriter/1:{chat.identity} {prompt_identity()} temperature={options.temperature:g} "
            f"top_p={options.top_p:g} seed={seed}"
        )

    @property
    def model(self) -> ChatModel:
        """Who answers: its price and limits."""
        return self._chat.model

    def about(self) -> Mapping[str, Any]:
        """What a manifest says: model, sampling, prompt."""
        options = asdict(self.options)
        return {"model": self._chat.name, **options, "prompt": prompt_identity()}

    def close(self) -> None:
        """Release the cache of answers."""
        self._chat.cache.close()

    async def rewrite(self, question: Question) -> str:
        """See `Rewriter.rewrite`. Unanswered after so many attempts without an answer that can be read."""
        return (await self._rewritten(question))[0]

    async def seconds(self, question: Question) -> float:
        """What the calls that brought the rewriting took when they were made; none is paid for twice."""
        return (await self._rewritten(question))[1]

    async def _rewritten(self, question: Question) -> tuple[str, float]:
        messages = rewrite_messages(question.text)
        rejected, seconds = "", 0.0
        why: Why = "empty"
        for attempt in range(self.options.attempts):
            # 31 bits, which is what servers take.
            seed = int.from_bytes(random_bytes(4, self._seed, "rewrite", str(attempt))) >> 1
            sampling = Sampling(self.options.temperature, self.options.top_p, seed)
            try:
                answer = await self._chat.complete(messages, sampling=sampling, attempt=attempt)
                seconds += answer.usage.seconds
                return rewriting_of(answer.text, question.text), seconds
            except Malformed as error:
                rejected, why = str(error), "empty"
            except Unanswered as error:
                rejected, why = f"{error.why}: {error.message}", error.why
        raise Unanswered(
            f"{self.name} gave no rewriting that can be read in {self.options.attempts} attempts, "
            f"the last: {rejected}.",
            why,
        )


def rewriting_of(text: str, question: str) -> str:
    """The rewriting that an answer consists of: one JSON object with one text and nothing else.

    Malformed for anything else, for an empty text, and for one that is longer than the question and 400 characters: a
    rewriting says less, an answer to the question says more.

    >>> rewriting_of('{"rewrite": "causes of jet noise"}', "Hi! What causes jet noise?")
    'causes of jet noise'
    """
    text = text.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed(f"no JSON object: {_cut(text)}" if text else "empty") from None
    if not isinstance(value, dict) or set(value) != {KEY}:
        raise Malformed(f"not an object with {KEY!r} alone: {_cut(text)}")
    found = value[KEY]
    if not isinstance(found, str) or not (found := " ".join(found.split())):
        raise Malformed(f"no text in {KEY!r}: {_cut(text)}")
    if len(found) > max(_LONGEST, len(question)):
        raise Malformed(f"longer than the question: {_cut(found)}")
    return found


def rewrite_messages(question: str) -> list[Message]:
    """What is sent: the instructions, then the question between marked lines."""
    mark = hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    shown = f"[question {mark}]\n{question}\n[end of question {mark}]"
    return [Message("system", _prompt()), Message("user", shown)]


def prompt_identity() -> str:
    """The prompt's version and a digest of every word."""
    return f"rewrite@{PROMPT_VERSION}:{digest(_prompt())[:12]}"


@cache
def _prompt() -> str:
    folder = files("embassay.protocols.rag.rewriters").joinpath("prompt_texts")
    return folder.joinpath("rewrite.txt").read_text("utf-8").strip()


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def open_llm(
    target: str,
    *,
    ledger: Ledger | None = None,
    cache: AnswerCache | Path | None = None,
    seed: int = 1337,
    **parameters: Value,
) -> ChatRewriter:
    """The model that `target` names (`openai:gpt-5-mini`). Of its parameters those of `RewriteOptions` say how it
    rewrites, the others belong to the model."""
    if not target:
        raise UsageError("The rewriter 'llm' needs a language model.", mend="Write llm:ollama:gemma3:27b.")
    chat, options, name = open_chat_as(target, RewriteOptions, parameters, ledger=ledger)
    if suit := getattr(chat, "suited", None):
        chat = suit(tokens=_TOKENS, think=False)
    answers = cache if isinstance(cache, AnswerCache) else AnswerCache.open(cache)
    return ChatRewriter(CachedChat(chat, answers), options, seed=seed, name=f"llm:{name}")
