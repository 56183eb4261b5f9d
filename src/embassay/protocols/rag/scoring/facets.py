"""Which facets (nuggets, subtopics) of a query its documents have: read from a file, held against the judgements.

A file has `query_id`, `doc_id` and `facet`, a line for each facet of a document, as JSONL, CSV, TSV or Parquet; or the
four columns of TREC's diversity judgements, `topic subtopic document relevance`, of which those above 0 count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.data.lines import read_text_lines
from embassay.data.rows import find_nearest_name, make_missing_column_error, read_row_id
from embassay.data.tables import find_known_suffix, open_table_file
from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.kernel.tables import format_noun_count
from embassay.protocols.rag.scoring.score import ScoringNote

if TYPE_CHECKING:
    import polars as pl

    from embassay.protocols.rag.scoring.inputs import JudgementGrades1To5, ScoringInputs

NAMES = {"query_id": ("query", "query-id", "qid", "topic"), "doc_id": ("document", "corpus-id", "docid", "doc")}
"""Column -> what others call it."""
COLUMNS = ("query_id", "doc_id", "facet")
RELEVANCE = "relevance"
"""A column of a table that leaves out a line where it is 0 or less."""


@dataclass(frozen=True)
class DocumentFacetLine:
    """A facet of a document, and the line that says so."""

    query: str
    doc: str
    facet: str
    line: int


@dataclass(frozen=True)
class FacetFileContents:
    """The facets in a file; `worthless` lines say that a document lacks one, `repeated` ones stand there before."""

    path: Path
    lines: tuple[DocumentFacetLine, ...]
    worthless: int = 0
    repeated: int = 0

    @property
    def facet_frame(self) -> pl.DataFrame:
        """A frame of the facets with the columns `query`, `doc` and `facet`."""
        import polars as pl

        rows = [(line.query, line.doc, line.facet) for line in self.lines]
        return pl.DataFrame(rows, schema=["query", "doc", "facet"], orient="row")


def read_judged_facets(path: Path, mapping: Mapping[str, str]) -> FacetFileContents:
    """The facets in a file. DataError with its line for a column, an id or a number that is missing, and for a file in
    which no document has a facet. `mapping` is target column -> the file's."""
    path = path.expanduser()
    table = find_known_suffix(path.name) in (".csv", ".tsv", ".jsonl", ".parquet")
    read = list(_iterate_facet_table_lines(path, mapping) if table else _iterate_trec_facet_lines(path))
    having = [line for line, relevance in read if relevance > 0]
    single = {(line.query, line.doc, line.facet): line for line in reversed(having)}
    if not single:
        raise DataError(
            "no document has a facet", path=path, expected="a relevance above 0",
            mend="Check that the file lists query, document and facet."
        )  # fmt: skip
    lines = tuple(sorted(single.values(), key=lambda line: line.line))
    return FacetFileContents(path, lines, len(read) - len(having), len(having) - len(lines))


def _iterate_trec_facet_lines(path: Path) -> Iterator[tuple[DocumentFacetLine, float]]:
    for number, line in read_text_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 4 or not cells[3].lstrip("+-").isdigit():
            raise DataError(
                "the line is not a TREC diversity judgement", path=path, line=number,
                expected="topic, subtopic, document and a whole number, separated by spaces",
                found=repr(line.strip()[:80]),
                mend="Correct it, or use a .csv, .tsv or .jsonl file with query_id, doc_id and facet."
            )  # fmt: skip
        query, facet, doc, relevance = cells
        yield DocumentFacetLine(query, doc, facet, number), float(relevance)


