"""The files of a run."""

import multiprocessing
import re

import polars as pl
import pytest

from embassay.errors import DataError, UsageError
from embassay.records import ResultRow
from embassay.runs.folder import RunCell, RunFolder, make_failed_cell_record, write_parquet_columns

CELL = RunCell("robustness", "sample", "bm25", "abc", 10, job=None)
ROW = ResultRow("sage", "robustness", "sample", "", "en", "", "bm25", "robustness", 0.5, 3)


def test_a_folder_without_a_run_has_no_manifest(tmp_path):
    """Nothing there is not an error."""
    assert RunFolder(tmp_path / "none").read_manifest() is None
    assert RunFolder(tmp_path / "none").read_results() == []


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"schema": 99}'])
def test_a_manifest_that_cannot_be_used_is_named(tmp_path, content):
    """A torn manifest or one of another schema is a DataError that names the file and the mend."""
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=r"manifest\.json.*--out"):
        RunFolder(tmp_path).read_manifest()


def test_results_are_appended_replaced_and_read(tmp_path):
    """Rows come back as they were, in order."""
    folder = RunFolder(tmp_path)
    folder.append_results([ROW])
    folder.append_results([ROW])
    assert folder.read_results() == [ROW, ROW]
    folder.write_results([ROW])
    assert folder.read_results() == [ROW]


def test_a_torn_line_is_named(tmp_path):
    """A line that a crash cut short is a DataError with its number and the mend."""
    folder = RunFolder(tmp_path)
    folder.append_results([ROW])
    with folder.results.open("a") as stream:
        stream.write('{"protocol": "sa')
    with pytest.raises(DataError, match=r"results\.jsonl:2: .*same command"):
        folder.read_results()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:40],
        lambda text: text.replace('"seconds": 0.1', '"seconds": 0.2'),
        lambda text: re.sub(r', "checksum": "\w+"', "", text),
    ],
    ids=["torn", "edited", "without a checksum"],
)
def test_a_cell_that_is_not_as_it_was_written(tmp_path, change):
    """Torn, edited or without its checksum: it is said, and the cell counts as not done."""
    folder = RunFolder(tmp_path)
    folder.write_cell_record(CELL, make_failed_cell_record(CELL, "why", 0.1))
    assert folder.read_cell_record(CELL) == make_failed_cell_record(CELL, "why", 0.1)
    path = tmp_path / "cells" / "abc.json"
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    with pytest.warns(RuntimeWarning, match=r"abc\.json .* robustness on sample with bm25 will be computed again"):
        assert folder.read_cell_record(CELL) is None


def test_columns_become_parquet_with_nulls(tmp_path):
    """Texts stay texts, missing values are null, and equal columns give equal bytes."""
    columns = {"item_id": ["a", "b"], "variant": ["", "x"], "measure": ["m", "m"], "value": [0.5, None]}
    write_parquet_columns(tmp_path / "one.parquet", columns)
    write_parquet_columns(tmp_path / "two.parquet", columns)
    frame = pl.read_parquet(tmp_path / "one.parquet")
    assert frame["value"].to_list() == [0.5, None]
    assert frame.schema["item_id"] == pl.String
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def _hold(path, ready, leave):
    with RunFolder(path).hold_folder_lock():
        ready.set()
        leave.wait(20)


@pytest.mark.slow
def test_two_processes_cannot_work_on_one_folder(tmp_path, root, monkeypatch):
    """The second one is told, instead of mixing its cells with the first one's."""
    monkeypatch.syspath_prepend(root)  # a spawned process imports this module by name
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path, ready, leave))
    other.start()
    try:
        assert ready.wait(20)
        with pytest.raises(UsageError, match="Another process"), RunFolder(tmp_path).hold_folder_lock():
            pass
    finally:
        leave.set()
        other.join(20)
    with RunFolder(tmp_path).hold_folder_lock():
        pass


def test_what_a_killed_session_was_writing_is_removed(tmp_path):
    """When the folder is held again; files of other names stay."""
    folder = RunFolder(tmp_path)
    kept = [tmp_path / "items" / ".hidden.part", tmp_path / "a.part"]
    for path in (tmp_path / ".results.jsonl.123.part", tmp_path / "items" / ".a.parquet.7.part", *kept):
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    with folder.hold_folder_lock():
        assert sorted(tmp_path.rglob("*.part")) == sorted(kept)
