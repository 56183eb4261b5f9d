"""Facets in a scoring: files in all forms, values by hand, planted lists, what is left open, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.scoring.facets import read_judged_facets

QRELS = {"q1": {"a": 5, "b": 4, "c": 4, "e": 5}, "q2": {"a": 5, "d": 4}, "q3": {"d": 5}}
FIRST = {"q1": ["b", "a", "n"], "q2": ["d", "a"], "q3": ["d"]}
SECOND = {"q1": ["a", "b", "c"], "q2": ["a"], "q3": ["n"]}
ROWS = [("q1", "a", "x"), ("q1", "a", "y"), ("q1", "b", "x"), ("q1", "c", "z"), ("q2", "a", "p"), ("q2", "d", "s")]
Rows = list[tuple[str, str, str]]


def as_csv(folder: Path, rows: Rows, heads: str = "query_id,doc_id,facet") -> Path:
    path = folder / "facets.csv"
    path.write_text("\n".join([heads, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def as_jsonl(folder: Path, rows: Rows) -> Path:
    path = folder / "facets.jsonl"
    lines = (json.dumps(dict(zip(("query", "document", "facet"), row, strict=True))) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def as_trec(folder: Path, rows: Rows) -> Path:
    path = folder / "facets.qrels"
    lines = (f"{query} {facet} {doc} {grade}" for grade, (query, doc, facet) in enumerate(rows, 1))
    path.write_text("\n".join([*lines, "q2 z a 0", "q2 z d -1"]) + "\n", encoding="utf-8")
    return path


def score(path: Path, runs: dict[str, Any] | None = None, **more: Any) -> Any:
    more.setdefault("cutoffs", (3,))
    return eb.rag.score(QRELS, runs or {"first": FIRST, "second": SECOND}, facets=str(path), resamples=500, **more)


def value_of(scored: Any, run: str, measure: str) -> float:
    row = scored.values.filter((pl.col("run") == run) & (pl.col("measure") == measure))
    return float(row["value"][0])


@pytest.mark.parametrize("write", [as_csv, as_jsonl, as_trec])
def test_values_by_hand_from_every_form(tmp_path: Path, write: Any) -> None:
    """Of q1 the first list covers x and y of x, y, z; of q2 both facets. The second all of q1 and one of two of q2, and
    in q1 its b adds nothing to a: 1/3 there, 0 in q2."""
    scored = score(write(tmp_path, ROWS))
    assert value_of(scored, "first", "Facet-Recall@3") == pytest.approx((2 / 3 + 1) / 2)
    assert value_of(scored, "second", "Facet-Recall@3") == pytest.approx((1 + 1 / 2) / 2)
    assert value_of(scored, "second", "Redundancy@3") == pytest.approx((1 / 3 + 0) / 2)
    assert value_of(scored, "first", "Complementarity@3") == pytest.approx((0 + 1 / 2) / 2)
    assert value_of(scored, "first", "Facet-alpha-nDCG@3") < 1
    named = {measure.name for measure in scored.record.measures}
    assert {"nDCG@3", "RA-nWG@3", "Facet-Recall@3"} <= named


def test_planted_lists(tmp_path: Path) -> None:
    """Thirty questions with two facets each. One list has two best passages that say the same, the other two that
    complete each other: nDCG is the same to the last digit, facets tell them apart."""
    queries = [f"q{n}" for n in range(30)]
    qrels = {query: {f"{query}a": 5, f"{query}b": 5, f"{query}c": 5} for query in queries}
    rows = [
        (query, f"{query}{letter}", facet)
        for query in queries
        for letter, facet in (("a", "x"), ("b", "x"), ("c", "y"))
    ]
    runs = {
        "twice": {query: [f"{query}a", f"{query}b"] for query in queries},
        "both": {query: [f"{query}a", f"{query}c"] for query in queries},
    }
    scored = eb.rag.score(qrels, runs, facets=str(as_csv(tmp_path, rows)), cutoffs=(2,), resamples=500)
    assert value_of(scored, "twice", "nDCG@2") == value_of(scored, "both", "nDCG@2") == 1.0
    assert [value_of(scored, run, "Facet-Recall@2") for run in runs] == [0.5, 1.0]
    assert [value_of(scored, run, "Redundancy@2") for run in runs] == [0.5, 0.0]
    assert [value_of(scored, run, "Complementarity@2") for run in runs] == [0.0, 0.5]
    gap = scored.pairs.filter(pl.col("measure") == "Facet-Recall@2").row(0, named=True)
    assert abs(gap["difference"]) == 0.5
    assert gap["better"] == "both"


def test_what_has_no_facets_is_counted(tmp_path: Path) -> None:
    notes = [note.text for note in score(as_csv(tmp_path, [*ROWS, ROWS[0]])).record.notes if note.kind == "facets"]
    assert any("1 of 3 judged queries have no facet, such as 'q3'" in note for note in notes)
    assert any("1 of 6 documents of grade 4 or 5 have no facet, such as 'e'" in note for note in notes)
    assert any("1 line left out (1 repeated" in note for note in notes)


@pytest.mark.parametrize(("row", "why"), [(("q9", "a", "x"), "query 'q9'"), (("q1", "zz", "x"), "document 'zz'")])
def test_unknown_ids_are_refused_with_their_line(tmp_path: Path, row: tuple[str, str, str], why: str) -> None:
    with pytest.raises(DataError, match=why) as error:
        score(as_csv(tmp_path, [*ROWS, row]))
    assert f"facets.csv:{len(ROWS) + 2}" in str(error.value)


def test_a_document_that_a_run_found_may_have_facets(tmp_path: Path) -> None:
    """n is not judged, and in a run."""
    scored = score(as_csv(tmp_path, [*ROWS, ("q1", "n", "z")]))
    assert value_of(scored, "first", "Facet-Recall@3") == 1.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("q1 1 a\n", "diversity judgement"),
        ("q1 1 a yes\n", "diversity judgement"),
        ("q1 1 a 0\n", "no document has a facet"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "facets.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=why):
        read_judged_facets(path, {})


def test_columns_are_told_and_mapped(tmp_path: Path) -> None:
    path = as_csv(tmp_path, ROWS, "query_id,doc_id,nugget")
    with pytest.raises(DataError, match="facet"):
        read_judged_facets(path, {})
    assert len(read_judged_facets(path, {"facet": "nugget"}).lines) == len(ROWS)
    path.write_text("query_id,doc_id,facet,relevance\nq1,a,x,0\nq1,a,y,1\nq1,b,y,\n", encoding="utf-8")
    assert (read_judged_facets(path, {}).worthless, len(read_judged_facets(path, {}).lines)) == (1, 2)
    path.write_text("query_id,doc_id,facet,relevance\nq1,a,x,much\n", encoding="utf-8")
    with pytest.raises(DataError, match="not a number"):
        read_judged_facets(path, {})


def test_what_needs_facets_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="facets"):
        eb.rag.score(QRELS, {"first": FIRST}, measures=["Facet-Recall@3"])
    with pytest.raises(UsageError, match="judge-grades"):
        eb.rag.score(QRELS, {"first": FIRST}, facets=str(as_csv(tmp_path, ROWS)), judge_grades="grades.csv")
