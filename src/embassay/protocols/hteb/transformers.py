"""Who transforms texts: a language model, step by step, or a set that was written beforehand (spec hteb 5)."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal, cast
from unicodedata import category

from embassay.contracts import ChatMessage, ChatModel, Completion, SamplingSettings, Tokenizer
from embassay.data.language import explain_why_languages_of_texts_differ
from embassay.errors import DataError, TextRefused, Unanswered, UsageError, Why
from embassay.protocols.hteb.options import (
    TRANSFORMATIONS,
    TextTransformation,
    TransformOptions,
    format_step_instruction,
    load_step_instruction,
)
from embassay.protocols.hteb.slots import TransformationSlot
from embassay.protocols.kernel.inputs import Prompt
from embassay.protocols.wordings.protocol import LLMTextRewriter, WordingRequestResult, make_blank_text_outcome
from embassay.protocols.wordings.records import Outcome, ParaphraseOutcome, Paraphraser, TextToParaphrase
from embassay.protocols.wordings.refusals import REFUSAL, find_mark_added_by_wording
from embassay.protocols.wordings.sets import ParaphraseSet, StoredWordingSource
from embassay.runs.folder import digest_json
from embassay.runs.store import CachedChatModel, ChatAnswerCache, ChatQuestion
from embassay.systems.chat import CHAT_MODELS, fit_chat_without_thinking_to_context, open_chat
from embassay.systems.chat.answers import extract_first_code_fence, strip_tagged_blocks
from embassay.systems.remote.ledger import Ledger, estimate_server_tokens

FIELD = "transformed_text"
_NO_TEXT = frozenset({"[text]", "<text>", "placeholder", "n/a", "none"})
_BY_HAND = re.compile(rf"""["']{FIELD}["']\s*:\s*"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_MOST = 200_000
"""Characters of an answer that are looked at."""


@dataclass(frozen=True)
class ParsedAnswerText:
    """The text of an answer, or what the answer is instead."""

    text: str = ""
    outcome: Literal["ok", "invalid JSON", "invalid text"] = "ok"


def parse_transformed_text(answer: str, *, structured: bool = True) -> ParsedAnswerText:
    """The text in an answer: of JSON, also within a fence or words or broken, its field `transformed_text`; without
    `structured` the whole answer.

    >>> parse_transformed_text('```json\\n{"transformed_text": "A fox."}\\n```').text
    'A fox.'
    >>> parse_transformed_text("[]").outcome, parse_transformed_text('{"transformed_text": "n/a"}').outcome
    ('invalid JSON', 'invalid text')
    """
    # Half a character, which servers can send as JSON, can be in no file.
    answer = strip_tagged_blocks(answer[:_MOST], ["think"]).encode("utf-8", "replace").decode().strip()
    text = _read_transformed_text_of_answer(answer) if structured else answer
    if text is None:
        return ParsedAnswerText(outcome="invalid JSON")
    text = text.encode("utf-8", "replace").decode().strip()
    if all(map(_is_punctuation, text)) or text.lower() in _NO_TEXT:
        return ParsedAnswerText(outcome="invalid text")
    return ParsedAnswerText(text)


def _is_punctuation(sign: str) -> bool:
    """Whether it is punctuation or a blank: a smiley says something, alone or not."""
    return category(sign)[0] in "PZC" or sign in "+<>|^`~"


def _read_transformed_text_of_answer(answer: str) -> str | None:
    """Read the text field of an answer, in the first reading that gives one."""
    try:
        return _get_text_field_of_answer(json.loads(answer))
    except (ValueError, RecursionError):
        pass
    # Some models put a fence, or words, around the object.
    fenced = extract_first_code_fence(answer)
    inner = [fenced] if fenced is not None else []
    if 0 <= answer.find("{") < answer.rfind("}"):
        inner.append(answer[answer.find("{") : answer.rfind("}") + 1])
    for part in inner:
        # Some models write Python's quotes, which JSON does not have.
        for read in (json.loads, ast.literal_eval):
            try:
                found = _get_text_field_of_answer(read(part))
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
            if found is not None:
                return found
    by_hand = _BY_HAND.search(answer)
    if by_hand is None:
        return None
    try:
        # Not strict: models put line breaks into strings, which JSON forbids.
        return str(json.loads(f'"{by_hand[1]}"', strict=False))
    except ValueError:
        return by_hand[1]


def _get_text_field_of_answer(answer: Any) -> str | None:
    text = answer.get(FIELD) if isinstance(answer, dict) else None
    return text if isinstance(text, str) else None


class TransformationAnswerSchema:
    """The schema of an answer, which servers hold models to; any answer is read as far as it can be."""

    reads_itself = True

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        """An object with one text."""
        text = {"title": "Transformed Text", "type": "string"}
        return {"title": "Transformed", "type": "object", "properties": {FIELD: text}, "required": [FIELD]}

    @staticmethod
    def model_validate_json(text: str) -> ParsedAnswerText:
        """What `parse_transformed_text` makes of it."""
        return parse_transformed_text(text)


REASONS: Mapping[str, str] = {
    "prompt too long": "prompt_too_long",
    "invalid JSON": "invalid_json_after_retries",
    "invalid text": "invalid_text_after_retries",
    "cut": "output_length_after_retries",
    "wrong length": "output_length_after_retries",
    "failed": "backend_failure",
    "refused": "backend_failure",
    "wrong language": "invalid_text_after_retries",
    "empty": "invalid_text_after_retries",
    "thinking": "invalid_text_after_retries",
    "missing": "backend_failure",
}
"""What came of a text that failed -> what the reference calls it."""
GROWTH: Mapping[str, float] = {
    "expansion": 2.5,
    "summarise": 0.6,
    "paraphrasing": 1.0,
    "style_change": 1.1,
    "translation": 1.2,
}
"""How long the answer of a step is taken to be, of its text, until it is there."""
_FRAME = '{"transformed_text": ""}'


@dataclass(frozen=True)
class PendingCallCounts:
    """What is still to be asked for: calls, and the tokens read and written."""

    calls: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: PendingCallCounts) -> PendingCallCounts:
        return PendingCallCounts(self.calls + other.calls, self.read + other.read, self.written + other.written)


