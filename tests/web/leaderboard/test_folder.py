"""From files to boards: what is found, read, joined and kept."""

from __future__ import annotations

import json

import pytest

from embassay.errors import DataError
from embassay.protocols.compare import determine_replicate_pairing
from embassay.web.leaderboard import library as library_module
from embassay.web.leaderboard.folders import (
    board_title,
    digest_comparable_run_settings,
    find_run_folders,
    read_leaderboard_run,
)
from embassay.web.leaderboard.library import RunLibrary
from embassay.web.leaderboard.table import find_board_entrants, make_board_cell, make_board_columns
from leaderboard_runs import EARLY, LATE, TASKS, Running, write_sage


def _read(path):
    (folder,) = find_run_folders(path)
    return read_leaderboard_run(folder)


def _change(path, **fields):
    told = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**told, **fields}))
    return path


def test_runs_are_found_at_any_depth(tmp_path) -> None:
    """Not in hidden folders, not through links, not inside a run; other things have manifests too."""
    for path in ("a", "b/c/d", ".hidden/e"):
        write_sage(tmp_path / path, {"s": 0.5})
    write_sage(tmp_path / "a" / "inside", {"s": 0.5})
    (tmp_path / "link").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "manifest.json").write_text('{"name": "a web page"}')
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "manifest.json").write_text("{")
    assert [one.name for one in find_run_folders(tmp_path)] == ["a", "b/c/d", "torn"]


def test_a_folder_may_be_one_run(tmp_path) -> None:
    """It goes by the folder's own name."""
    write_sage(tmp_path / "only", {"s": 0.5})
    assert [one.name for one in find_run_folders(tmp_path / "only")] == ["only"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"schema": 9, "protocol": "sage"}'),
        ("manifest.json", '{"schema": 1, "protocol": "sage", "systems": 7, "cells": [{}]}'),
        ("manifest.json", '{"schema": 1, "protocol": {"a": 1}}'), ("manifest.json", "[" * 100_000),
        ("manifest.json", '{"protocol'), ("results.jsonl", '{"task": 1}\n'), ("results.jsonl", "\x00\x01"),
        ("results.jsonl", "{}\n{}\n"),
        ("results.jsonl", '{"protocol":"sage","task":"a","dataset":"b","subset":"","lang":"","variant":"",'
         '"system":"s","measure":"m","value":"high","n":3}\n'),
    ],
)  # fmt: skip
def test_a_broken_run_is_named_and_breaks_nothing(tmp_path, name, content) -> None:
    """With a reason that names no place on this machine; the other runs are shown."""
    write_sage(tmp_path / "whole", {"one": 0.5, "two": 0.9})
    write_sage(tmp_path / "hurt", {"three": 0.5}, updated=LATE)
    (tmp_path / "hurt" / name).write_text(content)
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    boards = library.wait_for_snapshot().boards
    assert [line.systems for line in boards.boards] == [2]
    assert [one.name for one in boards.broken] == ["hurt"]
    assert boards.broken[0].reason
    assert str(tmp_path) not in boards.broken[0].reason
    write_sage(tmp_path / "hurt", {"three": 0.5}, updated=LATE)
    library.refresh_changed_runs()
    assert not library.wait_for_snapshot().boards.broken, "a mended run is read again"


@pytest.mark.parametrize(
    "changed",
    [
        {"datasets": [{"fingerprint": "x"}]}, {"datasets": "sample"}, {"datasets": [{"name": "a", "tasks": [1]}]},
        {"systems": [{"name": "three", "kind": "embedding", "facts": "many"}]}, {"systems": [{"kind": "x"}]},
        {"systems": {"three": 1}}, {"arguments": [1, 2]}, {"cells": [{"key": 1}]}, {"cells": {"a": 1}},
        {"cells": [{"key": "k", "task": "preference", "dataset": "d", "system": "s", "status": "done", "counts": 7}]},
        {"updated": {"a": 1}}, {"status": ["running"]}, {"kind": {"x": 1}}, {"embassay": None}, {"arguments": None},
    ],
    ids=repr,
)  # fmt: skip
def test_a_manifest_of_another_shape_breaks_nothing(tmp_path, changed) -> None:
    """It is shown as far as it goes, or named; the other boards, and all their answers, are there."""
    write_sage(tmp_path / "whole", {"one": 0.5, "two": 0.9}, fingerprint="w")
    _change(write_sage(tmp_path / "odd", {"three": 0.5}), **changed)
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    boards = library.wait_for_snapshot().boards
    assert 2 in [line.systems for line in boards.boards]
    assert len(boards.boards) + len(boards.broken) == 2
    assert all(library.board(line.id) is not None for line in boards.boards)


