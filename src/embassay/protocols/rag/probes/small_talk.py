"""Small talk around a question, at five levels, word for word. Alone: a sweep needs no more of the probes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from embassay.errors import UsageError
from embassay.randomness import random_bytes

Lang = Literal["en", "fr"]
QUERY = "query"
LEVELS: tuple[tuple[str, ...], ...] = (
    (QUERY,),
    ("greeting", QUERY),
    ("greeting", "filler", QUERY),
    ("greeting", "digression", "filler", QUERY, "politeness"),
    ("greeting", "apology", "context", "hedge", QUERY, "emoji"),
)
"""What each level consists of, in order. Source: spec rag 5.4; levels 1 and 3 and the phrases are ours."""


def noisy(query: str, level: int, *, lang: Lang, seed: int, key: str) -> str:
    """The question with the small talk of this level around it; `key` (its id) and `seed` choose the phrases.

    A phrase that two levels share is the same in both, so that a level differs from the one below by what it adds.
    UsageError for another level or language.

    >>> noisy("Why is the sea salt?", 0, lang="en", seed=1, key="q1")
    'Why is the sea salt?'
    >>> noisy("Why is the sea salt?", 2, lang="en", seed=1, key="q1").endswith("Why is the sea salt?")
    True
    """
    if not 0 <= level < len(LEVELS):
        raise UsageError(f"There is no noise level {level}.", mend=f"Levels are 0 to {len(LEVELS) - 1}.")
    bank = phrases().get(lang)
    if bank is None:
        raise UsageError(f"There is no small talk in {lang!r}.", mend=f"Known are {' and '.join(phrases())}.")
    return " ".join(
        query if part == QUERY else _chosen(bank[part], seed, lang, part, key) for part in LEVELS[level]
    )


@cache
def phrases() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Language -> part -> phrases."""
    text = files("embassay.protocols.rag.probes").joinpath("phrases.json").read_text("utf-8")
    loaded: Mapping[str, Mapping[str, Sequence[str]]] = json.loads(text)
    return loaded


def _chosen(bank: Sequence[str], seed: int, *names: str) -> str:
    return bank[int.from_bytes(random_bytes(8, seed, "noise", *names), "big") % len(bank)]
