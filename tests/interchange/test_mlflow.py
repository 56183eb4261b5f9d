"""Runs in MLflow, read back with its own client from a database in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import ModelError, UsageError
from embassay.interchange import log_to_mlflow
from embassay.interchange.tables import load_run_folder, make_wide_score_table
from embassay.runs.folder import RunFolder
from written_runs import write_run

needs_mlflow = pytest.mark.mlflow


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = write_run(
        tmp_path / "run", {"one": [0.5, 0.75, 1.0] * 5, "st:org/two": [0.25, 0.5, 0.5] * 5}, status="finished"
    )
    (path / "report.html").write_text("<p>report</p>")
    (path / "tables").mkdir()
    (path / "tables" / "sage_table1.csv").write_text("a,b\n")
    return path


def logged_runs(client: Any) -> list[Any]:
    place = client.get_experiment_by_name("tests").experiment_id
    return list(client.search_runs([place]))


@needs_mlflow
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_values_parameters_files_and_once_only(run: Path, tmp_path: Path) -> None:
    """Metrics with their intervals by system, what was asked for, report and tables; again: nothing; gone on: the same
    runs brought up to date."""
    pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    from mlflow.tracking import MlflowClient

    (first,) = log_to_mlflow([run], str(tmp_path / "store"), experiment="tests")
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'store' / 'mlflow.db'}")
    top = client.get_run(first.id)
    assert top.data.params["seed"] == "1337"
    assert top.data.params["data"] == '{"sample": "f"}'
    assert (top.info.status, top.data.tags["embassay.manifest"]) == ("FINISHED", load_run_folder(run).manifest_digest)
    table = make_wide_score_table(load_run_folder(run))
    nested = {one.data.tags["embassay.system"]: one for one in logged_runs(client) if one.info.run_id != first.id}
    assert set(nested) == set(table.systems)
    for system, cells in zip(table.systems, table.cells, strict=True):
        row = cells[0]
        assert row is not None
        metrics = nested[system].data.metrics
        assert (metrics["overall"], metrics["overall.low"], metrics["overall.n"]) == (row.value, row.ci_low, row.n)
        assert nested[system].data.tags["mlflow.parentRunId"] == first.id
    assert {one.path for one in client.list_artifacts(first.id)} == {
        "report.html", "tables", "manifest.json", "headlines.csv", "results.parquet",
    }  # fmt: skip
    kept = tmp_path / "store" / "mlartifacts" / first.id / "artifacts"
    assert (kept / "report.html").read_text() == "<p>report</p>"
    assert (kept / "tables" / "sage_table1.csv").read_text() == "a,b\n"

    (again,) = log_to_mlflow([run], str(tmp_path / "store"), experiment="tests")
    assert (again.id, again.unchanged, len(logged_runs(client))) == (first.id, True, 3)

    folder = RunFolder(run)
    rows = folder.read_results()
    folder.write_results([type(rows[0])(**{**vars(row), "value": 0.125}) for row in rows])
    (more,) = log_to_mlflow([run], str(tmp_path / "store"), experiment="tests")
    assert (more.id, more.unchanged, len(logged_runs(client))) == (first.id, False, 3)
    values = {one.data.metrics["overall"] for one in logged_runs(client) if "overall" in one.data.metrics}
    assert values == {0.125}


@needs_mlflow
@pytest.mark.filterwarnings("ignore")
def test_a_store_that_is_none(run: Path, tmp_path: Path) -> None:
    """Said in one line."""
    pytest.importorskip("mlflow")
    with pytest.raises(UsageError, match="MLflow cannot use this store"):
        log_to_mlflow([run], "ftp://nowhere/x")
    (tmp_path / "mlflow.db").write_text("no database")
    with pytest.raises((UsageError, ModelError), match="MLflow"):
        log_to_mlflow([run], str(tmp_path))


def test_without_the_extra(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(UsageError, match=r"needs the package mlflow.*embassay\[mlflow\]"):
        log_to_mlflow([run], "store")
