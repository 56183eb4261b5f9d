"""A corpus, queries and judgements; candidates to be reranked; and what a grade is worth."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from embassay.data.corpus import limit_corpus, make_documents_record_of_corpus, read_corpus
from embassay.data.intake import ReasonTally, SkipRecordingReader, make_no_usable_rows_error
from embassay.data.rows import (
    RowOrigin,
    RowSource,
    SourceRow,
    format_value_for_error,
    make_cell_error,
    raise_or_collect_fault,
    read_number_cell,
    read_row_id,
    read_text_cell,
    read_text_list_cell,
)
from embassay.data.views import SmallestHashSample, check_item_limit_is_positive, drop_repeated_columns
from embassay.errors import DataError, UsageError
from embassay.records import Documents, RerankingSet, RetrievalSet

GRADE_MAPS: Mapping[str, Mapping[float, int | None]] = {
    "identity": {1: 1, 2: 2, 3: 3, 4: 4, 5: 5},
    "binary": {1: 5, 0: 1},
    "trec3": {3: 5, 2: 4, 1: 3, 0: 1},
    "cranfield": {1: 5, 2: 4, 3: 3, 4: 2, -1: None},
}
"""Name -> (value in the file -> grade 1 to 5, None = drop the row)."""


def grade_map(text: str) -> Mapping[float, int | None]:
    """The map that `--grades` names, or writes as `value=grade,...`; UsageError if it is neither.

    >>> grade_map("2=5,1=3,0=1")
    {2.0: 5, 1.0: 3, 0.0: 1}
    """
    if text in GRADE_MAPS:
        return GRADE_MAPS[text]
    grades: dict[float, int | None] = {}
    for part in text.split(","):
        value, _, grade = part.partition("=")
        try:
            grades[float(value)] = int(grade)
            readable = 1 <= int(grade) <= 5
        except ValueError:
            readable = False
        if not readable:
            raise UsageError(
                f"Cannot read {part!r} in --grades {text}.",
                mend=f"Use {', '.join(GRADE_MAPS)}, or value=grade,... with grades from 1 to 5.",
            )
    return grades


@dataclass(frozen=True)
class GainTable:
    """Value in the file -> gain; without a table the value is the gain.

    A value mapped to None is dropped and counted. One that is not in the table is dropped too, or a DataError
    if the table is `complete`.
    """

    table: Mapping[float, float | None] | None = None
    complete: bool = False

    @classmethod
    def make_gain_table_from_grade_map(cls, text: str) -> GainTable:
        """The gains of a grade map: gain = grade - 1 (spec rag 1.1)."""
        grades = grade_map(text)
        # Grade 1 is "not relevant" on this scale: it gains nothing.
        return cls({value: None if grade is None else grade - 1.0 for value, grade in grades.items()}, True)

    def of(self, row: SourceRow, key: str, tally: ReasonTally) -> float | None:
        """The gain of a judgement, None if it is dropped; a value below 0 gains 0, as in trec_eval."""
        value = read_number_cell(row, "relevance")
        if value is None:
            raise make_cell_error(row, "relevance", "a number")
        if self.table is None:
            if value < 0:
                tally.count_warned_item("judgements below 0, read as not relevant", key)
            return max(value, 0.0)
        # A map somebody chose for the file: a value outside it says that it is the wrong map.
        if self.complete and value not in self.table:
            raise DataError(
                "the judgement is not in the grade map", path=row.path, line=row.line,
                expected=", ".join(f"{graded:g}" for graded in self.table),
                found=format_value_for_error(row.cells["relevance"]),
                mend="Choose a matching map with --grades, or write one as value=grade,..."
            )  # fmt: skip
        gain = self.table.get(value)
        if gain is None:
            tally.count_skipped_item(f"judgements of value {value:g}", key)
        return gain


def suggest_grade_map(values: Iterable[float]) -> str:
    """Suggest what to give `--grades` for judgements of these values; empty where no map is sure.

    A named map where the values are just its own. Otherwise all that is 0 or less is not relevant (grade 1, gain 0),
    and gains are as the positive values are to one another, so that nDCG is what it is on the file. No map is sure of
    values that are all positive (is the least of them relevant?), nor of those that no four grades hold in proportion.

    >>> [suggest_grade_map(values) for values in ([0, 1], [0, 1, 2, 3], [-1, 0, 1, 2], [0, 10])]
    ['binary', 'trec3', '-1=1,0=1,1=3,2=5', '0=1,10=5']
    >>> suggest_grade_map([10, 20]), suggest_grade_map([0, 1, 2, 3, 4, 5]), suggest_grade_map([-1, 1, 2, 3, 4])
    ('', '', '')
    """
    levels = sorted(set(values))
    for name in ("binary", "trec3", "identity"):
        if levels == sorted(GRADE_MAPS[name]):
            return name
    positive = [level for level in levels if level > 0]
    # 1 is Cranfield's best grade, and the least of others' scales: with -1 and no 0 a file may be of either.
    if len(positive) == len(levels) or (set(levels) <= set(GRADE_MAPS["cranfield"]) and len(positive) > 1):
        return ""
    gains = _scale_values_to_whole_gains(positive)
    if gains is None:
        return ""
    grades = [1] * (len(levels) - len(positive)) + [1 + gain for gain in gains]
    return ",".join(
        f"{_format_number_for_grade_map(value)}={grade}" for value, grade in zip(levels, grades, strict=True)
    )


def _format_number_for_grade_map(value: float) -> str:
    """A value as a map has to write it to be found again: in short where that is the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


