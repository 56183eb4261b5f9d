"""What is wrong with items as far as a program can tell, for the gold file, the notes of a task and its scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from embassay.protocols.hume.folder.formats import Defect, GoldRow
from embassay.protocols.hume.folder.reading import GOLD, StudyFolder, read_rows
from embassay.protocols.hume.sampling.contamination import Twin, twins
from embassay.protocols.hume.sampling.drawn import Chosen

SAID: dict[Defect, str] = {
    "leaked": "also in the training data",
    "ambiguous_label": "with several labels in the data",
    "neutral_text": "with a neutral text in a choice without a neutral label",
    "parsing_artefact": "with remains of markup or wrong characters",
    "added_context": "called the same though one text says more",
    "interdisciplinary": "of several fields at once",
    "empty": "with an empty text",
    "same_text": "with the same text twice",
}
"""Defect -> how it reads behind `3 of 40 items`."""
_ARTEFACT = re.compile(
    r"&(?:#\d+|[a-z]{2,6});|</?(?:br|p|div|span|a|b|i|img|td|tr|li|ul)\b[^>]*>|\\u[0-9a-f]{4}"
    # Formulas have commands that begin like the escape of a line's end.
    r"|\\n(?!(?:u|eq?|abla|ot(?:in)?|i|eg|mid|onumber|ewline)(?![a-z]))|\ufffd|\u00c3[\u0080-\u00bf]|\u00e2\u20ac",
    re.IGNORECASE,
)
"""Entities, tags, escapes that nobody undid, and UTF-8 read as another encoding."""


def has_artefact(text: str) -> bool:
    """Whether a text has remains of markup, of escapes or of a wrong encoding.

    >>> has_artefact("Q&amp;A"), has_artefact("a & b < c")
    (True, False)
    """
    return _ARTEFACT.search(text) is not None


def with_defects(
    items: Sequence[Chosen], trained: Iterable[str]
) -> tuple[tuple[Chosen, ...], dict[int, Twin]]:
    """The items with what is wrong with each, and the text of `trained` that is the twin of each leaked one."""
    found = twins([item.text for item in items], trained)
    return tuple(_marked(item, place in found) for place, item in enumerate(items)), found


def counted_defects(rows: Iterable[GoldRow | Chosen]) -> dict[Defect, int]:
    """Defect -> the number of items that have it, in the order of the list; those of none are left out."""
    counts = Counter(defect for row in rows for defect in set(row.defects))
    return {defect: counts[defect] for defect in SAID if counts[defect]}


def in_words(rows: Sequence[GoldRow] | Sequence[Chosen]) -> tuple[str, ...]:
    """What is wrong with the items of a task, a line for each defect: `3 of 40 items also in the training data`.

    >>> in_words([GoldRow(id="a-1", gold=1, defects=["leaked"]), GoldRow(id="a-2", gold=2)])
    ('1 of 2 items also in the training data',)
    """
    n = len(rows)
    return tuple(f"{count} of {n} items {SAID[defect]}" for defect, count in counted_defects(rows).items())


def study_flags(folder: StudyFolder, task: str) -> tuple[str, ...]:
    """What is wrong with the items of a task, in words, for its scores. Reads `gold.jsonl`."""
    own = {item.id for item in folder.items_of(task)}
    return in_words([row for _, row in read_rows(folder.path / GOLD, GoldRow) if row.id in own])


def _marked(item: Chosen, leaked: bool) -> Chosen:
    seen: dict[Defect, bool] = {
        "leaked": leaked,
        "empty": any(not text.strip() for text in item.texts),
        "parsing_artefact": any(has_artefact(text) for text in item.texts),
    }
    return replace(item, defects=(*item.defects, *(defect for defect, is_so in seen.items() if is_so)))
