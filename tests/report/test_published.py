"""The page of imported results: scores as published, what is missing, and no claim that they cannot bear."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from embassay.document.blocks import ParagraphBlock, Table, convert_sentence_to_text
from embassay.interchange import import_results
from embassay.protocols.kernel.tables import SCORE
from embassay.report import write_report
from embassay.report.mteb import MOST_COLUMNS, mteb_page, mteb_verdict
from embassay.report.notes import list_run_notes
from embassay.report.runs import ReportRun, read_report_runs
from embassay.report.terminal import make_run_terminal_blocks
from report.pages import every, printed

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & 'q'"


def document(task: str, score: float | None, *, data: str = "aaaa") -> dict[str, Any]:
    entry = {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": score, "accuracy": score}
    return {
        "task_name": task, "mteb_version": "1.34.7", "dataset_revision": data, "evaluation_time": 1.0,
        "kg_co2_emissions": None, "scores": {"test": [entry]},
    }  # fmt: skip


def published(folder: Path, scores: dict[str, dict[str, float | None]]) -> ReportRun:
    """A run imported from a folder as the public results have it: model to task to score."""
    source = folder / "results"
    for model, tasks in scores.items():
        place = source / model.replace("/", "__") / "r1"
        place.mkdir(parents=True)
        meta = {"name": model, "revision": "r1"}
        (place / "model_meta.json").write_text(json.dumps(meta))
        for task, score in tasks.items():
            (place / f"{task}.json").write_text(json.dumps(document(task, score)))
    done = import_results(source, folder / "run", measures=(), command="embassay import results --out run")
    return read_report_runs([done.folder])[0]


@pytest.fixture
def run(tmp_path: Path) -> ReportRun:
    return published(
        tmp_path,
        {
            "org/first": {"EmotionClassification": 0.52, "STS12": 0.71},
            "org/second": {"EmotionClassification": 0.61, "STS12": 0.68},
            "org/third": {"EmotionClassification": 0.7},
        },
    )


def test_scores_are_as_published(run: ReportRun) -> None:
    """A row per system, best mean first, those without one last; missing scores say so."""
    means, emotion, sts = every(mteb_page(run, True), Table)
    assert [line.label for line in means.lines] == ["org/second", "org/first", "org/third"]
    assert [table.title for table in (emotion, sts)] == ["Classification", "STS"]
    assert [[entry.text for entry in line.entries] for line in sts.lines] == [["0.680"], ["0.710"]]
    assert [line.entries[0].exact for line in emotion.lines] == ["0.61", "0.52", "0.7"]
    assert not [entry for table in (emotion, sts) for line in table.lines for entry in line.entries if entry.small]


def test_the_verdict_claims_no_test(run: ReportRun) -> None:
    """The highest mean is named as a fact; no system beats or may be first."""
    verdict = mteb_verdict(run.record, run.board)
    said = " ".join([convert_sentence_to_text(verdict.heading), *map(convert_sentence_to_text, verdict.lede)])
    assert convert_sentence_to_text(verdict.heading) == "3 systems on 2 tasks, as published"
    assert (
        "Among 2 systems with a score on every task, org/second has the highest mean: "
        f"{SCORE.format_value_in_text((0.61 + 0.68) / 2)}." in said
    )
    assert "no interval, no test and no rank" in said
    assert not re.search(r"beats|first|told apart", said)


def test_what_is_missing_is_told(run: ReportRun) -> None:
    """Systems that lack a task have no mean."""
    notes = [note.plain for note in list_run_notes(run.record)]
    assert "1 of 3 systems lack a task. They have no mean over all tasks and come last." in notes


def test_it_stands_beside_runs_of_ours(run: ReportRun, plain_run: Path, tmp_path: Path) -> None:
    """In a report with a SAGE run it has its page; published systems have no cards and no ranks."""
    page = write_report([plain_run, run.record.path], out=tmp_path / "both.html").read_text("utf-8")
    assert "id=mteb " in page
    assert "reading-mteb" in page
    assert "MTEB: 1 of 3 systems lack a task." in page
    assert "id=system-" in page
    assert "org/first</h2>" not in page


def test_alone_it_has_a_report_and_a_terminal(run: ReportRun, tmp_path: Path) -> None:
    """Overview, page, reading and method; the verdict in the terminal too."""
    page = write_report(run.record.path, out=tmp_path / "alone.html").read_text("utf-8")
    views = re.findall(r"<section class=view id=(\w+)", page)
    assert views == ["overview", "mteb", "reading", "method"]
    assert "3 systems on 2 tasks, as published" in printed(make_run_terminal_blocks(run.record.path))


def test_hostile_names_stay_text(run: ReportRun) -> None:
    """A script in a model's or task's name is text."""
    for name in ("manifest.json", "results.jsonl", "comparisons.json"):
        path = run.record.path / name
        text = path.read_text().replace("org/first", json.dumps(HOSTILE)[1:-1])
        path.write_text(text.replace("STS12", json.dumps(HOSTILE)[1:-1]))
    again = read_report_runs([run.record.path])[0]
    assert HOSTILE in again.record.systems_by_name
    assert HOSTILE in again.record.datasets("sts")
    page = write_report(run.record.path).read_text("utf-8")
    assert "<img" not in page
    assert page.count("<script") == 2


def test_wide_results_are_cut_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More tasks of a type than a table holds are counted."""
    monkeypatch.setattr("embassay.report.mteb.MOST_COLUMNS", 1)
    monkeypatch.setattr("embassay.report.mteb.MOST_ROWS", 1)
    made = published(tmp_path, {name: {"STS12": 0.5, "STS13": 0.6} for name in ("org/a", "org/b")})
    page = tuple(mteb_page(made, True))
    assert [one.said for one in every(page, ParagraphBlock)][:2] == [
        "1 of 2 systems are not shown here; all are in results.jsonl.",
        "1 of 2 tasks of sts are not shown here; all are in results.jsonl.",
    ]
    assert MOST_COLUMNS > 1
    assert [(len(table.columns), len(table.lines)) for table in every(page, Table)][1:] == [(1, 1)]
