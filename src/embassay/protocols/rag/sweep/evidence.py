"""Evidence as places in documents: what decides whether a passage answers, however the documents were cut.

A query's evidence is found by the passage with which the list so far holds `share` of its characters. So a passage that
holds a tenth of it finds nothing, two halves find it together, and every way of cutting is held against the same
evidence. A passage that brings several pieces takes a place in the list for each: as many are to be found, whether they
stand in one passage or in three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.data import draw
from embassay.data.judged_runs.content import read_unpacked_bytes
from embassay.data.judged_runs.spans import EvidenceSpan, read_evidence_spans
from embassay.data.retrieval import grade_map
from embassay.data.tables import FORMATS
from embassay.errors import DataError, UsageError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.rag.golden.corpus import CorpusDocument, CorpusWithQuestions, read_golden_inputs
from embassay.protocols.rag.golden.options import GoldenOptions, GoldenRequest
from embassay.protocols.rag.sweep.collection import (
    GradedEvidenceSpan,
    PassagesToIndex,
    SweepCollection,
    map_judgement_values_to_grades,
    read_retrieval_collection,
    resolve_dataset_source,
)
from embassay.protocols.rag.sweep.config import DatasetEntry, SweepRequest
from embassay.records import SkippedItems

Listed = tuple[tuple[int, ...], tuple[float, ...]]


def open_judged_collection(entry: DatasetEntry, request: SweepRequest) -> SweepCollection:
    """Open the dataset of an entry, judged by documents, or by places in them where it has `spans`."""
    return read_evidence_collection(entry, request) if entry.spans else read_retrieval_collection(entry, request)


def read_evidence_collection(entry: DatasetEntry, request: SweepRequest) -> SweepCollection:
    """The whole documents of an entry with `spans`, the queries drawn from those with evidence, and where that stands.

    UsageError for an entry without queries, DataError for judgements that fit neither documents nor queries.
    """
    read, titled = _read_documents_and_queries(entry, request)
    path = Path(request.path(entry.spans or ""))
    if not path.is_file():
        raise UsageError(f"There is no file {str(path)!r}.", mend="Give the file with the evidence spans (JSON Lines).")
    spans = read_evidence_spans(path)
    rows = {document.id: row for row, document in enumerate(read.documents)}
    known = {question.id: question.text for question in read.questions}
    usable, skipped = _select_usable_spans(spans, rows, known, path)
    texts = tuple(document.title_and_text if titled else document.text for document in read.documents)
    # The title stands before the text, whose characters the file counts.
    shifts = tuple(len(text) - len(document.text) for text, document in zip(texts, read.documents, strict=True))
    grades, note = map_judgement_values_to_grades(
        {span.value for span in usable}, entry, _parse_chosen_grade_map(entry)
    )
    by_query = _grade_evidence_spans_by_question(usable, rows, read.documents, grades, shifts)
    answered = [key for key in known if any(piece.grade >= RELEVANT for piece in by_query.get(key, ()))]
    if not answered:
        raise DataError(
            "no query has evidence in the documents", path=path, expected="query_id, document, start, end, relevance",
            found=f"{len(spans)} lines", mend="Check that the ids of queries and documents match the data."
        )  # fmt: skip
    ids = tuple(answered[place] for place in draw(answered, request.queries, request.seed))
    evidence = tuple(by_query[key] for key in ids)
    n, share = sum(map(len, evidence)), f"{entry.share:.0%}"
    held = f"{n} pieces of evidence; a piece counts as found once the passages so far contain {share} of it"
    # What another file or share finds are other results to all keys and caches.
    fingerprint = sha256(f"{read.fingerprint} {sha256(read_unpacked_bytes(path)).hexdigest()} {entry.share} 1".encode())
    queries = tuple(known[key] for key in ids)
    timed = tuple(draw(ids, request.latency.queries, request.seed))
    return SweepCollection(
        read.name, entry.source, read.lang, fingerprint.hexdigest()[:32], tuple(rows), texts, ids, queries,
        tuple(map(_map_evidence_numbers_to_grades, evidence)), timed, (*read.skipped, *skipped),
        (*read.warnings, *note, held), titles=tuple(document.title for document in read.documents),
        shifts=shifts, evidence=evidence, share=entry.share
    )  # fmt: skip


def _map_evidence_numbers_to_grades(pieces: Sequence[GradedEvidenceSpan]) -> dict[int, int]:
    return {number: piece.grade for number, piece in enumerate(pieces)}


def _read_documents_and_queries(entry: DatasetEntry, request: SweepRequest) -> tuple[CorpusWithQuestions, bool]:
    """Whole documents and all queries, and whether the documents are rows, whose title stands before their text; files
    hold theirs themselves, as a heading or in front matter."""
    source = resolve_dataset_source(entry.source, request)
    folder, queries = Path(source.partition("?")[0]), entry.queries and request.path(entry.queries)
    if not folder.is_dir():
        parts = {"corpus": source, "queries": queries} if queries else {"dataset": source}
        return _read_corpus_and_questions_from_parts(entry, parts), True
    table, inner = _find_table_file(folder, "corpus"), folder / "corpus"
    queries = queries or _find_table_file(folder, "queries")
    if not queries:
        raise UsageError(
            f"The dataset {entry.source!r} has evidence, but no queries.",
            mend=f"Give their file: {{path: {entry.source}, queries: queries.jsonl, spans: {entry.spans}}}.",
        )
    documents = source if table or not inner.is_dir() else str(inner)
    return _read_corpus_and_questions_from_parts(entry, {"corpus": table or documents, "queries": queries}), bool(table)


def _find_table_file(folder: Path, part: str) -> str:
    paths = (folder / f"{part}{suffix}" for suffix in FORMATS)
    return next((str(path) for path in paths if path.is_file()), "")


def _read_corpus_and_questions_from_parts(entry: DatasetEntry, parts: Mapping[str, Any]) -> CorpusWithQuestions:
    # Any chunk makes it read whole documents; they are cut here.
    whole = GoldenOptions(chunk=1, overlap=0)
    return read_golden_inputs(
        GoldenRequest("none", "none", mapping=entry.mapping, split=entry.split, options=whole, **parts)
    )


def _parse_chosen_grade_map(entry: DatasetEntry) -> Mapping[float, int | None] | None:
    return None if entry.grades is None else grade_map(entry.grades)


def _select_usable_spans(
    spans: Sequence[EvidenceSpan], rows: Mapping[str, int], queries: Mapping[str, str], path: Path
) -> tuple[list[EvidenceSpan], tuple[SkippedItems, ...]]:
    """Select the spans of known queries in known documents, and tell what the others are."""
    usable, strangers, gone = [], [], []
    for span in spans:
        if span.query not in queries:
            strangers.append(span.query)
        elif span.document not in rows:
            gone.append(span.document)
        else:
            usable.append(span)
    left = {"evidence of other queries": strangers, "evidence in documents that are not in the corpus": gone}
    skipped = tuple(SkippedItems(why, len(ids), tuple(dict.fromkeys(ids))[:3]) for why, ids in left.items() if ids)
    if not usable:
        raise DataError(
            "no evidence belongs to a query and a document in the data", path=path,
            expected=f"documents such as {next(iter(rows), '')!r}, queries such as {next(iter(queries), '')!r}",
            found=f"{spans[0].document!r}, {spans[0].query!r}" if spans else "nothing",
            mend="Use the ids of the corpus; for a folder of documents, use the path of each file."
        )  # fmt: skip
    return usable, skipped


def _grade_evidence_spans_by_question(
    spans: Sequence[EvidenceSpan],
    rows: Mapping[str, int],
    documents: Sequence[CorpusDocument],
    grades: Mapping[float, int | None],
    shifts: Sequence[int],
) -> dict[str, tuple[GradedEvidenceSpan, ...]]:
    """Grade each query's evidence in the order of the file; of equal places the best grade counts."""
    best: dict[str, dict[str, GradedEvidenceSpan]] = defaultdict(dict)
    for span in spans:
        row, grade = rows[span.document], grades[span.value]
        _check_span_in_document(span, documents[row].text)
        if grade is None:
            continue
        held = best[span.query].get(span.name)
        grade = grade if held is None else max(grade, held.grade)
        shift = shifts[row]
        best[span.query][span.name] = GradedEvidenceSpan(row, span.start + shift, span.end + shift, grade, span.name)
    return {query: tuple(pieces.values()) for query, pieces in best.items()}


