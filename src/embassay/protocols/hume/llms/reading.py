"""What counts as an answer: one JSON object with one field, in a code fence or not, or the bare value alone.

Anything else is Unread, and is asked for once more: which of two labels is meant, or which number of a sentence, would
be a guess.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols.hume.folder.formats import LabelChoice, Scale
from embassay.protocols.hume.study import Label

LABEL, RATING, RANKING, RELEVANT = "label", "rating", "ranking", "relevant"
"""The field of each kind of answer."""
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_SHOWN = 80


class Unread(ValueError):
    """An answer that is none; says what is wrong with it, for the model too."""


@dataclass(frozen=True)
class Order:
    """Places of documents (from 0), best first; `missing` of them were not named and are put at the end as shown, and
    `unknown` names stood for nothing or for a second time."""

    places: tuple[int, ...]
    missing: int = 0
    unknown: int = 0


def read_label(text: str, labels: Sequence[LabelChoice]) -> Label:
    """The stored value of the label that an answer names, in any case.

    >>> read_label('{"label": "joy"}', [LabelChoice(value=1, name="Joy"), LabelChoice(value=0, name="sadness")])
    1
    """
    said = _value(text, LABEL)
    if isinstance(said, bool) or not isinstance(said, str | int):
        raise Unread(f"the label is {_told(said)}, no name")
    wanted = str(said).strip()
    exact = [one.value for one in labels if one.name == wanted]
    # Some models answer with the stored value where it is a word too.
    found = exact or [one.value for one in labels if one.name.casefold() == wanted.casefold()]
    found = found or [one.value for one in labels if str(one.value).casefold() == wanted.casefold()]
    if len(found) != 1:
        raise Unread(f"{_told(said)} is not one of {', '.join(one.name for one in labels)}")
    return found[0]


def read_rating(text: str, scale: Scale) -> float:
    """The number in an answer, on the scale; numbers between its steps count.

    >>> read_rating('{"rating": 3.5}', Scale()), read_rating("4", Scale())
    (3.5, 4.0)
    """
    said = _value(text, RATING)
    if isinstance(said, str):
        said = _number(said)
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        raise Unread(f"the rating is {_told(said)}, no number")
    if not scale.low <= said <= scale.high:
        raise Unread(f"the rating {said:g} is not from {scale.low:g} to {scale.high:g}")
    return float(said)


def read_order(text: str, names: Sequence[str]) -> Order:
    """The order in an answer, made whole where it is not; Unread where it names no document at all.

    >>> read_order('{"ranking": ["C", "X"]}', ["A", "B", "C"])
    Order(places=(2, 0, 1), missing=2, unknown=1)
    """
    said = _names(text, RANKING)
    places = {name: place for place, name in enumerate(names)}
    known = list(dict.fromkeys(places[name] for name in said if name in places))
    if not known:
        raise Unread(f"the ranking names none of {', '.join(names)}")
    missing = [place for place in range(len(names)) if place not in known]
    return Order((*known, *missing), len(missing), len(said) - len(known))


def read_marks(text: str, names: Sequence[str]) -> tuple[int, ...]:
    """0 or 1 for every document, from the names of the relevant ones.

    >>> read_marks('{"relevant": ["C"]}', ["A", "B", "C"])
    (0, 0, 1)
    """
    said = _names(text, RELEVANT)
    if unknown := [name for name in said if name not in names]:
        raise Unread(f"{_told(unknown[0])} is no document: they are {', '.join(names)}")
    return tuple(int(name in said) for name in names)


def _names(text: str, key: str) -> list[str]:
    said = _value(text, key)
    if not isinstance(said, list) or not all(isinstance(one, str) for one in said):
        raise Unread(f"{key} is {_told(said)}, no list of letters")
    return [one.strip().upper() for one in said]


def _value(text: str, key: str) -> Any:
    """The value of the object's only field, or the whole answer where it is bare."""
    text = text.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    if not text:
        raise Unread("it is empty")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        if key in (RANKING, RELEVANT) or any(sign in text for sign in "{["):
            raise Unread(f"it is not JSON: {_cut(text)}") from None
        return text.strip("\"'.")
    if isinstance(found, dict):
        if list(found) != [key]:
            raise Unread(f'it must have the field "{key}" and no other, and has {_told(list(found))}')
        return found[key]
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _told(value: Any) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "lists in lists"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
