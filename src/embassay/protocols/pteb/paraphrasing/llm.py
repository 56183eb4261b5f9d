"""A language model as a paraphraser: one text per call, answers kept, what cannot be used drawn anew."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any

from embassay.contracts import ChatModel, Message
from embassay.errors import ModelError, TextRefused, Unanswered, Why
from embassay.protocols.pteb.paraphrasing.gate import Verdict, judged
from embassay.protocols.pteb.paraphrasing.generation import Generation
from embassay.protocols.pteb.paraphrasing.language import can_identify
from embassay.protocols.pteb.paraphrasing.licences import licence_of
from embassay.protocols.pteb.paraphrasing.prompts import Prompt
from embassay.protocols.pteb.paraphrasing.records import REJECTED, Asked, Outcome, Paraphrase
from embassay.runs.answers import CachedChat, Hope, Question
from embassay.systems.remote.ledger import Price
from embassay.systems.remote.loop import as_finished

_AT_ONCE = 512
"""Texts that are worked on at once; the model's own pace decides how many requests are in flight."""
_OUTCOMES: Mapping[Why, Outcome] = {
    "cut": "too long",
    "withheld": "refused",
    "declined": "refused",
    "empty": "empty",
    "thinking": "thinking",
}


class LLMParaphraser:
    """`chat` with a prompt. Two runs with one seed get the same answers from the cache behind `chat`."""

    remote = True

    def __init__(self, chat: CachedChat, prompt: Prompt, generation: Generation) -> None:
        self.chat, self.prompt, self.generation = chat, prompt, generation
        self._models: set[str] = set()
        self._hope = Hope()

    @property
    def name(self) -> str:
        """The model's spec."""
        return self.chat.name

    @property
    def identity(self) -> str:
        """Of the model, the prompt, the sampling and what the gate lets through."""
        drawn = ",".join(f"{key}={value}" for key, value in self.generation.as_dict().items())
        return f"{self.chat.identity} {self.prompt.identity} {drawn}"

    @property
    def price(self) -> Price | None:
        """What the model's tokens cost; None where it is not known."""
        return getattr(self.chat.model, "price", None)

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:  # noqa: ARG002 - the contract's
        """first, first + 1 ..."""
        return tuple(range(first, first + runs))

    def about(self) -> Mapping[str, Any]:
        """The model as its server names it, its sampling, licence and context, and how language is checked."""
        model = self.chat.model
        told = {
            "model": ", ".join(sorted(self._models)),
            "licence": licence_of(self.name),
            "sampling": self.generation.as_dict(),
            "left_out": list(getattr(model, "left_out", ())),
            "num_ctx": getattr(model, "num_ctx", None),
            "language_check": "script and py3langid" if can_identify() else "script",
        }
        return {key: value for key, value in told.items() if value not in (None, "", [])}

    def question(self, asked: Asked, seed: int, attempt: int = 0) -> Question:
        """What the model is asked for a text in draw number `attempt` of the run with this seed."""
        multilingual = asked.multilingual or asked.lang.split("-")[0].split("_")[0] not in ("en", "eng")
        messages = [
            Message("system", self.prompt.instructions(multilingual=multilingual)),
            Message("user", asked.text),
        ]
        return Question(messages, self.generation.sampling(_own_seed(asked, seed), attempt), None, attempt)

    def kept(self, asked: Asked, seed: int) -> bool:
        """Whether the first answer is in the cache, or none is needed, so that the text costs nothing, or little."""
        return not asked.text.strip() or self.chat.kept(self.question(asked, seed))

    def write(
        self,
        asked: Sequence[Asked],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """See `Paraphraser.write`; many calls are in flight at once, and one text's draws one after another."""
        self._hope = Hope()
        jobs: Iterator[Callable[[], Awaitable[Paraphrase]]] = (
            partial(self._written, one, seed) for one in asked
        )
        for done, (position, paraphrase) in enumerate(as_finished(jobs, at_once=_AT_ONCE), start=1):
            hear(done)
            yield position, paraphrase

    async def _written(self, asked: Asked, seed: int) -> Paraphrase:
        if not asked.text.strip():
            return Paraphrase(asked.text, asked.lang, asked.place, asked.text, "ok", attempts=0, seed=seed)
        seconds, rejected = 0.0, list[str]()
        for attempt in count():
            question = self.question(asked, seed, attempt)
            verdict, again, took = await self._drawn(asked, question)
            seconds += took
            if verdict.outcome in REJECTED:
                rejected.append(verdict.outcome)
            if verdict.usable or not again or attempt == self.generation.retries:
                break
        return Paraphrase(
            asked.text, asked.lang, asked.place, verdict.wording, verdict.outcome, verdict.reason,
            attempt + 1, question.sampling.seed or 0, seconds, ";".join(rejected),
        )  # fmt: skip

    async def _drawn(self, asked: Asked, question: Question) -> tuple[Verdict, bool, float]:
        """What an answer is, whether another draw could be better, and the seconds that it took."""
        begun = perf_counter()
        try:
            answer = await self.chat.complete(
                question.messages, sampling=question.sampling, attempt=question.attempt
            )
        except Unanswered as error:
            self._hope.answered()
            return Verdict(_OUTCOMES[error.why], reason=str(error)), True, 0.0
        except TextRefused as error:
            self._hope.answered()
            return Verdict("refused", reason=str(error)), False, 0.0
        except ModelError as error:
            if self._hope.is_lost(begun):
                raise
            return Verdict("failed", reason=str(error)), False, 0.0
        self._hope.answered()
        self._models.add(answer.model)
        strict = self.generation.strict_length
        verdict = judged(asked.text, answer.text, lang=asked.lang, strict_length=strict)
        return verdict, True, answer.usage.seconds


def suited(chat: ChatModel, prompt: Prompt, longest: int) -> ChatModel:
    """The model as paraphrasers want it where it can be set and the user did not: without thinking, and reading texts
    of up to `longest` UTF-8 bytes whole."""
    suit = getattr(chat, "suited", None)
    if suit is None:
        return chat
    instructions = len(prompt.instructions(multilingual=True).encode())
    # Tokenizers of language models make a token of two bytes or more, whatever the language; the answer is as long.
    fitted: ChatModel = suit(tokens=(instructions + longest) // 2 + longest // 2 + 256, think=False)
    return fitted


def _own_seed(asked: Asked, seed: int) -> int:
    """The run's seed; for a text that has a place, one derived from both."""
    if not asked.place:
        return seed
    # Small enough for servers that take 31 bits, further attempts included.
    drawn = hashlib.blake2b(f"{seed}\0{asked.place}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(drawn) % 2_000_000_000
