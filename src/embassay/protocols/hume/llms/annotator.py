"""A language model that answers items: the form of an answer, what counts as one, and one retry for what is none.

Anything else is Unread, and is asked for once more: which of two labels is meant, or which number of a sentence, would
be a guess.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from string import Template
from time import perf_counter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from embassay.contracts import ChatMessage, Completion, SamplingSettings, Usage
from embassay.data.rows import truncate_to_one_line
from embassay.errors import ModelError, TextRefused, Unanswered, UsageError
from embassay.limits import parse_bounded_json
from embassay.protocols.hume.llms.answers import LlmAnswerRow, Status
from embassay.protocols.hume.options import Mode
from embassay.protocols.hume.study import Label, LabelChoice, RatingScale, StudyItem, StudyTask
from embassay.protocols.kernel.inputs import (
    Prompt,
    compute_fence_mark,
    fence_text_with_mark,
    make_letter_labels,
    read_packaged_prompt,
)
from embassay.randomness import draw_random_bytes
from embassay.runs.execution import ModelLossDetector
from embassay.runs.store import CachedChatModel, ChatQuestion
from embassay.systems.chat.answers import strip_code_fence
from embassay.systems.chat.server import AnswerNeverFitSchema
from embassay.systems.remote import iterate_finished_jobs
from embassay.systems.remote.ledger import TokenPrice


@dataclass(frozen=True)
class LlmAnnotatorOptions:
    """How a model answers: its temperature (left out, with a warning, where a model takes none), and whether the server
    binds answers to a JSON schema where it can (`schema`) or they are read as they come (`free`)."""

    temperature: float = 0.0
    answers: Literal["schema", "free"] = "schema"

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise UsageError(f"The temperature is {self.temperature}.", mend="Use a number from 0 to 2.")


VERSION = "1"
"""Of the texts and of how items are laid out; raised when a word of either changes."""

Kind = Literal["classification", "sts", "ranking", "binary"]
KINDS: tuple[Kind, ...] = ("classification", "sts", "ranking", "binary")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def choose_answer_kind(task: StudyTask, mode: Mode) -> Kind:
    """How the answer to an item of the task is to look; KeyError for clustering, which is not asked."""
    kinds: Mapping[str, Kind] = {
        "classification": "classification",
        "sts": "sts",
        "reranking": "binary" if mode == "binary" else "ranking",
    }
    return kinds[task.family]


def task_prompt(task: StudyTask, mode: Mode) -> Prompt:
    """The instructions for a task."""
    kind, scale = choose_answer_kind(task, mode), task.scale or RatingScale()
    told = Template(read_packaged_prompt("embassay.protocols.hume.llms", kind)).substitute(
        title=task.title, question=task.question, guidelines=task.guidelines.strip(),
        choices=_describe_answer_choices(task),
        low=f"{scale.low:g}", high=f"{scale.high:g}"
    )  # fmt: skip
    return Prompt(kind, VERSION, told)


def build_item_messages(task: StudyTask, mode: Mode, payload: Mapping[str, Any]) -> list[ChatMessage]:
    """What is sent for one item: the instructions, and the item between marked lines."""
    return [
        ChatMessage("system", task_prompt(task, mode).text),
        ChatMessage("user", format_item_for_llm(task, payload)),
    ]


def format_item_for_llm(task: StudyTask, payload: Mapping[str, Any]) -> str:
    """An item as the model sees it."""
    if task.family == "reranking":
        documents = payload["documents"]
        texts = [
            (f"document {at}", document["text"])
            for at, document in zip(make_letter_labels(len(documents)), documents, strict=True)
        ]
        return _join_fenced_texts([("query", payload["query"]), *texts])
    names = ("text1", "text2") if task.family == "sts" else ("text",)
    return _join_fenced_texts([(name, payload[name]) for name in names])


def _describe_answer_choices(task: StudyTask) -> str:
    """The labels with what they mean, or the levels of the scale: a line each."""
    if task.family == "classification":
        named = [(label.name, label.description) for label in task.labels]
    elif task.family == "sts":
        scale = task.scale or RatingScale()
        ends = (f"{scale.low:g}", f"{scale.high:g}")
        named = sorted(scale.anchors.items(), key=lambda pair: float(pair[0])) or [(end, "") for end in ends]
    else:
        named = []
    return "\n".join(f"- {name}: {meaning}" if meaning else f"- {name}" for name, meaning in named)


def _join_fenced_texts(parts: Sequence[tuple[str, str]]) -> str:
    mark = compute_fence_mark([text for _, text in parts])
    return "\n\n".join(fence_text_with_mark(name, mark, text) for name, text in parts)


ATTEMPTS = 2
"""An answer and one retry (spec hume 8.1)."""
_DRAWS = 1_000
"""More than there are attempts: run and attempt together number an answer in the cache."""
_AT_ONCE = 256


@dataclass(frozen=True)
class ItemAnnotationRequest:
    """An item to be answered in a run."""

    task: StudyTask
    item: StudyItem
    run: int


class LlmAnnotator:
    """`chat` as an annotator by the name `name`; `seed` names its draws."""

    def __init__(
        self, chat: CachedChatModel, mode: Mode, options: LlmAnnotatorOptions, *, seed: int = 1337, name: str = ""
    ) -> None:
        self.chat, self.mode, self.options, self._seed = chat, mode, options, seed
        self.name = name or chat.name
        self.models: set[str] = set()
        """What the server calls itself."""
        self._hope = ModelLossDetector()

    @property
    def token_price(self) -> TokenPrice | None:
        """The price of the model's tokens; None where it is not known."""
        price = getattr(self.chat.model, "price", None)
        return price if isinstance(price, TokenPrice) else None

    def question(self, ask: ItemAnnotationRequest) -> ChatQuestion:
        """Build the first question to the model about an item."""
        return self._build_question(
            ask, build_item_messages(ask.task, self.mode, ask.item.payload), 0, self._build_answer_format_of_item(ask)
        )

    def answers(
        self, asks: Sequence[ItemAnnotationRequest], hear: Callable[[int], None] = lambda _: None
    ) -> Iterator[LlmAnswerRow]:
        """A row for each, as it comes; many calls are in flight at once. `hear` gets 1 for each.

        BudgetExceeded, and the ModelError of a model that cannot be had, come after what was in flight.
        """
        self._hope = ModelLossDetector()
        for _, row in iterate_finished_jobs((partial(self.answered, ask) for ask in asks), at_once=_AT_ONCE):
            hear(1)
            yield row

    async def answered(self, ask: ItemAnnotationRequest) -> LlmAnswerRow:
        """Answer one item with the model; ModelError once too many calls have failed."""
        tried = _AnnotationAttempts(build_item_messages(ask.task, self.mode, ask.item.payload))
        for attempt in range(ATTEMPTS):
            row = await self._attempt_annotation(ask, attempt, tried)
            if row is not None:
                return row
        return self._make_row_after_giving_up(ask, tried)

    async def _attempt_annotation(
        self, ask: ItemAnnotationRequest, attempt: int, tried: _AnnotationAttempts
    ) -> LlmAnswerRow | None:
        """Ask the model once about an item; its row, or None where it must be asked again."""
        shape, begun = self._build_answer_format_of_item(ask), perf_counter()
        try:
            answer = await self._ask_chat_model(self._build_question(ask, tried.talk, attempt, shape))
        except AnswerNeverFitSchema as error:
            # The model was told what was wrong there, and had its retry.
            self._hope.answered()
            tried.reason = error.message
            return self._make_row_after_giving_up(ask, tried)
        except Unanswered as error:
            self._hope.answered()
            tried.reason = error.message
            return None
        except TextRefused as error:
            self._hope.answered()
            return self._make_llm_answer_row(ask, tried, "failed", reason=error.message)
        except ModelError as error:
            if self._hope.is_model_lost_after_failure(begun):
                raise
            return self._make_llm_answer_row(ask, tried, "failed", reason=error.message)
        tried.hear(answer)
        return self._make_row_from_answer_or_reject(ask, shape, tried)

    def _make_row_from_answer_or_reject(
        self, ask: ItemAnnotationRequest, shape: LlmAnswerFormat, tried: _AnnotationAttempts
    ) -> LlmAnswerRow | None:
        try:
            read = shape.read(tried.text)
        except UnreadableLlmAnswerError as error:
            tried.add_rejection_to_conversation(str(error), str(error))
            return None
        if not read.lacking:
            return self._make_llm_answer_row(ask, tried, "ok", read.value)
        # The first order that lacks documents is kept: the retry may bring one that lacks more.
        tried.best = tried.best or read
        tried.add_rejection_to_conversation(read.lacking, f"of the letters {read.lacking}; give each exactly once")
        return None

    def _make_row_after_giving_up(self, ask: ItemAnnotationRequest, tried: _AnnotationAttempts) -> LlmAnswerRow:
        if tried.best is not None:
            return self._make_llm_answer_row(ask, tried, "completed", tried.best.value, tried.best.lacking)
        return self._make_llm_answer_row(ask, tried, "unparsed", reason=tried.reason)

    async def _ask_chat_model(self, question: ChatQuestion) -> Completion:
        answer = await self.chat.complete(
            question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
        )
        self._hope.answered()
        self.models.add(answer.model)
        return answer

    def _build_answer_format_of_item(self, ask: ItemAnnotationRequest) -> LlmAnswerFormat:
        return make_llm_answer_format(ask.task, self.mode, ask.item.payload)

    def _build_question(
        self, ask: ItemAnnotationRequest, talk: Sequence[ChatMessage], attempt: int, shape: LlmAnswerFormat
    ) -> ChatQuestion:
        # 31 bits, which is what servers take.
        drawn = draw_random_bytes(4, self._seed, "hume llm", str(ask.run), str(attempt))
        sampling = SamplingSettings(self.options.temperature, None, int.from_bytes(drawn) >> 1)
        schema = shape.schema if self.options.answers == "schema" else None
        # The draw's number tells run and attempt apart in the answer cache: at temperature 0 the question is the
        # same.
        return ChatQuestion(talk, sampling, schema, ask.run * _DRAWS + attempt)

    def _make_llm_answer_row(
        self,
        ask: ItemAnnotationRequest,
        tried: _AnnotationAttempts,
        status: Status,
        value: Any = None,
        reason: str = "",
    ) -> LlmAnswerRow:
        used = tried.usage
        usd = None if self.token_price is None else self.token_price.usd(used.input_tokens, used.output_tokens)
        return LlmAnswerRow(
            model=self.name, item_id=ask.item.id, task=ask.task.name, run=ask.run, mode=self.mode, status=status,
            value=value, text=tried.text, prompt=task_prompt(ask.task, self.mode).identity, reason=reason, usd=usd,
            tokens_in=used.input_tokens, tokens_out=used.output_tokens
        )  # fmt: skip


