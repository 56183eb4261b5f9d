"""A chat model that is never asked the same thing twice: its answers in one SQLite file shared by a user's runs.

An answer is kept under everything it depends on and the number of the draw, so that repeats of a question are
independent draws, and each is paid for once. It carries a checksum that is verified on every read; a damaged
row is dropped and its question is asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from embassay.contracts import ChatModel, Completion, Message, Sampling, Usage
from embassay.errors import ModelError, Unanswered, Why
from embassay.runs.execution import Failure, Hope, all_of
from embassay.runs.store import Store, seal

__all__ = [
    "AnswerCache",
    "AnswersInfo",
    "CachedChat",
    "ChatCounts",
    "Failure",
    "Hope",
    "Question",
    "answer_key",
    "ask_all",
]

_ANSWERS = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE,
    model TEXT NOT NULL,
    checksum BLOB NOT NULL,
    answer BLOB NOT NULL
)
"""


@dataclass(frozen=True)
class AnswersInfo:
    """What a cache holds: `bytes` on disk, `entries` (answers), and the answers of each model identity."""

    path: Path
    bytes: int
    entries: int
    models: Mapping[str, int]


class AnswerCache(Store):
    """Answers by key. Safe to share between threads, and between processes that open it each."""

    title = "answer cache"
    file = "answers.sqlite"
    tables = (_ANSWERS,)
    main = "answers"
    owner = "model"

    def read(self, key: bytes) -> Completion | None:
        """The answer kept under `key`, without its parsed object; None when there is none, or a damaged one."""
        row = self._first("SELECT checksum, CAST(answer AS BLOB) FROM answers WHERE key = ?", key)
        if row is None:
            return None
        checksum, content = row
        if checksum != seal(key, content):
            self.drop(key)
            return None
        try:
            return _completion(json.loads(content))
        except (
            ValueError,
            LookupError,
            TypeError,
            RecursionError,
        ):  # sealed by something that is not this class
            self.drop(key)
            return None

    def write(self, key: bytes, model: str, answer: Completion) -> None:
        """Keep `answer` of the model with this identity; a key that is already there keeps what it has."""
        kept = {
            "text": answer.text,
            "model": answer.model,
            "finish": answer.finish,
            "usage": asdict(answer.usage),
        }
        content = json.dumps(kept).encode()
        self._change(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", key, model, seal(key, content), content
        )

    def info(self) -> AnswersInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._all("SELECT model, COUNT(*) FROM answers GROUP BY model ORDER BY model")
        return AnswersInfo(self.path, self._size(), sum(n for _, n in rows), dict(rows))


def _completion(kept: Any) -> Completion:
    """The answer that was written; LookupError, TypeError or ValueError for anything else."""
    words = kept["text"], kept["model"], kept["finish"]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("not an answer")
    return Completion(words[0], None, Usage(**kept["usage"]), *words[1:])


def answer_key(
    identity: str, messages: Sequence[Message], sampling: Sampling, schema: Any, attempt: int
) -> bytes:
    """32 bytes that name a draw: a hash of the model, the sampling, the schema (a pydantic model class), the
    messages, and the number of the draw."""
    parts = [
        identity,
        asdict(sampling),
        None if schema is None else schema.model_json_schema(),
        [[message.role, message.content] for message in messages],
        attempt,
    ]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=32).digest()


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
