"""Which items are not independent and are drawn together: pairs with a common text, questions with a common relevant
document or of the same words, ratings of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.records import LabelledTextPairs, RetrievalSet, ScoredTextPairs, SummaryComparisons, SummaryRatings

Labels = NDArray[np.int64]

MOST = 0.2
"""Share of the items that one group may hold."""

SHARED = {
    SummaryComparisons: "comparisons of one source", SummaryRatings: "ratings of one source",
    ScoredTextPairs: "pairs that share a text", LabelledTextPairs: "pairs that share a text",
    RetrievalSet: "queries that share a relevant document"
}  # fmt: skip
"""What the items of a group have in common, by the kind of data."""


def find_item_groups(data: Any) -> Labels | None:
    """The group of each item of a dataset, 0 .. g - 1 as they appear; None where every item is its own."""
    match data:
        case SummaryComparisons() | SummaryRatings():
            return group_items_sharing_things([(source,) for source in data.sources])
        case ScoredTextPairs() | LabelledTextPairs():
            return group_items_sharing_things([{*pair} for pair in zip(data.first, data.second, strict=True)])
        case RetrievalSet():
            return group_items_sharing_things(
                list(_iterate_relevant_documents_per_query(data)), list(data.queries.texts)
            )
    return None


def _iterate_relevant_documents_per_query(data: RetrievalSet) -> Iterator[Collection[str]]:
    for query in data.queries.ids:
        yield {doc for doc, gain in data.qrels.get(query, {}).items() if gain > 0}


def map_items_to_group_leader(data: Any) -> Mapping[str, str]:
    """Item -> the first item of its group; empty where every item is its own."""
    labels = find_item_groups(data)
    if labels is None:
        return {}
    ids: Sequence[str] = data.queries.ids if isinstance(data, RetrievalSet) else data.ids
    # Backwards, so that of a group's items the first is written last and stays.
    first = {label: ids[place] for place, label in reversed(list(enumerate(labels.tolist())))}
    return {key: first[label] for key, label in zip(ids, labels.tolist(), strict=True)}


def describe_bootstrap_units(noun: str, data_kind: type, labels: Labels | None) -> str:
    """How an interval was made: `bootstrap over pairs`, or over groups of them.

    >>> (describe_bootstrap_units("pairs", ScoredTextPairs, None),
    ... describe_bootstrap_units("pairs", ScoredTextPairs, np.array([0, 0, 1])))
    ('bootstrap over pairs', 'cluster bootstrap over 2 groups of pairs that share a text')
    """
    if labels is None:
        return f"bootstrap over {noun}"
    return f"cluster bootstrap over {len(set(labels.tolist()))} groups of {SHARED[data_kind]}"


def group_items_sharing_things(shared: Sequence[Collection[str]], texts: Sequence[str] = ()) -> Labels | None:
    """The groups of items that each have the given things: those that have one in common, directly or through others.
    Items whose `texts` are the same words, or that have all things in common, are always one group.

    Where that would tie more than a fifth of the items to each other (a document that most queries are about), the
    things that most items have tie nobody: as many of them, the most frequent first, as it takes. None where no two
    items are in one group.

    >>> group_items_sharing_things([{"a"}, {"b"}, {"a", "c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}, {"i"}, {
    ...     "j"}]).tolist()
    [0, 1, 0, 2, 3, 4, 5, 6, 7, 8]
    >>> group_items_sharing_things([{"a"}, {"b"}, {"c"}], ["What is it?", "Who?", "what  is it?"]).tolist()
    [0, 1, 0]
    """
    words_of = texts or [""] * len(shared)
    alike = [tuple(_list_keys_of_identical_items(things, text)) for things, text in zip(shared, words_of, strict=True)]
    often = Counter(thing for things in shared for thing in set(things))
    labels = np.empty(0, dtype=np.int64)
    # The most frequent things are dropped first; at 0 only items that are alike stay tied.
    for most in (*sorted(set(often.values()), reverse=True), 0):
        kept = [[thing for thing in things if often[thing] <= most] for things in shared]
        labels = _number_groups(
            _link_items_sharing_things([[*own, *same] for own, same in zip(kept, alike, strict=True)])
        )
        if not len(labels) or np.bincount(labels).max() <= max(2, MOST * len(labels)):
            break
    return None if len(labels) == len(set(labels.tolist())) else labels


def _list_keys_of_identical_items(things: Collection[str], text: str) -> Iterator[Hashable]:
    """What makes an item the double of another."""
    if things:
        yield ("all", *sorted(things))
    if written := text.casefold().split():
        yield ("text", *written)


def _link_items_sharing_things(shared: Sequence[Iterable[Hashable]]) -> list[int]:
    """The first item that each is tied to, by union of what shares a thing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    owner: dict[Hashable, int] = {}
    ties = [(place, owner.setdefault(thing, place)) for place, things in enumerate(shared) for thing in things]
    # Items that share a thing are connected, directly or through others.
    ends = np.array(ties, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(len(shared), len(shared)))
    labels = connected_components(graph, directed=False)[1].tolist()
    first: dict[int, int] = {}
    return [first.setdefault(label, place) for place, label in enumerate(labels)]


def _number_groups(names: Sequence[Any]) -> Labels:
    places: dict[Any, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int64)