def test_what_is_not_finite_is_no_value(tmp_path) -> None:
    """NaN and infinities of a file are told of, and never sent."""
    write_sage(tmp_path / "r", {"one": 0.5, "two": 0.6})
    path = tmp_path / "r" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["value"], rows[1]["ci_high"] = float("nan"), float("inf")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = _read(tmp_path / "r").scores
    assert scores["preference", "sample", "human_preference"]["one"][0] is None
    assert scores["preference", "sample", "human_preference"]["one"][4] == "written as nan"
    assert scores["preference", "", "human_preference"]["one"][2] is None


def test_damaged_replicates_cost_the_ranks_alone(tmp_path) -> None:
    """Values come from the rows."""
    write_sage(tmp_path / "hurt", {"one": 0.5, "two": 0.6})
    (tmp_path / "hurt" / "headlines.parquet").write_text("PAR1 nothing")
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    made = library.board(library.wait_for_snapshot().boards.boards[0].id)
    assert made is not None
    assert [one.name for one in made.board.systems if one.ranked] == ["two", "one"]
    assert made.board.ranks["overall"] == (None, None)
    assert made.board.verdict.title == "No ranking: differences cannot be tested"


@pytest.mark.parametrize(
    "changed",
    [
        {"arguments": {"seed": 7, "tasks": [], "limit": None}},
        {"arguments": {"seed": 1337, "tasks": [], "limit": 10}},
        {"arguments": {"seed": 1337, "tasks": ["preference"], "limit": None}},
        {"arguments": {"seed": 1337, "tasks": [], "limit": None, "options": {"gain": "exponential"}}},
        {"datasets": [{"name": "sample", "fingerprint": "g", "tasks": {}}]},
        {"protocol": "pteb"},
    ],
    ids=["seed", "limit", "tasks", "options", "data", "protocol"],
)
def test_runs_that_cannot_be_paired_are_on_different_boards(tmp_path, changed) -> None:
    """The version tells apart all that comparisons refuse to pair."""
    first = _read(write_sage(tmp_path / "a", {"s": 0.5}))
    second = _read(_change(write_sage(tmp_path / "b", {"t": 0.5}), **changed))
    assert not determine_replicate_pairing(first.manifest, second.manifest).paired
    assert digest_comparable_run_settings(first) != digest_comparable_run_settings(second)


def test_runs_of_other_systems_are_on_one_board(tmp_path) -> None:
    """Who took part, when, and where the data lay do not make a version."""
    first = _read(write_sage(tmp_path / "a", {"s": 0.5}))
    told = {"seed": 1337, "limit": None, "tasks": [], "systems": ["t"], "datasets": ["./elsewhere/sample"]}
    second = _read(_change(write_sage(tmp_path / "b", {"t": 0.5}, updated=LATE), arguments=told))
    assert digest_comparable_run_settings(first) == digest_comparable_run_settings(second)
    assert board_title(second) == "SAGE on sample"


def test_half_a_line_is_not_read_while_a_run_goes_on(tmp_path) -> None:
    """In a finished run it is an error."""
    running = Running(tmp_path / "r", ["s"])
    running.end_cell("s", "preference", 0.5)
    with running.folder.results.open("a") as stream:
        stream.write('{"protocol": "sage", "ta')
    assert list(_read(tmp_path / "r").scores) == [("preference", "sample", "human_preference")]
    _change(tmp_path / "r", status="finished")
    with pytest.raises(DataError, match="line 2"):
        _read(tmp_path / "r")


