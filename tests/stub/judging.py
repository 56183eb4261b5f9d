"""A chat model that judges passages: grades and orders by a table or by common words; and bad answers on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from random import Random

from .chat import Behaviour, Reply, Turn
from .paraphrasing import share
from .wire import Problem

_BLOCK = re.compile(r"\[(question|passage)(?: ([A-Z]+))? ([0-9a-f]{8})\]\n(.*?)\n\[end of \1(?: \2)? \3\]", re.DOTALL)
_WORD = re.compile(r"\w+")

Table = Mapping[tuple[str, str], float]
"""(question, passage) -> how useful, in grades."""

MALFORMED: Mapping[str, Callable[[str], str]] = {
    "truth value": lambda key: f'{{"{key}": true}}',
    "out of range": lambda key: '{"grade": 7}' if key != "order" else '{"order": ["?"]}',
    "not whole": lambda key: f'{{"{key}": 3.5}}',
    "words around": lambda key: f'Let me see. {{"{key}": 4}} or {{"{key}": 5}}.',
    "missing key": lambda key: '{"answer": 4}',
    "twice": lambda key: f'{{"{key}": 4, "{key}": 2}}',
    "cut": lambda key: f'{{"{key}": ',
    "prose": lambda key: "I am sorry, I cannot judge that.",
    "text": lambda key: f'{{"{key}": "4"}}',
    "list": lambda key: f'{{"{key}": [4, 5]}}',
    "null": lambda key: f'{{"{key}": null}}',
    "more": lambda key: f'{{"{key}": 4, "because": "it says so"}}',
}
"""Kind of fault -> an answer with it."""


def judging(
    table: Table | None = None,
    *,
    malformed: float = 0.0,
    refusing: float = 0.0,
    never: float = 0.0,
    noise: float = 0.0,
    kinds: tuple[str, ...] = tuple(MALFORMED),
) -> Behaviour:
    """A judge. Of so large shares of the answers it gives one that is `malformed`, in one of these `kinds`; of the
    calls the server is `refusing` some, whatever the seed, and some `never` get an answer that can be read. `noise` is
    the standard deviation, in grades, of what is added to usefulness, another for another seed."""

    def behaviour(turn: Turn) -> Reply | str:
        question, passages = read(turn.last)
        key = "order" if '"order"' in turn.messages[0]["content"] else "grade"
        at = share(turn.last)
        if at < refusing:
            raise Problem(400, "this text cannot be processed")
        random = Random(f"{seed_of(turn)} {turn.last}")
        if at < refusing + never or random.random() < malformed:
            return MALFORMED[random.choice(kinds)](key)
        useful = [usefulness(question, one, table) + noise * random.gauss(0, 1) for one in passages.values()]
        if key == "grade":
            return json.dumps({key: min(5, max(1, round(useful[0])))})
        ranked = sorted(zip(useful, passages, strict=True), key=lambda one: -one[0])
        return json.dumps({key: [label for _, label in ranked]})

    return behaviour


def read(shown: str) -> tuple[str, dict[str, str]]:
    """The question, and the passages by label ("" for the only one), of a message that asks for a judgement."""
    blocks = _BLOCK.findall(shown)
    passages = {label: text for kind, label, _, text in blocks if kind == "passage"}
    return next(text for kind, _, _, text in blocks if kind == "question"), passages


def usefulness(question: str, passage: str, table: Table | None = None) -> float:
    """How useful a passage is, 1 to 5: as the table says (1 where it does not), or by the share of the question's words
    that it has."""
    if table is not None:
        return table.get((question, passage), 1.0)
    asked = set(_WORD.findall(question.lower()))
    return 1 + 4 * len(asked & set(_WORD.findall(passage.lower()))) / max(1, len(asked))


def seed_of(turn: Turn) -> int | None:
    """The seed that the call was made with."""
    return turn.body.get("seed", turn.body.get("options", {}).get("seed"))