class TextTokenCounter:
    """The tokens of texts, each counted once: by `tokenizer`, or, without one, as a server is taken to count."""

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> None:
        """Count the tokens of the texts that are not counted yet, together."""
        fresh = list({text: None for text in texts if text not in self._known})
        if self._tokenizer is None:
            self._known |= {text: estimate_server_tokens([text]) for text in fresh}
        elif fresh:
            counts = map(len, self._tokenizer.encode_batch(fresh))
            self._known |= dict(zip(fresh, counts, strict=True))

    def of(self, text: str) -> int:
        """The number of tokens of one text."""
        self.count([text])
        return self._known[text]


class LLMTextTransformer(LLMTextRewriter):
    """A language model that does one transformation."""

    UNANSWERED: ClassVar[Mapping[Why, Outcome]] = {**LLMTextRewriter.UNANSWERED, "cut": "cut"}

    def __init__(self, chat: CachedChatModel, of: TextTransformation, options: TransformOptions) -> None:
        super().__init__(chat, options.retries)
        self.of, self.options = of, options

    @property
    def identity(self) -> str:
        """Of the model, the prompts, the sampling and what is made of the answers."""
        prompts = "+".join(load_step_instruction(step).identity for step in self.of.steps)
        drawn = ",".join(f"{key}={value}" for key, value in self.options.as_dict().items())
        return f"{self.chat.identity} {self.of.name} {prompts} {drawn}"

    @property
    def transformation_prompt(self) -> Prompt:
        """The prompt of the model: the instructions of all steps."""
        words = "\n\n".join(load_step_instruction(step).text for step in dict.fromkeys(self.of.steps))
        return Prompt(self.of.name, load_step_instruction(self.of.steps[0]).version, words)

    def about(self) -> Mapping[str, Any]:
        """The model as its server names it, and how it was asked."""
        return self.described(transformation=self.of.name, sampling=self.options.as_dict())

    def question(self, slot: TransformationSlot, step: int, text: str, seed: int, attempt: int = 0) -> ChatQuestion:
        """What the model is asked in draw number `attempt` of a step, whose text is that of the step before."""
        own = self.options
        name = self.of.steps[step]
        source, target = slot.written, slot.language
        if self.of.name == "backtranslation" and step == 1:
            source, target = slot.language, slot.written
        first = slot.seed(seed, independent=own.seeds == "independent")
        sampling = SamplingSettings(
            own.temperature,
            own.top_p,
            first + attempt,
            own.find_answer_token_limit(name),
            None if own.top_k == -1 else own.top_k,
        )
        messages = [ChatMessage("system", format_step_instruction(name, source, target)), ChatMessage("user", text)]
        return ChatQuestion(messages, sampling, TransformationAnswerSchema if own.structured else None, attempt)

    def count_open_calls(
        self, slots: Sequence[TransformationSlot], seed: int, tokens: TextTokenCounter, seen: set[tuple[Any, ...]]
    ) -> PendingCallCounts:
        """What the answers to these texts take that the cache does not have; none is taken to be drawn again. `seen`
        are the questions of other transformations, which are paid once; those of these texts are added."""
        asked = [slot for slot in slots if slot.text.strip()]
        tokens.count([slot.text for slot in asked])
        return sum(
            (self._count_calls_to_transform_slot(slot, seed, tokens, seen) for slot in asked), PendingCallCounts()
        )

    def _count_calls_to_transform_slot(
        self, slot: TransformationSlot, seed: int, tokens: TextTokenCounter, seen: set[tuple[Any, ...]]
    ) -> PendingCallCounts:
        total, text, length = PendingCallCounts(), slot.text, float(tokens.of(slot.text))
        for step, name in enumerate(self.of.steps):
            question = self.question(slot, step, text, seed)
            answer = self.chat.find_cached_answer(question) if not total.calls and text else None
            if isinstance(answer, Unanswered):
                return total
            if answer is not None:
                reading = self._read_completion_text(answer)
                if reading.outcome != "ok":
                    return total
                text, length = reading.text, float(tokens.of(reading.text))
                continue
            instructions = question.messages[0].content
            asked = (instructions, question.sampling.seed, text or (slot.text, length))
            read, text, length = tokens.of(instructions) + length, "", length * GROWTH[name]
            if asked in seen:
                continue
            seen.add(asked)
            said = length + tokens.of(_FRAME) * self.options.structured
            total += PendingCallCounts(1, round(read), min(round(said), self.options.find_answer_token_limit(name)))
        return total

    async def reword(self, asked: TextToParaphrase, seed: int) -> ParaphraseOutcome:
        """Reword one text that isn't blank, step by step."""
        slot = cast(TransformationSlot, asked)
        drawn: list[WordingRequestResult] = []
        text = slot.text
        for step in range(len(self.of.steps)):
            read = partial(self._convert_answer_to_wording_draw, slot, step, text)
            drawn.append(await self.draw(partial(self.question, slot, step, text, seed), read))
            text = drawn[-1].text
            if drawn[-1].outcome != "ok":
                break
        last = drawn[-1]
        outcome: Outcome = last.outcome if last.outcome != "ok" else "copied" if text == slot.text else "ok"
        rejected = ";".join(reason for step in drawn for reason in step.rejected)
        return ParaphraseOutcome(
            slot.text, slot.lang, slot.place, text if last.outcome == "ok" else "", outcome, last.reason,
            sum(draw.attempts for draw in drawn), last.seed, sum(draw.seconds for draw in drawn), rejected
        )  # fmt: skip

    def name_refusal_outcome(self, error: TextRefused) -> Outcome:
        """Name the outcome of a refusal, telling apart a prompt that is too long."""
        return "prompt too long" if "context" in str(error) else "refused"

    def _convert_answer_to_wording_draw(
        self, slot: TransformationSlot, step: int, text: str, answer: Completion
    ) -> WordingRequestResult:
        """Judge what the answer of a step is worth."""
        reading = self._read_completion_text(answer)
        if reading.outcome == "ok" and self._has_wrong_length(slot, step, reading.text, text):
            return WordingRequestResult("", "wrong length", f"{len(reading.text)} characters for {len(slot.text)}")
        if reading.outcome == "ok" and (mark := find_mark_added_by_wording(REFUSAL, slot.text, reading.text)):
            return WordingRequestResult("", "refused", f"the model declined: {mark!r}")
        own = reading.outcome == "ok" and self._is_answer_expected_in_text_language(step)
        if own and (fault := explain_why_languages_of_texts_differ(slot.text, reading.text, slot.lang)):
            return WordingRequestResult("", "wrong language", fault)
        reason = "" if reading.outcome == "ok" else f"the answer has no usable text: {answer.text[:60]!r}"
        return WordingRequestResult(reading.text, reading.outcome, reason)

    def _read_completion_text(self, answer: Completion) -> ParsedAnswerText:
        return parse_transformed_text(answer.text, structured=self.options.structured)

    def _is_answer_expected_in_text_language(self, step: int) -> bool:
        """Whether the answer of a step is to be in the language of the slot's text."""
        last = step == len(self.of.steps) - 1
        return last and (self.of.name == "backtranslation" or "translation" not in self.of.steps)

    def _has_wrong_length(self, slot: TransformationSlot, step: int, wording: str, text: str) -> bool:
        """Whether an answer went the wrong way where lengths are enforced: a step from its own text, the last one of
        several also from the slot's."""
        if self.options.length != "enforced":
            return False
        ways = {"expansion": "longer", "summarise": "shorter"}
        last = step == len(self.of.steps) - 1
        return has_wrong_length_change(ways.get(self.of.steps[step], ""), text, wording) or (
            last and has_wrong_length_change(self.of.length, slot.text, wording)
        )