def _check_span_in_document(span: EvidenceSpan, text: str) -> None:
    """DataError for a span that ends behind its document, or whose words are not there: offsets in bytes, or of
    another version of the text, would be a score of nothing."""
    there = text[span.start : span.end]
    if span.end > len(text) or (span.quote and " ".join(span.quote.split()) != " ".join(there.split())):
        raise DataError(
            f"the evidence {span.name} of query {span.query!r} is not in the document",
            expected=repr(span.quote[:60]) if span.quote else f"an end of at most {len(text):,} characters",
            found=repr(there[:60]) if span.quote else f"{span.end:,}",
            mend="Count characters, not bytes, in the corpus text, starting at 0.",
        )


def convert_passages_to_evidence_spans(
    places: Sequence[int],
    scores: Sequence[float],
    passages: PassagesToIndex,
    pieces: Sequence[GradedEvidenceSpan],
    share: float,
) -> Listed:
    """A ranking of passages as one of evidence (its number among the query's pieces) and of passages without any (their
    place behind these), with scores. Grades below relevance take no further places."""
    waiting = {number: np.zeros(piece.end - piece.start, dtype=bool) for number, piece in enumerate(pieces)}
    units: list[int] = []
    values: list[float] = []
    for place, score in zip(places, scores, strict=True):
        brought = list(_list_evidence_found_at_passage(place, passages, pieces, waiting, share))
        for number in brought:
            del waiting[number]
        relevant = [number for number in brought if pieces[number].grade >= RELEVANT]
        listed = relevant or brought[:1] or [len(pieces) + place]
        units += listed
        values += [score] * len(listed)
    return tuple(units), tuple(values)


def _list_evidence_found_at_passage(
    place: int,
    passages: PassagesToIndex,
    pieces: Sequence[GradedEvidenceSpan],
    waiting: Mapping[int, NDArray[np.bool_]],
    share: float,
) -> Iterator[int]:
    """List the pieces newly held with this passage and not before, best grade first."""
    assert passages.spans is not None
    document, (start, end) = passages.documents[place], passages.spans[place]
    for number in sorted(waiting, key=lambda number: -pieces[number].grade):
        piece, held = pieces[number], waiting[number]
        if piece.document == document and start < piece.end and end > piece.start:
            held[max(0, start - piece.start) : max(0, end - piece.start)] = True
            # Rounded, so that 4 characters of 5 are 80%.
            if round(float(held.mean()), 9) >= share:
                yield number


def name_ranked_units(
    units: Sequence[int], passages: PassagesToIndex, pieces: Sequence[GradedEvidenceSpan]
) -> list[str]:
    """Name what is in a ranking of evidence: `guide.md[120:310]`, or the id of a passage without."""
    # Numbers below are pieces, those behind them passages.
    n = len(pieces)
    return [pieces[unit].name if unit < n else passages.ids[unit - n] for unit in units]
