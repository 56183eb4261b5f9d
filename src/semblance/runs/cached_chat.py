"""A chat model that is never asked the same thing twice, and many questions at once to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from time import perf_counter
from typing import Any, cast

from semblance.contracts import ChatModel, Completion, Message, Sampling, Usage
from semblance.errors import ModelError, TextRefused, Unanswered, Why
from semblance.runs.answer_cache import AnswerCache, answer_key

__all__ = ["CachedChat", "ChatCounts", "Failure", "Hope", "Question", "ask_all"]

_UNANSWERED = "unanswered:"
"""Before the reason why there is no answer, where a kept answer has why it ended."""
_HOPELESS = 8
"""So many calls since the last answer that fail for no reason of their own mean that the model cannot be had."""


@dataclass(frozen=True)
class Question:
    """What is asked: as `ChatModel.complete`, and `attempt`, the number of the draw."""

    messages: Sequence[Message]
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen
    schema: Any = None
    attempt: int = 0


@dataclass(frozen=True)
class Failure:
    """A question without an answer, and why; `error` as it was raised."""

    reason: str
    error: ModelError | None = field(default=None, compare=False)


@dataclass
class ChatCounts:
    """What happened so far: answers that the model gave, that the cache had, and calls that failed for good."""

    asked: int = 0
    cached: int = 0
    failed: int = 0


class Hope:
    """Whether a model can still be had. What fails takes longest, so at the end of all calls failures come in a row;
    only those that were begun after the last answer say that there will be no more."""

    def __init__(self) -> None:
        self._answered = float("-inf")
        self._failures = 0

    def answered(self) -> None:
        """The model did its work, if only to refuse a text."""
        self._answered, self._failures = perf_counter(), 0

    def is_lost(self, begun: float) -> bool:
        """Note a call that was begun at this `perf_counter` and failed for no reason of its own."""
        self._failures += begun > self._answered
        return self._failures >= _HOPELESS


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
    waiting = enumerate(questions)
    running: dict[asyncio.Task[Completion], tuple[int, float]] = {}
    ended: asyncio.Queue[asyncio.Task[Completion]] = asyncio.Queue()
    stop = _Stop()
    try:
        while True:
            if stop.error is None:
                for position, question in islice(waiting, at_once - len(running)):
                    task = asyncio.ensure_future(_asked(chat, question))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = position, perf_counter()
            if not running:
                break
            task = await ended.get()
            position, begun = running.pop(task)
            outcome = stop.outcome(task, begun)
            if outcome is not None:
                if progress is not None:
                    progress(1)
                yield position, outcome
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    if stop.error is not None:
        raise stop.error


async def _asked(chat: CachedChat, question: Question) -> Completion:
    return await chat.complete(
        question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
    )


class _Stop:
    """Whether the work is to stop, and the error that it stops with."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._hope = Hope()

    def outcome(self, task: asyncio.Task[Completion], begun: float) -> Completion | Failure | None:
        """What came of the task; None for an error that is no outcome but the end."""
        error = task.exception()
        if error is None:
            self._hope.answered()
            return task.result()
        if not isinstance(error, ModelError):
            self.error = self.error or error
            return None
        if isinstance(error, TextRefused):
            self._hope.answered()
        elif self._hope.is_lost(begun):
            self.error = self.error or error
        return Failure(str(error), error)
