"""Edited texts for the page. A run does not store them: they are made again from seed, edit and item id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embassay.errors import EmbassayError
from embassay.protocols.sage.context import Context
from embassay.protocols.sage.edits import EDITS, edited, shortened
from embassay.protocols.sage.options import SageOptions
from embassay.records import Documents
from embassay.report.items.groups import SPANS
from embassay.report.record import Record

MOST = 200
"""Items of a group whose edited texts go into the page: the first so many of those kept."""
WINDOW = 100
BEFORE = 20
NEEDLE = 90


@dataclass(frozen=True)
class Changes:
    """Edits of a group's items: `reason` says why there are none, `needle` how inserted texts begin."""

    by_edit: dict[str, list[Any]]
    needle: str = ""
    reason: str = ""


def changes(record: Record, task: str, dataset: str, ids: Sequence[str], texts: Sequence[str]) -> Changes:
    """For each edit and item a window of the edited text (robustness) or the span that changed."""
    try:
        return _made(_context(record, dataset), task, Documents(tuple(ids[:MOST]), tuple(texts[:MOST])))
    except EmbassayError as error:
        return Changes({}, reason=f"Edited texts cannot be shown: {error}")


def _made(context: Context, task: str, documents: Documents) -> Changes:
    if task == "robustness":
        made = {edit: [window(text, new) for text, new in _pairs(edit, documents, context)] for edit in EDITS}
        return Changes(made)
    documents = shortened(documents, context)
    spans: dict[str, list[Any]] = {}
    needle = ""
    for edit, kind, _, _ in SPANS:
        found = [(span(text, new), new) for text, new in _pairs(edit, documents, context)]
        spans[edit] = [place for place, _ in found]
        if kind == "insertion":
            inserted = (new[place[0] : place[0] + place[2]] for place, new in found)
            needle = max((needle, *inserted), key=len)
    return Changes(spans, needle[:NEEDLE])


def window(text: str, new: str) -> list[Any]:
    """Where a window on the first change begins, the original's part of it and the edited one; [] if
    unchanged.

    >>> window("the cat is here", "the cat is not here")
    [0, 'the cat is not here']
    """
    if text == new:
        return []
    start = max(0, _shared(text, new) - BEFORE)
    start = text.rfind(" ", 0, start) + 1
    return [start, new[start : start + WINDOW]]


def span(text: str, new: str) -> list[int]:
    """Where two texts begin to differ, how many characters went and how many came.

    >>> span("one two three", "one three"), span("one three", "one two three")
    ([5, 4, 0], [5, 0, 4])
    """
    start = _shared(text, new)
    end = min(_shared(text[::-1], new[::-1]), min(len(text), len(new)) - start)
    return [start, len(text) - start - end, len(new) - start - end]


def _pairs(edit: str, documents: Documents, context: Context) -> list[tuple[str, str]]:
    return list(zip(documents.texts, edited(edit, documents, context), strict=True))


def _shared(a: str, b: str) -> int:
    """The length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def _context(record: Record, dataset: str) -> Context:
    from embassay.text import open_tokenizer

    arguments = record.arguments
    options = SageOptions(**(arguments.get("options") or {}))
    tokenizer = open_tokenizer(arguments.get("tokenizer", "cl100k"))
    return Context(dataset, tokenizer, arguments.get("seed", 1337), options)
