"""The data of a task, cut by language: each is a problem of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from embassay.data import Dataset
from embassay.protocols.kernel.inputs import dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.pteb.paraphrasing.records import Asked
from embassay.protocols.tasks import TASKS, Task
from embassay.records import Loaded

_ENGLISH = frozenset({"en", "eng", "en-en", "eng-eng"})
_CROSSED = re.compile("(?P<first>[a-z]{2,3})-(?P<second>[a-z]{2,3})")


def task(name: str) -> Task:
    """The task called `name`."""
    return TASKS.build(name)


@lru_cache(maxsize=4)
def slices(
    name: str, request: DatasetRequest, limit: int | None, seed: int, languages: str
) -> tuple[Loaded[Any], ...]:
    """The dataset in the task's shape, one for each of its languages, or one for all where they are `pooled`.

    Each says its language, and a limit holds for each.
    """
    what, opened = task(name), dataset(request)
    if languages == "pooled":
        return (what.load(opened, limit, seed),)
    by_language = opened.subsets(shape_of(what, opened))
    return tuple(replace(what.load(one, limit, seed), lang=lang) for lang, one in by_language.items())


def shape_of(what: Task, opened: Dataset) -> str:
    """The first shape of the task that the dataset has."""
    return next(shape for shape in what.shapes if not opened.missing(shape))


def asked_of(
    name: str, parts: tuple[Loaded[Any], ...], *, by_place: bool, unworded: tuple[str, ...] = ()
) -> Iterator[Asked]:
    """Every text of a task to be paraphrased, as often as it occurs, but for those at places that begin with one of
    `unworded`; with `by_place`, occurrences of one text are told apart."""
    what = task(name)
    multilingual = not all(part.lang in _ENGLISH for part in parts)
    for part in parts:
        for place, text in what.texts(part.data):
            if place.startswith(unworded):
                continue
            own = f"{name}:{place}" if by_place else ""
            yield Asked(text, language_at(place, part.lang), own, multilingual)


def language_at(place: str, lang: str) -> str:
    """The language of a text: of a pair in two languages (`en-de`) each side has its own.

    >>> language_at("second:7", "en-de"), language_at("first:7", "deu-eng"), language_at("text:7", "zh")
    ('de', 'deu', 'zh')
    """
    crossed = _CROSSED.fullmatch(lang)
    side = place.partition(":")[0]
    return crossed[side] if crossed and side in ("first", "second") else lang