def has_wrong_length_change(direction: str, text: str, said: str) -> bool:
    """Whether a text that was to become longer, or shorter, did not.

    >>> has_wrong_length_change("longer", "A fox.", "Fox."), has_wrong_length_change("", "A fox.", "Fox.")
    (True, False)
    """
    if direction == "longer":
        return len(said) <= len(text)
    return direction == "shorter" and len(said) >= len(text)


class StoredTextTransformer:
    """One transformation of a set, replayed. A text that several slots share and that went to several languages is
    given out in the order in which it was written."""

    remote = False

    def __init__(self, name: str, kept: ParaphraseSet, of: TextTransformation) -> None:
        self.name, self.of = name, of
        self._set = kept
        self._stored = StoredWordingSource(name, kept, kept.source(of.name))
        self.identity = f"{of.name} {self._stored.identity}"
        self.about = self._stored.about
        self.seeds = self._stored.seeds
        self.mismatches = self._stored.describe_data_mismatches

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """Yield what the set has of each text in the run with this seed, `missing` if nothing."""
        met: Counter[tuple[str, str]] = Counter()
        blanks = [place for place, source_text in enumerate(asked) if not source_text.text.strip()]
        for place in blanks:
            yield place, make_blank_text_outcome(asked[place], seed)
        done = set(blanks)
        left = [place for place in range(len(asked)) if place not in done]
        tried = [asked[place] for place in left]
        for number, row in self._stored.write(tried, seed=seed, run=run, dataset=dataset):
            text = tried[number]
            if row.outcome == "missing" and text.place:
                row = self._take_stored_paraphrase_of_text(text, seed, dataset, met)
            yield left[number], replace(row, place=text.place)
        hear(len(asked))

    def _take_stored_paraphrase_of_text(
        self, text: TextToParaphrase, seed: int, dataset: str, met: Counter[tuple[str, str]]
    ) -> ParaphraseOutcome:
        """Take what the set has of a text's next occurrence, or of the only one."""
        nth = met[text.lang, text.text]
        met[text.lang, text.text] += 1
        stored = self._stored.index_known_paraphrases(dataset, seed)
        keys = ((text.text, lang, place) for lang in (text.lang, "") for place in (f"occurrence:{nth}", ""))
        paraphrase = next((stored[key] for key in keys if key in stored), None)
        missing = ParaphraseOutcome(
            text.text, text.lang, "", "", "missing", f"{self.name} has no transformation of this text", 0, seed
        )
        return replace(paraphrase or missing, lang=text.lang)


