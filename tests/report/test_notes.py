"""What a reader is told to beware of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from embassay.report.notes import notes_of
from embassay.report.record import read_record

MakeRun = Callable[..., Path]


def kinds(run: Path) -> list[str]:
    return [note.kind for note in notes_of(read_record(run))]


def test_failures_come_first_with_count_reason_and_mend(plain_run: Path) -> None:
    """A failed cell is named with its reason and what to do."""
    note = notes_of(read_record(plain_run))[0]
    assert note.what == "1 of 30 cells failed: birch-base, retrieval on sample (out of memory)."
    assert note.mend == "The same command tries again."


def test_failures_of_one_reason_are_one_note(make_run: MakeRun) -> None:
    """Ten cells that failed alike do not fill the page."""
    failed = tuple(
        (task, "sample", "bm25") for task in ("preference", "robustness", "clustering", "retrieval")
    )
    run = make_run(failed=failed)
    assert kinds(run).count("failed") == 1


def test_cut_texts_are_counted_with_the_limit(plain_run: Path) -> None:
    """How many, of how many, where, at which limit."""
    cut = next(note for note in notes_of(read_record(plain_run)) if note.kind == "truncated")
    assert cut.what.startswith(
        "7.1% (856 of 12,000) texts were cut at the input limit of birch-base, 512 tokens"
    )


def test_few_items_are_noted(make_run: MakeRun) -> None:
    """Small samples are said once per task and dataset."""
    notes = [note for note in notes_of(read_record(make_run(documents=6))) if note.kind == "small n"]
    assert notes[0].what == "n = 6 on sample (clustering)."
    assert notes[0].consequence == "Its values are shown grey."


def test_left_out_items_and_warnings_are_noted_once(make_run: MakeRun) -> None:
    """The same skip in every system's cell is one note."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    for cell in manifest["cells"]:
        if cell["task"] == "sensitivity":
            cell["skipped"] = [{"reason": "under two tokens", "count": 3, "examples": ["a"]}]
            cell["warnings"] = ["the needle was cycled"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    plain = [note.plain for note in notes_of(read_record(run))]
    assert "3 items of sample left out of sensitivity: under two tokens." in plain
    assert "the needle was cycled (sensitivity on sample)." in plain


def test_a_missing_task_is_said_where_no_overall_can_be(make_run: MakeRun) -> None:
    """A run of one task explains why there is no overall score."""
    note = next(
        note for note in notes_of(read_record(make_run(tasks=("robustness",)))) if note.kind == "partial"
    )
    assert "preference and sensitivity and clustering and retrieval were not part of the run" in note.what


def test_what_is_still_to_do_is_said(make_run: MakeRun) -> None:
    """Cells not run yet are counted."""
    run = make_run(not_run=(("clustering", "sample", "bm25"),), status="partial")
    assert "not run" in kinds(run)


def test_what_one_system_lost_is_said_of_it(make_run: MakeRun) -> None:
    """A text that one system could not encode is not missing from the others."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    for cell in manifest["cells"]:
        if cell["task"] == "sensitivity" and cell["system"] == "birch-base":
            cell["skipped"] = [{"reason": "could not be encoded: too long", "count": 2, "examples": ["a"]}]
    (run / "manifest.json").write_text(json.dumps(manifest))
    plain = [note.plain for note in notes_of(read_record(run))]
    what = "2 items of sample left out of sensitivity for birch-base alone"
    assert f"{what}: could not be encoded: too long." in plain
