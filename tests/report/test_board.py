"""The board: order, ranks, and the states that stand where a value is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from embassay.report.board import SystemBoard, build_record_board
from embassay.report.overview import build_external_tasks_page
from embassay.report.record import read_run_record
from embassay.report.runs import ReportRun
from report.pages import tables

MakeRun = Callable[..., Path]


def board_of(run: Path) -> SystemBoard:
    return build_record_board(read_run_record(run))


def test_ranked_then_unranked_then_references(plain_run: Path) -> None:
    """A system with a missing task stands below the ranked ones, references last."""
    board = board_of(plain_run)
    assert [row.label for row in board.ranked] == ["aster-large", "jaccard", "bm25"]
    assert [row.label for row in board.unranked] == ["birch-base"]
    assert [row.label for row in board.references] == ["constant", "random"]
    assert [row.rank for row in board.ranked] == ["1", "2", "3"]
    assert not any(row.rank for row in board.unranked + board.references)


def test_a_missing_task_gives_the_mean_of_the_others_and_no_overall(plain_run: Path) -> None:
    """The mean of what is there is said to be that."""
    row = board_of(plain_run).row("birch-base")
    assert row.lead.value is None
    assert row.note.startswith("mean of the 4 finished tasks 0.")
    assert (row.tasks[-1].state, row.tasks[-1].text, row.tasks[-1].reason) == ("failed", "✕ failed", "out of memory")


def test_references_are_never_best(plain_run: Path) -> None:
    """Bold belongs to systems under test."""
    board = board_of(plain_run)
    assert not any(value.best for row in board.references for value in row.tasks)
    assert all(value.best for value in board.row("aster-large").tasks)


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [("partial", "partial", "1 of 2 datasets"), ("running", "running", "1 of 2 datasets")],
)
def test_unfinished_cells_have_their_word(make_run: MakeRun, status: str, state: str, reason: str) -> None:
    """Half a task is partial, or running while the run is."""
    run = make_run(datasets=("one", "two"), not_run=(("clustering", "two", "bm25"),), status=status)
    value = board_of(run).row("bm25").tasks[3]
    assert (value.state, value.reason) == (state, reason)


def test_a_task_that_no_cell_of_the_system_has_run(make_run: MakeRun) -> None:
    """Not run is not failed."""
    run = make_run(not_run=(("clustering", "sample", "bm25"),), status="partial")
    assert board_of(run).row("bm25").tasks[3].text == "not run"


def test_a_run_of_one_task_is_ranked_on_it(make_run: MakeRun) -> None:
    """Without five tasks there is no overall; the first finished task leads."""
    board = board_of(make_run(tasks=("robustness", "retrieval")))
    assert (board.lead, board.lead_title) == ("robustness", "Robustness")
    assert [row.rank for row in board.ranked] == ["1", "2", "3", "4"]
    assert len(board.tasks) == 2


def test_few_items_are_grey(make_run: MakeRun) -> None:
    """Under ten items a value is shown, but grey."""
    board = board_of(make_run(documents=6))
    assert board.row("bm25").tasks[1].few
    assert not board_of(make_run(documents=48)).row("bm25").tasks[1].few


def test_nothing_finished_gives_an_empty_ranking(make_run: MakeRun) -> None:
    """Every cell still to do: rows are there, values are not."""
    tasks = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
    systems = ("aster-large", "birch-base", "jaccard", "bm25", "constant", "random")
    run = make_run(not_run=tuple((t, "sample", s) for t in tasks for s in systems), status="partial")
    board = board_of(run)
    assert not board.ranked
    assert {value.state for row in board.rows for value in row.tasks} == {"not run"}


def test_by_task_puts_missing_values_and_references_last(plain_run: Path) -> None:
    """Best first; what has no value below; references below that."""
    assert [row.label for row in board_of(plain_run).sort_rows_by_score_on_task("retrieval")] == [
        "aster-large", "jaccard", "bm25", "birch-base", "constant", "random",
    ]  # fmt: skip


def test_a_protocol_of_another_package_has_a_board_of_the_tasks_in_its_rows(make_run: MakeRun) -> None:
    """By the measure of each task's score over datasets; one page has them by dataset."""
    record = read_run_record(make_run(tasks=("clustering", "retrieval")))
    other = replace(record, manifest={**record.manifest, "protocol": "other"})
    board = build_record_board(other)
    assert [(task.name, task.headline) for task in board.tasks] == [
        (name, next(key[5] for key in record.rows if key[0] == name and not any(key[1:4])))
        for name in ("clustering", "retrieval")
    ]
    page = tuple(build_external_tasks_page(ReportRun(other, board), True))
    assert set(tables(page)) >= {"other-clustering", "other-retrieval"}
    (first, *_), (second, *_) = (tables(page)[f"other-{task.name}"].lines for task in board.tasks)
    assert all(line.entries[0].exact for line in (first, second))


def test_a_protocol_of_another_package_is_told_before_it_has_results(make_run: MakeRun) -> None:
    """Its tasks are those of its cells; what is missing has a word."""
    record = read_run_record(make_run(tasks=("clustering",)))
    cells = tuple(replace(cell, status="not run") for cell in record.cells)
    manifest = {**record.manifest, "protocol": "other", "status": "running"}
    board = build_record_board(replace(record, manifest=manifest, rows={}, scopes={}, cells=cells))
    assert [task.title for task in board.tasks] == ["Clustering"]
    assert {value.state for row in board.rows for value in row.tasks} == {"running"}


def test_a_system_whose_cells_all_ended_without_a_value_says_why(make_run: MakeRun) -> None:
    """Not that it is unfinished: one pair is too few for a correlation."""
    record = read_run_record(make_run(tasks=("robustness",)))
    why = "1 left, too few for a correlation"
    rows = {key: replace(row, value=None, reason=why) for key, row in record.rows.items()}
    scopes = {name: replace(scope, ranges={}) for name, scope in record.scopes.items()}
    board = build_record_board(replace(record, rows=rows, scopes=scopes))
    notes = {row.note for row in board.rows if row.system.ranked}
    assert notes <= {why, ""}
    assert why in notes