class RecordedTextTransformer:
    """One transformation of the texts that come with the sample data: those of the 14 pairs that `-t sts --limit 14
    --languages reference` draws, once each."""

    name = "recorded"
    remote = False

    def __init__(self, of: TextTransformation) -> None:
        self.of = of
        self._texts = {row["text"]: row[of.name] for row in _load_sample_transformations() if of.name in row}
        self.identity = f"recorded:{of.name}:{digest_json(sorted(self._texts.items()))}"

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:  # noqa: ARG002 - the contract's
        """List the first seed alone; UsageError for more runs."""
        if runs > 1:
            raise UsageError(
                f"Each text has one recorded transformation, but {runs} runs need {runs}.",
                mend="Use --runs 1, or name a language model as the transformer.",
            )
        return (first,)

    def compute_share_without_recording(self, texts: Iterable[str]) -> float:
        """The share of the distinct texts that have nothing recorded; 0 where there is no text."""
        distinct = {text for text in texts if text.strip()}
        return len(distinct - self._texts.keys()) / max(1, len(distinct))

    def about(self) -> Mapping[str, Any]:
        """An empty description: there is nothing to say of recorded texts."""
        return {}

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """Yield the recorded transformation of each text; `missing` for other texts."""
        for position, text in enumerate(asked):
            blank = not text.text.strip()
            wording = text.text if blank else self._texts.get(text.text, "")
            outcome: Any = "ok" if wording or blank else "missing"
            reason = "" if outcome == "ok" else "the sample has no transformation of this text"
            yield (position, ParaphraseOutcome(text.text, text.lang, text.place, wording, outcome, reason, 0, seed))
        hear(len(asked))