_ROUNDED = 0.05
"""How far a gain may be from a whole one: a third is written 0.33 in files."""


def _scale_values_to_whole_gains(positive: Sequence[float]) -> list[int] | None:
    """Whole gains from 1 to 4 that are to one another as the positive values (rising) are, the highest as high as can
    be; None where there are none."""
    if not positive:
        return []
    for highest in (4, 3, 2, 1):
        exact = [value / positive[-1] * highest for value in positive]
        gains = [round(gain) for gain in exact]
        near = all(abs(gain - whole) <= _ROUNDED for gain, whole in zip(exact, gains, strict=True))
        if near and len(set(gains)) == len(gains) and min(gains) >= 1:
            return gains
    return None


def advise_grade_map(values: Iterable[float]) -> str:
    """Advise what to do about judgements of these values: the map that fits, or what to decide."""
    levels = sorted(set(values))
    if fitting := suggest_grade_map(levels):
        return f"Use --grades {fitting}, which fits the file's values, or write a map as value=grade,..."
    if set(levels) <= set(GRADE_MAPS["cranfield"]) and levels[0] < 0:
        return (
            "If 1 is the best value, as in Cranfield, add --grades cranfield; if it is the worst, write a map as "
            "value=grade,... that gives irrelevant documents grade 1."
        )
    return (
        "No predefined map clearly fits these values. Write --grades value=grade,... with grades from 1 to 5 "
        "(1 for irrelevant documents)."
    )


Judgements = Mapping[str, Mapping[str, float]]


def read_retrieval_set(
    parts: Mapping[str, RowSource], gains: GainTable, intake: SkipRecordingReader, limit: int | None, seed: int
) -> RetrievalSet:
    """The corpus, the queries with a relevant document in it, and their judgements.

    `limit` counts documents: all that are relevant to a query are kept, even beyond the limit, and seeded
    random others fill up (spec sage 8). Empty documents are kept and counted; queries are never drawn.
    """
    check_item_limit_is_positive(limit)
    queries = _read_queries(parts["queries"], intake, seed)
    judged = _read_judgements(parts["qrels"], gains, queries, intake)
    relevant = {doc for grades in judged.values() for doc, gain in grades.items() if gain > 0}
    whole = read_corpus(parts["corpus"], _read_row_text, intake, "texts, blank ones empty")
    named = {doc for grades in judged.values() for doc in grades}
    here = named.intersection(whole.ids)
    _note_unknown_documents(parts["qrels"], judged, here, intake)
    answerable = [query for query in queries if _has_known_relevant_document(query, judged, here, intake)]
    if not answerable:
        raise make_no_usable_rows_error(parts["queries"], len(queries), intake.tally.skipped())
    corpus = make_documents_record_of_corpus(limit_corpus(whole, limit, seed, relevant), intake)
    # Documents that the limit left out are no longer there to be found: their judgements go too, or recall would be of
    # what no system could return.
    present = here if limit is None else here.intersection(corpus.ids)
    return RetrievalSet(
        corpus,
        Documents(tuple(answerable), tuple(queries[query] for query in answerable)),
        {query: {doc: gain for doc, gain in judged[query].items() if doc in present} for query in answerable},
    )


def _read_queries(source: RowSource, intake: SkipRecordingReader, seed: int) -> dict[str, str]:
    def parse(row: SourceRow, key: str) -> str | None:
        text = read_text_cell(row, "text")
        if text is None:
            intake.tally.count_skipped_item("queries without text", key)
        return text

    return dict(intake.read(source, ["text"], parse, SmallestHashSample(None, seed)))


