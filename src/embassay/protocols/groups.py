"""Items that share a text are drawn together: what they share makes their values alike, and resampling them one by one
would promise more than they know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.records import Comparisons, LabelledPairs, Ratings, RetrievalSet, ScoredPairs

Labels = NDArray[np.int64]

MOST = 0.2
"""Share of the items that one group may hold."""

SHARED = {
    Comparisons: "comparisons of one source", Ratings: "ratings of one source",
    ScoredPairs: "pairs that share a text", LabelledPairs: "pairs that share a text",
    RetrievalSet: "queries that share a relevant document",
}  # fmt: skip
"""What the items of a group have in common, by the kind of data."""


def groups_of(data: Any) -> Labels | None:
    """The group of each item of a dataset, 0 .. g - 1 as they appear; None where every item is its own."""
    kind = type(data)
    return tied(list(_shared(data))) if kind in SHARED else None


def named_groups(data: Any) -> Mapping[str, str]:
    """Item -> the first item of its group; empty where every item is its own."""
    labels = groups_of(data)
    if labels is None:
        return {}
    ids: Sequence[str] = data.queries.ids if isinstance(data, RetrievalSet) else data.ids
    first = {label: ids[place] for place, label in reversed(list(enumerate(labels.tolist())))}
    return {one: first[label] for one, label in zip(ids, labels.tolist(), strict=True)}


def words(noun: str, data_kind: type, labels: Labels | None) -> str:
    """How an interval was made: `bootstrap over pairs`, or over groups of them.

    >>> words("pairs", ScoredPairs, None), words("pairs", ScoredPairs, np.array([0, 0, 1]))
    ('bootstrap over pairs', 'cluster bootstrap over 2 groups of pairs that share a text')
    """
    if labels is None:
        return f"bootstrap over {noun}"
    return f"cluster bootstrap over {len(set(labels.tolist()))} groups of {SHARED[data_kind]}"


def tied(shared: Sequence[Collection[str]]) -> Labels | None:
    """The groups of items that each have the given things: those that have one in common, directly or through others.

    Where that would tie more than a fifth of the items to each other (a document that most queries are about), only
    items that have all in common. None where no two items are in one group.

    >>> tied([{"a"}, {"b"}, {"a", "c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}, {"i"}, {"j"}]).tolist()
    [0, 1, 0, 2, 3, 4, 5, 6, 7, 8]
    """
    labels = _numbered(_linked(shared))
    if len(labels) and np.bincount(labels).max() > max(2, MOST * len(labels)):
        labels = _numbered([tuple(sorted(things)) or place for place, things in enumerate(shared)])
    return None if len(labels) == len(set(labels.tolist())) else labels


def _shared(data: Any) -> Iterator[Collection[str]]:
    match data:
        case Comparisons() | Ratings():
            yield from ((source,) for source in data.sources)
        case ScoredPairs() | LabelledPairs():
            yield from ({*pair} for pair in zip(data.first, data.second, strict=True))
        case RetrievalSet():
            for query in data.queries.ids:
                yield {doc for doc, gain in data.qrels.get(query, {}).items() if gain > 0}


def _linked(shared: Sequence[Collection[str]]) -> list[int]:
    """The first item that each is tied to, by union of what shares a thing."""
    parent = list(range(len(shared)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    owner: dict[str, int] = {}
    for place, things in enumerate(shared):
        for thing in things:
            one, other = sorted((root(place), root(owner.setdefault(thing, place))))
            parent[other] = one
    return [root(place) for place in range(len(shared))]


def _numbered(names: Sequence[Any]) -> Labels:
    places: dict[Any, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int64)