@dataclass
class _AnnotationAttempts:
    """What the attempts at an item have come to: the conversation, the tokens of all, the last text, what was wrong
    with it, and an answer that can be used if nothing better comes."""

    talk: list[ChatMessage]
    text: str = ""
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    best: ParsedLlmAnswer | None = None

    def hear(self, answer: Completion) -> None:
        """Note an answer of the model and the tokens that it took."""
        self.text = answer.text
        self.usage = self.usage + answer.usage

    def add_rejection_to_conversation(self, reason: str, told: str) -> None:
        """Note that an answer was rejected, and tell the model why in the conversation."""
        self.reason = reason
        ask = f"That answer cannot be used: {told}. Answer again, in the form that was asked for, with nothing else."
        self.talk = [*self.talk, ChatMessage("assistant", self.text), ChatMessage("user", ask)]


_STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class ParsedLlmAnswer:
    """The value of an answer; `lacking` says what had to be added to it, "" for one that is whole."""

    value: Any
    lacking: str = ""


@dataclass(frozen=True)
class LlmAnswerFormat:
    """The form of a model's answer: a schema, and how it is read; `read` may raise Unread."""

    schema: type[BaseModel]
    read: Callable[[str], ParsedLlmAnswer]


def make_llm_answer_format(task: StudyTask, mode: Mode, payload: Mapping[str, Any]) -> LlmAnswerFormat:
    """The form of the answer to an item of a task."""
    kind = choose_answer_kind(task, mode)
    if kind == "classification":
        named = {"enum": [label.name for label in task.labels]}
        return LlmAnswerFormat(_make_answer_model_class(LABEL, str, named), partial(_parse_label_answer, task))
    if kind == "sts":
        scale = task.scale or RatingScale()
        ends = {"minimum": scale.low, "maximum": scale.high}
        return LlmAnswerFormat(_make_answer_model_class(RATING, float, ends), partial(_parse_rating_answer, scale))
    names = make_letter_labels(len(payload["documents"]))
    listed = {"items": {"type": "string", "enum": names}}
    if kind == "ranking":
        return LlmAnswerFormat(
            _make_answer_model_class(RANKING, list[str], listed), partial(_parse_document_order, names)
        )
    return LlmAnswerFormat(
        _make_answer_model_class(RELEVANT, list[str], listed), partial(_parse_relevance_marks, names)
    )


