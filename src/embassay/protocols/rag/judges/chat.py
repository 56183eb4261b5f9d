"""A language model as a judge: strict reading, another draw for what is no answer, nothing paid for twice."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from embassay.contracts import ChatMessage, ChatModel, SamplingSettings
from embassay.data.rows import truncate_to_one_line
from embassay.errors import TextRefused, Unanswered, UsageError, Why
from embassay.protocols.kernel.inputs import (
    Prompt,
    compute_fence_mark,
    fence_text_with_mark,
    make_letter_labels,
    read_packaged_prompt,
)
from embassay.protocols.rag.judges import (
    GradeVerdict,
    Passage,
    PassageOrdering,
    Question,
    make_unreadable_answers_error,
)
from embassay.randomness import draw_random_bytes
from embassay.runs.store import CachedChatModel, ChatAnswerCache, ChatCallCounts, ChatQuestion
from embassay.spec import Value
from embassay.systems.chat import fit_chat_without_thinking_to_context, open_chat_with_options
from embassay.systems.chat.answers import strip_code_fence
from embassay.systems.remote.ledger import Ledger

VERSION = "2"
"""Of the prompts and of how question and passages are laid out; raised when a word of either changes."""

Kind = Literal["grade", "order"]
KINDS: tuple[Kind, ...] = ("grade", "order")

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def load_judge_prompt(kind: Kind) -> Prompt:
    """The instructions for grading one passage, or for ordering several."""
    return Prompt(kind, VERSION, read_packaged_prompt("embassay.protocols.rag.judges", kind))


def build_grading_messages(question: Question, passage: Passage) -> list[ChatMessage]:
    """What is sent for one grade: the instructions, then the question and the passage between marked lines."""
    mark = compute_fence_mark([question.text, passage.text])
    shown = [fence_text_with_mark("question", mark, question.text), fence_text_with_mark("passage", mark, passage.text)]
    return [ChatMessage("system", load_judge_prompt("grade").text), ChatMessage("user", "\n\n".join(shown))]


def build_ordering_messages(question: Question, passages: Sequence[Passage]) -> list[ChatMessage]:
    """What is sent for one order: the instructions, then the question and the passages, labelled as they come."""
    mark = compute_fence_mark([question.text, *(passage.text for passage in passages)])
    shown = [fence_text_with_mark("question", mark, question.text)]
    for label, passage in zip(make_letter_labels(len(passages)), passages, strict=True):
        shown.append(fence_text_with_mark(f"passage {label}", mark, passage.text))
    return [ChatMessage("system", load_judge_prompt("order").text), ChatMessage("user", "\n\n".join(shown))]


GRADE_KEY = "grade"
ORDER_KEY = "order"
LOWEST, HIGHEST = 1, 5

_DECODER = json.JSONDecoder()


class MalformedJudgement(ValueError):
    """An answer that is none: `kind` of fault, and what was found, as `kind: found`."""

    def __init__(self, kind: str, found: str = "") -> None:
        super().__init__(f"{kind}: {truncate_to_one_line(found)}" if found else kind)
        self.kind = kind


@dataclass(frozen=True)
class CompletedPassageOrder:
    """An order that was made whole: positions, how many at its end the answer left out, and how many of its labels
    stood for nothing or for a second time."""

    order: tuple[int, ...]
    missing: int = 0
    unknown: int = 0


def parse_grade_answer(text: str) -> int:
    """The grade that an answer consists of.

    >>> parse_grade_answer('{"grade": 4}'), parse_grade_answer('It says so: {"grade": 5}.')
    (4, 5)
    """
    value = _parse_single_key_value(text, GRADE_KEY)
    if isinstance(value, bool):
        raise MalformedJudgement("truth value", _format_json_value(value))
    if isinstance(value, list) and not isinstance(value, _JsonObjectPairs):
        raise MalformedJudgement("several grades", _format_json_value(value))
    if isinstance(value, str):
        raise MalformedJudgement("text instead of a grade", _format_json_value(value))
    if not isinstance(value, int):
        raise MalformedJudgement("not a whole number", _format_json_value(value))
    if not LOWEST <= value <= HIGHEST:
        raise MalformedJudgement("out of range", str(value))
    return value


def parse_order_answer(text: str, labels: Sequence[str]) -> tuple[int, ...]:
    """The positions of `labels`, best first, in an answer that names each of them once.

    >>> parse_order_answer('{"order": ["B", "A"]}', ["A", "B"])
    (1, 0)
    """
    named = _parse_order_labels(text)
    places = {label: place for place, label in enumerate(labels)}
    if unknown := [label for label in named if label not in places]:
        raise MalformedJudgement("unknown label", str(unknown[0]))
    if (repeated := _find_first_repeated_name(named)) is not None:
        raise MalformedJudgement("repeated label", repeated)
    if missing := [label for label in labels if label not in set(named)]:
        raise MalformedJudgement("missing label", ", ".join(missing))
    return tuple(places[label] for label in named)


def _find_first_repeated_name(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def parse_partial_order_answer(text: str, labels: Sequence[str]) -> CompletedPassageOrder:
    """The order in an answer, what is left out put at its end as it was shown and what is unknown dropped;
    MalformedJudgement for an answer that names none of the labels.

    >>> parse_partial_order_answer('{"order": ["C", "X"]}', ["A", "B", "C"])
    CompletedPassageOrder(order=(2, 0, 1), missing=2, unknown=1)
    """
    named = _parse_order_labels(text)
    places = {label: place for place, label in enumerate(labels)}
    named_places = list(dict.fromkeys(places[label] for label in named if label in places))
    if not named_places:
        raise MalformedJudgement("unknown label", str(named[0]) if named else "none")
    left_out = [place for place in range(len(labels)) if place not in set(named_places)]
    return CompletedPassageOrder((*named_places, *left_out), len(left_out), len(named) - len(named_places))


def _parse_order_labels(text: str) -> list[str]:
    value = _parse_single_key_value(text, ORDER_KEY)
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise MalformedJudgement("not a list of labels", _format_json_value(value))
    return value


def _parse_single_key_value(text: str, key: str) -> Any:
    """The value of the object's only key."""
    pairs = _parse_json_object_pairs(text)
    values = [value for name, value in pairs if name == key]
    if not values:
        raise MalformedJudgement(f"no {key}", ", ".join(name for name, _ in pairs) or "an empty object")
    if len(values) > 1:
        raise MalformedJudgement("several grades" if key == GRADE_KEY else "several orders", _format_json_value(values))
    if len(pairs) > 1:
        others = [name for name, _ in pairs if name != key]
        raise MalformedJudgement("more keys than requested", ", ".join(others))
    return values[0]


