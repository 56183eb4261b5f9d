"""What is wrong with items as far as a program can tell, and texts that a model may have seen."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embassay.protocols.hume.folder.files import GOLD, Defect, GoldRow, StudyFolder, read_rows
from embassay.protocols.hume.sampling.pools import Chosen, pair_text, plain
from embassay.records import Documents, LabelledTexts, RerankingSet, RetrievalSet, ScoredPairs
from embassay.search.bm25 import words
from embassay.search.duplicates import Shingle, shingles

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


THRESHOLD = 0.8
"""The share of common runs of three words from which two texts are near copies."""


@dataclass(frozen=True)
class Twin:
    """A text of the training data that is an item's text: at which position, and how alike, 1 for the same text."""

    position: int
    similarity: float


def twins(texts: Sequence[str], trained: Iterable[str], threshold: float = THRESHOLD) -> dict[int, Twin]:
    """Position of a text -> the training text that is most like it, the first of equals, where one is near enough.

    Texts are the same where they differ in case and white space only. Near copies have `threshold` of their runs of
    three words in common (Jaccard); texts of less than three words must be the same. One pass over `trained`, of which
    nothing is kept. Source: spec hume 8 (overlap of train and test), trap T11.

    >>> twins(["a cat sat here", "dogs"], ["Dogs ", "the a cat sat here"])
    {1: Twin(position=0, similarity=1.0)}
    """
    same: dict[str, list[int]] = defaultdict(list)
    having: dict[Shingle, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, text in enumerate(texts):
        same[plain(text)].append(place)
        own = shingles(text) if len(words(text)) > 2 else frozenset()
        sizes.append(len(own))
        for one in own:
            having[one].append(place)
    found: dict[int, Twin] = {}
    for number, other in enumerate(trained):
        for place in same.get(plain(other), ()):
            _better(found, place, Twin(number, 1.0))
        theirs = shingles(other)
        for place, common in Counter(place for one in theirs for place in having.get(one, ())).items():
            similarity = common / (sizes[place] + len(theirs) - common)
            # Two texts of the same words in other writing are near, not the same: below 1.
            if similarity >= threshold:
                _better(found, place, Twin(number, min(similarity, 0.999)))
    return dict(sorted(found.items()))


def _better(found: dict[int, Twin], place: int, twin: Twin) -> None:
    if place not in found or twin.similarity > found[place].similarity:
        found[place] = twin


def without_leaked(data: Any, shape: str, trained: Sequence[str]) -> tuple[Any, int]:
    """The data in `shape` without texts, pairs or queries that `trained` has or nearly has, and how many they were."""
    if shape == "classification":
        test, left = without_leaked(data.test, "labelled", (*data.train.texts, *trained))
        return replace(data, test=test), left
    texts = _texts(data, shape)
    leaked = twins(texts, trained)
    kept = [place for place in range(len(texts)) if place not in leaked]
    return _only(data, kept), len(leaked)


def _texts(data: Any, shape: str) -> list[str]:
    if shape == "pairs":
        return [pair_text(one, other) for one, other in zip(data.first, data.second, strict=True)]
    if shape == "reranking":
        return [queries[0] for queries in data.queries]
    return list(data.queries.texts if shape == "retrieval" else data.texts)


def _only(data: Any, kept: Sequence[int]) -> Any:
    """The rows at these positions, in every column."""

    def of(column: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(column[place] for place in kept)

    if isinstance(data, ScoredPairs):
        return ScoredPairs(of(data.ids), of(data.first), of(data.second), data.scores[list(kept)])
    if isinstance(data, RerankingSet):
        return RerankingSet(of(data.ids), of(data.queries), of(data.candidates), of(data.relevance))
    if isinstance(data, RetrievalSet):
        return replace(data, queries=Documents(of(data.queries.ids), of(data.queries.texts)))
    return LabelledTexts(of(data.ids), of(data.texts), of(data.labels), of(data.sets))
