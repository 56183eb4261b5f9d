"""The pages of judge runs, of choosing a paraphraser, and of the human check; tables that runs wrote as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from embassay.document.blocks import Block, Figure, VerdictText, convert_sentence_to_text, file_tables
from embassay.records import ResultRow
from embassay.report import write_report
from embassay.report.board import build_record_board
from embassay.report.html import list_report_page_definitions
from embassay.report.pteb.models import judge_verdict, make_paraphrase_validation_verdict
from embassay.report.record import RunRecord, read_run_record
from embassay.report.runs import read_report_runs
from embassay.report.terminal import make_run_terminal_blocks
from embassay.runs.folder import RunFolder, format_value_as_json
from report.pages import every, printed, tables

Row = tuple[str, str, str, str, float | None]
"""System, dataset, variant, measure, value."""
MakeStep = Callable[..., Path]


def result(task: str, row: Row, subset: str = "", n: int = 40) -> ResultRow:
    system, dataset, variant, measure, value = row
    ends = (None, None) if value is None else (value - 0.05, value + 0.05)
    reason = "over 5% failed, so no score" if value is None else ""
    return ResultRow("pteb", task, dataset, subset, "en", variant, system, measure, value, n, *ends, "", 1337, reason)


def page_of(folder: Path) -> tuple[Block, ...]:
    """The page of a run in a report of it alone."""
    runs = read_report_runs([folder])
    (page,) = (
        one
        for section in list_report_page_definitions(runs)
        if section.kind
        for one in section.list_section_pages(runs)
    )
    return tuple(page.content)


@pytest.fixture
def make_step(tmp_path: Path) -> MakeStep:
    """Write a run of another PTEB command from its rows."""

    def made(step: str, rows: Sequence[ResultRow], *, options: dict[str, Any] | None = None, **more: Any) -> Path:
        folder = RunFolder(tmp_path / step)
        folder.path.mkdir(exist_ok=True)
        systems = dict.fromkeys(row.system for row in rows if not row.system.startswith("mean"))
        folder.write_results(rows)
        folder.write_manifest(
            {
                "embassay": "0.1.0", "name": step, "protocol": "pteb", "step": step, "status": "finished",
                "created": "2026-11-21T09:00:00+00:00", "updated": "2026-11-21T09:12:00+00:00",
                "command": f"embassay pteb {step}", "arguments": {"seed": 1337, "options": options or {}},
                "systems": [{"name": name, "kind": "llm", "identity": name, "facts": {}} for name in systems],
                "datasets": [], "cells": [], "sessions": [], **more,
            }
        )  # fmt: skip
        return folder.path

    return made


JUDGED: tuple[Row, ...] = tuple(
    row
    for system, level in (("sharp", 0.9), ("blunt", 0.6))
    for row in (
        *((system, dataset, "", "spearman", level) for dataset in ("", "news", "captions")),
        *((system, "", f"gold={bin}", "mae", 2 - 2 * level) for bin in ("[0,1)", "[1,2)", "[2,3)", "[3,4)", "[4,5]")),
        (system, "", "", "mae", 2 - 2 * level),
        (system, "", "", "failed", 0.0),
        *((system, "news", f"words={bin}", "spearman", level) for bin in ("1-10", "11-20")),
    )
)


@pytest.fixture
def judged(make_step: MakeStep) -> Path:
    rows = [result("judge", row) for row in JUDGED]
    rows += [result("judge", ("mean of judges", "news", f"words={bin}", "spearman", 0.75)) for bin in ("1-10", "11-20")]
    rows.append(
        ResultRow("pteb", "judge", "", "", "", "words=over 50", "mean of judges", "spearman", None, 6, reason="few")
    )
    run = make_step("judge", rows)
    pair = {
        "a": "sharp",
        "b": "blunt",
        "difference": 0.3,
        "ci_low": 0.2,
        "ci_high": 0.4,
        "p": 0.001,
        "p_adjusted": 0.001,
    }
    scope = {"systems": ["sharp", "blunt"], "rank_low": [1, 2], "rank_high": [1, 2], "best": ["sharp"], "pairs": [pair]}
    (run / "comparisons.json").write_text(format_value_as_json({"scopes": {"judge": scope}}))
    return run


def read(run: Path) -> tuple[RunRecord, Any]:
    record = read_run_record(run)
    return record, build_record_board(record)


def test_a_judge_is_best_where_the_tests_say_so(judged: Path) -> None:
    """The heading names who alone may be first; the values stand under it."""
    found = judge_verdict(*read(judged))
    assert convert_sentence_to_text(found.heading) == "sharp agrees best with gold scores"
    assert "sharp 90.0 (95% interval 85.0–95.0); blunt 60.0" in convert_sentence_to_text(found.lede[0])


def test_a_judge_that_may_rate_at_chance_is_said_to(make_step: MakeStep) -> None:
    """A real model of 270M parameters: 21.2 of 100, from -12.9 to 50.8. One from 46 up is not doubted; where
    no interval leaves 0 out, nobody knows."""
    headings = []
    for low, high in ((-0.129, 0.508), (0.464, 0.822), (None, None)):
        row = ResultRow("pteb", "judge", "", "", "", "", "small", "spearman", 0.212, 60, ci_low=low, ci_high=high)
        verdict = judge_verdict(*read(make_step("judge", [row])))
        headings.append(convert_sentence_to_text(verdict.heading))
        assert any("chance" in convert_sentence_to_text(sentence) for sentence in verdict.lede) == (
            low is None or low < 0
        )
    assert headings == [
        "small may rate at chance: 21.2 of 100",
        "small correlates with gold scores at 21.2 of 100",
        "small may rate at chance: 21.2 of 100",
    ]


def test_errors_are_a_line_per_judge_and_a_heat(judged: Path) -> None:
    """Figure 3: a band, a line and a name per judge; the same numbers in the table with their n."""
    page = page_of(judged)
    (figure,) = every(page, Figure)
    assert figure.drawing.count("<polygon") == 2
    errors, scores = tables(page)["judge-errors"], tables(page)["judge-scores"]
    assert errors.columns == ("[0,1)", "[1,2)", "[2,3)", "[3,4)", "[4,5]")
    assert [one.text for one in errors.lines[0].entries] == ["0.20"] * 5
    assert {one.small for one in errors.lines[0].entries} == {"n = 40"}
    assert [one.entries[0].bold for one in scores.lines] == [True, False]


def test_too_few_pairs_show_their_n_alone(judged: Path) -> None:
    """Figure 4: a bin without a correlation is not 0."""
    last = tables(page_of(judged))["judge-words"].lines[-1].entries[-1]
    assert (last.text, last.why, last.step) == ("n = 6", "few", 0)


CANDIDATES: tuple[tuple[str, float | None, float, float], ...] = (
    ("gemma", 4.26, 0.81, 0.27), ("gpt-oss", 4.44, 0.55, 1.24), ("qwen", 4.39, 0.63, 5.35), ("copier", 5.0, 0.0, 0.1),
)  # fmt: skip


def candidates(given: Sequence[tuple[str, float | None, float, float]]) -> list[ResultRow]:
    names = ("similarity", "edit_distance", "seconds")
    rows = [
        (name, "", "", measure, value) for name, *values in given for measure, value in zip(names, values, strict=True)
    ]
    return [result("paraphrasers", row) for row in rows]


def test_the_rule_chooses_as_in_the_paper(make_step: MakeStep) -> None:
    """Table 4's figures choose gemma; a copier is turned down with the reason; the rule is drawn in."""
    page = page_of(make_step("paraphrasers", candidates(CANDIDATES)))
    (found,) = every(page, VerdictText)
    assert convert_sentence_to_text(found.heading) == "gemma is the paraphraser chosen by the rule"
    told = {line.label: line.entries[-1].text for line in tables(page)["candidates"].lines}
    assert told["gemma"] == "✓ chosen"
    assert "copies" in told["copier"]
    (figure,) = every(page, Figure)
    assert "rule: at least 4" in figure.drawing
    assert all(f">{name}</text>" in figure.drawing for name, *_ in CANDIDATES)


