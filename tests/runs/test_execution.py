"""Cells are done here or in workers, failures are records, and dead workers are survived."""

import os
import signal
from dataclasses import replace

import pytest

from embassay.errors import BudgetExceeded, ModelError
from embassay.records import HeadlineComponent, Score, TaskOutcome
from embassay.runs.execution import LazyCellEngine, describe_error
from embassay.runs.folder import RunCell, RunFolder
from embassay.systems import SYSTEMS


class Ear:
    def __init__(self):
        self.heard = []

    def started(self, cell):
        self.heard.append(("started", cell.key))

    def advanced(self, cell, texts):
        self.heard.append(("advanced", cell.key, texts))

    def ended(self, cell, record):
        self.heard.append(("ended", cell.key, record.status))


def work(job, advance):
    advance(3)
    if job == "model":
        raise ModelError("The model broke.", mend="Mend it.")
    if job == "bug":
        raise ZeroDivisionError("division by zero")
    if job == "memory":
        raise MemoryError
    if job == "exit":
        raise SystemExit(4)
    if job in ("nan", "inf"):
        return TaskOutcome((Score("m", float(job), 1, variant="v"),), {}, {})
    if job == "part":
        return TaskOutcome((Score("m", 1.0, 1),), {"p": HeadlineComponent(float("nan"), 1)}, {})
    if job == "object":
        return TaskOutcome((Score("m", 1.0, 1, method=object()),), {}, {})
    if job == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    score = Score("m", float(job), 1)
    items = {"item_id": ["x"], "variant": [""], "measure": ["m"], "value": [float(job)]}
    return TaskOutcome((score,), {"m": HeadlineComponent(float(job), 1)}, items)


def cells(*jobs):
    return [RunCell("t", "d", f"s{i}", f"key{i}", 3, job) for i, job in enumerate(jobs)]


def done(jobs, path, workers, ear):
    folder = RunFolder(path)
    return LazyCellEngine(workers, folder).do(jobs, work, ear)


@pytest.fixture(autouse=True)
def _importable(root, monkeypatch):
    """A spawned worker imports this module by name."""
    monkeypatch.syspath_prepend(root)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_cell_ends_with_a_record(tmp_path, workers):
    """Finished cells have scores and items on disk, failed ones a reason in words and a log; the rest goes on."""
    ear = Ear()
    jobs = cells("1", "model", "bug", "memory", "5", "exit")
    records = {record.key: record for record in done(jobs, tmp_path, workers, ear)}
    assert [records[f"key{i}"].status for i in range(6)] == ["done", *["failed"] * 3, "done", "failed"]
    assert records["key5"].reason == "it called exit(4)"
    assert records["key1"].reason == "The model broke. Mend it."
    assert records["key2"].reason == "ZeroDivisionError: division by zero"
    assert records["key3"].reason == "out of memory"
    assert "ZeroDivisionError" in (tmp_path / "logs" / "key2.txt").read_text()
    assert RunFolder(tmp_path).locate_cell_items("t", "d", "s4").exists()
    assert {event[1] for event in ear.heard if event[0] == "ended"} == set(records)
    assert ("advanced", "key0", 3) in ear.heard


def test_a_cell_whose_record_cannot_be_kept_fails_alone(tmp_path):
    """A score, or a part of it, that is no number, and a record that no file can hold: the cell's failure."""
    jobs = cells("nan", "inf", "part", "object", "5")
    records = list(done(jobs, tmp_path, 1, Ear()))
    assert [record.status for record in records] == ["failed"] * 4 + ["done"]
    assert records[0].reason == "The score m v is nan, which is not a number."
    assert "inf" in records[1].reason
    assert records[2].reason == "The part p of the score is nan, which is not a number."
    assert records[3].reason.startswith("TypeError")
    assert [RunFolder(tmp_path).read_cell_record(cell).status for cell in jobs] == ["failed"] * 4 + ["done"]


def test_a_folder_that_takes_no_more_is_no_failure_of_a_cell(tmp_path, monkeypatch):
    """It would fail the next ones too: the run ends, and nothing says that the cell has failed."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "write_cell_record", full)
    with pytest.raises(OSError, match="No space"):
        list(done(cells("1", "2"), tmp_path, 1, Ear()))
    assert not list(tmp_path.glob("logs/*"))


@pytest.mark.slow
def test_a_killed_worker_costs_its_cell_only(tmp_path):
    """The cell that kills its worker fails with a reason; cells that ran beside it are done."""
    records = {record.key: record for record in done(cells("1", "die", "3", "4"), tmp_path, 2, Ear())}
    assert {key: record.status for key, record in records.items()} == {
        "key0": "done", "key1": "failed", "key2": "done", "key3": "done",
    }  # fmt: skip
    assert "died" in records["key1"].reason


@pytest.mark.slow
def test_cells_of_a_server_come_last_and_stay_here(tmp_path):
    """Whatever the workers, the process that keeps the accounts does them, after all that is free."""
    done = []

    def paid(job, advance):
        done.append((job, os.getpid()))
        return work(job, advance)

    jobs = [replace(cell, remote=cell.job in ("1", "2")) for cell in cells("1", "3", "2", "4")]
    folder = RunFolder(tmp_path)
    crew = LazyCellEngine(2, folder)
    ended = [record.system for record in crew.do(jobs, work, Ear(), paid)]
    assert set(ended[:2]) == {"s1", "s3"}
    assert ended[2:] == ["s0", "s2"]
    assert done == [("1", os.getpid()), ("2", os.getpid())]


def test_the_end_of_the_money_ends_the_run(tmp_path):
    """It is no failure of the cell: that has no record, and is done when the run resumes."""

    def paid(job, advance):
        raise BudgetExceeded("No more.")

    jobs = [replace(cell, remote=cell.job != "3") for cell in cells("1", "2", "3")]
    folder = RunFolder(tmp_path)
    steps = LazyCellEngine(1, folder).do(jobs, work, Ear(), paid)
    assert next(steps).system == "s2"
    with pytest.raises(BudgetExceeded):
        next(steps)
    assert [folder.read_cell_record(cell) is not None for cell in jobs] == [False, False, True]


def test_a_bug_in_code_that_was_registered_is_told_with_its_place(monkeypatch):
    """The user's own file and line; nothing of where a library failed."""
    assert describe_error(_raised(_bug)) == "ZeroDivisionError: division by zero"
    monkeypatch.setattr(SYSTEMS, "_entries", dict(SYSTEMS._entries))
    SYSTEMS.add("own-bug", _bug, "a system of this file")
    assert describe_error(_raised(_bug)).startswith("ZeroDivisionError: division by zero (test_execution.py, line ")


def _bug():
    return 1 / 0


def _raised(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return error