def _parse_json_object_pairs(text: str) -> list[tuple[str, Any]]:
    """The names and values of the one JSON object in an answer, repeated names too."""
    text = strip_code_fence(text)
    if not text:
        raise MalformedJudgement("empty")
    try:
        value = json.loads(text, object_pairs_hook=_JsonObjectPairs)
    except (ValueError, RecursionError):
        value = _find_json_object(text)
    if not isinstance(value, _JsonObjectPairs):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        raise MalformedJudgement("a number without a key" if is_number else "no JSON object", text)
    return list(value)


def _find_json_object(text: str) -> Any:
    """The one object among words; MalformedJudgement where there is none, or more that could be meant."""
    start = text.find("{")
    try:
        value, end = _PAIRS_DECODER.raw_decode(text, start) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        value, end = None, 0
    if not isinstance(value, _JsonObjectPairs) or "{" in text[end:]:
        raise MalformedJudgement(_describe_answer_without_json(text), text)
    return value


class _JsonObjectPairs(list[tuple[str, Any]]):
    """What an object holds, in place of a dictionary that would forget a repeated name."""


_PAIRS_DECODER = json.JSONDecoder(object_pairs_hook=_JsonObjectPairs)
_PLACEHOLDER = re.compile(r"\{+\s*[A-Za-z_][\w ]*\}\W*")
_STATED = re.compile(
    r"\b(?:category|score|grade|rating|relevance|rate[^.]{0,40}? as)\b\W{0,6}(?:is|of|as|would be)?\W{0,4}\d",
    re.IGNORECASE,
)
_LONG = 12
"""Words from which on an answer can be told to go round in circles."""