def _read_judgements(
    source: RowSource, gains: GainTable, queries: Container[str], intake: SkipRecordingReader
) -> Judgements:
    judged: dict[str, dict[str, float]] = {}
    unknown: dict[str, None] = {}
    for row in source.rows(("query_id", "doc_id", "relevance")):
        try:
            query, doc = read_row_id(row, "query_id"), read_row_id(row, "doc_id")
            if query not in queries:
                unknown[query] = None
                intake.tally.count_skipped_item("judgements of unknown queries", f"{query} {doc}")
                continue
            gain = gains.of(row, f"{query} {doc}", intake.tally)
        except DataError as error:
            raise_or_collect_fault(error)
            continue
        # The same judgement twice is harmless; two that differ, nobody can choose between.
        if gain is not None and judged.setdefault(query, {}).setdefault(doc, gain) != gain:
            raise_or_collect_fault(_make_conflicting_judgement_error(row, query, doc, judged[query][doc], gain))
    if unknown and not judged:
        raise _make_foreign_ids_error(source, "query", unknown)
    if not judged:
        raise make_no_usable_rows_error(source, 0, intake.tally.skipped())
    return judged


def _read_row_text(row: SourceRow, _key: str, _intake: SkipRecordingReader) -> str:
    return read_text_cell(row, "text") or ""


def _note_unknown_documents(
    source: RowSource, judged: Judgements, known: Container[str], intake: SkipRecordingReader
) -> None:
    unknown = [(query, doc) for query, grades in judged.items() for doc in grades if doc not in known]
    if unknown and len(unknown) == sum(len(grades) for grades in judged.values()):
        raise _make_foreign_ids_error(source, "document", (doc for _, doc in unknown))
    for query, doc in unknown:
        intake.tally.count_skipped_item("judgements of unknown documents", f"{query} {doc}")


def _has_known_relevant_document(
    query: str, judged: Judgements, known: Container[str], intake: SkipRecordingReader
) -> bool:
    if query not in judged:
        intake.tally.count_skipped_item("queries without judgements", query)
        return False
    if not any(gain > 0 and doc in known for doc, gain in judged[query].items()):
        intake.tally.count_skipped_item("queries without a relevant document in the corpus", query)
        return False
    return True


def _make_conflicting_judgement_error(row: SourceRow, query: str, doc: str, before: float, gain: float) -> DataError:
    return DataError(
        f"query {query!r} and document {doc!r} have two different judgements",
        path=row.path,
        line=row.line,
        expected=f"a gain of {before:g}, as before",
        found=f"{gain:g}",
        mend="Keep one judgement per query and document.",
    )


def _make_foreign_ids_error(source: RowSource, what: str, ids: Iterable[str]) -> DataError:
    return DataError(
        f"no judgement has a known {what} id",
        path=source.path,
        expected=f"ids of the {what} file",
        found=", ".join(islice(ids, 3)),
        mend="Check that qrels, queries and corpus belong together.",
    )


