"""A language model as a paraphraser: one text per call, answers kept, what cannot be used drawn anew.

They are narrow, since ordinary texts must not have them: of 82,000 texts of the development data none does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any

from embassay.contracts import ChatModel, Message
from embassay.errors import ModelError, TextRefused, Unanswered, Why
from embassay.protocols.pteb.paraphrasing.paraphrasers import Prompt, licence_of
from embassay.protocols.pteb.paraphrasing.records import (
    REJECTED,
    USABLE,
    Asked,
    Generation,
    Outcome,
    Paraphrase,
    can_identify,
    language_fault,
)
from embassay.runs.answers import CachedChat, Hope, Question
from embassay.systems.remote.calls import as_finished
from embassay.systems.remote.ledger import Price

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


TIMES_LONGER, ALWAYS_ALLOWED = 5, 40
"""An answer may have so many times the characters of its text, and always so many: the paraphrase of one word is
often longer than five."""

_OPENED = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """What an answer is: `wording` where it is usable, else the `reason` why not."""

    outcome: Outcome
    wording: str = ""
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether `wording` may stand for the text."""
        return self.outcome in USABLE


def longest_allowed(text: str, *, strict: bool = False) -> int:
    """The characters that an answer may have: 5 times those of the text, and 40 always unless `strict`.

    >>> longest_allowed("Hello"), longest_allowed("Hello", strict=True)
    (40, 25)
    """
    return max(TIMES_LONGER * len(text), 0 if strict else ALWAYS_ALLOWED)


def judged(text: str, answer: str, *, lang: str = "und", strict_length: bool = False) -> Verdict:
    """The answer to `text` without blocks of thinking and white space around it, or why it cannot be used.

    Rejected are, in this order: nothing (`empty`), what is left of thinking (`thinking`), more characters than
    `longest_allowed` (`too long`), sentences in which assistants decline (`refused`) and another language (`wrong
    language`); marks that the text has itself do not count against its wording. The text again is `copied`, and usable.

    >>> judged("A red fox ran.", "<think>Hm.</think> A crimson fox was running.").wording
    'A crimson fox was running.'
    >>> judged("A red fox ran.", "I'm sorry, but I can't help with that.").outcome
    'refused'
    """
    # Half a character, which servers can send as JSON, can be in no file.
    answer = answer.encode("utf-8", "replace").decode()
    wording = answer.strip() if _thoughtless(text) != text else _thoughtless(answer).strip()
    if not wording:
        return Verdict("empty", reason="nothing but thinking" if answer.strip() else "an empty answer")
    if wording == text.strip():
        return Verdict("copied", wording)
    if found := new_mark(THINKING, text, wording):
        return Verdict("thinking", reason=f"it thinks aloud: {found!r}")
    allowed = longest_allowed(text, strict=strict_length)
    if len(wording) > allowed:
        return Verdict("too long", reason=f"{len(wording)} characters for {len(text)}, {allowed} allowed")
    if found := new_mark(REFUSAL, text, wording):
        return Verdict("refused", reason=f"the model declined: {found!r}")
    if fault := language_fault(text, wording, lang):
        return Verdict("wrong language", reason=fault)
    return Verdict("ok", wording)


def _thoughtless(text: str) -> str:
    """`text` without its blocks of thinking. One pass for each of the four tags: an answer that opens a thousand blocks
    and closes none must not be read a thousand times.

    >>> _thoughtless("<think>Hm.</THINK> A fox. <thought>")
    ' A fox. <thought>'
    """
    kept, at, unclosed = [], 0, set[str]()
    for opened in _OPENED.finditer(text):
        tag = opened[1].lower()
        if opened.start() < at or tag in unclosed:
            continue
        closed = re.compile(f"</{tag}>", re.IGNORECASE).search(text, opened.end())
        if closed is None:
            unclosed.add(tag)
            continue
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join([*kept, text[at:]])


_REWORD = r"(paraphrase|rephrase|reword|rewrite)"
_THIS = r"(this|that|such|the (text|sentence|input|request)|your (text|sentence|request))"
_UNABLE = (
    r"\bi( can ?not| can't| could not| won't| will not| must (respectfully )?decline to"
    r"|( am|'m) (unable|not able) to)"
)

THINKING = re.compile(
    r"</?(think|thinking|thought|reasoning)>|◁/?think▷|<\|channel\|>|\[/?think\]"
    r"|\A(here's|here is) (a|my) (thinking|thought) process|\Athinking( process)?(:|\.\.\.|…)|\Aanalysis: ?we\b"
    r"|\A((okay|ok|alright|right|hmm|first|so|let's see|let me see)[,.]? ){0,3}"
    r"(the user (wants|asks|is asking|has asked|sent|gave|provided)|let me think|let's think"
    rf"|(i|we) (need|have) to ({_REWORD}|understand the (sentence|text|user)))",
    re.IGNORECASE,
)

REFUSAL = re.compile(
    r"\b(as|i am|i'm|being) an? (ai|artificial intelligence)( (language )?(model|assistant)|,|;|\.| i\b)"
    r"|\b(as|i am|i'm) a (large )?language model\b|\bi am programmed to be\b"
    rf"|{_UNABLE} (assist (you )?(with|in) {_THIS}|comply|fulfill? {_THIS}|paraphrase|rephrase|reword|rewrite {_THIS}"
    rf"|help (you )?with {_THIS}|engage with {_THIS}|process {_THIS}"
    r"|provide (a |the |that |this |any )?(paraphrase|rewording|content|text)"
    r"|(create|generate|produce|continue with) (content|that|this|such))"
    r"|\bi must respectfully decline\b"
    r"|\A(i('m| am) )?(very |so )?(sorry|apologi[sz]e),? but i (can ?not|can't|am (not able|unable))"
    rf"|\Aplease (provide|give|send|share|paste)( me)?( with)? the text (that )?(you|to) [^.]*{_REWORD}"
    r"|\Alo siento,? (pero )?no puedo|\A(je suis )?désolée?,? (mais )?je ne (peux|suis pas en mesure)"
    r"|\A(es )?tut mir leid,? (aber )?(\w+ )?(kann ich|ich kann)|\Ami dispiace,? (ma )?non posso"
    r"|\A(抱歉|对不起)[,，]?我(无法|不能)|\A我(无法|不能)(满足|回答|处理|提供|改写)|\A申し訳(ありません|ございません)が、"
    r"|\A(извините|простите),? (но )?я не могу|\Aعذر[اًا]+،? (لكن )?لا (يمكنني|أستطيع)",
    re.IGNORECASE,
)


def new_mark(marks: re.Pattern[str], text: str, wording: str) -> str:
    """What of the marks is in the wording, where the text has none; empty otherwise.

    >>> new_mark(REFUSAL, "A fox.", "I can’t assist with that.")
    "I can't assist with that"
    >>> new_mark(REFUSAL, "I can't comply.", "I cannot comply.")
    ''
    """
    # Typographic apostrophes are taken for plain ones.
    found = marks.search(wording.replace("’", "'"))
    return found[0] if found and not marks.search(text.replace("’", "'")) else ""
