"""Queries with documents to judge: the relevant ones, and hard negatives that look like them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from semblance.protocols.hume.folder.formats import Practice
from semblance.protocols.hume.sampling.choosing import relevant_of, seeded
from semblance.protocols.hume.sampling.drawn import Chosen, Drawn, counted
from semblance.protocols.hume.sampling.practice import marks_practice, own_practice
from semblance.protocols.hume.sampling.repeats import plain
from semblance.protocols.hume.sampling.request import TaskRequest
from semblance.records import RerankingSet, RetrievalSet
from semblance.search.bm25 import BM25Index
from semblance.search.duplicates import jaccard

NEAR = 0.8
"""From this share of common runs of words a document is a near copy of another one: it is not shown beside it."""
DEPTH = 100
"""Documents that BM25 finds for a query, among which hard negatives are looked for."""
PRACTISED = 4
"""Documents of a query to practise on."""
Negatives = Callable[["Asked"], Iterable[str]]
"""The ids of documents that are not relevant to a query, hardest first."""


@dataclass(frozen=True)
class Asked:
    """A query, the gain of its judged documents, and the text of all documents there are, by id."""

    id: str
    query: str
    gains: Mapping[str, float]
    texts: Mapping[str, str]


def from_lists(data: RerankingSet) -> tuple[list[Asked], Negatives]:
    """Queries whose candidates are given; hardest are those of the list that BM25 over it ranks first."""
    asked = []
    for place, key in enumerate(data.ids):
        ids = [f"{key}#{number}" for number in range(1, len(data.candidates[place]) + 1)]
        texts = dict(zip(ids, data.candidates[place], strict=True))
        gains = dict(zip(ids, map(float, data.relevance[place]), strict=True))
        asked.append(Asked(key, data.queries[place][0], gains, texts))
    return asked, _hardest_of_list


def from_corpus(data: RetrievalSet) -> tuple[list[Asked], Negatives]:
    """Queries over a corpus; hardest are the documents that BM25 finds first and nobody judged relevant."""
    texts = dict(zip(data.corpus.ids, data.corpus.texts, strict=True))
    index = BM25Index.of(data.corpus.ids, data.corpus.texts)
    asked = [
        Asked(key, query, data.qrels[key], texts)
        for key, query in zip(data.queries.ids, data.queries.texts, strict=True)
    ]

    def hardest(one: Asked) -> Iterator[str]:
        return (
            hit.id for hit in index.search(one.query, DEPTH + len(one.gains)) if not _is_relevant(one, hit.id)
        )

    return asked, hardest


def draw_reranking(
    asked: Sequence[Asked], negatives: Negatives, request: TaskRequest, n: int, seed: int
) -> Drawn:
    """`n` queries with `candidates` documents each, up to `relevant` of them relevant, in an order drawn per query.

    Of more relevant documents those of the highest gain are shown, and the others not at all. Queries without enough
    documents are left out. Near copies of a document that is shown or relevant are not shown. Source: spec hume 2.1.
    """
    first = {plain(one.query): one for one in reversed(asked)}
    pool = [one for one in asked if first[plain(one.query)] is one]
    order = [pool[place] for place in seeded([one.id for one in pool], seed, "queries")]
    items: list[Chosen] = []
    left = 0
    while order and len(items) < n:
        item = _item(order.pop(0), negatives, request.relevant, request.candidates, seed)
        left += item is None
        items += [item] if item else []
    notes = (
        *counted(left, "query", f"passed over: fewer than {request.candidates} documents to show"),
        *counted(len(asked) - len(pool), "repeated query", "left out"),
    )
    about = (_relevant_note(items),) if items else ()
    practice = _practice(order, negatives, request, seed)
    return Drawn(tuple(items), practice, notes=notes, about_gold=about)


def shown(
    one: Asked, negatives: Iterable[str], relevant: int, total: int, seed: int
) -> tuple[str, ...] | None:
    """The documents of a query in the order they are shown, None where there are not `total` of them."""
    known = [
        document for document, gain in one.gains.items() if gain > 0 and one.texts.get(document, "").strip()
    ]
    chosen: list[str] = []
    for document in relevant_of({key: one.gains[key] for key in known}, len(known), seed, one.id):
        if len(chosen) < relevant and not _is_copy(one.texts[document], [one.texts[key] for key in chosen]):
            chosen.append(document)
    if not chosen:
        return None
    beside = [one.texts[document] for document in known]
    for document in negatives:
        if len(chosen) == total:
            break
        text = one.texts[document]
        if text.strip() and not _is_copy(text, beside):
            chosen.append(document)
            beside.append(text)
    order = seeded(chosen, seed, "shown", one.id)
    return tuple(chosen[place] for place in order) if len(chosen) == total else None


def _item(one: Asked, negatives: Negatives, relevant: int, total: int, seed: int) -> Chosen | None:
    documents = shown(one, negatives(one), relevant, total, seed)
    if documents is None:
        return None
    payload = {
        "query": one.query,
        "documents": [{"id": f"d{place}", "text": one.texts[key]} for place, key in enumerate(documents, 1)],
    }
    return Chosen(payload, [int(_is_relevant(one, key)) for key in documents], one.id, documents)


def _practice(
    rest: Sequence[Asked], negatives: Negatives, request: TaskRequest, seed: int
) -> tuple[Practice, ...]:
    """Queries that were not drawn with four documents each; our own where there are too few."""
    found: list[Practice] = []
    for one in rest:
        if len(found) == request.practice:
            break
        item = _item(one, negatives, min(request.relevant, 2), PRACTISED, seed)
        if item is not None:
            found.append(marks_practice(dict(item.payload), item.gold))
    return tuple(found if len(found) == request.practice else own_practice("reranking")[: request.practice])


def _hardest_of_list(one: Asked) -> list[str]:
    ids = [key for key in one.texts if not _is_relevant(one, key)]
    index = BM25Index.of(list(one.texts), list(one.texts.values()))
    scores = index.scores(one.query, ids)
    return [ids[place] for place in sorted(range(len(ids)), key=lambda place: (-scores[place], ids[place]))]


def _is_relevant(one: Asked, document: str) -> bool:
    return one.gains.get(document, 0) > 0


def _is_copy(text: str, others: Iterable[str]) -> bool:
    return any(plain(text) == plain(other) or jaccard(text, other) >= NEAR for other in others)


def _relevant_note(items: Sequence[Chosen]) -> str:
    sizes = Counter(sum(item.gold) for item in items)
    words = ", ".join(f"{number} in {sizes[number]}" for number in sorted(sizes))
    return f"relevant documents per query: {words}"
