"""What a reader is told to beware of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from embassay.report.notes import RunNote, list_run_notes, sort_and_count_decisive_notes
from embassay.report.record import read_run_record

MakeRun = Callable[..., Path]


def kinds(run: Path) -> list[str]:
    return [note.kind for note in list_run_notes(read_run_record(run))]


def test_failures_come_first_with_count_reason_and_mend(plain_run: Path) -> None:
    """A failed cell is named with its reason and what to do."""
    note = list_run_notes(read_run_record(plain_run))[0]
    assert note.what == "1 of 30 cells failed: birch-base, retrieval on sample (out of memory)."
    assert note.mend == "Repeat the command to try again."


def test_failures_of_one_reason_are_one_note(make_run: MakeRun) -> None:
    """Ten cells that failed alike do not fill the page."""
    failed = tuple((task, "sample", "bm25") for task in ("preference", "robustness", "clustering", "retrieval"))
    run = make_run(failed=failed)
    assert kinds(run).count("failed") == 1


def test_cut_texts_are_counted_with_the_limit(plain_run: Path) -> None:
    """How many, of how many, where, at which limit."""
    cut = next(note for note in list_run_notes(read_run_record(plain_run)) if note.kind == "truncated")
    assert cut.what.startswith(
        "7.1% (856 of 12,000) of the texts were cut at the input limit of birch-base, 512 tokens"
    )


def test_few_items_are_noted(make_run: MakeRun) -> None:
    """Small samples are one note, whatever the number of tasks."""
    notes = [note for note in list_run_notes(read_run_record(make_run(documents=6))) if note.kind == "small n"]
    grey = [note for note in notes if "grey" in note.consequence]
    assert len(grey) == 1
    assert grey[0].what.startswith("n = 6 on sample (clustering, ")


def test_datasets_of_one_size_share_a_note(make_run: MakeRun) -> None:
    """Three frames of 20 rows are one line, not three."""
    run = make_run(tasks=("robustness",))
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    own = [{**row, "n": 20} for row in rows if row["dataset"]]
    named = [{**row, "dataset": f"data-{number}"} for number in (1, 2, 3) for row in own]
    (run / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    (note,) = [note for note in list_run_notes(read_run_record(run)) if note.what.startswith("n = 20")]
    assert note.what == "n = 20 on data-1, data-2 and data-3 (robustness)."


def test_the_texts_of_one_clustering_set_are_not_sets(make_run: MakeRun) -> None:
    """Where texts were resampled, n counts them, and no note calls them sets."""
    run = make_run(documents=6)
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    for row in rows:
        if row["task"] == "clustering" and row["dataset"]:
            row["method"] = "bootstrap over 6 texts of the only set, clusters held fixed"
    (run / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert not any("set" in note.what for note in list_run_notes(read_run_record(run)) if note.kind == "small n")


def test_left_out_items_and_warnings_are_noted_once(make_run: MakeRun) -> None:
    """The same skip in every system's cell is one note."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    for cell in manifest["cells"]:
        if cell["task"] == "sensitivity":
            cell["skipped"] = [{"reason": "under two tokens", "count": 3, "examples": ["a"]}]
            cell["warnings"] = ["the needle was cycled"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    plain = [note.plain for note in list_run_notes(read_run_record(run))]
    assert "3 items of sample left out of sensitivity: under two tokens." in plain
    assert "the needle was cycled (sensitivity on sample)." in plain


def test_a_missing_task_is_said_where_no_overall_can_be(make_run: MakeRun) -> None:
    """A run of one task explains why there is no overall score."""
    note = next(
        note for note in list_run_notes(read_run_record(make_run(tasks=("robustness",)))) if note.kind == "partial"
    )
    assert "preference, sensitivity, clustering and retrieval were not part of the run" in note.what


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
    plain = [note.plain for note in list_run_notes(read_run_record(run))]
    what = "2 items of sample left out of sensitivity for birch-base only"
    assert f"{what}: could not be encoded: too long." in plain


def test_notes_that_can_change_an_answer_come_first() -> None:
    """Grave ones of a run that an answer rests on, or of all runs; the others follow in their order."""
    grave, other, small = (
        RunNote("truncated", "a", slug="pteb"),
        RunNote("failed", "b", slug="noise"),
        RunNote("small n", "c"),
    )
    left = RunNote("left out", "d")
    notes, changing = sort_and_count_decisive_notes([other, small, grave, left], {"pteb"})
    assert notes == (grave, left, other, small)
    assert changing == 2
