"""Language models that answer from passages, and that grade answers: their prompts, and how what they say is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from embassay.contracts import ChatMessage, ChatModel, Completion, SamplingSettings
from embassay.errors import Unanswered, UsageError, Why
from embassay.protocols.kernel.inputs import Prompt, compute_fence_mark, fence_text_with_mark, read_packaged_prompt
from embassay.protocols.rag.judges import Question, make_unreadable_answers_error
from embassay.randomness import draw_random_bytes
from embassay.runs.store import CachedChatModel, ChatAnswerCache
from embassay.spec import Value
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat_with_options
from embassay.systems.chat.answers import UnfitAnswerError, extract_answer_json, strip_code_fence
from embassay.systems.remote.ledger import Ledger

VERSION = "1"
"""Of the prompts and of how questions and passages are laid out; raised when a word of either changes."""
Kind = Literal["answer", "correct"]
RIGHT = "right"
READY = "Before you answer: say the one word READY, and nothing else."
"""What is asked for the time of a first word: all is read as for an answer, and next to nothing is written."""
_ABSTAINED = re.compile(r"[\s\"'*`.]*no answer[\s\"'*`.!]*", re.IGNORECASE)
_VOID = re.compile(r"\W*(?:yes|no|the|my|an?|final|your)?\W*answers?\W*(?:is|here)?\W*", re.IGNORECASE)
_CONTEXT = 16_384


@cache
def load_answer_or_grade_prompt(kind: Kind) -> Prompt:
    """The instructions for answering, or for grading an answer."""
    return Prompt(kind, VERSION, read_packaged_prompt("embassay.protocols.rag.answers", kind))


def build_answer_messages(question: Question, passages: Sequence[str], more: str = "") -> list[ChatMessage]:
    """What is sent for an answer: the instructions, then the passages best first, then the question."""
    mark = compute_fence_mark([question.text, *passages])
    shown = [fence_text_with_mark(f"passage {number}", mark, text) for number, text in enumerate(passages, start=1)]
    shown += [fence_text_with_mark("question", mark, question.text), *([more] if more else [])]
    return [ChatMessage("system", load_answer_or_grade_prompt("answer").text), ChatMessage("user", "\n\n".join(shown))]


def build_answer_grade_messages(question: Question, reference: Sequence[str], answer: str) -> list[ChatMessage]:
    """What is sent for the grade of an answer."""
    mark = compute_fence_mark([question.text, answer, *reference])
    shown = [
        fence_text_with_mark("question", mark, question.text),
        *(fence_text_with_mark("reference", mark, text) for text in reference),
    ]
    return [
        ChatMessage("system", load_answer_or_grade_prompt("correct").text),
        ChatMessage("user", "\n\n".join([*shown, fence_text_with_mark("answer", mark, answer)])),
    ]


def is_abstaining_answer(text: str) -> bool:
    """Whether an answer is that there is none.

    >>> is_abstaining_answer("NO ANSWER."), is_abstaining_answer("There is no answer to that in passage 2.")
    (True, False)
    """
    return _ABSTAINED.fullmatch(text) is not None


def is_contentless_answer(text: str) -> bool:
    """Whether an answer speaks of an answer and gives none, as small models do that abstain: graders call such an
    answer right once and wrong once.

    >>> (is_contentless_answer("YES ANSWER"), is_contentless_answer("Answer:"), is_contentless_answer("Yes."),
    ... is_contentless_answer("The answer is 42."))
    (True, True, False, False)
    """
    return not is_abstaining_answer(text) and _VOID.fullmatch(text) is not None


class MalformedGrade(ValueError):
    """What a grader said that is no grade, and why."""


def parse_answer_grade(text: str) -> bool:
    """Whether an answer is right by what its grader said: one JSON object with `right` alone, also among words.
    MalformedGrade otherwise.

    >>> parse_answer_grade('{"right": false}'), parse_answer_grade('It agrees: {"right": true}.')
    (False, True)
    """
    text = strip_code_fence(text)
    try:
        # The last words too: an answer that gives two grades gives none.
        said = extract_answer_json(text)
        graded = json.loads(said) if "{" not in text.replace(said, "", 1) else None
    except (UnfitAnswerError, ValueError, RecursionError):
        raise MalformedGrade("no JSON object" if text else "empty") from None
    if not isinstance(graded, dict) or set(graded) != {RIGHT} or not isinstance(graded[RIGHT], bool):
        raise MalformedGrade(f"not an object with only {RIGHT!r}: true or false")
    return bool(graded[RIGHT])


@dataclass(frozen=True)
class AnswerSamplingOptions:
    """How a model answers or grades: sampling, the longest answer in tokens, and the `attempts` at one that can be
    read."""

    temperature: float = 0.0
    top_p: float = 1.0
    output_tokens: int = 200
    attempts: int = 6

    def __post_init__(self) -> None:
        wrong = not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1
        if wrong or self.attempts < 1 or self.output_tokens < 1:
            raise UsageError(
                f"A generator cannot use {', '.join((f'{k}={v}' for k, v in asdict(self).items()))}.",
                mend=("Use a temperature from 0 to 2, a top_p above 0 and at most 1, and at least 1 for the others."),
            )


@dataclass(frozen=True)
class ModelAnswer:
    """What a model answered; `seconds` are those of the call that brought it, when it was made, and `tokens` what it
    wrote then."""

    text: str
    seconds: float
    tokens: int

    @property
    def is_abstention(self) -> bool:
        """Whether it says that the passages hold no answer."""
        return is_abstaining_answer(self.text)

    @property
    def is_contentless(self) -> bool:
        """Whether it speaks of an answer and gives none."""
        return is_contentless_answer(self.text)


class CachedAnswererAndAnswerGrader:
    """`chat` behind its cache, answering from passages and grading answers; `seed` names its draws."""

    def __init__(
        self,
        chat: CachedChatModel,
        options: AnswerSamplingOptions = AnswerSamplingOptions(),
        *,
        seed: int = 1337,
        name: str = "",
    ) -> None:
        self._chat, self.options, self._seed = chat, options, seed
        self.name = name or chat.name

    def identity(self, kind: Kind) -> str:
        """Everything that its answers, or its grades, depend on."""
        knobs = " ".join(f"{key}={value:g}" for key, value in asdict(self.options).items())
        return f"answers/1:{self._chat.identity} {load_answer_or_grade_prompt(kind).identity} {knobs} seed={self._seed}"

    @property
    def model(self) -> ChatModel:
        """The model that answers, with its price and limits."""
        return self._chat.model

    @property
    def chat(self) -> CachedChatModel:
        """The model with its cache, and what it was asked."""
        return self._chat

    def close(self) -> None:
        """Release the cache of answers."""
        self._chat.cache.close()

    async def answer(self, question: Question, passages: Sequence[str]) -> ModelAnswer:
        """An answer from the passages. Unanswered where every attempt brought none."""
        return await self._ask_until_answered(build_answer_messages(question, passages))

    async def answer_with_one_word(self, question: Question, passages: Sequence[str]) -> ModelAnswer:
        """Answer with one word after reading the same, which takes the time to a first token."""
        return await self._ask_until_answered(build_answer_messages(question, passages, READY))

    async def is_right(self, question: Question, reference: Sequence[str], answer: str) -> bool:
        """Whether the answer is right by the reference. Unanswered where no attempt brought a grade."""
        messages, rejected = build_answer_grade_messages(question, reference, answer), []
        why: Why = "empty"
        for attempt in range(self.options.attempts):
            try:
                return parse_answer_grade((await self._complete_chat(messages, attempt)).text)
            except MalformedGrade as error:
                rejected.append(str(error))
            except Unanswered as error:
                why = error.why
                rejected.append(f"{error.why}: {error.message}")
        raise make_unreadable_answers_error(self.name, rejected, why)

    async def _ask_until_answered(self, messages: Sequence[ChatMessage]) -> ModelAnswer:
        failure: Unanswered | None = None
        for attempt in range(self.options.attempts):
            try:
                completion = await self._complete_chat(messages, attempt)
                return ModelAnswer(completion.text, completion.usage.seconds, completion.usage.output_tokens)
            except Unanswered as error:
                failure = error
        assert failure is not None
        raise failure

    async def _complete_chat(self, messages: Sequence[ChatMessage], attempt: int) -> Completion:
        return await self._chat.complete(messages, sampling=self.build_sampling_for_attempt(attempt), attempt=attempt)

    def build_sampling_for_attempt(self, attempt: int) -> SamplingSettings:
        """How the draw of an attempt is asked for."""
        # 31 bits, which is what servers take.
        seed = int.from_bytes(draw_random_bytes(4, self._seed, "answer", str(attempt))) >> 1
        options = self.options
        return SamplingSettings(options.temperature, options.top_p, seed, options.output_tokens)

    def about(self) -> Mapping[str, Any]:
        """Describe the model for a manifest."""
        return {"model": self._chat.name, **asdict(self.options)}


def open_answerer(
    target: str,
    *,
    ledger: Ledger | None = None,
    cache: ChatAnswerCache | Path | None = None,
    seed: int = 1337,
    longest: int | None = None,
    **parameters: Value,
) -> CachedAnswererAndAnswerGrader:
    """The model that `target` names (`openai:gpt-5-mini`) as one that answers and grades. Of its parameters those of
    `AnswerSamplingOptions` say how,
    the others belong to the model; `longest` is `output_tokens` where it names none."""
    if longest is not None and "output_tokens" not in target:
        parameters["output_tokens"] = longest
    chat, options, name = open_chat_with_options(target, AnswerSamplingOptions, parameters, ledger=ledger)
    chat = fit_chat_without_thinking_to_context(chat, _CONTEXT)
    answers = cache if isinstance(cache, ChatAnswerCache) else ChatAnswerCache.open(cache)
    return CachedAnswererAndAnswerGrader(CachedChatModel(chat, answers), options, seed=seed, name=name)
