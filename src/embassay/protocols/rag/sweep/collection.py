"""A dataset as a sweep uses it: its corpus, the queries that were drawn, their grades, and what is indexed of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.data import Dataset, draw, open_dataset
from embassay.data.catalogue import DATASETS
from embassay.data.retrieval import suggest_grade_map
from embassay.data.sources import prefer_own_path
from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.kernel.groups import Labels, tie_items
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest
from embassay.records import RetrievalSet, Skipped
from embassay.text.splitters import parse_splitting

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Collection:
    """A dataset as a sweep uses it: the whole corpus, the queries that were drawn, and their documents' grades from 1
    to 5 by position in the corpus. `timed` are the positions of the queries whose time is taken."""

    name: str
    source: str
    lang: str
    fingerprint: str
    ids: Sequence[str]
    texts: Sequence[str]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    grades: tuple[Mapping[int, int], ...]
    timed: tuple[int, ...]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    own: tuple[int | None, ...] = ()
    """Of each query the position of the document that has its id, where that is left out; empty where none is."""

    @cached_property
    def counts(self) -> Ints:
        """Documents of grade 1 to 5 of each query, (q, 5)."""
        return np.array(
            [[sum(grade == level for grade in row.values()) for level in range(1, 6)] for row in self.grades],
            dtype=np.int64,
        ).reshape(-1, 5)

    @cached_property
    def groups(self) -> Labels | None:
        """Which queries are drawn together, (q,): those with a relevant document in common and those of the same words;
        None where every query is by itself."""
        relevant = [[str(doc) for doc, grade in row.items() if grade >= RELEVANT] for row in self.grades]
        return tie_items(relevant, self.queries)


@dataclass(frozen=True)
class IndexedPassages:
    """What is indexed: texts with ids, and for each the position of its document."""

    ids: Sequence[str]
    texts: Sequence[str]
    documents: Ints

    def __len__(self) -> int:
        return len(self.ids)


def read_collection(entry: DatasetEntry, request: SweepRequest) -> Collection:
    """The dataset, its queries drawn by the request's seed from those that have judgements.

    DataError for a dataset that is none for retrieval, and for judgements that cannot be read as grades.
    """
    dataset = open_dataset(
        _resolve_source(entry.source, request), mapping=entry.mapping, split=entry.split, grades=entry.grades
    )
    loaded = dataset.load("retrieval")
    data, alone = _without_self(loaded.data) if entry.exclude_self else (loaded.data, ())
    gain_of, note = _grade_gains(dataset, data, entry)
    chosen = draw(data.queries.ids, request.queries, request.seed)
    ids = tuple(data.queries.ids[place] for place in chosen)
    judged = {doc for key in ids for doc in data.qrels[key]}
    place = {key: position for position, key in enumerate(data.corpus.ids) if key in judged}
    grades = tuple({place[doc]: gain_of[gain] for doc, gain in data.qrels[key].items()} for key in ids)
    timed = draw(ids, request.latency.queries, request.seed)
    fingerprint = loaded.fingerprint
    own_rows: tuple[int | None, ...] = ()
    if entry.exclude_self:
        # Another dataset to all caches and keys: its rankings differ.
        fingerprint = sha256(f"{fingerprint} without self".encode()).hexdigest()[:32]
        asked = set(ids)
        rows = {key: position for position, key in enumerate(data.corpus.ids) if key in asked}
        own_rows = tuple(rows.get(key) for key in ids)
        note = (*note, f"queries whose own document is left out: {len(rows)}")
    return Collection(
        loaded.dataset, entry.source, loaded.lang, fingerprint, data.corpus.ids, data.corpus.texts, ids,
        tuple(data.queries.texts[place] for place in chosen), grades, tuple(timed),
        (*loaded.skipped, *alone), (*loaded.warnings, *note), own_rows
    )  # fmt: skip


def _without_self(data: RetrievalSet) -> tuple[RetrievalSet, tuple[Skipped, ...]]:
    """The data without judgements of queries' own documents, and without queries that have no relevant one left."""
    qrels = {
        query: {doc: gain for doc, gain in judged.items() if doc != query}
        for query, judged in data.qrels.items()
    }
    rows = [
        row for row, query in enumerate(data.queries.ids) if any(gain > 0 for gain in qrels[query].values())
    ]
    answerable = tuple(data.queries.ids[row] for row in rows)
    if not answerable:
        raise DataError("no query has a relevant document besides its own", mend="Leave exclude_self out.")
    queries = replace(data.queries, ids=answerable, texts=tuple(data.queries.texts[row] for row in rows))
    gone = tuple(sorted(set(data.queries.ids) - set(answerable)))
    skipped = (Skipped("no relevant document but its own", len(gone), gone[:3]),) if gone else ()
    return replace(data, queries=queries, qrels={query: qrels[query] for query in answerable}), skipped


