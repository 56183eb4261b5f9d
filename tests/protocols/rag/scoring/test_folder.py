"""A scoring on disk: everything the report and later commands need, and the record as it was."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.rag.scoring.score import SCHEMA, read_scoring_record, write_scoring_record
from embassay.runs.folder import RunFolder
from stub.ranked import qrels, run

JUDGED = qrels(12)
RUNS = {"one": run(JUDGED, 1), "two/b": run(JUDGED, 2, skill=0.2)}
ARGUMENTS = {"resamples": 100, "sensitivity": True}


@pytest.fixture(scope="module")
def scoring(tmp_path_factory: pytest.TempPathFactory) -> eb.rag.Scoring:
    return eb.rag.score(JUDGED, RUNS, out=tmp_path_factory.mktemp("runs") / "s", **ARGUMENTS)  # type: ignore[arg-type]


def test_the_folder_has_everything(scoring: eb.rag.Scoring) -> None:
    """Manifest, results, items, comparisons, tables and the record."""
    assert scoring.path is not None
    names = {str(path.relative_to(scoring.path)) for path in scoring.path.rglob("*") if path.is_file()}
    made = ("rag_score", "rag_pairs", "rag_overlap", "rag_sensitivity", "rag_reading")
    assert {f"tables/{name}.{end}" for name in made for end in ("csv", "md")} <= names
    files = {"manifest.json", "results.jsonl", "comparisons.json", "score.json", "tables/rag_per_query.csv"}
    assert files <= names
    assert {"items/score/qrels/one.parquet"} <= names
    manifest = RunFolder(scoring.path).read_manifest()
    assert manifest is not None
    assert (manifest["protocol"], manifest["kind"], manifest["status"]) == ("rag", "score", "finished")
    assert [cell["system"] for cell in manifest["cells"]] == list(RUNS)


def test_the_record_comes_back_as_it_was(scoring: eb.rag.Scoring) -> None:
    """Reading undoes writing, every field with its type."""
    assert scoring.path is not None
    assert read_scoring_record(scoring.path / "score.json") == scoring.record


def test_values_in_the_folder_are_those_of_the_record(scoring: eb.rag.Scoring) -> None:
    """Results, tables, items and comparisons say the same."""
    assert scoring.path is not None
    rows = RunFolder(scoring.path).read_results()
    assert [(row.system, row.measure, row.value, row.n) for row in rows] == [
        (one.run, one.measure, one.value, one.n) for one in scoring.record.values
    ]
    assert {(row.protocol, row.task, row.dataset, row.seed) for row in rows} == {("rag", "score", "qrels", 0)}
    table = Run(scoring.path).table("rag_score")
    assert table["Value"].to_list() == [one.value for one in scoring.record.values]
    wide = Run(scoring.path).table("rag_per_query")
    assert len(wide) == len(JUDGED) * len(RUNS)
    items = pl.read_parquet(RunFolder(scoring.path).locate_cell_items("score", "qrels", "two/b"))
    own = scoring.per_query.filter(pl.col("run") == "two/b")
    assert items["value"].equals(own["value"])
    assert items.columns == ["item_id", "variant", "measure", "value", "reason"]


def test_runs_can_be_compared_as_in_other_runs(scoring: eb.rag.Scoring) -> None:
    """By the headline under the task's name, and by every measure under its own."""
    assert scoring.path is not None
    headline = Run(scoring.path).compare("one", "two/b", "score").leading
    comparison = scoring.record.find_measure_comparison("RA-nWG@10")
    assert comparison is not None
    assert abs(headline.difference or 0.0) == abs(comparison.pairs[0].difference)


def test_the_same_arguments_write_it_anew(scoring: eb.rag.Scoring) -> None:
    """Others are refused, and nothing is touched."""
    assert scoring.path is not None
    before = (scoring.path / "score.json").read_bytes()
    eb.rag.score(JUDGED, RUNS, out=scoring.path, **ARGUMENTS)  # type: ignore[arg-type]
    assert (scoring.path / "score.json").read_bytes() == before
    with pytest.raises(UsageError, match="other arguments: resamples was 100, now 200"):
        eb.rag.score(JUDGED, RUNS, out=scoring.path, resamples=200, sensitivity=True)
    assert (scoring.path / "score.json").read_bytes() == before


def test_a_failed_scoring_leaves_no_folder(tmp_path: Path) -> None:
    """What is wrong with the files is said before anything is written."""
    with pytest.raises(DataError):
        eb.rag.score({"q": {"a": 9}}, {"r": {"q": ["a"]}}, out=tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda plain: plain | {"schema": SCHEMA + 1}, "another version"),
        (lambda plain: {key: value for key, value in plain.items() if key != "runs"}, "is incomplete"),
        (lambda plain: [plain], "cannot be read"),
    ],
)
def test_a_damaged_record(scoring: eb.rag.Scoring, tmp_path: Path, change: object, says: str) -> None:
    """One line, and what to do."""
    path = tmp_path / "score.json"
    write_scoring_record(path, scoring.record)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))  # type: ignore[operator]
    with pytest.raises(DataError, match=says):
        read_scoring_record(path)
