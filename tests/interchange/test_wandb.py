"""Runs in the files of Weights & Biases, written offline and read back record by record."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import UsageError
from embassay.interchange import log_to_wandb
from embassay.interchange.tables import load_run_folder, make_wide_score_table
from embassay.runs.folder import RunFolder
from written_runs import write_run

BLOCK, HEAD = 32_768, 7
SECRET = "correct-horse-battery"


def chunks(data: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's form, put together; the file's own header takes the first seven bytes."""
    place, parts = HEAD, []
    while place + HEAD <= len(data):
        if BLOCK - place % BLOCK < HEAD:
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + HEAD])
        parts.append(data[place + HEAD : place + HEAD + length])
        place += HEAD + length
        if kind in (1, 4):
            yield b"".join(parts)
            parts = []


def records(out: Path) -> list[list[Any]]:
    from wandb.proto import wandb_internal_pb2

    def read(path: Path) -> list[Any]:
        return [wandb_internal_pb2.Record.FromString(one) for one in chunks(path.read_bytes())]

    found = []
    for path in sorted(out.glob("wandb/offline-run-*/*.wandb")):
        written = read(path)
        # A process of the library's writes the file, and on a busy machine later than the call returns.
        for _ in range(300):
            if any(one.WhichOneof("record_type") == "exit" for one in written):
                break
            time.sleep(0.1)
            written = read(path)
        found.append(written)
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = write_run(tmp_path / "run", {"one": [0.5, 0.75, 1.0] * 5, "two": [0.25, 0.5, 0.5] * 5}, status="finished")
    (path / "report.html").write_text("<p>report</p>")
    return path


@pytest.mark.wandb
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_values_configuration_files_and_once_only(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary holds every headline with its interval, the configuration what was asked for; nothing of the machine;
    again: nothing; gone on: the same id."""
    pytest.importorskip("wandb")
    monkeypatch.setitem(os.environ, "WANDB_API_KEY", SECRET)
    out = tmp_path / "out"
    (first,) = log_to_wandb([run], out, project="tests")
    (written,) = records(out)
    (opened,) = [one.run for one in written if one.WhichOneof("record_type") == "run"]
    assert (opened.run_id, opened.project, opened.display_name) == (first.id, "tests", "run")
    config = {one.key: json.loads(one.value_json) for one in opened.config.update}
    assert config["seed"] == "1337"
    assert config["embassay.manifest"] == load_run_folder(run).manifest_digest
    summary = {
        one.key or ".".join(one.nested_key): json.loads(one.value_json)
        for record in written
        if record.WhichOneof("record_type") == "summary"
        for one in record.summary.update
    }
    table = make_wide_score_table(load_run_folder(run))
    for system, cells in zip(table.systems, table.cells, strict=True):
        row = cells[0]
        assert row is not None
        assert summary[f"{system}/overall"] == row.value
        assert summary[f"{system}/overall low"] == row.ci_low
    artifacts = [one.artifact for one in written if one.WhichOneof("record_type") == "artifact"]
    artifacts += [
        one.request.log_artifact.artifact
        for one in written
        if one.WhichOneof("record_type") == "request" and one.request.HasField("log_artifact")
    ]
    kept = {entry.path for artifact in artifacts for entry in artifact.manifest.contents}
    assert {"report.html", "manifest.json", "headlines.csv", "results.parquet"} <= kept
    for path in out.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            assert SECRET.encode() not in raw
            assert b"pytest" not in raw or path.suffix == ".log" or path.suffix == ".wandb"
    assert not list(out.rglob("wandb-metadata.json"))
    assert not list(out.rglob("requirements.txt"))

    (again,) = log_to_wandb([run], out, project="tests")
    assert (again.id, again.unchanged, len(records(out))) == (first.id, True, 1)

    folder = RunFolder(run)
    rows = folder.read_results()
    folder.write_results([type(rows[0])(**{**vars(row), "value": 0.125}) for row in rows])
    (more,) = log_to_wandb([run], out, project="tests")
    assert (more.id, more.unchanged) == (first.id, False)


def test_without_the_extra(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UsageError, match=r"needs the package wandb.*embassay\[wandb\]"):
        log_to_wandb([run], tmp_path / "out")
