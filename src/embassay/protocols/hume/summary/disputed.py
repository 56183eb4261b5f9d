"""The items on which the annotators of a task disagree most: where to look before anybody trusts its gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from embassay.protocols.hume.study import Answers, Family, Gold, Item
from embassay.protocols.hume.summary.record import Disputed

MOST = 5
LONGEST = 400
"""Characters of a text that are kept."""
_TEXTS = ("text", "text1", "text2", "query")


def disputed(
    family: Family, items: Sequence[Item], gold: Gold, answers: Answers, *, most: int = MOST
) -> tuple[Disputed, ...]:
    """Up to `most` items that annotators answered differently, the most disputed first, ties by id.

    How far they are apart, from 0 to 1: classification, the share of pairs of annotators with other labels; STS, the
    widest distance of two ratings over that of all ratings of the task; reranking, the share of documents that two
    annotators marked differently, mean over pairs; clustering, the share of other items that one put with this item
    and the other did not, mean over pairs. Items with fewer than two answers are none.

    >>> items = [Item("a", "t", "eng", {"text": "so so"}), Item("b", "t", "eng", {"text": "good"})]
    >>> answers = {"ann": {"a": "pos", "b": "pos"}, "bob": {"a": "neg", "b": "pos"}}
    >>> [(one.item, one.apart) for one in disputed("classification", items, {"a": "neg", "b": "pos"}, answers)]
    [('a', 1.0)]
    """
    apart = _APART[family]
    found = []
    for item in items:
        given = {name: own[item.id] for name, own in answers.items() if item.id in own}
        distance = apart(item.id, given, answers) if len(given) > 1 else 0.0
        if distance > 0:
            found.append((distance, item, given))
    found.sort(key=lambda one: (-one[0], one[1].id))
    return tuple(
        Disputed(
            item=item.id, texts=_texts(item), gold=_said(gold.get(item.id)),
            answers={name: _said(value) for name, value in given.items()}, apart=distance,
        )
        for distance, item, given in found[:most]
    )  # fmt: skip


def _of_pairs(given: Mapping[str, Any], distance: Callable[[str, str], float]) -> float:
    """The mean distance over all pairs of annotators."""
    names = list(given)
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    return sum(distance(one, other) for one, other in pairs) / len(pairs)


def _labels(_: str, given: Mapping[str, Any], __: Answers) -> float:
    return _of_pairs(given, lambda one, other: float(given[one] != given[other]))


def _ratings(_: str, given: Mapping[str, Any], answers: Answers) -> float:
    every = [value for own in answers.values() for value in own.values()]
    widest = max(every) - min(every)
    return float(max(given.values()) - min(given.values())) / widest if widest else 0.0


def _marks(_: str, given: Mapping[str, Any], __: Answers) -> float:
    def distance(one: str, other: str) -> float:
        differ = sum(a != b for a, b in zip(given[one], given[other], strict=True))
        return float(differ / len(given[one]))

    return _of_pairs(given, distance)


def _groups(item: str, given: Mapping[str, Any], answers: Answers) -> float:
    def distance(one: str, other: str) -> float:
        common = [id for id in answers[one] if id in answers[other] and id != item]
        apart = sum((answers[one][id] == given[one]) != (answers[other][id] == given[other]) for id in common)
        return apart / len(common) if common else 0.0

    return _of_pairs(given, distance)


_APART: Mapping[Family, Callable[[str, Mapping[str, Any], Answers], float]] = {
    "classification": _labels, "sts": _ratings, "reranking": _marks, "clustering": _groups
}  # fmt: skip


def _texts(item: Item) -> tuple[str, ...]:
    found = [str(item.payload[name]) for name in _TEXTS if item.payload.get(name)]
    return tuple(text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …" for text in found)


def _said(value: Any) -> str:
    """An answer in words: marks by the places of the documents, shown order, that were marked.

    >>> _said((0, 1, 1)), _said((0, 0)), _said(3.0), _said("joy"), _said(None)
    ('2, 3', 'none', '3', 'joy', '')
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(str(place) for place, mark in enumerate(value, start=1) if mark) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
