"""A chat model that annotates: it knows what is right, and errs by a known amount that belongs to each item."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .chat import Behaviour, Reply, Turn
from .paraphrasing import share
from .wire import Problem

_BLOCK = re.compile(r"\[([a-z0-9]+(?: [A-Z]+)?) ([0-9a-f]{8})\]\n(.*?)\n\[end of \1 \2\]", re.DOTALL)
_LABEL = re.compile(r"^- (.+?)(?::|$)", re.MULTILINE)

Known = Mapping[tuple[str, ...], Any]
"""What is right by the texts of an item: a label's name, a rating, or a grade per document."""


def annotating(
    known: Known,
    *,
    wrong: float = 0.0,
    spread: float = 0.0,
    misplaced: float = 0.0,
    malformed: float = 0.0,
    never: float = 0.0,
    partial: float = 0.0,
    refusing: float = 0.0,
) -> Behaviour:
    """An annotator. Labels are `wrong` for so large a share of items, ratings off by up to `spread`, documents
    `misplaced` by so much of a grade.

    Of items, the first answer is `malformed` for a share, no answer can be read for the share `never`, the ranking
    stays without its last two letters for the share `partial`, and the server is `refusing` some.
    """

    def behaviour(turn: Turn) -> Reply | str:
        system, item = turn.messages[0]["content"], turn.messages[1]["content"]
        parts = blocks(item)
        at = share("fate " + item)
        if at < refusing:
            raise Problem(400, "this text cannot be processed")
        if at < refusing + never or (at < refusing + never + malformed and len(turn.messages) == 2):
            return "I would rather talk about the weather."
        texts = tuple(text for _, text in parts)
        gold = known[texts]
        if '{"label"' in system:
            names = _LABEL.findall(system.partition("Labels:")[2])
            return json.dumps({"label": noisy_label(gold, names, item, wrong)})
        if '{"rating"' in system:
            return json.dumps({"rating": noisy_rating(gold, item, spread)})
        letters = [name.removeprefix("document ") for name, _ in parts[1:]]
        scores = noisy_scores(gold, item, misplaced)
        if '{"relevant"' in system:
            return json.dumps(
                {"relevant": [name for name, mark in zip(letters, marks_of(scores), strict=True) if mark]}
            )
        order = [letters[place] for place in order_of(scores)]
        cut = refusing + never + malformed <= at < refusing + never + malformed + partial
        return json.dumps({"ranking": order[:-2] if cut else order})

    return behaviour


def blocks(item: str) -> list[tuple[str, str]]:
    """The names and texts of an item's parts."""
    return [(name, text) for name, _, text in _BLOCK.findall(item)]


def noisy_label(gold: str, names: Sequence[str], item: str, wrong: float) -> str:
    """The right name, or for a share of items the next one."""
    return names[(names.index(gold) + (share("label " + item) < wrong)) % len(names)]


def noisy_rating(gold: float, item: str, spread: float) -> float:
    """The right rating, off by up to `spread`, inside 0 to 5."""
    return round(min(5.0, max(0.0, gold + spread * (2 * share("rating " + item) - 1))), 3)


def noisy_scores(gold: Sequence[int], item: str, misplaced: float) -> list[float]:
    """A score per document: its grade, off by up to `misplaced`."""
    return [grade + misplaced * (2 * share(f"{place} {item}") - 1) for place, grade in enumerate(gold)]


def order_of(scores: Sequence[float]) -> list[int]:
    """The places of documents, best first."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def marks_of(scores: Sequence[float]) -> list[bool]:
    """Which documents are called relevant."""
    return [score >= 0.5 for score in scores]
