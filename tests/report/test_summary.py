"""The two pages for whoever decides: everything on them is of the answers and of the runs' own records."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

import embassay as eb
from embassay.cli.main import app
from embassay.document.blocks import BulletList, Figure, Heading, ParagraphBlock, Table, convert_sentence_to_text
from embassay.report import write_report
from embassay.report.answers import QUESTIONS, ReportQuestionAnswer, list_report_answers_from_evidence
from embassay.report.overview import run_verdict
from embassay.report.runs import ReportRun, read_report_runs
from embassay.report.summary import Summary, summarise_runs

from .hume_run import study, write_hume_run
from .sweep_run import write_sweep_run


@pytest.fixture(scope="module")
def runs(plain_run: Path, pteb_run: Path, score_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[ReportRun]:
    """Runs of three protocols, and a sweep."""
    sweep = tmp_path_factory.mktemp("runs") / "sweep"
    write_sweep_run(sweep)
    return read_report_runs([plain_run, pteb_run, score_run, sweep])


def parts(summary: Summary, kind: type) -> list[Any]:
    """The blocks of a kind on both pages."""
    return [one for one in (*summary.first, *summary.second) if isinstance(one, kind)]


def test_the_answers_are_those_of_the_first_screen(runs: list[ReportRun]) -> None:
    """One record feeds both."""
    assert summarise_runs(runs).answers == list_report_answers_from_evidence(runs)


def test_a_time_says_which_part_of_the_queries_takes_less() -> None:
    """Half of them at the median, else the percentile; never that of another run."""
    price = ReportQuestionAnswer(QUESTIONS[-1], "sure", percentile=95)
    assert "95%" in price.means
    assert "half" in replace(price, percentile=50).means
    assert "%" not in replace(price, percentile=None).means


def test_what_was_tested_and_what_was_not_are_all_of_it(runs: list[ReportRun]) -> None:
    """Every question stands in exactly one of the two, with its n."""
    found = summarise_runs(runs)
    tested = next(one for one in parts(found, Table) if one.title == "What it was tested on")
    untested = [
        convert_sentence_to_text(item) if isinstance(item, tuple) else item
        for item in parts(found, BulletList)[-1].items
    ]
    rows = {line.label: line.entries[0].text for line in tested.lines}
    for one in found.answers:
        left = [item for item in untested if item.lower().startswith(one.question.asks.lower())]
        assert (one.question.asks in rows) != bool(left), one.question.name
        if one.question.asks in rows:
            assert str(one.n) in str(rows[one.question.asks]).replace(",", "")


def test_without_a_sweep_the_scores_stand_in_the_place_of_the_figure(runs: list[ReportRun]) -> None:
    """Names, values and intervals, at least of the top three of each answer."""
    figures, without = parts(summarise_runs(runs), Figure), summarise_runs(runs[:3])
    assert len(figures) <= 1
    assert not parts(without, Figure)
    scores = next(one for one in parts(without, Table) if one.title == "Scores behind these answers")
    shown = [(line.group, line.label) for line in scores.lines]
    assert set(shown) >= {(one.question.asks, top.name) for one in without.answers for top in one.top}


def test_a_run_that_answers_nothing_says_its_verdict(runs: list[ReportRun]) -> None:
    """A sweep alone compares no systems on the questions of the page: it is told by its own heading, and drawn."""
    alone = read_report_runs([runs[3].record.path])
    found = summarise_runs(alone)
    assert found.answers == ()
    assert found.use[0] == f"{convert_sentence_to_text(run_verdict(alone[0]).heading)}."
    [figure] = parts(found, Figure)
    # The title holds against the values that the drawing shows.
    shown = re.findall(r"([\w:-]+): ([\d.]+), ([\d.]+) ms", figure.summary)
    values = {name: (float(quality), float(time)) for name, quality, time in shown}
    fastest = min(values, key=lambda name: values[name][1])
    highest = max(values, key=lambda name: values[name][0])
    assert figure.title.startswith(f"{fastest} is ")
    if fastest == highest:
        assert figure.title.endswith("the highest")
        return
    told = re.search(r"([\d,.]+) times as fast", figure.title)
    ratio = values[highest][1] / values[fastest][1]
    assert told is None or float(told[1].replace(",", "")) == pytest.approx(ratio, rel=0.1)
    assert told is not None or ratio < 1.06
    assert f"{highest}, which has the highest" in figure.title


def test_a_single_run_shows_every_task_on_the_second_page(tmp_path: Path, runs: list[ReportRun]) -> None:
    """Values of the board, bold where the run's tests leave a system the first place; several runs have no room."""
    rows = [{"text": f"{['tide', 'bee'][n % 2]} number {n} of {n * 7}", "label": n % 2} for n in range(24)]
    given: dict[str, Any] = {"datasets": [rows], "tasks": ["clustering", "sensitivity"], "tokenizer": "words"}
    made = eb.sage.run(["jaccard", "levenshtein"], out=tmp_path / "run", **given)
    single = read_report_runs([cast(Path, made.path)])
    found, board = summarise_runs(single), single[0].board
    table = next(one for one in parts(found, Table) if one.title == "Every task")
    assert {line.label for line in table.lines} == {"jaccard", "levenshtein"}
    for line in table.lines:
        row = next(row for row in board.rows if row.label == line.label)
        assert [entry.text for entry in line.entries] == [value.text for value in row.tasks]
        assert [entry.bold for entry in line.entries] == [value.best for value in row.tasks]
    assert not [one for one in parts(summarise_runs(runs), Table) if one.title == "Every task"]


