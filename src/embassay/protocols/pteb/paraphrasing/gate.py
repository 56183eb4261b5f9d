"""What of an answer may stand for a text: pure, the same for every paraphraser."""

from __future__ import annotations

import re
from dataclasses import dataclass

from embassay.protocols.pteb.paraphrasing.language import language_fault
from embassay.protocols.pteb.paraphrasing.marks import REFUSAL, THINKING, new_mark
from embassay.protocols.pteb.paraphrasing.records import USABLE, Outcome

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