def test_no_candidate_is_an_answer(make_step: MakeStep) -> None:
    """Where none meets the rule, each has its reason; one without a similarity is in the table, not in the plot."""
    given = (("free", 3.2, 0.9, 0.3), ("lost", None, 0.5, 0.3))
    page = page_of(make_step("paraphrasers", candidates(given)))
    (found,) = every(page, VerdictText)
    assert convert_sentence_to_text(found.heading) == "The rule chooses no paraphraser"
    assert "free: a similarity of 3.20, under 4" in convert_sentence_to_text(found.lede[0])
    (figure,) = every(page, Figure)
    assert "lost" not in figure.drawing
    assert tables(page)["candidates"].lines[1].entries[0].text == "n/a"


def test_other_judges_stand_by_their_names(make_step: MakeStep) -> None:
    """Table 5: a row per judge, a column for each candidate that it rated."""
    rows = [*candidates(CANDIDATES), *(
        result("paraphrasers", ("gemma", "", f"judge={one}", "similarity", value))
            for one, value in (("a", 4.7), ("b", 3.9))
    )]  # fmt: skip
    judges = tables(page_of(make_step("paraphrasers", rows)))["cross-judges"]
    assert judges.columns == ("gemma",)
    assert [(line.label, line.entries[0].text) for line in judges.lines] == [("a", "4.70"), ("b", "3.90")]


