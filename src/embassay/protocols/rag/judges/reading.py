"""What counts as a judge's answer: one JSON object with one whole grade, or with every label once; nothing else.

A code fence around the object does no harm. Everything else is a `Malformed` with its kind, and is asked for again:
which of two grades is meant, or what 3.5 is to become, would be a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