@dataclass(frozen=True)
class RerankingRowsFromTables:
    """The tables of a retrieval set as rows of queries and candidates.

    The candidates of a query are those that `top_ranked` names (rows of a query and a list of documents, or of
    a query and one), without it the judged ones. A candidate without a judgement is not relevant.
    """

    corpus: RowSource
    queries: RowSource
    qrels: RowSource
    top_ranked: RowSource | None = None

    @property
    def path(self) -> Path:
        """The file that errors name."""
        return self.queries.path

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """All that is read."""
        tables = (self.corpus, self.queries, self.qrels, self.top_ranked)
        return tuple(origin for table in tables if table is not None for origin in table.list_origins())

    def columns(self) -> tuple[str, ...]:
        """The columns of a candidate."""
        lang = ("lang",) if "lang" in self.queries.columns() else ()
        return ("query_id", "query", "text", "label", *lang)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per query and candidate."""
        lang = ("lang",) if "lang" in self.queries.columns() else ()
        judged = self._read_grades_by_query()
        shown: Mapping[str, Iterable[str]] = judged if self.top_ranked is None else _read_top_ranked(self.top_ranked)
        # Texts of candidates only: the corpus may have millions of others.
        needed = {doc for docs in shown.values() for doc in docs}
        texts = {
            key: read_text_cell(row, "text")
            for row in self.corpus.rows(("id", "text"))
            if (key := read_row_id(row, "id")) in needed
        }
        for row in self.queries.rows(("id", "text", *lang)):
            key = read_row_id(row, "id")
            for doc in shown.get(key, ()):
                cells = {
                    "query_id": key,
                    "query": row.cells.get("text"),
                    "text": texts.get(doc),
                    "label": judged.get(key, {}).get(doc, 0),
                    "lang": row.cells.get("lang"),
                }
                yield SourceRow(row.path, row.line, {column: cells.get(column) for column in columns})

    def _read_grades_by_query(self) -> dict[str, dict[str, float]]:
        judged: dict[str, dict[str, float]] = {}
        for row in self.qrels.rows(("query_id", "doc_id", "relevance")):
            gain = read_number_cell(row, "relevance")
            if gain is None:
                raise make_cell_error(row, "relevance", "a number")
            judged.setdefault(read_row_id(row, "query_id"), {})[read_row_id(row, "doc_id")] = max(gain, 0.0)
        return judged


def _read_top_ranked(top_ranked: RowSource) -> dict[str, dict[str, None]]:
    shown: dict[str, dict[str, None]] = {}
    column = "doc_ids" if "doc_ids" in top_ranked.columns() else "doc_id"
    for row in top_ranked.rows(("query_id", column)):
        docs = row.cells.get(column)
        keys = [str(doc) for doc in docs] if isinstance(docs, list) else [read_row_id(row, column)]
        shown.setdefault(read_row_id(row, "query_id"), {}).update(dict.fromkeys(keys))
    return shown


@dataclass
class _RerankingItem:
    queries: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)


def read_reranking_set(source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int) -> RerankingSet:
    """Queries with their candidates; `limit` counts queries.

    A row is a query (a text or several) with its `positive` and `negative` texts, or a `query`, one `text`
    and its `label` (0 = not relevant); rows of one `query_id`, without it of one query, belong together.
    Skipped are queries without text, without a relevant or without an irrelevant candidate, and blank candidates.
    """
    items = (
        _iterate_nested_reranking_items(source, intake)
        if "positive" in source.columns()
        else _group_candidate_rows(source, intake)
    )
    taken = intake.draw_usable_items(
        source,
        items,
        lambda key, item: _is_usable_reranking_item(key, item, intake),
        SmallestHashSample[tuple[str, _RerankingItem]](limit, seed),
    )
    return RerankingSet(
        tuple(key for key, _ in taken),
        tuple(tuple(item.queries) for _, item in taken),
        tuple(tuple(item.candidates) for _, item in taken),
        tuple(np.array(item.relevance, np.float64) for _, item in taken),
    )


def _iterate_nested_reranking_items(
    source: RowSource, intake: SkipRecordingReader
) -> Iterable[tuple[str, _RerankingItem]]:
    def parse(row: SourceRow, key: str) -> _RerankingItem:
        item = _RerankingItem([query for query in read_text_list_cell(row, "query") if query])
        for column, gain in (("positive", 1.0), ("negative", 0.0)):
            for text in read_text_list_cell(row, column):
                _add_candidate(item, key, text, gain, intake)
        return item

    return intake.read(source, ["query", "positive", "negative"], parse, SmallestHashSample(None, 0))


def _group_candidate_rows(source: RowSource, intake: SkipRecordingReader) -> Iterable[tuple[str, _RerankingItem]]:
    key_column = "query_id" if "query_id" in source.columns() else "query"
    items: dict[str, _RerankingItem] = {}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(drop_repeated_columns((key_column, "query", "text", "label", *lang))):
        try:
            if key_column == "query" and read_text_cell(row, "query") is None:
                intake.tally.count_skipped_item("queries without text", f"line {row.line}")
                continue
            key, query = read_row_id(row, key_column), read_text_cell(row, "query")
            item = items.setdefault(key, _RerankingItem())
            if query is not None and query not in item.queries:  # a query may have several wordings
                item.queries.append(query)
            _add_candidate(item, key, read_text_cell(row, "text"), _read_candidate_gain(row, key, intake), intake)
            intake.note_row_language(row)
        except DataError as error:
            raise_or_collect_fault(error)
    return items.items()


def _read_candidate_gain(row: SourceRow, key: str, intake: SkipRecordingReader) -> float | None:
    value = read_number_cell(row, "label")
    if value is not None and value < 0:
        raise make_cell_error(row, "label", "0 for not relevant, or a positive gain")
    if value is None:
        intake.tally.count_skipped_item("candidates without a label", key)
    return value


def _add_candidate(
    item: _RerankingItem, key: str, text: str | None, gain: float | None, intake: SkipRecordingReader
) -> None:
    if text is None:
        intake.tally.count_skipped_item("candidates without text", key)
    elif gain is not None:
        item.candidates.append(text)
        item.relevance.append(gain)


def _is_usable_reranking_item(key: str, item: _RerankingItem, intake: SkipRecordingReader) -> bool:
    for lacking, reason in (
        (not item.queries, "queries without text"),
        (not any(gain > 0 for gain in item.relevance), "queries without a relevant candidate"),
        (not any(gain == 0 for gain in item.relevance), "queries without an irrelevant candidate"),
    ):
        if lacking:
            intake.tally.count_skipped_item(reason, key)
            return False
    return True