def test_states_of_cells(tmp_path) -> None:
    """Failed with its reason, running with counts, done on the only dataset, none where the run has no such task."""
    running = Running(tmp_path / "r", ["s", "t"])
    running.end_cell("s", "preference", 0.5)
    running.fail_cell("s", "retrieval", "no memory")
    run = _read(tmp_path / "r")
    columns = {one.key: one for one in make_board_columns("sage", [run])}
    first, second = find_board_entrants([run])
    assert make_board_cell(first, columns["preference"]).state == "done"
    assert make_board_cell(first, columns["preference"])[:4] == make_board_cell(first, columns["preference/sample"])[:4]
    assert make_board_cell(first, columns["retrieval"])[4:] == ("failed", "no memory")
    assert make_board_cell(first, columns["overall"])[4:] == ("failed", "retrieval, sample: no memory")
    assert make_board_cell(second, columns["overall"])[4:] == ("running", "0 of 5 cells")
    assert [one.key for one in columns.values() if one.overview] == ["overall", *TASKS]


def test_a_finished_run_counts_before_a_newer_one_that_failed(tmp_path) -> None:
    """And of finished ones the newest."""
    write_sage(tmp_path / "a", {"s": 0.4}, updated=EARLY)
    write_sage(tmp_path / "b", {"s": 0.5}, updated="2026-11-10T00:00:00+00:00")
    write_sage(tmp_path / "c", {"s": 0.6}, updated=LATE, failing=[("s", "retrieval")])
    (one,) = find_board_entrants([read_leaderboard_run(folder) for folder in find_run_folders(tmp_path)])
    assert one.run.name == "b"
    assert [run.name for run in one.others] == ["c", "a"]


def test_only_what_changed_is_read_again(tmp_path, monkeypatch) -> None:
    """A look at an unchanged folder reads nothing and changes nothing, not even a stamp."""
    for number in range(4):
        write_sage(tmp_path / f"r{number}", {f"s{number}": 0.5})
    library = RunLibrary(tmp_path)
    library.refresh_changed_runs()
    before = library.wait_for_snapshot()
    stamp = library.board(before.boards.boards[0].id).board.stamp
    read = []
    plain = library_module.read_leaderboard_run
    monkeypatch.setattr(
        library_module, "read_leaderboard_run", lambda folder: read.append(folder.name) or plain(folder)
    )
    assert library.refresh_changed_runs() is False
    assert library.wait_for_snapshot() is before
    write_sage(tmp_path / "r2", {"s2": 0.7}, updated=LATE)
    assert library.refresh_changed_runs() is True
    assert read == ["r2"]
    now = library.wait_for_snapshot()
    assert library.board(now.boards.boards[0].id).board.stamp != stamp
    assert library.find_board_by_stamp(now.boards.boards[0].id, stamp) is not None
    (tmp_path / "r3" / "manifest.json").unlink()
    assert library.refresh_changed_runs() is True
    assert library.wait_for_snapshot().boards.boards[0].runs == 3


def test_a_run_goes_stale_by_time_alone(tmp_path) -> None:
    """No file changes, and yet the board does."""
    Running(tmp_path / "r", ["s"])
    at = [(tmp_path / "r" / "manifest.json").stat().st_mtime]
    library = RunLibrary(tmp_path, stale_after=60, clock=lambda: at[0])
    library.refresh_changed_runs()
    assert library.wait_for_snapshot().boards.boards[0].status == "live"
    at[0] += 61
    assert library.refresh_changed_runs() is True
    assert library.wait_for_snapshot().boards.boards[0].status == "stale"


def test_a_missing_folder_ends_nothing(tmp_path) -> None:
    """A share that is gone for a moment shows no boards, and comes back."""
    write_sage(tmp_path / "runs" / "r", {"s": 0.5})
    library = RunLibrary(tmp_path / "runs")
    library.refresh_changed_runs()
    (tmp_path / "runs").rename(tmp_path / "away")
    library.refresh_changed_runs()
    assert library.wait_for_snapshot().boards.boards == ()
    (tmp_path / "away").rename(tmp_path / "runs")
    library.refresh_changed_runs()
    assert len(library.wait_for_snapshot().boards.boards) == 1
