"""One question at a time: a model writes it about a passage, our checks and a second call decide whether it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from embassay.contracts import Message, Sampling
from embassay.data.documents import Placed
from embassay.data.language import foreign, language_fault
from embassay.errors import TextRefused, Unanswered
from embassay.protocols.kernel.inputs import Prompt, block, mark_of
from embassay.protocols.questions.options import QuestionsOptions
from embassay.randomness import random_bytes
from embassay.runs.folder import digest
from embassay.runs.store import CachedChat
from embassay.systems.chat.server import NeverFits

VERSION = "1"
"""Of the prompts and of how a passage is laid out; raised when a word of either changes."""
_WORD = re.compile(r"\w+")
_SPEAKS_OF_IT = re.compile(
    r"\b(?:this|the|that|given|above) (?:passage|text|document|excerpt|paragraph|article|author)\b",
    re.IGNORECASE,
)
_LONGEST = 300
_RUN = 6
"""Words in a row that are a copy however long the question."""


@dataclass(frozen=True)
class Draft:
    """A question and what became of it: `outcome` is kept, or why not. `start` and `end` are the characters of the
    document that answer it; `rejected` are the outcomes of the attempts before."""

    key: str
    kind: str
    passage: str
    document: str
    outcome: str
    question: str = ""
    evidence: str = ""
    answer: str = ""
    start: int | None = None
    end: int | None = None
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    reason: str = ""

    @property
    def kept(self) -> bool:
        """Whether it passed all checks."""
        return self.outcome == KEPT

    def as_dict(self) -> dict[str, Any]:
        """As a line of `drafts.jsonl`."""
        return {**asdict(self), "rejected": list(self.rejected)}


KEPT = "kept"
OUTCOMES: Mapping[str, str] = {
    KEPT: "passed every check",
    "nothing to ask": "the model found nothing of this kind in the passage",
    "unreadable": "no answer that can be read",
    "too long": "over 300 characters",
    "speaks of the passage": "only somebody who sees the passage would ask so",
    "copied": "its words are a run of words of the passage",
    "ungrounded": "the words given as evidence do not stand in the passage",
    "wrong language": "it is in another language than asked",
    "not answerable": "the second call finds no answer in the passage",
    "near-duplicate": "it repeats an earlier question",
    "refused": "the model or its server refused the text",
}
"""What may become of a question -> what that means."""


class Written(BaseModel):
    """What the writer answers."""

    model_config = ConfigDict(extra="forbid")
    question: str
    evidence: str
    answer: str


class Checked(BaseModel):
    """What the checker answers."""

    model_config = ConfigDict(extra="forbid")
    answerable: bool
    evidence: str


@cache
def prompt(kind: str, into: str = "") -> Prompt:
    """The instructions for a kind of question, or for the `check`."""
    texts = files("embassay.protocols.questions").joinpath("prompt_texts")

    def text(name: str) -> str:
        return texts.joinpath(f"{name}.txt").read_text("utf-8").strip()

    if kind == "check":
        return Prompt(kind, VERSION, text(kind))
    # A question with typing errors is written as any other about a fact.
    said = text("fact" if kind == "typo" else kind).replace("{lang}", into)
    return Prompt(kind, VERSION, text("write").replace("{kind}", said))


def write_messages(kind: str, passage: Placed, into: str = "") -> list[Message]:
    """What the writer is sent: the instructions, then the passage between marked lines."""
    shown = block("passage", mark_of([passage.title, passage.body]), _shown(passage))
    return [Message("system", prompt(kind, into).text), Message("user", shown)]


def check_messages(question: str, passage: Placed) -> list[Message]:
    """What the checker is sent."""
    mark = mark_of([question, passage.title, passage.body])
    blocks = (block("question", mark, question), block("passage", mark, _shown(passage)))
    return [Message("system", prompt("check").text), Message("user", "\n\n".join(blocks))]


def _shown(passage: Placed) -> str:
    return f"{passage.title}\n{passage.body}" if passage.title else passage.body


class Unfit(ValueError):
    """An answer that makes no question: its outcome, and more words."""

    def __init__(self, outcome: str, found: str = "") -> None:
        super().__init__(found)
        self.outcome = outcome


@dataclass(frozen=True)
class Writer:
    """Who writes and who checks; `seed` names the draws."""

    chat: CachedChat
    checker: CachedChat
    options: QuestionsOptions
    seed: int

    def key(self, kind: str, passage: Placed) -> str:
        """32 digits: all that a draft depends on."""
        own = self.options.as_dict()
        how = {name: own[name] for name in ("into", "attempts", "copied", "temperature", "top_p")}
        prompts = [prompt(kind, self.options.into).identity, prompt("check").identity]
        said = [passage.id, passage.title, passage.body, passage.document, passage.start, passage.lang]
        return digest([kind, said, how, prompts, self.chat.identity, self.checker.identity, self.seed])[:32]

    async def draft(self, kind: str, passage: Placed) -> Draft:
        """A question about the passage, drawn anew until one is kept or the attempts are used up. ModelError for a
        model that cannot be had, BudgetExceeded when the money ends."""
        head = Draft(self.key(kind, passage), kind, passage.id, passage.document or passage.id, "unreadable")
        rejected: list[str] = []
        for attempt in range(self.options.attempts):
            try:
                found = await self._attempt(kind, passage, attempt)
                return replace(head, outcome=KEPT, attempts=attempt + 1, rejected=tuple(rejected), **found)
            except Unfit as unfit:
                rejected.append(unfit.outcome)
                head = replace(head, outcome=unfit.outcome, reason=str(unfit), attempts=attempt + 1)
                if unfit.outcome == "nothing to ask":
                    break
        return replace(head, rejected=tuple(rejected[:-1]))

    async def _attempt(self, kind: str, passage: Placed, attempt: int) -> dict[str, Any]:
        options = self.options
        sampling = Sampling(options.temperature, options.top_p, self._seed("write", attempt))
        said = await _answer(
            self.chat, write_messages(kind, passage, options.into), sampling, Written, attempt
        )
        question = " ".join(said.question.split())
        fault = fault_of(question, kind, passage, options)
        if fault:
            raise Unfit(*fault)
        place = find_span(passage.body, said.evidence)
        if place is None:
            raise Unfit("ungrounded", said.evidence)
        careful = Sampling(0.0, 1.0, self._seed("check", attempt))
        checked = await _answer(self.checker, check_messages(question, passage), careful, Checked, attempt)
        if not checked.answerable or find_span(passage.body, checked.evidence) is None:
            raise Unfit("not answerable", question)
        start, end = place
        return {
            "question": mistyped(question, self.seed, passage.id) if kind == "typo" else question,
            "evidence": passage.body[start:end], "answer": " ".join(said.answer.split()),
            "start": passage.start + start, "end": passage.start + end,
        }  # fmt: skip

    def _seed(self, what: str, attempt: int) -> int:
        # 31 bits, which is what servers take.
        return int.from_bytes(random_bytes(4, self.seed, "questions", what, str(attempt)), "big") >> 1


async def _answer(
    chat: CachedChat, messages: Sequence[Message], sampling: Sampling, schema: Any, attempt: int
) -> Any:
    try:
        answer = await chat.complete(messages, sampling=sampling, schema=schema, attempt=attempt)
        return answer.parsed if answer.parsed is not None else schema.model_validate_json(answer.text)
    except ValidationError as error:
        raise Unfit("unreadable", str(error).partition("\n")[0]) from None
    except TextRefused as error:
        outcome = "unreadable" if isinstance(error, NeverFits | Unanswered) else "refused"
        raise Unfit(outcome, error.message) from None


def fault_of(question: str, kind: str, passage: Placed, options: QuestionsOptions) -> tuple[str, str] | None:
    """Why a question is not kept, and more words; None where it passes the checks that need no model."""
    if not question:
        return "nothing to ask", ""
    if len(question) > _LONGEST:
        return "too long", f"{len(question)} characters"
    if _SPEAKS_OF_IT.search(question):
        return "speaks of the passage", question
    wrong = (
        foreign(question, options.into) if kind == "language"
        else language_fault(passage.body, question, passage.lang or "und")
    )  # fmt: skip
    if wrong:
        return "wrong language", f"{wrong}: {question}"
    if is_copy(question, passage.body, kind, options.copied):
        return "copied", question
    return None


def is_copy(question: str, body: str, kind: str, most: float) -> bool:
    """Whether the longest run of words that a question shares with the passage is six words or more, or over `most` of
    a question of four words or more; of keywords, whether all three or more of them are such a run.

    >>> is_copy("what does the engine burn at night", "The engine burn at night is low.", "fact", 0.6)
    True
    """
    asked = _words(question)
    run = longest_run(asked, _words(body))
    if kind == "keywords":
        return len(asked) >= 3 and run == len(asked)
    return run >= _RUN or (len(asked) >= 4 and run > most * len(asked))


def longest_run(asked: Sequence[str], words: Sequence[str]) -> int:
    """The most of the words `asked` that stand in a row in `words`, in the same order.

    >>> longest_run("a b c d".split(), "x b c y d".split())
    2
    """
    before = [0] * (len(asked) + 1)
    best = 0
    for word in words:
        now = [0] * (len(asked) + 1)
        for place, one in enumerate(asked, 1):
            if one == word:
                now[place] = before[place - 1] + 1
        best, before = max(best, *now), now
    return best


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


_AROUND = " \t\n\"'“”‘’«»„…."


def find_span(body: str, quote: str) -> tuple[int, int] | None:
    """Start and end of a quotation in a passage, whatever its whitespace, case and quotation marks; None where it does
    not stand there, or is shorter than two letters.

    >>> find_span("It burns  oil at night.", '"burns oil..."')
    (3, 13)
    """
    words = quote.strip(_AROUND).split()
    if sum(map(len, words)) < 2:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), body, re.IGNORECASE)
    return None if found is None else found.span()


def mistyped(question: str, seed: int, key: str) -> str:
    """The question with one typing error, two where it has eight words or more: two neighbouring letters within a word
    of four letters or more exchanged, or one left out."""
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    draws = random_bytes(12, seed, "typing errors", key)
    for number in range(min(len(long), 1 + (len(words) >= 8))):
        at, where, how = draws[3 * number : 3 * number + 3]
        word = words[place := long.pop(at % len(long))]
        i = 1 + where % (len(word) - 2)
        swapped = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        words[place] = swapped if how % 2 and swapped != word else word[:i] + word[i + 1 :]
    return " ".join(words)
