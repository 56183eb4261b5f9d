"""A language model that answers items: one retry for what is no answer, and nothing that a failed call becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

from embassay.contracts import Completion, Message, Sampling, Usage
from embassay.errors import ModelError, TextRefused, Unanswered
from embassay.protocols.hume.folder.formats import Task
from embassay.protocols.hume.llms.answers import LlmRow, Mode, Status
from embassay.protocols.hume.llms.forms import Form, Read, Unread, form
from embassay.protocols.hume.llms.prompts import messages, prompt
from embassay.protocols.hume.llms.request import LlmOptions
from embassay.protocols.hume.study import Item
from embassay.randomness import random_bytes
from embassay.runs.answers import CachedChat, Hope, Question
from embassay.systems.chat.server import NeverFits
from embassay.systems.remote import as_finished
from embassay.systems.remote.ledger import Price

ATTEMPTS = 2
"""An answer and one retry (spec hume 8.1)."""
_DRAWS = 1_000
"""More than there are attempts: run and attempt together number an answer in the cache."""
_AT_ONCE = 256


@dataclass(frozen=True)
class Ask:
    """An item to be answered in a run."""

    task: Task
    item: Item
    run: int


class LlmAnnotator:
    """`chat` as an annotator by the name `name`; `seed` names its draws."""

    def __init__(
        self,
        chat: CachedChat,
        mode: Mode,
        options: LlmOptions,
        *,
        seed: int = 1337,
        name: str = "",
    ) -> None:
        self.chat, self.mode, self.options, self._seed = chat, mode, options, seed
        self.name = name or chat.name
        self.models: set[str] = set()
        """What the server calls itself."""
        self._hope = Hope()

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None where that is not known."""
        price = getattr(self.chat.model, "price", None)
        return price if isinstance(price, Price) else None

    def question(self, ask: Ask) -> Question:
        """What is asked first."""
        return self._question(ask, messages(ask.task, self.mode, ask.item.payload), 0, self._form(ask))

    def answers(self, asks: Sequence[Ask], hear: Callable[[int], None] = lambda _: None) -> Iterator[LlmRow]:
        """A row for each, as it comes; many calls are in flight at once. `hear` gets 1 for each.

        BudgetExceeded, and the ModelError of a model that cannot be had, come after what was in flight.
        """
        self._hope = Hope()
        for _, row in as_finished((partial(self.answered, ask) for ask in asks), at_once=_AT_ONCE):
            hear(1)
            yield row

    async def answered(self, ask: Ask) -> LlmRow:
        """The row of one item. ModelError once so many calls have failed that the model cannot be had."""
        tried = _Tried(messages(ask.task, self.mode, ask.item.payload))
        for attempt in range(ATTEMPTS):
            row = await self._attempted(ask, attempt, tried)
            if row is not None:
                return row
        return self._given_up(ask, tried)

    async def _attempted(self, ask: Ask, attempt: int, tried: _Tried) -> LlmRow | None:
        """The row, None where the model is to be asked once more."""
        shape, begun = self._form(ask), perf_counter()
        try:
            answer = await self._said(self._question(ask, tried.talk, attempt, shape))
        except NeverFits as error:
            # The model was told what was wrong there, and had its retry.
            self._hope.answered()
            tried.reason = error.message
            return self._given_up(ask, tried)
        except Unanswered as error:
            self._hope.answered()
            tried.reason = error.message
            return None
        except TextRefused as error:
            self._hope.answered()
            return self._row(ask, tried, "failed", reason=error.message)
        except ModelError as error:
            if self._hope.is_lost(begun):
                raise
            return self._row(ask, tried, "failed", reason=error.message)
        tried.hear(answer)
        return self._read(ask, shape, tried)

    def _read(self, ask: Ask, shape: Form, tried: _Tried) -> LlmRow | None:
        try:
            found = shape.read(tried.text)
        except Unread as error:
            tried.reject(str(error), str(error))
            return None
        if not found.lacking:
            return self._row(ask, tried, "ok", found.value)
        tried.best = tried.best or found
        tried.reject(found.lacking, f"of the letters {found.lacking}; give each exactly once")
        return None

    def _given_up(self, ask: Ask, tried: _Tried) -> LlmRow:
        if tried.best is not None:
            return self._row(ask, tried, "completed", tried.best.value, tried.best.lacking)
        return self._row(ask, tried, "unparsed", reason=tried.reason)

    async def _said(self, question: Question) -> Completion:
        answer = await self.chat.complete(
            question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
        )
        self._hope.answered()
        self.models.add(answer.model)
        return answer

    def _form(self, ask: Ask) -> Form:
        return form(ask.task, self.mode, ask.item.payload)

    def _question(self, ask: Ask, talk: Sequence[Message], attempt: int, shape: Form) -> Question:
        # 31 bits, which is what servers take.
        drawn = random_bytes(4, self._seed, "hume llm", str(ask.run), str(attempt))
        sampling = Sampling(self.options.temperature, None, int.from_bytes(drawn) >> 1)
        schema = shape.schema if self.options.answers == "schema" else None
        return Question(talk, sampling, schema, ask.run * _DRAWS + attempt)

    def _row(self, ask: Ask, tried: _Tried, status: Status, value: Any = None, reason: str = "") -> LlmRow:
        used = tried.usage
        usd = None if self.price is None else self.price.usd(used.input_tokens, used.output_tokens)
        return LlmRow(
            model=self.name, item_id=ask.item.id, task=ask.task.name, run=ask.run, mode=self.mode, status=status,
            value=value, text=tried.text, prompt=prompt(ask.task, self.mode).identity, reason=reason, usd=usd,
            tokens_in=used.input_tokens, tokens_out=used.output_tokens,
        )  # fmt: skip


@dataclass
class _Tried:
    """What the attempts at an item have come to: the conversation, the tokens of all, the last text, what was wrong
    with it, and an answer that can be used if nothing better comes."""

    talk: list[Message]
    text: str = ""
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    best: Read | None = None

    def hear(self, answer: Completion) -> None:
        """Note an answer and its tokens."""
        self.text = answer.text
        read = self.usage.input_tokens + answer.usage.input_tokens
        self.usage = Usage(read, self.usage.output_tokens + answer.usage.output_tokens)

    def reject(self, reason: str, told: str) -> None:
        """Go on with the conversation: at temperature 0 the same question would bring the same answer."""
        self.reason = reason
        ask = f"That answer cannot be used: {told}. Answer again, in the form that was asked for, with nothing else."
        self.talk = [*self.talk, Message("assistant", self.text), Message("user", ask)]