@cache
def _load_sample_transformations() -> tuple[dict[str, str], ...]:
    path = files("embassay.data").joinpath("sample", "transformations.jsonl")
    return tuple(json.loads(line) for line in path.read_text("utf-8").splitlines())


@dataclass(frozen=True)
class TransformationWithParaphraser:
    """A transformation and who does it. The run's set calls it by the transformation's name."""

    of: TextTransformation
    paraphraser: Paraphraser

    is_control = False

    @property
    def name(self) -> str:
        """The transformation's."""
        return self.of.name

    @property
    def label(self) -> str:
        """The label that tells the sources of a run apart."""
        return self.of.name

    def variant(self, seed: int) -> str:
        """Name the variant of the cells of one run, such as `expansion:seed=1337`."""
        return f"{self.name}:seed={seed}"

    def list_run_seeds(self, dataset: str, runs: int, request: Any) -> tuple[int, ...]:
        """List the seeds of the runs on a dataset; UsageError where a set has fewer."""
        seeds = self.paraphraser.seeds(runs, request.seed, dataset=dataset)
        last = dict(request.last_seeds).get(dataset)
        if last is None or runs < request.runs:
            return seeds
        return (*seeds[: request.runs - 1], last, *seeds[request.runs :])


def open_transformers(
    text: str,
    names: Sequence[str],
    options: TransformOptions,
    *,
    longest: int = 0,
    ledger: Ledger | None = None,
    answers: Path | None = None,
) -> tuple[TransformationWithParaphraser, ...]:
    """A source for every transformation, done by the transformer that a spec string names:

    - any chat model, `ollama:gemma3:27b`; `longest` is the UTF-8 bytes of the longest text of the run;
    - `recorded`: the transformations that come with the sample data;
    - `stored:FOLDER`: a set of an earlier run or of `hteb import`, replayed exactly.

    No names mean all: of a set those that it has. UsageError for an unknown name, or for a transformation that a set
    does not have; DataError for a set that cannot be read; ModelError when a key or package is missing.
    """

    spec = CHAT_MODELS.style.parse(text)
    if spec.name == "recorded":
        return _open_sample_transformation_sources(names)
    if spec.name == "stored":
        return _open_stored_sources(text, spec.target, names)
    if spec.name not in CHAT_MODELS:
        from embassay.systems.models import describe_fix_for_unknown_chat_model

        raise UsageError(
            f"There is no transformer called {spec.name!r}.",
            mend=describe_fix_for_unknown_chat_model(text)
            + f"Use recorded, stored:FOLDER, or a chat model: {', '.join(model.name for model in CHAT_MODELS)}.",
        )
    chat = CachedChatModel(
        adapt_chat_for_rewording(open_chat(text, ledger=ledger), options, longest), ChatAnswerCache.open(answers)
    )
    chosen = names or tuple(TRANSFORMATIONS)
    return tuple(
        TransformationWithParaphraser(TRANSFORMATIONS[name], LLMTextTransformer(chat, TRANSFORMATIONS[name], options))
        for name in chosen
    )


