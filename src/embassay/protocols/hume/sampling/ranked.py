"""Queries with documents to judge: the relevant ones, and hard negatives that look like them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.protocols.hume.folder.formats import Practice
from embassay.protocols.hume.sampling.choosing import relevant_of, seeded
from embassay.protocols.hume.sampling.drawn import Chosen, Drawn, counted
from embassay.protocols.hume.sampling.practice import marks_practice, own_practice
from embassay.protocols.hume.sampling.repeats import plain
from embassay.protocols.hume.sampling.request import TaskRequest
from embassay.records import RerankingSet, RetrievalSet
from embassay.search.bm25 import BM25Index, Hear
from embassay.search.duplicates import Shingle, shingles

NEAR = 0.8
"""From this share of common runs of words a document is a near copy of another one: it is not shown beside it."""
DEPTH = 100
"""Documents that BM25 finds for a query, among which hard negatives are looked for."""
HARD = 20
"""Among the harder half, at most so many, the negatives that are shown are drawn. The very hardest alone are an attack
on BM25, and hold most of the documents that are relevant though nobody judged them: on Cranfield every system that we
tried was hardly better than chance with them."""
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


@dataclass(frozen=True)
class _ById(Mapping[str, str]):
    """The texts of a corpus by their ids: each is read when it is asked for."""

    index: BM25Index
    texts: Sequence[str]

    def __getitem__(self, key: str) -> str:
        try:
            return self.texts[self.index.place(key)]
        except UsageError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.index.ids)

    def __len__(self) -> int:
        return len(self.index.ids)


def from_lists(data: RerankingSet) -> tuple[list[Asked], Negatives]:
    """Queries whose candidates are given; hardest are those of the list that BM25 over it ranks first."""
    asked = []
    for place, key in enumerate(data.ids):
        ids = [f"{key}#{number}" for number in range(1, len(data.candidates[place]) + 1)]
        texts = dict(zip(ids, data.candidates[place], strict=True))
        gains = dict(zip(ids, map(float, data.relevance[place]), strict=True))
        asked.append(Asked(key, data.queries[place][0], gains, texts))
    return asked, _hardest_of_list


def from_corpus(data: RetrievalSet, hear: Hear | None = None) -> tuple[list[Asked], Negatives]:
    """Queries over a corpus; hardest are the documents that BM25 finds first and nobody judged relevant. `hear` is told
    how far the index is."""
    index = BM25Index.of(data.corpus.ids, data.corpus.texts, asked=data.queries.texts, hear=hear)
    texts = _ById(index, data.corpus.texts)
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
    """`n` queries with `candidates` documents each, up to `relevant` of them relevant, in an order drawn per query; the
    others are drawn among the hardest negatives.

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
    best = relevant_of({key: one.gains[key] for key in known}, len(known), seed, one.id)
    chosen = _unlike(best, one.texts, [], relevant)
    if not chosen:
        return None
    beside = [shingles(one.texts[document]) for document in known]
    chosen += _unlike(negatives, one.texts, beside, total - len(chosen))
    order = seeded(chosen, seed, "shown", one.id)
    return tuple(chosen[place] for place in order) if len(chosen) == total else None


def _item(one: Asked, negatives: Negatives, relevant: int, total: int, seed: int) -> Chosen | None:
    documents = shown(one, _mixed(list(negatives(one)), one.id, total, seed), relevant, total, seed)
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
    """Queries that were not drawn with four documents each, the shortest of a few; our own where there are too few."""
    some = (
        _item(one, negatives, min(request.relevant, 2), PRACTISED, seed)
        for one in rest[: 4 * request.practice]
    )
    found = sorted(filter(None, some), key=lambda item: sum(map(len, item.texts)))[: request.practice]
    if len(found) < request.practice:
        return tuple(own_practice("reranking")[: request.practice])
    return tuple(marks_practice(dict(item.payload), item.gold) for item in found)


def _mixed(hardest: Sequence[str], query: str, total: int, seed: int) -> list[str]:
    """The harder ones in a drawn order, then the others."""
    size = min(HARD, max(total - 1, len(hardest) // 2))
    order = seeded(hardest[:size], seed, "negatives", query)
    return [hardest[place] for place in order] + list(hardest[size:])


def _hardest_of_list(one: Asked) -> list[str]:
    ids = [key for key in one.texts if not _is_relevant(one, key)]
    index = BM25Index.of(list(one.texts), list(one.texts.values()))
    scores = index.scores(one.query, ids)
    return [ids[place] for place in sorted(range(len(ids)), key=lambda place: (-scores[place], ids[place]))]


def _is_relevant(one: Asked, document: str) -> bool:
    return one.gains.get(document, 0) > 0


def _unlike(
    documents: Iterable[str], texts: Mapping[str, str], beside: list[frozenset[Shingle]], upto: int
) -> list[str]:
    """The first documents that are neither empty nor near copies of one before them or of those `beside`."""
    taken: list[str] = []
    for document in documents:
        if len(taken) == upto:
            break
        own = shingles(texts[document])
        if texts[document].strip() and all(len(own & one) < NEAR * len(own | one) for one in beside):
            taken.append(document)
            beside.append(own)
    return taken


def _relevant_note(items: Sequence[Chosen]) -> str:
    sizes = Counter(sum(item.gold) for item in items)
    words = ", ".join(f"{number} in {sizes[number]}" for number in sorted(sizes))
    return f"relevant documents per query: {words}"