def _make_answer_model_class(name: str, kind: Any, told: dict[str, Any]) -> type[BaseModel]:
    """A server hears also which values there are (`told`); whether an answer keeps to them is for `read` to say, which
    knows what can still be used of one that does not."""
    field = Field(json_schema_extra=told)
    # It is in the key of every kept answer.
    title = f"{name.capitalize()}Answer"
    fields: dict[str, Any] = {name: (kind, field)}
    return create_model(title, __config__=_STRICT, **fields)


def _parse_label_answer(task: StudyTask, text: str) -> ParsedLlmAnswer:
    return ParsedLlmAnswer(read_label_from_answer(text, task.labels))


def _parse_rating_answer(scale: RatingScale, text: str) -> ParsedLlmAnswer:
    return ParsedLlmAnswer(read_rating_from_answer(text, scale))


def _parse_document_order(names: list[str], text: str) -> ParsedLlmAnswer:
    order = read_document_order(text, names)
    faults = [
        f"{count} {what}"
        for count, what in ((order.missing, "missing"), (order.unknown, "unknown or repeated"))
        if count
    ]
    return ParsedLlmAnswer(list(order.places), ", ".join(faults))


def _parse_relevance_marks(names: list[str], text: str) -> ParsedLlmAnswer:
    return ParsedLlmAnswer(list(read_relevance_marks(text, names)))