def _open_sample_transformation_sources(names: Sequence[str]) -> tuple[TransformationWithParaphraser, ...]:
    has = [transformation for transformation in TRANSFORMATIONS if transformation in _load_sample_transformations()[0]]
    _check_transformations_are_known("the sample", names, has)
    return tuple(
        TransformationWithParaphraser(TRANSFORMATIONS[name], RecordedTextTransformer(TRANSFORMATIONS[name]))
        for name in names or has
    )


def _check_transformations_are_known(what: str, names: Sequence[str], has: Sequence[str]) -> None:
    for name in names:
        if name not in has:
            raise UsageError(f"{what} has no transformation {name!r}.", mend=f"Choose from {', '.join(has)}.")


def _open_stored_sources(text: str, folder: str, names: Sequence[str]) -> tuple[TransformationWithParaphraser, ...]:
    if not folder:
        raise UsageError("`stored` needs a folder.", mend="Write stored:FOLDER.")
    kept = ParaphraseSet.open(folder)
    has = [transformation for transformation in TRANSFORMATIONS if transformation in kept.sources]
    if not has:
        raise DataError(
            "the set has no transformation", path=kept.path, expected=f"one of {', '.join(TRANSFORMATIONS)}",
            found=", ".join(kept.sources) or "none",
            mend="Give the folder of `embassay hteb run`, `hteb transform` or `hteb import`."
        )  # fmt: skip
    _check_transformations_are_known(text, names, has)
    return tuple(
        TransformationWithParaphraser(TRANSFORMATIONS[name], StoredTextTransformer(text, kept, TRANSFORMATIONS[name]))
        for name in names or has
    )


def adapt_chat_for_rewording(chat: ChatModel, options: TransformOptions, longest: int) -> ChatModel:
    """The model without thinking, and reading texts of up to `longest` UTF-8 bytes whole, where it can be told."""
    words = max(len(load_step_instruction(name).text.encode()) for name in GROWTH)
    # Tokenizers of language models make a token of two bytes or more, whatever the language.
    most = max(options.max_tokens, options.max_tokens_expansion)
    return fit_chat_without_thinking_to_context(chat, (words + longest) // 2 + most + 256)