def _describe_answer_without_json(text: str) -> str:
    """The shape of an answer without JSON: a placeholder of the prompt, a grade in words, one thing over and over."""
    if _PLACEHOLDER.fullmatch(text):
        return "a placeholder"
    start = text.find("{")
    if start < 0:
        parts = text.split()
        if not any(sign.isalnum() for sign in text) or (len(parts) >= _LONG and len(set(parts)) <= len(parts) // 4):
            return "repetition"
        return "a grade in words" if _STATED.search(text) or re.match(r"\W*\d", text) else "no JSON"
    try:
        _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return "broken or cut JSON"
    return "text around the JSON"


def _format_json_value(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "lists in lists"


T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

_DRAWS = 1_000
"""More than there are attempts at one draw: the draw and the attempt together number an answer in the cache."""


@dataclass(frozen=True)
class ChatJudgeOptions:
    """How a model judges: sampling, the `attempts` at one answer, and whether its words are read as they are (`free`)
    or the server binds them to a JSON schema (`schema`, for small models)."""

    temperature: float = 1.0
    top_p: float = 1.0
    answers: Literal["free", "schema"] = "free"
    attempts: int = 6

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1 or not 1 <= self.attempts < _DRAWS:
            raise UsageError(
                f"A judge cannot use temperature={self.temperature}, top_p={self.top_p}, attempts={self.attempts}.",
                mend="Use a temperature from 0 to 2, a top_p above 0 and at most 1, and at least 1 attempt.",
            )


class ChatJudge:
    """`chat` as a judge. `seed` names its draws; `sleep` waits between attempts (tests pass their own)."""

    repeats = True
    """Whether a further draw is a judgement of its own."""

    def __init__(
        self,
        chat: CachedChatModel,
        options: ChatJudgeOptions = ChatJudgeOptions(),
        *,
        seed: int = 1337,
        name: str = "",
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._chat, self.options, self._seed, self._sleep = chat, options, seed, sleep
        self.name = name or chat.name
        identities = " ".join(load_judge_prompt(kind).identity for kind in KINDS)
        self.identity = (
            f"judge/2:{chat.identity} {identities} temperature={options.temperature:g} top_p={options.top_p:g} "
            f"answers={options.answers} seed={seed}"
        )
        self._models: set[str] = set()

    @property
    def model(self) -> ChatModel:
        """The model that answers, with its price and limits."""
        return self._chat.model

    @property
    def counts(self) -> ChatCallCounts:
        """The counts of answers from the model and the cache, and of calls that failed for good."""
        return self._chat.counts

    def about(self) -> Mapping[str, Any]:
        """Describe the judge: the model as its server names it, sampling, prompts."""
        return {
            "model": ", ".join(sorted(self._models)) or self._chat.name,
            "temperature": self.options.temperature,
            "top_p": self.options.top_p,
            "answers": self.options.answers,
            "attempts": self.options.attempts,
            "prompts": {kind: load_judge_prompt(kind).identity for kind in KINDS},
            "left_out": list(getattr(self._chat.model, "left_out", ())),
        }

    def close(self) -> None:
        """Release the cache of answers."""
        self._chat.cache.close()

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> GradeVerdict:
        """Grade how well the passage answers the question, see `Judge.grade`."""
        call = _JudgementCall(build_grading_messages(question, passage), GRADE, draw, (question.id, passage.id))
        grade, rejected = await self._ask_until_readable(call, parse_grade_answer)
        return GradeVerdict(grade, len(rejected) + 1, rejected)

    async def order(
        self, question: Question, passages: Sequence[Passage], *, draw: int = 0, repair: bool = False
    ) -> PassageOrdering:
        """Order the passages for the question, best first, as a judge does."""
        names = make_letter_labels(len(passages))
        about = (question.id, *(passage.id for passage in passages))
        call = _JudgementCall(build_ordering_messages(question, passages), ORDER, draw, about)
        read = partial(parse_partial_order_answer if repair else _parse_complete_order, labels=names)
        mended, rejected = await self._ask_until_readable(call, read)
        return PassageOrdering(mended.order, len(rejected) + 1, rejected, mended.missing, mended.unknown)

    async def _ask_until_readable(self, call: _JudgementCall, read: Callable[[str], T]) -> tuple[T, tuple[str, ...]]:
        """What the first answer says that can be read, and what was wrong with those before it."""
        rejected: list[str] = []
        why: Why = "empty"
        for attempt in range(self.options.attempts):
            asked = self._make_judge_chat_question(call, attempt)
            if attempt and not self._chat.is_answer_cached(asked):
                await self._sleep(self._draw_judge_retry_wait_seconds(call, attempt - 1))
            try:
                return read(await self._get_chat_answer_text(asked)), tuple(rejected)
            except MalformedJudgement as error:
                rejected.append(str(error))
            except Unanswered as error:
                why = error.why
                rejected.append(f"{error.why}: {error.message}")
            except TextRefused as error:
                # Bound to a schema, an answer that does not fit even when asked for again is such a refusal.
                if self.options.answers == "free":
                    raise
                rejected.append(f"does not match the schema: {error.message}")
        raise make_unreadable_answers_error(self.name, rejected, why)

    async def _get_chat_answer_text(self, asked: ChatQuestion) -> str:
        answer = await self._chat.complete(
            asked.messages, sampling=asked.sampling, schema=asked.schema, attempt=asked.attempt
        )
        self._models.add(answer.model)
        return answer.text

    def _make_judge_chat_question(self, call: _JudgementCall, attempt: int) -> ChatQuestion:
        number = call.draw * _DRAWS + attempt
        # A seed of its own for every passage: with one for all, the grades of a draw would move together.
        drawn = draw_random_bytes(4, self._seed, "judge", *call.about, str(call.draw), str(attempt))
        seed = int.from_bytes(drawn) >> 1  # 31 bits, which is what servers take
        sampling = SamplingSettings(self.options.temperature, self.options.top_p, seed)
        return ChatQuestion(call.messages, sampling, call.schema if self.options.answers == "schema" else None, number)

    def _draw_judge_retry_wait_seconds(self, call: _JudgementCall, attempt: int) -> float:
        """Seconds after an attempt that brought no answer: min(8, 0.5 x 2^attempt + U(0, 0.25))."""
        drawn = draw_random_bytes(4, self._seed, "judge wait", *call.about, str(call.draw), str(attempt))
        return min(8.0, 0.5 * 2.0**attempt + 0.25 * int.from_bytes(drawn) / 2**32)


@dataclass(frozen=True)
class _JudgementCall:
    """One judgement that is asked for: what is sent, the schema of its answer, the number of the draw, and the ids that
    it is `about`."""

    messages: Sequence[ChatMessage]
    schema: Any
    draw: int
    about: tuple[str, ...]


def _parse_complete_order(text: str, labels: Sequence[str]) -> CompletedPassageOrder:
    return CompletedPassageOrder(parse_order_answer(text, labels))


# Its name is in the schema that the model is asked with, so in the key of every kept answer: it stays.
class GradeAnswer(BaseModel):
    """One grade; the field's name is `prompts.GRADE_KEY`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grade: int = Field(ge=1, le=5)


# Its name is in the schema that the model is asked with, so in the key of every kept answer: it stays.
class OrderAnswer(BaseModel):
    """Labels, best first; the field's name is `prompts.ORDER_KEY`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: list[str]


GRADE, ORDER = GradeAnswer, OrderAnswer


_LONGEST = 48_000
"""Bytes of question and passages where nobody says: eight of them of 6,000."""
_ANSWER = 1_024


def open_llm_judge(
    target: str,
    *,
    ledger: Ledger | None = None,
    cache: ChatAnswerCache | Path | None = None,
    seed: int = 1337,
    longest: int | None = None,
    **parameters: Value,
) -> ChatJudge:
    """The model that `target` names (`openai:gpt-5-mini`). Of its parameters those of `ChatJudgeOptions` say how it
    judges, the others belong to the model."""
    if not target:
        raise UsageError("The judge 'llm' needs a language model.", mend="Write llm:ollama:gemma3:27b.")
    chat, options, name = open_chat_with_options(target, ChatJudgeOptions, parameters, ledger=ledger)
    chat = adapt_chat_for_judging(chat, longest or _LONGEST)
    answers = cache if isinstance(cache, ChatAnswerCache) else ChatAnswerCache.open(cache)
    return ChatJudge(CachedChatModel(chat, answers), options, seed=seed, name=name)


def adapt_chat_for_judging(chat: ChatModel, longest: int) -> ChatModel:
    """The model as a judge wants it where it can be set and the user did not: without thinking, and reading questions
    with passages of so many UTF-8 bytes whole."""
    instructions = max(len(load_judge_prompt(kind).text.encode()) for kind in KINDS)
    # Tokenizers of language models make a token of two bytes or more, whatever the language.
    return fit_chat_without_thinking_to_context(chat, (instructions + longest) // 2 + _ANSWER)