def validated() -> list[ResultRow]:
    rows = []
    for lang, mean, accepted in (("fra", 3.8, 1.0), ("hau", 2.4, 0.0), ("", 3.1, 0.0)):
        figures: list[tuple[str, str, float | None]] = [
            ("", "mean_rating", mean), ("", "median_rating", round(mean)), ("", "share_at_threshold", 0.7),
            ("", "alpha", None), ("", "accepted", accepted),
        ]  # fmt: skip
        figures += [(f"rating={grade}", "ratings", share) for grade, share in enumerate((0.1, 0.0, 0.2, 0.3, 0.3, 0.1))]
        rows += [result("validation", ("writer", "", variant, name, value), lang) for variant, name, value in figures]
    return rows


def test_languages_are_accepted_one_by_one(make_step: MakeStep) -> None:
    """Counts first, the mean with its interval, who is not accepted by name."""
    record, board = read(make_step("validation", validated()))
    found = make_paraphrase_validation_verdict(record, board)
    assert convert_sentence_to_text(found.heading) == "People accept the paraphrases in 1 of 2 languages"
    assert [convert_sentence_to_text(one) for one in found.lede] == [
        "The mean rating is 3.10 (95% interval 3.05–3.15) of 5; the threshold is 3.",
        "Not accepted: hau.",
    ]


def test_ratings_are_stacked_to_the_whole_width(make_step: MakeStep) -> None:
    """Figure 6: a piece for every rating that was given; the mean on a line from 0 to 5; the bar across."""
    table = tables(page_of(make_step("validation", validated())))["ratings"]
    assert [line.label for line in table.lines] == ["fra", "hau", "All"]
    drawn, *_, alpha, _, _ = table.lines[0].entries
    stack, scale = map(str, drawn.text)
    widths = [float(one) for one in re.findall(r'width="([\d.]+)%"', stack)]
    assert widths == [10, 20, 30, 30, 10]
    assert 'x="76%"' in scale
    assert 'x1="60%"' in scale
    assert alpha.text == "n/a"
    told = [convert_sentence_to_text(line.entries[-1].text) for line in table.lines]
    assert told == ["✓ accepted", "✕ rejected", "✕ not in all"]


@pytest.mark.parametrize("step", ["judge", "paraphrasers", "validation"])
def test_every_command_has_a_report_and_a_text(make_step: MakeStep, judged: Path, step: str) -> None:
    """The page stands alone, with its verdict as the overview's; the terminal says the same."""
    rows = {"paraphrasers": candidates(CANDIDATES), "validation": validated()}
    run = judged if step == "judge" else make_step(step, rows[step])
    page = write_report(run).read_text("utf-8")
    heading = printed(make_run_terminal_blocks(run)).splitlines()[0]
    assert f"id={step} " in page
    assert "id=systems" in page
    assert heading in re.sub(r"</?(?:b|bdi)>", "", page)


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Title, rounded cells with a true minus, exact values where the CSV has the same columns, the note."""
    from embassay.protocols.kernel.tables import Column, ColumnTable

    columns = (Column("group", "text"), Column("delta", "signed"), Column("n", decimals=0))
    table = ColumnTable("drop_by_x", "Drop by x", columns, (("a|b", -1.23456, 4), ("c", None, 0)), "A note.")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "drop_by_x.md").write_text(table.format_table_as_markdown())
    (tmp_path / "tables" / "drop_by_x.csv").write_text(table.as_csv())
    (found,) = file_tables(tmp_path)
    assert (found.title, found.note, found.heading) == ("Drop by x", "A note.", "group")
    assert [column.title for column in found.heads] == ["delta", "n"]
    assert [(line.label, [(one.text, one.exact) for one in line.entries]) for line in found.lines] == [
        ("a|b", [("−1.23", "-1.23456"), ("4", "4")]),
        ("c", [("n/a", ""), ("0", "0")]),
    ]


def test_numbered_tables_come_first_in_their_order(tmp_path: Path) -> None:
    """Table 9 before table 10, both before what has no number."""
    (tmp_path / "tables").mkdir()
    for name in ("pteb_table10", "drop_mixed", "pteb_table9"):
        (tmp_path / "tables" / f"{name}.md").write_text(f"**{name}**\n\n| a | b |\n|---|---:|\n| x | 1 |\n")
    assert [table.title for table in file_tables(tmp_path)] == ["pteb_table9", "pteb_table10", "drop_mixed"]


def test_the_terminal_shows_the_value_with_its_interval_first(make_step: MakeStep, judged: Path) -> None:
    """Names without how a model is served; the figure that decides; what does not fit is dropped from the right."""
    text = printed(make_run_terminal_blocks(judged))
    assert re.search(r"^Judge +Mean, 95% +news", text, re.MULTILINE)
    assert re.search(r"^sharp +90\.00 85\.00–95\.00 +90\.00", text, re.MULTILINE)
    text = printed(make_run_terminal_blocks(make_step("validation", validated())))
    assert re.search(r"^hau +2\.40 2\.35–2\.45 +rejected", text, re.MULTILINE)
    assert all(len(line) <= 80 for line in text.splitlines())
