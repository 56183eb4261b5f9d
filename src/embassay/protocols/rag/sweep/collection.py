"""A dataset as a sweep uses it: its corpus, the queries that were drawn, their grades, and what is indexed of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Tokenizer
from embassay.data import Dataset, draw, open_dataset
from embassay.data.catalogue import DATASETS
from embassay.data.documents import read_corpus_passages_with_origin
from embassay.data.retrieval import suggest_grade_map
from embassay.data.sources import prefer_path_over_catalogue
from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.kernel.groups import Labels, group_items_sharing_things
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest
from embassay.records import RetrievalSet, SkippedItems
from embassay.text.splitters import (
    TITLE,
    DocumentChunk,
    DocumentSplitSettings,
    Split,
    add_headings_to_pieces,
    parse_document_splitting,
)

Situate = Callable[[Sequence[str], Sequence[str], Sequence[Sequence[DocumentChunk]]], list[list[DocumentChunk]]]
"""Titles, documents and their pieces -> the pieces with what a language model says of each."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GradedEvidenceSpan:
    """Characters `start` to `end` of the document at a position of the corpus, of a grade from 1 to 5."""

    document: int
    start: int
    end: int
    grade: int
    name: str


@dataclass(frozen=True)
class SweepCollection:
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
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()
    own: tuple[int | None, ...] = ()
    """Of each query the position of the document that has its id, where that is left out; empty where none is."""
    titles: Sequence[str] = ()
    """Of the documents, where somebody needs them by themselves; `shifts` are the characters of a text before what the
    title is put before."""
    shifts: Sequence[int] = ()
    evidence: tuple[tuple[GradedEvidenceSpan, ...], ...] = ()
    """Of each query the places that answer it, where judgements are of these: grades are then by their number. One is
    found once `share` of it is."""
    share: float = 0.0

    @cached_property
    def counts(self) -> Ints:
        """The number of documents of grade 1 to 5 of each query, (q, 5)."""
        return np.array(
            [[sum(grade == level for grade in row.values()) for level in range(1, 6)] for row in self.grades],
            dtype=np.int64,
        ).reshape(-1, 5)

    @cached_property
    def query_groups(self) -> Labels | None:
        """Which queries are drawn together, (q,): those with a relevant document in common and those of the same words;
        None where every query is by itself."""
        relevant = [[str(doc) for doc, grade in row.items() if grade >= RELEVANT] for row in self.grades]
        if self.evidence:
            relevant = [
                [pieces[number].name for number, grade in row.items() if grade >= RELEVANT]
                for row, pieces in zip(self.grades, self.evidence, strict=True)
            ]
        return group_items_sharing_things(relevant, self.queries)


@dataclass(frozen=True)
class PassagesToIndex:
    """What is indexed: texts with ids, and for each the position of its document and its place there, (n, 2)."""

    ids: Sequence[str]
    texts: Sequence[str]
    documents: Ints
    spans: Ints | None = None

    def __len__(self) -> int:
        return len(self.ids)


def read_retrieval_collection(entry: DatasetEntry, request: SweepRequest) -> SweepCollection:
    """Read the dataset, its queries drawn by the request's seed from those that have judgements.

    DataError for a dataset that is none for retrieval, and for judgements that cannot be read as grades.
    """
    dataset = open_dataset(
        resolve_dataset_source(entry.source, request), mapping=entry.mapping, split=entry.split, grades=entry.grades
    )
    loaded = dataset.load("retrieval")
    data, alone = _drop_judgements_of_own_documents(loaded.data) if entry.exclude_self else (loaded.data, ())
    gain_of, note = _map_dataset_gains_to_grades(dataset, data, entry)
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
    return SweepCollection(
        loaded.dataset, entry.source, loaded.lang, fingerprint, data.corpus.ids, data.corpus.texts, ids,
        tuple(data.queries.texts[place] for place in chosen), grades, tuple(timed),
        (*loaded.skipped, *alone), (*loaded.warnings, *note), own_rows, *_read_titles_and_shifts(dataset, data, request)
    )  # fmt: skip


def _read_titles_and_shifts(
    dataset: Dataset, data: RetrievalSet, request: SweepRequest
) -> tuple[Sequence[str], Sequence[int]]:
    """Titles of the documents and how far each shifts its text; nothing where no chunk is read with its title."""
    splittings = [parse_document_splitting(chunk) for chunk in request.chunk]
    if not any(how is not None and (how.context == TITLE or how.model) for how in splittings):
        return (), ()
    titles = {place.id: place.title for place in read_corpus_passages_with_origin(dataset)}
    ours = [titles.get(key, "") for key in data.corpus.ids]
    shifts = [
        len(title) + 1 if title and text.startswith(f"{title} ") else 0
        for title, text in zip(ours, data.corpus.texts, strict=True)
    ]
    return ours, shifts


def _drop_judgements_of_own_documents(data: RetrievalSet) -> tuple[RetrievalSet, tuple[SkippedItems, ...]]:
    """Drop judgements of queries' own documents, and queries that have no relevant one left."""
    qrels = {query: {doc: gain for doc, gain in judged.items() if doc != query} for query, judged in data.qrels.items()}
    rows = [row for row, query in enumerate(data.queries.ids) if any(gain > 0 for gain in qrels[query].values())]
    answerable = tuple(data.queries.ids[row] for row in rows)
    if not answerable:
        raise DataError("no query has a relevant document besides its own", mend="Remove exclude_self.")
    queries = replace(data.queries, ids=answerable, texts=tuple(data.queries.texts[row] for row in rows))
    gone = tuple(sorted(set(data.queries.ids) - set(answerable)))
    skipped = (SkippedItems("no relevant document except its own", len(gone), gone[:3]),) if gone else ()
    return replace(data, queries=queries, qrels={query: qrels[query] for query in answerable}), skipped


