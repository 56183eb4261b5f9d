"""A language model that writes texts anew: asked, asked again where an answer cannot be used, and given up where it is
gone. What it is asked, and what makes an answer usable, is a protocol's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

from embassay.contracts import Completion
from embassay.errors import ModelError, TextRefused, Unanswered, Why
from embassay.protocols.wordings.records import USABLE, Outcome, Paraphrase, SourceText
from embassay.runs.execution import Hope
from embassay.runs.store import CachedChat, Question
from embassay.systems.remote.calls import as_finished
from embassay.systems.remote.ledger import Price

_AT_ONCE = 512
"""Texts that are worked on at once; the model's own pace decides how many requests are in flight."""


@dataclass(frozen=True)
class Drawn:
    """What came of asking for one text: `rejected` are the outcomes that could not be used, the last one included."""

    text: str
    outcome: Outcome = "ok"
    reason: str = ""
    attempts: int = 1
    seed: int = 0
    seconds: float = 0.0
    rejected: tuple[str, ...] = ()


def blank(asked: SourceText, seed: int) -> Paraphrase:
    """A text without words stays what it is, and nobody is asked."""
    return Paraphrase(asked.text, asked.lang, asked.place, asked.text, "ok", attempts=0, seed=seed)


class AnyRuns:
    """Whoever words texts anew in any number of runs."""

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:  # noqa: ARG002 - the contract's
        """first, first + 1 ..."""
        return tuple(range(first, first + runs))


class LLMWriter(AnyRuns, ABC):
    """A language model that writes texts anew. Two runs with one seed get the same answers from the cache behind
    `chat`. A text is drawn again up to `retries` times."""

    remote = True
    UNANSWERED: ClassVar[Mapping[Why, Outcome]]
    """What an answer without a text is, by why there is none."""

    def __init__(self, chat: CachedChat, retries: int) -> None:
        self.chat, self._retries = chat, retries
        self._models: set[str] = set()
        self._hope = Hope()

    @property
    def name(self) -> str:
        """The model's spec."""
        return self.chat.name

    @property
    def price(self) -> Price | None:
        """What the model's tokens cost; None where it is not known."""
        return getattr(self.chat.model, "price", None)

    def described(self, **more: Any) -> Mapping[str, Any]:
        """The model as its server names it, what was left out of requests and the size of its context, with `more`
        before these; without what is not known."""
        model = self.chat.model
        told = {
            "model": ", ".join(sorted(self._models)),
            **more,
            "left_out": list(getattr(model, "left_out", ())),
            "num_ctx": getattr(model, "num_ctx", None),
        }
        return {key: value for key, value in told.items() if value not in (None, "", [])}

    def write(
        self,
        asked: Sequence[SourceText],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """See `Paraphraser.write`; many calls are in flight at once, and one text's one after another."""
        self._hope = Hope()
        jobs: Iterator[Callable[[], Awaitable[Paraphrase]]] = (
            partial(self._worded, one, seed) for one in asked
        )
        for done, (position, paraphrase) in enumerate(as_finished(jobs, at_once=_AT_ONCE), start=1):
            hear(done)
            yield position, paraphrase

    async def _worded(self, asked: SourceText, seed: int) -> Paraphrase:
        return await self.reword(asked, seed) if asked.text.strip() else blank(asked, seed)

    @abstractmethod
    async def reword(self, asked: SourceText, seed: int) -> Paraphrase:
        """What comes of one text that isn't blank."""

    def refusal(self, error: TextRefused) -> Outcome:  # noqa: ARG002 - for those that tell refusals apart
        """What a text is that the server does not take."""
        return "refused"

    async def draw(self, ask: Callable[[int], Question], read: Callable[[Completion], Drawn]) -> Drawn:
        """What came of a question, drawn until `read` finds an answer usable, or as often as may be. `ask` gets the
        number of the draw, from 0."""
        rejected, seconds = [], 0.0
        for attempt in range(self._retries + 1):
            question = ask(attempt)
            drawn, again = await self._answer(question, read)
            seconds += drawn.seconds
            if drawn.outcome in USABLE:
                break
            rejected.append(drawn.outcome)
            if not again:
                break
        return replace(
            drawn,
            attempts=attempt + 1,
            seed=question.sampling.seed or 0,
            seconds=seconds,
            rejected=tuple(rejected),
        )

    async def _answer(self, question: Question, read: Callable[[Completion], Drawn]) -> tuple[Drawn, bool]:
        """What an answer is, and whether another draw could be better."""
        begun = perf_counter()
        try:
            answer = await self.chat.complete(
                question.messages,
                sampling=question.sampling,
                schema=question.schema,
                attempt=question.attempt,
            )
        except Unanswered as error:
            self._hope.answered()
            return Drawn("", self.UNANSWERED[error.why], str(error)), True
        except TextRefused as error:
            self._hope.answered()
            return Drawn("", self.refusal(error), str(error)), False
        except ModelError as error:
            if self._hope.is_lost(begun):
                raise
            return Drawn("", "failed", str(error)), False
        self._hope.answered()
        self._models.add(answer.model)
        return replace(read(answer), seconds=answer.usage.seconds), True
