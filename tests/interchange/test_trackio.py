"""Runs in a local project of Trackio, written by its client and read back from its store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from embassay.errors import UsageError
from embassay.interchange import log_to_trackio
from embassay.runs.folder import RunFolder
from written_runs import write_run

READ = """
import json, sys
from trackio.sqlite_storage import SQLiteStorage
names = SQLiteStorage.get_runs("tests")
print(json.dumps({name: [SQLiteStorage.get_logs("tests", name), SQLiteStorage.get_run_config("tests", name)]
                  for name in names}))
"""


def export_run(place: Path) -> list[dict[str, object]]:
    """By the command, in a process of its own: the library reads its folder once."""
    command = ("export", "run", "--to", "trackio", "--out", "store", "--project", "tests", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "embassay", *command], cwd=place, capture_output=True, text=True, check=True
    )
    logged: list[dict[str, object]] = json.loads(done.stdout)["logged"]
    return logged


def read_store(place: Path) -> dict[str, list[object]]:
    done = subprocess.run(
        [sys.executable, "-c", READ], capture_output=True, text=True, check=True,
        env={**os.environ, "TRACKIO_DIR": str(place / "store")}
    )  # fmt: skip
    stored: dict[str, list[object]] = json.loads(done.stdout.splitlines()[-1])
    return stored


@pytest.mark.slow
@pytest.mark.trackio
def test_each_system_is_a_run_with_its_headlines(tmp_path: Path) -> None:
    """Value, interval and n as numbers, the arguments as configuration. Again: nothing; gone on: a further step."""
    pytest.importorskip("trackio")
    run = write_run(tmp_path / "run", {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.4]})
    (first,) = export_run(tmp_path)
    assert first["unchanged"] is False
    stored = read_store(tmp_path)
    assert sorted(name.split()[1] for name in stored) == ["a", "b"]
    ((logs, config),) = [entry for name, entry in stored.items() if name.split()[1] == "a"]
    (step,) = logs
    rows = {row.task: row for row in RunFolder(run).read_results() if row.system == "a"}
    assert step["overall"] == rows["overall"].value
    assert (step["overall.low"], step["overall.high"]) == (rows["overall"].ci_low, rows["overall"].ci_high)
    assert step["robustness.n"] == 3
    assert config["protocol"] == "sage"
    (again,) = export_run(tmp_path)
    assert (again["id"], again["unchanged"]) == (first["id"], True)
    rows_now = [type(row)(**{**vars(row), "value": 0.125}) for row in RunFolder(run).read_results()]
    RunFolder(run).write_results(rows_now)
    (more,) = export_run(tmp_path)
    assert (more["id"], more["unchanged"]) == (first["id"], False)
    ((logs, _),) = [entry for name, entry in read_store(tmp_path).items() if name.split()[1] == "a"]
    assert [step["overall"] for step in logs] == [rows["overall"].value, 0.125]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trackio", None)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "out"))
    with pytest.raises(UsageError, match=r"needs the package trackio.*embassay\[trackio\]"):
        log_to_trackio([write_run(tmp_path / "run", {"a": [0.1, 0.2]})], tmp_path / "out")
