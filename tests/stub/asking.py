"""A chat model that writes questions about passages, and says whether a passage answers one; and bad ones on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from .chat import Behaviour, Turn
from .paraphrasing import share

_BLOCK = re.compile(r"\[(question|passage) ([0-9a-f]{8})\]\n(.*?)\n\[end of \1 \2\]", re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][^.?!\n]{25,200}[.?!]")
_WORD = re.compile(r"\w{4,}")

PLANTED: Mapping[str, Callable[[str, str], dict[str, str]]] = {
    "unanswerable": lambda title, quote: _draft("Which zeppelin carried penguins to Peru?", quote),
    "copied": lambda title, quote: _draft(quote, quote),
    "foreign": lambda title, quote: _draft("このしくみはどのように動いていますか、教えてください。", quote),
    "ungrounded": lambda title, quote: _draft(_asked(quote), "These words stand nowhere in it."),
    "telling": lambda title, quote: _draft("What does this passage say?", quote),
}
"""Kind of bad question -> how it is written."""


def asking(bad: Mapping[str, float] | None = None, *, always: str = "") -> Behaviour:
    """A writer and checker. Of so large shares of the passages it writes a question of a kind of PLANTED, whatever the
    seed; `always` is the kind of all of them. A passage answers a question that has two longer words of it."""

    def behaviour(turn: Turn) -> str:
        blocks = {kind: text for kind, _, text in _BLOCK.findall(turn.last)}
        passage = blocks["passage"]
        if "question" in blocks:
            shared = set(_words(blocks["question"])) & set(_words(passage))
            quote = _quote(passage) if len(shared) >= 2 else ""
            return json.dumps({"answerable": bool(quote), "evidence": quote})
        quote, at = _quote(passage), share(turn.last)
        if not quote:
            return json.dumps(_draft("", ""))
        for kind, part in {**({always: 1.0} if always else bad or {})}.items():
            if at < part:
                return json.dumps(PLANTED[kind](passage, quote))
            at -= part
        is_of_keywords = "two to six keywords" in turn.messages[0]["content"]
        return json.dumps(_draft(_keywords(quote) if is_of_keywords else _asked(quote), quote))

    return behaviour


def _draft(question: str, evidence: str) -> dict[str, str]:
    return {"question": question, "evidence": evidence, "answer": "as it says"}


def _asked(quote: str) -> str:
    words = _words(quote)
    first, second = (words[place % len(words)] for place in (2, 3))
    return f"How does {words[-1]} differ from {first} and {second} in practice?"


def _keywords(quote: str) -> str:
    words = _words(quote)
    return " ".join([words[-1], words[2 % len(words)], words[0]])


def _quote(passage: str) -> str:
    found = [one for one in _SENTENCE.findall(passage) if len(set(_words(one))) >= 3]
    return max(found, key=len, default="")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