def cut_collection_into_passages(
    collection: SweepCollection, chunk: str, tokenizer: Tokenizer, situate: Situate | None = None
) -> PassagesToIndex:
    """The documents, or chunks `doc#1`, `doc#2` ... of them; an empty document is one empty passage. `situate` asks the
    language model of a chunk that names one; without it chunks are as they would be otherwise."""
    splitting, texts = parse_document_splitting(chunk), collection.texts
    if splitting is None:
        spans = np.array([(0, len(text)) for text in texts], dtype=np.int64).reshape(-1, 2)
        return PassagesToIndex(collection.ids, texts, np.arange(len(texts), dtype=np.int64), spans)
    split = splitting.open(tokenizer)
    titles = collection.titles or [""] * len(texts)
    cut = [
        _cut_document(split, splitting, text, title, shift)
        for text, title, shift in zip(texts, titles, collection.shifts or [0] * len(texts), strict=True)
    ]
    if splitting.model and situate is not None:
        cut = situate(titles, texts, cut)
    ids: list[str] = []
    flat: list[DocumentChunk] = []
    for key, pieces in zip(collection.ids, cut, strict=True):
        ids += [f"{key}#{number}" for number in range(1, len(pieces) + 1)]
        flat += pieces
    documents = np.repeat(np.arange(len(texts), dtype=np.int64), [len(pieces) for pieces in cut])
    spans = np.array([(piece.start, piece.end) for piece in flat], dtype=np.int64).reshape(-1, 2)
    return PassagesToIndex(tuple(ids), tuple(piece.text for piece in flat), documents, spans)


def _cut_document(
    split: Split, splitting: DocumentSplitSettings, text: str, title: str, shift: int
) -> list[DocumentChunk]:
    pieces = split(text) or [DocumentChunk(0, 0, "")]
    return add_headings_to_pieces(pieces, text, title, shift) if splitting.context == TITLE else pieces


def resolve_dataset_source(source: str, request: SweepRequest) -> str:
    """Resolve a source to the name or path to open; what is neither stays, for the message."""
    is_name = source.partition("?")[0].partition(":")[0] in DATASETS
    if is_name and prefer_path_over_catalogue(source, Path(request.path(source))) == source:
        return source
    place = Path(request.path(source))
    # `./scifact` from the folder that is worked in loses its dot in a Path, and would be a name of the catalogue again.
    return (f"./{place}" if str(place) in DATASETS else str(place)) if place.exists() else source


def _map_dataset_gains_to_grades(
    dataset: Dataset, data: RetrievalSet, entry: DatasetEntry
) -> tuple[Mapping[float, int], tuple[str, ...]]:
    """Map each gain of the dataset to the grade it stands for, and say what is to be said of it."""
    gains = {gain for judged in data.qrels.values() for gain in judged.values()}
    if (entry.grades is not None or dataset.gains.table is not None) and gains <= {0.0, 1.0, 2.0, 3.0, 4.0}:
        return {gain: int(gain) + 1 for gain in gains}, ()
    # Gains that a map has made are read by no other rule.
    is_mapped = entry.grades is not None or dataset.gains.table is not None
    grades, note = map_judgement_values_to_grades(gains, entry, {} if is_mapped else None)
    return {gain: grade for gain, grade in grades.items() if grade is not None}, note


def map_judgement_values_to_grades(
    values: Set[float], entry: DatasetEntry, chosen: Mapping[float, int | None] | None = None
) -> tuple[Mapping[float, int | None], tuple[str, ...]]:
    """What grade each value of the judgements stands for, by the map that is `chosen` or as they are read without one,
    and what is to be said of it. DataError where that is not clear."""
    gains = sorted(values)
    if chosen is not None and values <= chosen.keys():
        return chosen, ()
    if chosen is None and values <= {0.0, 1.0}:
        return {0.0: 1, 1.0: 5}, ("judgements of 0 and 1 are read as grades 1 and 5",)
    if chosen is None and values <= {1.0, 2.0, 3.0, 4.0, 5.0} and 5.0 in values:
        return {gain: int(gain) for gain in gains}, ()
    found = ", ".join(f"{gain:g}" for gain in gains[:8])
    if chosen is None and values <= {1.0, 2.0, 3.0, 4.0}:
        above = ",".join(f"{gain:g}={gain + 1:g}" for gain in gains)
        raise DataError(
            f"the judgements of {entry.source!r} may be grades from 1 to 5 or gains from 0 to 4", found=found,
            mend=(f"Use {{path: {entry.source}, grades: identity}} if they are grades, or grades: "
                f"'{above}' if 4 is the best grade.")
        )  # fmt: skip
    raise DataError(
        f"the judgements of {entry.source!r} are not grades from 1 to 5",
        found=found,
        mend=f"Add a grade map: {{path: {entry.source}, grades: '{suggest_grade_map(gains)}'}}.",
    )


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> Ints:
    """Count the tokens of each text, (n,)."""
    return np.fromiter(map(len, tokenizer.encode_batch(list(texts))), dtype=np.int64, count=len(texts))