def _iterate_facet_table_lines(path: Path, mapping: Mapping[str, str]) -> Iterator[tuple[DocumentFacetLine, float]]:
    source = open_table_file(path)
    columns = source.columns()
    names = {target: _find_mapped_column(target, columns, mapping) for target in COLUMNS}
    for target, name in names.items():
        if name not in columns:
            raise make_missing_column_error(source, name, target=target)
    graded = [RELEVANCE] if RELEVANCE in columns else []
    for row in source.rows((*names.values(), *graded)):
        query, doc, facet = (read_row_id(row, names[target]) for target in COLUMNS)
        relevance = row.cells.get(RELEVANCE) if graded else None
        try:
            value = 1.0 if relevance in (None, "") else float(relevance)
        except (TypeError, ValueError):
            raise DataError(
                "the relevance is not a number", path=path, line=row.line, found=repr(relevance),
                mend="Use 1 if the document has the facet and 0 if it does not, or omit the column."
            ) from None  # fmt: skip
        yield DocumentFacetLine(query, doc, facet, row.line), value


def _find_mapped_column(target: str, columns: Collection[str], mapping: Mapping[str, str]) -> str:
    if target in mapping:
        return mapping[target]
    known = (target, *NAMES.get(target, ()))
    return next((name for name in known if name in columns), target)


def check_facet_queries_and_documents_known(
    facets: FacetFileContents, queries: Collection[str], documents: Collection[str]
) -> None:
    """DataError with its line for a facet of a query that is not judged, and for one of a document that is neither
    judged nor retrieved nor in the corpus."""
    known_queries, known_documents = set(queries), set(documents)
    for line in facets.lines:
        for what, name, known in (("query", line.query, known_queries), ("document", line.doc, known_documents)):
            if name not in known:
                near = find_nearest_name(name, known)
                where = "judged" if what == "query" else "judged, in a run or in the corpus"
                raise DataError(
                    f"the {what} {name!r} has a facet but is not {where}", path=facets.path, line=line.line,
                    expected=f"{what}s such as {next(iter(sorted(known)))!r}",
                    mend=f"Did you mean {near!r}?" if near else "Check that facets and judgements belong together."
                )  # fmt: skip


def list_facet_notes_of_scoring(inputs: ScoringInputs, judgements: JudgementGrades1To5) -> list[ScoringNote]:
    """What the facets of a scoring leave open, nothing where it has none. DataError for those of queries and documents
    that nobody knows."""
    import polars as pl

    if inputs.facets is None:
        return []
    judged = judgements.frame.select(pl.col("query", "doc").cast(pl.String), "grade")
    queries = judged["query"].unique(maintain_order=True).to_list()
    runs = (run.frame["doc"].cast(pl.String) for run in inputs.runs.values())
    check_facet_queries_and_documents_known(
        inputs.facets, queries, {*judged["doc"], *inputs.corpus, *(doc for run in runs for doc in run)}
    )
    relevant = judged.filter(pl.col("grade") >= RELEVANT).select("query", "doc").rows()
    return list(note_facet_gaps(inputs.facets, queries, relevant))


def note_facet_gaps(
    facets: FacetFileContents, queries: Collection[str], relevant: Collection[tuple[str, str]]
) -> Iterator[ScoringNote]:
    """What the facets leave open: queries and relevant documents without any, and lines that count for nothing.
    `relevant` are queries with a document of grade 4 or 5."""
    having = {line.query for line in facets.lines}
    without = [query for query in queries if query not in having]
    if without:
        text = (
            f"{len(without):,} of {format_noun_count(len(queries), 'judged query')} have no facet, such as "
            f"{without[0]!r}."
        )
        yield ScoringNote("facets", text, "", len(without), len(queries))
    known = {(line.query, line.doc) for line in facets.lines}
    bare = [pair for pair in relevant if pair[0] in having and pair not in known]
    if bare:
        total = sum(pair[0] in having for pair in relevant)
        text = (
            f"{len(bare):,} of {format_noun_count(total, 'document')} of grade 4 or 5 have no facet, such as "
            f"{bare[0][1]!r}; they count as covering no facet."
        )
        yield ScoringNote("facets", text, "", len(bare), total)
    if facets.worthless or facets.repeated:
        lines = format_noun_count(facets.worthless + facets.repeated, "line")
        text = f"{facets.path.name}: {lines} left out ({facets.repeated:,} repeated, others of relevance 0)."
        yield ScoringNote("facets", text, "", facets.worthless + facets.repeated)