LABEL, RATING, RANKING, RELEVANT = "label", "rating", "ranking", "relevant"
"""The field of each kind of answer."""
_SHOWN = 80


class UnreadableLlmAnswerError(ValueError):
    """An answer that is none; says what is wrong with it, for the model too."""


@dataclass(frozen=True)
class DocumentOrder:
    """Places of documents (from 0), best first; `missing` of them were not named and are put at the end as shown, and
    `unknown` names stood for nothing or for a second time."""

    places: tuple[int, ...]
    missing: int = 0
    unknown: int = 0


def read_label_from_answer(text: str, labels: Sequence[LabelChoice]) -> Label:
    """The stored value of the label that an answer names, in any case.

    >>> read_label_from_answer('{"label": "joy"}',
    ... [LabelChoice(value=1, name="Joy"), LabelChoice(value=0, name="sadness")])
    1
    """
    said = _parse_only_field_of_llm_answer(text, LABEL)
    if isinstance(said, bool) or not isinstance(said, str | int):
        raise UnreadableLlmAnswerError(f"the label is {_shorten_json(said)}, not a name")
    wanted = str(said).strip()
    exact = [label.value for label in labels if label.name == wanted]
    # Some models answer with the stored value where it is a word too.
    same = exact or [label.value for label in labels if label.name.casefold() == wanted.casefold()]
    same = same or [label.value for label in labels if str(label.value).casefold() == wanted.casefold()]
    if len(same) != 1:
        raise UnreadableLlmAnswerError(
            f"{_shorten_json(said)} is not one of {', '.join(label.name for label in labels)}"
        )
    return same[0]


