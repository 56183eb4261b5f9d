"""Reading a run folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.report.record import read_run_record
from embassay.report.sage.tables import BEYOND, TASKS
from embassay.runs.folder import RunFolder

MakeRun = Callable[..., Path]


def test_a_record_holds_what_the_folder_says(plain_run: Path) -> None:
    """Systems in the order of the manifest, rows by key, comparisons both ways round."""
    record = read_run_record(plain_run)
    assert [system.name for system in record.list_non_reference_systems] == [
        "aster-large",
        "birch-base",
        "jaccard",
        "bm25",
    ]
    assert [system.name for system in record.references] == ["constant", "random"]
    assert record.protocols_with_results == ("sage",)
    assert record.datasets("robustness") == ("sample",)
    pair = record.find_task_comparisons("overall").pair("aster-large", "bm25")
    turned = record.find_task_comparisons("overall").pair("bm25", "aster-large")
    assert pair is not None
    assert turned is not None
    assert turned.difference == -pair.difference
    assert (turned.ci_low, turned.ci_high) == (-pair.ci_high, -pair.ci_low)


def test_first_are_those_whose_range_includes_1(make_run: MakeRun) -> None:
    """Not the best value, but every rank range that includes 1."""
    run = make_run(levels={"aster-large": 0.9, "birch-base": 0.88})
    scope = read_run_record(run).find_task_comparisons("overall")
    assert scope.first == tuple(name for name, (low, _) in scope.ranges.items() if low == 1)
    assert scope.first == ("aster-large", "birch-base")


def test_no_run_is_an_error_that_says_what_to_name(tmp_path: Path) -> None:
    """An empty folder is no run."""
    with pytest.raises(DataError, match="there is no run here"):
        read_run_record(tmp_path)


def test_another_schema_is_refused_with_both_versions(make_run: MakeRun) -> None:
    """A manifest of a later version is not guessed at."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "schema": 99}))
    with pytest.raises(DataError, match=r"schema 1.*schema 99"):
        read_run_record(run)


def test_a_damaged_line_is_an_error_with_its_number(make_run: MakeRun) -> None:
    """A cut line names itself."""
    run = make_run()
    lines = (run / "results.jsonl").read_text().splitlines()
    (run / "results.jsonl").write_text("\n".join([*lines[:4], lines[4][:30], *lines[5:]]))
    with pytest.raises(DataError, match=r"results\.jsonl:5"):
        read_run_record(run)


def test_damaged_comparisons_are_an_error(make_run: MakeRun) -> None:
    """Half a JSON file is not no comparisons."""
    run = make_run()
    (run / "comparisons.json").write_text('{"alpha": 0.05')
    with pytest.raises(DataError, match="the comparisons cannot be read"):
        read_run_record(run)


def test_a_manifest_without_systems_is_an_error(make_run: MakeRun) -> None:
    """Files that do not fit together are said to be so."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["systems"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="are inconsistent"):
        read_run_record(run)


def test_a_run_without_comparisons_can_be_read(make_run: MakeRun) -> None:
    """They are written last: a run that was stopped has none."""
    run = make_run()
    (run / "comparisons.json").unlink()
    scope = read_run_record(run).find_task_comparisons("overall")
    assert scope.first == ()
    assert "no comparisons" in scope.reason


def test_a_later_row_replaces_an_earlier_one(make_run: MakeRun) -> None:
    """Results grow by lines; a repeated key holds its last value."""
    run = make_run()
    folder = RunFolder(run)
    row = next(row for row in folder.read_results() if row.task == "overall" and row.system == "bm25")
    folder.append_results([type(row)(**{**row.as_dict(), "value": 0.125})])
    assert read_run_record(run).value("overall", "bm25", "overall") == 0.125


def test_headlines_are_those_of_the_protocol() -> None:
    """The report names each task and its headline as the protocol does."""
    from embassay.protocols.sage.tasks import TASKS as PROTOCOL

    assert [(task.name, task.headline) for task in (*TASKS, *BEYOND)] == [
        (entry.name, PROTOCOL.build(entry.name).headline) for entry in PROTOCOL
    ]
