"""What a language model is told as a judge: own texts, kept as files, with a version and a digest of every word."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from embassay.contracts import Message
from embassay.protocols.prompt import Prompt
from embassay.protocols.rag.judges.contract import Passage, Question

VERSION = "1"
"""Of the prompts and of how question and passages are laid out; raised when a word of either changes."""

Kind = Literal["grade", "order"]
KINDS: tuple[Kind, ...] = ("grade", "order")

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def prompt(kind: Kind) -> Prompt:
    """The instructions for grading one passage, or for ordering several."""
    texts = files("embassay.protocols.rag.judges").joinpath("prompt_texts")
    return Prompt(kind, VERSION, texts.joinpath(f"{kind}.txt").read_text("utf-8").strip())


def grade_messages(question: Question, passage: Passage) -> list[Message]:
    """What is sent for one grade: the instructions, then the question and the passage between marked lines."""
    mark = _mark([question.text, passage.text])
    shown = [_block("question", mark, question.text), _block("passage", mark, passage.text)]
    return [Message("system", prompt("grade").text), Message("user", "\n\n".join(shown))]


def order_messages(question: Question, passages: Sequence[Passage]) -> list[Message]:
    """What is sent for one order: the instructions, then the question and the passages, labelled as they come."""
    mark = _mark([question.text, *(passage.text for passage in passages)])
    shown = [_block("question", mark, question.text)]
    for label, passage in zip(labels(len(passages)), passages, strict=True):
        shown.append(_block(f"passage {label}", mark, passage.text))
    return [Message("system", prompt("order").text), Message("user", "\n\n".join(shown))]


def labels(n: int) -> list[str]:
    """A label for each of n passages: letters, and two of them from the 27th on.

    >>> labels(3), labels(28)[-2:]
    (['A', 'B', 'C'], ['AA', 'AB'])
    """
    return [_ALPHABET[i] if i < 26 else _ALPHABET[i // 26 - 1] + _ALPHABET[i % 26] for i in range(n)]


def _block(name: str, mark: str, text: str) -> str:
    return f"[{name} {mark}]\n{text}\n[end of {name} {mark}]"


def _mark(texts: Sequence[str]) -> str:
    """Eight digits that no text can hold on purpose, since they follow from all of them: a passage cannot pretend to
    end and speak on in our name. Equal texts have equal marks, so that equal calls are paid once."""
    joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=4).hexdigest()