def make_passages(collection: Collection, chunk: str, tokenizer: Tokenizer) -> IndexedPassages:
    """The documents, or chunks `doc#1`, `doc#2` ... of them; an empty document is one empty passage."""
    splitting = parse_splitting(chunk)
    if splitting is None:
        return IndexedPassages(
            collection.ids, collection.texts, np.arange(len(collection.ids), dtype=np.int64)
        )
    split = splitting.open(tokenizer)
    ids: list[str] = []
    texts: list[str] = []
    documents: list[int] = []
    for position, (key, text) in enumerate(zip(collection.ids, collection.texts, strict=True)):
        pieces = split(text) or [""]
        ids += [f"{key}#{number}" for number in range(1, len(pieces) + 1)]
        texts += pieces
        documents += [position] * len(pieces)
    return IndexedPassages(tuple(ids), tuple(texts), np.array(documents, dtype=np.int64))


def collapse_passages(places: Iterable[int], passages: IndexedPassages) -> list[int]:
    """A ranking of passages as one of documents, each where its best passage stands.

    >>> collapse_passages([2, 0, 1], IndexedPassages(("a#1", "a#2", "b#1"), ("", "", ""), np.array([0, 0, 1])))
    [1, 0]
    """
    return list(dict.fromkeys(passages.documents[np.fromiter(places, dtype=np.int64)].tolist()))


def _resolve_source(source: str, request: SweepRequest) -> str:
    """The name or path to open; what is neither is left as it was written, for the message."""
    is_name = source.partition("?")[0].partition(":")[0] in DATASETS
    if is_name and prefer_own_path(source, Path(request.path(source))) == source:
        return source
    place = Path(request.path(source))
    # `./scifact` from the folder that is worked in loses its dot in a Path, and would be a name of the catalogue again.
    return (f"./{place}" if str(place) in DATASETS else str(place)) if place.exists() else source


def _grade_gains(
    dataset: Dataset, data: RetrievalSet, entry: DatasetEntry
) -> tuple[Mapping[float, int], tuple[str, ...]]:
    """What grade each gain of the dataset stands for, and what is to be said of it."""
    gains = sorted({gain for judged in data.qrels.values() for gain in judged.values()})
    if entry.grades is not None or dataset.gains.table is not None:
        if all(gain in range(5) for gain in gains):
            return {gain: int(gain) + 1 for gain in gains}, ()
    elif set(gains) <= {0.0, 1.0}:
        return {0.0: 1, 1.0: 5}, ("judgements of 0 and 1 are read as the grades 1 and 5",)
    elif set(gains) <= {1.0, 2.0, 3.0, 4.0, 5.0} and 5.0 in gains:
        return {gain: int(gain) for gain in gains}, ()
    found = ", ".join(f"{gain:g}" for gain in gains[:8])
    if set(gains) <= {1.0, 2.0, 3.0, 4.0}:
        above = ",".join(f"{gain:g}={gain + 1:g}" for gain in gains)
        raise DataError(
            f"the judgements of {entry.source!r} may be grades from 1 to 5 or gains from 0 to 4", found=found,
            mend=(f"Say which: {{path: {entry.source}, grades: identity}} if they are grades, grades: "
                f"'{above}' if 4 is the best grade.")
        )  # fmt: skip
    raise DataError(
        f"the judgements of {entry.source!r} are not grades from 1 to 5",
        found=found,
        mend=f"Name a grade map for it: {{path: {entry.source}, grades: '{suggest_grade_map(gains)}'}}.",
    )


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> Ints:
    """Tokens of each text, (n,)."""
    return np.fromiter(map(len, tokenizer.encode_batch(list(texts))), dtype=np.int64, count=len(texts))