def read_rating_from_answer(text: str, scale: RatingScale) -> float:
    """The number in an answer, on the scale; numbers between its steps count.

    >>> read_rating_from_answer('{"rating": 3.5}', RatingScale()), read_rating_from_answer("4", RatingScale())
    (3.5, 4.0)
    """
    rating = _parse_only_field_of_llm_answer(text, RATING)
    if isinstance(rating, str):
        rating = _parse_number_or_text(rating)
    if isinstance(rating, bool) or not isinstance(rating, int | float) or not math.isfinite(rating):
        raise UnreadableLlmAnswerError(f"the rating is {_shorten_json(rating)}, not a number")
    if not scale.low <= rating <= scale.high:
        raise UnreadableLlmAnswerError(f"the rating {rating:g} is not from {scale.low:g} to {scale.high:g}")
    return float(rating)


def read_document_order(text: str, names: Sequence[str]) -> DocumentOrder:
    """The order in an answer, made whole where it is not; Unread where it names no document at all.

    >>> read_document_order('{"ranking": ["C", "X"]}', ["A", "B", "C"])
    DocumentOrder(places=(2, 0, 1), missing=2, unknown=1)
    """
    said = _parse_document_letters_from_answer(text, RANKING)
    places = {name: place for place, name in enumerate(names)}
    order = list(dict.fromkeys(places[name] for name in said if name in places))
    if not order:
        raise UnreadableLlmAnswerError(f"the ranking names none of {', '.join(names)}")
    missing = [place for place in range(len(names)) if place not in order]
    return DocumentOrder((*order, *missing), len(missing), len(said) - len(order))


def read_relevance_marks(text: str, names: Sequence[str]) -> tuple[int, ...]:
    """0 or 1 for every document, from the names of the relevant ones.

    >>> read_relevance_marks('{"relevant": ["C"]}', ["A", "B", "C"])
    (0, 0, 1)
    """
    said = _parse_document_letters_from_answer(text, RELEVANT)
    if unknown := [name for name in said if name not in names]:
        raise UnreadableLlmAnswerError(f"{_shorten_json(unknown[0])} is not a document: they are {', '.join(names)}")
    return tuple(int(name in said) for name in names)


def _parse_document_letters_from_answer(text: str, key: str) -> list[str]:
    names = _parse_only_field_of_llm_answer(text, key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UnreadableLlmAnswerError(f"{key} is {_shorten_json(names)}, not a list of letters")
    # Letters name documents, and models write them small or with blanks.
    return [name.strip().upper() for name in names]


def _parse_only_field_of_llm_answer(text: str, key: str) -> Any:
    """The value of the object's only field, or the whole answer where it is bare."""
    text = strip_code_fence(text)
    if not text:
        raise UnreadableLlmAnswerError("it is empty")
    try:
        parsed = parse_bounded_json(text)
    except ValueError:
        # A bare word or number can be meant; half a list or an object that breaks off cannot.
        if key in (RANKING, RELEVANT) or any(sign in text for sign in "{["):
            raise UnreadableLlmAnswerError(f"it is not JSON: {truncate_to_one_line(text, _SHOWN)}") from None
        return text.strip("\"'.")
    if isinstance(parsed, dict):
        if list(parsed) != [key]:
            raise UnreadableLlmAnswerError(
                f'it must have the field "{key}" and no other, and has {_shorten_json(list(parsed))}'
            )
        return parsed[key]
    return parsed


def _parse_number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _shorten_json(value: Any) -> str:
    try:
        return truncate_to_one_line(json.dumps(value, ensure_ascii=False), _SHOWN)
    except RecursionError:
        return "lists in lists"