def test_a_language_that_is_not_stated_is_none_that_was_tested(runs: list[ReportRun]) -> None:
    record = runs[0].record
    datasets = [{**one, "lang": "und"} for one in record.manifest["datasets"]]
    unsaid = replace(runs[0], record=replace(record, manifest={**record.manifest, "datasets": datasets}))
    bullets = [item for one in parts(summarise_runs([unsaid]), BulletList) for item in one.items]
    assert not [item for item in bullets if isinstance(item, str) and "und" in item.split()]


def test_a_long_command_leaves_room(runs: list[ReportRun]) -> None:
    """It is cut, with where the whole of it stands."""
    record = runs[0].record
    long = replace(runs[0], record=replace(record, manifest={**record.manifest, "command": "x" * 5000}))
    page = summarise_runs([long])
    assert max(len(convert_sentence_to_text(one.said)) for one in parts(page, ParagraphBlock)) < 400
    assert "full report" in str(parts(page, ParagraphBlock)[-1].said)


def test_a_study_of_scripts_is_told_with_its_tables(tmp_path: Path) -> None:
    """Every pair with people and the best model, an interval apart from its value; its notes are on the second page."""
    made = study()
    found = summarise_runs(read_report_runs([write_hume_run(tmp_path / "hume", made)]))
    pairs = next(one for one in parts(found, Table) if len(one.lines) == len(made.pairs))
    assert [one.label for one in pairs.lines] == [one.name for one in made.pairs]
    assert all(re.fullmatch(r"[\d.]+ \(.+\)", str(one.entries[1].text)) for one in pairs.lines)
    assert any(
        isinstance(one, Heading) and convert_sentence_to_text(one.said) == "Read with care" for one in found.second
    )


def test_from_the_command_line(runs: list[ReportRun], tmp_path: Path) -> None:
    """`--summary` writes `summary.html`, one file without a script, which says every name of an answer."""
    folder = runs[0].record.path
    target = tmp_path / "s.html"
    done = CliRunner().invoke(app, ["report", str(folder), "--summary", "--out", str(target)])
    assert done.exit_code == 0, done.output
    page = target.read_text("utf-8")
    assert "<script" not in page
    assert page.count("<section") == 2
    assert write_report(folder, out=tmp_path / "again.html", summary=True).read_bytes() == target.read_bytes()
