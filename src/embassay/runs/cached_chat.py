"""A chat model that is never asked the same thing twice, and many questions at once to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from embassay.contracts import ChatModel, Completion, Message, Sampling, Usage
from embassay.errors import ModelError, Unanswered, Why
from embassay.runs.answer_cache import AnswerCache, answer_key
from embassay.runs.many_calls import Failure, Hope, all_of

__all__ = ["CachedChat", "ChatCounts", "Failure", "Hope", "Question", "ask_all"]

_UNANSWERED = "unanswered:"
"""Before the reason why there is no answer, where a kept answer has why it ended."""


@dataclass(frozen=True)
class Question:
    """What is asked: as `ChatModel.complete`, and `attempt`, the number of the draw."""

    messages: Sequence[Message]
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen
    schema: Any = None
    attempt: int = 0


@dataclass
class ChatCounts:
    """What happened so far: answers that the model gave, that the cache had, and calls that failed for good."""

    asked: int = 0
    cached: int = 0
    failed: int = 0


class CachedChat:
    """`model` behind `cache`: an answer is kept the moment it arrives. So is that a model gave none (Unanswered) where
    it was asked with a seed, which says what is drawn; other failures are tried again by the next run."""

    def __init__(self, model: ChatModel, cache: AnswerCache) -> None:
        self.model = model
        self.cache = cache
        self.counts = ChatCounts()
        self._asking: dict[bytes, asyncio.Future[None]] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self.model.identity

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008 - frozen
        schema: Any = None,
        attempt: int = 0,
    ) -> Completion:
        """The draw number `attempt`: the kept one, which costs nothing (no requests, 0 dollars), or a new one.

        ModelError when the call fails for good (Unanswered, kept too, where the model gave no answer), BudgetExceeded
        when the money is used up.
        """
        key = answer_key(self.identity, messages, sampling, schema, attempt)
        while (other := self._asking.get(key)) is not None:
            await asyncio.wait([other])
        kept = self._kept(key, schema)
        if kept is not None:
            self.counts.cached += 1
            if isinstance(kept, Unanswered):
                raise kept
            return kept
        return await self._new(key, Question(messages, sampling, schema, attempt))

    def kept(self, question: Question) -> bool:
        """Whether the cache has the answer, or that there is none."""
        key = answer_key(
            self.identity, question.messages, question.sampling, question.schema, question.attempt
        )
        return self._kept(key, question.schema) is not None

    async def _new(self, key: bytes, question: Question) -> Completion:
        asking = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await self.model.complete(
                question.messages, sampling=question.sampling, schema=question.schema
            )
            self.cache.write(key, self.identity, answer)
        except ModelError as error:
            self.counts.failed += 1
            if isinstance(error, Unanswered) and question.sampling.seed is not None:
                self.cache.write(key, self.identity, _as_kept(error))
            raise
        finally:
            del self._asking[key]
            asking.set_result(None)
        self.counts.asked += 1
        return answer

    def _kept(self, key: bytes, schema: Any) -> Completion | Unanswered | None:
        answer = self.cache.read(key)
        if answer is None:
            return None
        if answer.finish.startswith(_UNANSWERED):
            return Unanswered(answer.text, cast(Why, answer.finish.removeprefix(_UNANSWERED)))
        free = replace(answer.usage, requests=0, usd=0.0)
        if schema is None:
            return replace(answer, usage=free)
        try:
            return replace(answer, usage=free, parsed=schema.model_validate_json(answer.text))
        except ValueError:
            # What the schema's own code accepts may have changed since.
            self.cache.drop(key)
            return None


def _as_kept(error: Unanswered) -> Completion:
    return Completion(error.message, None, Usage(), "", f"{_UNANSWERED}{error.why}")


async def ask_all(
    chat: CachedChat,
    questions: Iterable[Question],
    *,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> AsyncIterator[tuple[int, Completion | Failure]]:
    """Ask all, at most `at_once` of them at a time (the model's own pace decides how many are really sent), and
    yield (position, outcome) of each as it comes. `progress` is called with 1 for each.

    A call that fails is a Failure and the others go on. BudgetExceeded and other errors, and the ModelError of a
    model that cannot be had (8 since the last answer that are no matter of their question), are raised after what is in
    flight has been yielded.
    """
    jobs = (partial(_asked, chat, question) for question in questions)
    async for position, outcome in all_of(jobs, at_once=at_once, progress=progress):
        yield position, outcome


async def _asked(chat: CachedChat, question: Question) -> Completion:
    return await chat.complete(
        question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
    )
