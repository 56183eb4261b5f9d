"""What a language model is told as a judge, and what counts as its answer: own texts, versioned, and strict reading.

A code fence around the object does no harm. Everything else is a `Malformed` with its kind, and is asked for again:
which of two grades is meant, or what 3.5 is to become, would be a guess.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from embassay.contracts import Message
from embassay.protocols.kernel.inputs import Prompt
from embassay.protocols.rag.judges import Passage, Question

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


GRADE_KEY = "grade_1_5"
ORDER_KEY = "order"
LOWEST, HIGHEST = 1, 5

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_DECODER = json.JSONDecoder()
_SHOWN = 60


class Malformed(ValueError):
    """An answer that is none: `kind` of fault, and what was found, as `kind: found`."""

    def __init__(self, kind: str, found: str = "") -> None:
        super().__init__(f"{kind}: {_cut(found)}" if found else kind)
        self.kind = kind


@dataclass(frozen=True)
class Mended:
    """An order that was made whole: positions, how many at its end the answer left out, and how many of its labels
    stood for nothing or for a second time."""

    order: tuple[int, ...]
    missing: int = 0
    unknown: int = 0


def grade_of(text: str) -> int:
    """The grade that an answer consists of.

    >>> grade_of('{"grade_1_5": 4}')
    4
    """
    value = _only_value(text, GRADE_KEY)
    if isinstance(value, bool):
        raise Malformed("truth value", _told(value))
    if isinstance(value, list) and not isinstance(value, _Pairs):
        raise Malformed("several grades", _told(value))
    if isinstance(value, str):
        raise Malformed("text in place of a grade", _told(value))
    if not isinstance(value, int):
        raise Malformed("not a whole number", _told(value))
    if not LOWEST <= value <= HIGHEST:
        raise Malformed("out of range", str(value))
    return value


def order_of(text: str, labels: Sequence[str]) -> tuple[int, ...]:
    """The positions of `labels`, best first, in an answer that names each of them once.

    >>> order_of('{"order": ["B", "A"]}', ["A", "B"])
    (1, 0)
    """
    named = _named(text)
    places = {label: place for place, label in enumerate(labels)}
    if unknown := [label for label in named if label not in places]:
        raise Malformed("unknown label", str(unknown[0]))
    if repeated := [label for i, label in enumerate(named) if label in named[:i]]:
        raise Malformed("repeated label", repeated[0])
    if missing := [label for label in labels if label not in set(named)]:
        raise Malformed("missing label", ", ".join(missing))
    return tuple(places[label] for label in named)


def mended_order(text: str, labels: Sequence[str]) -> Mended:
    """The order in an answer, what is left out put at its end as it was shown and what is unknown dropped; Malformed
    for an answer that names none of the labels.

    >>> mended_order('{"order": ["C", "X"]}', ["A", "B", "C"])
    Mended(order=(2, 0, 1), missing=2, unknown=1)
    """
    named = _named(text)
    places = {label: place for place, label in enumerate(labels)}
    known = list(dict.fromkeys(places[label] for label in named if label in places))
    if not known:
        raise Malformed("unknown label", str(named[0]) if named else "none")
    left_out = [place for place in range(len(labels)) if place not in set(known)]
    return Mended((*known, *left_out), len(left_out), len(named) - len(known))


def _named(text: str) -> list[str]:
    value = _only_value(text, ORDER_KEY)
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise Malformed("not a list of labels", _told(value))
    return value


def _only_value(text: str, key: str) -> Any:
    """The value of the object's only key."""
    found = _object(text)
    values = [value for name, value in found if name == key]
    if not values:
        raise Malformed(f"no {key}", ", ".join(name for name, _ in found) or "an empty object")
    if len(values) > 1:
        raise Malformed("several grades" if key == GRADE_KEY else "several orders", _told(values))
    if len(found) > 1:
        others = [name for name, _ in found if name != key]
        raise Malformed("more than was asked for", ", ".join(others))
    return values[0]


def _object(text: str) -> list[tuple[str, Any]]:
    """The names and values of the one JSON object that an answer consists of, repeated names too."""
    text = text.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    if not text:
        raise Malformed("empty")
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        raise Malformed(_why_no_json(text), text) from None
    if not isinstance(value, _Pairs):
        raise Malformed("no JSON object", text)
    return list(value)


class _Pairs(list[tuple[str, Any]]):
    """What an object holds, in place of a dictionary that would forget a repeated name."""


def _why_no_json(text: str) -> str:
    start = text.find("{")
    if start < 0:
        return "no JSON"
    try:
        _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return "broken or cut JSON"
    return "text around the JSON"


def _told(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "lists in lists"


def _cut(found: str) -> str:
    line = " ".join(found.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
