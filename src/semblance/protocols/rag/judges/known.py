"""Judgements that are known already: grades 1 to 5 by query and document, from a qrels file or a folder with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from semblance.data.cells import key_of, number_of, shown, wrong
from semblance.data.grades import grade_map
from semblance.data.lines import text_lines
from semblance.data.rows import Row, Source, missing_column
from semblance.data.tables import known_suffix, table
from semblance.errors import DataError

Grades = Mapping[str, Mapping[str, int]]

_QUERY = ("query_id", "query-id", "qid", "query")
_DOC = ("doc_id", "corpus-id", "docid", "doc", "passage_id")
_VALUE = ("grade", "relevance", "score", "code", "rel")
_QRELS = ("qrels/test", "qrels/graded", "qrels")
_ENDINGS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".trec", ".txt")


def read_known(path: Path, grades: str = "identity") -> Grades:
    """The grades in a file of judgements (TREC qrels, BEIR tsv, CSV, JSON Lines, Parquet), or in the qrels of a folder,
    through a grade map (spec rag 1.1; `grades` as in `--grades`). Rows whose value the map drops are left out.

    DataError, with file and line, for what cannot be read, a value that is not in the map, or two grades of one pair.
    """
    path = _file(path)
    values = grade_map(grades)
    known: dict[str, dict[str, int]] = {}
    for row in _rows(path):
        query, doc, value = key_of(row, "query_id"), key_of(row, "doc_id"), number_of(row, "value")
        if value is None:
            raise wrong(row, "value", "a number")
        if value not in values:
            raise DataError(
                "the judgement is not in the grade map", path=row.path, line=row.line,
                expected=", ".join(f"{one:g}" for one in values), found=shown(row.cells["value"]),
                mend="Name a fitting map with grades=, or write one as value=grade,...",
            )  # fmt: skip
        grade = values[value]
        if grade is not None and known.setdefault(query, {}).setdefault(doc, grade) != grade:
            raise DataError(
                f"query {query!r} and document {doc!r} are judged twice, differently", path=row.path,
                line=row.line, expected=f"grade {known[query][doc]}, as before", found=f"grade {grade}",
                mend="Keep one judgement of each query and document.",
            )  # fmt: skip
    return known


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for stem in _QRELS:
        for ending in _ENDINGS:
            if (path / (stem + ending)).is_file():
                return path / (stem + ending)
    raise DataError(
        "the folder has no judgements", path=path, expected="qrels/test.tsv, qrels.tsv or qrels.jsonl",
        mend="Name the file of the judgements itself.",
    )  # fmt: skip


def _rows(path: Path) -> Iterator[Row]:
    if not known_suffix(path.name):
        yield from _trec(path)
        return
    source = table(path)
    places = {name: _column(source, names) for name, names in _COLUMNS.items()}
    for row in source.rows(list(places.values())):
        yield Row(row.path, row.line, {name: row.cells.get(column) for name, column in places.items()})


_COLUMNS = {"query_id": _QUERY, "doc_id": _DOC, "value": _VALUE}


def _column(source: Source, names: tuple[str, ...]) -> str:
    found = next((name for name in names if name in source.columns()), None)
    if found is None:
        raise missing_column(source, names[0])
    return found


def _trec(path: Path) -> Iterator[Row]:
    for number, line in text_lines(path):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 4:
            raise DataError(
                "the line is no judgement of TREC's", path=path, line=number,
                expected="query, 0, document, grade", found=shown(line.strip()),
                mend="Or name a file that ends in .tsv, .csv, .jsonl or .parquet.",
            )  # fmt: skip
        yield Row(path, number, {"query_id": fields[0], "doc_id": fields[2], "value": fields[3]})
