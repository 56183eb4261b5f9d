"""The human check: a file that people and spreadsheets may handle as they do, and figures of what they said."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.checks import (
    read_human_checks_of_current_lists,
    sample_question_ids,
    score_edited_check_file,
    score_human_check,
    write_sampled_lists_for_human_check,
)
from embassay.protocols.rag.golden.final_lists import (
    FinalListPassage,
    PersonPassageJudgement,
    QuestionFinalList,
    make_opaque_check_item_id,
    read_final_lists,
    read_human_check_file,
    write_human_check_file,
)
from embassay.protocols.rag.golden.options import HumanCheckSampling
from embassay.protocols.rag.golden.stages import SingleQueryFolder
from embassay.protocols.rag.golden.summary import (
    GoldenQuerySummary,
    GoldenRunRecord,
    GoldenRunSettings,
    read_golden_record,
    write_golden_record,
)
from embassay.runs.folder import RunFolder, format_value_as_json, write_file_atomically

NASTY = [
    "=1+1",
    '"quoted", and; more',
    "two\r\nlines\tand a tab",
    "-5",
    "@x",
    "ende é 中文 \u2028 x",
    "  ",
    "0012",
    "1e5",
]


def lists(questions=5, passages=6):
    """Final lists with grades that fall, and texts that are hard on spreadsheets."""
    return [
        QuestionFinalList(
            f"0{i}", f"Question {i}; what, then?",
            tuple(
                FinalListPassage(f"d{i}-{j}", j + 1, max(1, 5 - j), f"{NASTY[(i + j) % len(NASTY)]} " + "word " * 40)
                for j in range(passages)
            ),
        )
        for i in range(questions)
    ]  # fmt: skip


def rows_of(path):
    with io.StringIO(path.read_bytes().decode("utf-8-sig")) as stream:
        return list(csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))


def rewrite(path, rows, *, delimiter=",", bom=True, columns=None):
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns or list(rows[0]), delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(buffer.getvalue().encode("utf-8-sig" if bom else "utf-8"))


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_file_that_nobody_changed_confirms_everything(tmp_path, ending):
    """Whatever the texts are; one line per passage, so that line numbers are those of an editor."""
    path = tmp_path / f"check.{ending}"
    write_human_check_file(path, lists())
    assert len(path.read_text("utf-8-sig").split("\n")) == 32
    edited, blind = read_human_check_file(path, lists())
    found = score_human_check(lists(), edited, blind=blind)
    assert not blind
    assert (found.queries, found.items, found.placed, found.graded) == (5, 30, 30, 30)
    assert (found.moved, found.changed, found.tau.value, found.swapped.value, found.exact.value) == (0, 0, 1, 0, 1)
    assert found.distance is None


def test_no_cell_is_a_formula(tmp_path):
    """A spreadsheet would compute it, or worse."""
    path = tmp_path / "check.csv"
    write_human_check_file(
        path,
        [
            QuestionFinalList(
                "=q", "+49 what?", (FinalListPassage("-d", 1, 5, "=HYPERLINK(1)"), FinalListPassage("@d", 2, 4, "\t=1"))
            )
        ],
    )
    for row in rows_of(path):
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())


def test_a_blind_file_shows_nothing_of_the_judge(tmp_path):
    """No places, no grades, and the passages in an order that is not the judge's, always the same for a seed."""
    path, again = tmp_path / "check.csv", tmp_path / "again.csv"
    write_human_check_file(path, lists(), blind=True, seed=3)
    write_human_check_file(again, lists(), blind=True, seed=3)
    assert path.read_bytes() == again.read_bytes()
    rows = rows_of(path)
    assert not {"judge_place", "judge_grade"} & set(rows[0])
    assert {row["place"] + row["grade"] + row["remark"] for row in rows} == {""}
    assert [row["doc_id"] for row in rows] != [one.doc_id for whole in lists() for one in whole.passages]
    edited, blind = read_human_check_file(path, lists())
    found = score_human_check(lists(), edited, blind=blind)
    assert (found.blind, found.placed, found.graded) == (True, 0, 0)
    assert (found.tau.value, found.swapped.value, found.kappa.value) == (None, None, None)
    assert found.tau.reason
    assert found.kappa.reason


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("bom", [True, False])
def test_what_spreadsheets_do_to_a_file_does_no_harm(tmp_path, delimiter, bom):
    """Another separator, 2,5 for 2.5, 4.0 for 4, ids turned into numbers, rows sorted, columns moved or left out."""
    path = tmp_path / "check.csv"
    write_human_check_file(path, lists())
    rows = rows_of(path)
    for row in rows:
        row["query_id"], row["doc_id"] = str(int(row["query_id"])), "1E+05"
        row["grade"] = f"{row['grade']}.0"
    moved = next(row for row in rows if row["item"] == make_opaque_check_item_id("00", "d0-5"))
    moved["place"] = "1,5"
    moved["remark"] = "belongs; higher, up"
    rows.sort(key=lambda row: row["item"])
    rows.append(dict.fromkeys(rows[0], ""))
    rewrite(path, rows, delimiter=delimiter, bom=bom, columns=["remark", "grade", "item", "text", "place"])
    edited, blind = read_human_check_file(path, lists())
    assert blind  # nothing in it shows what the judge said
    found = score_human_check(lists(), edited)
    assert (found.items, found.changed, found.swapped.value) == (30, 0, 4 / 75)
    assert found.distance == 2.5
    assert [(one.query_id, one.doc_id, one.text) for one in found.remarks] == [("00", "d0-5", "belongs; higher, up")]


BREAKS = {
    "place": ("place", "first", "the place cannot be read"),
    "zero": ("place", "0", "the place cannot be read"),
    "negative": ("place", "-1", "the place cannot be read"),
    "nan": ("place", "nan", "the place cannot be read"),
    "grade": ("grade", "6", "the grade cannot be read"),
    "half": ("grade", "3.5", "the grade cannot be read"),
    "word": ("grade", "good", "the grade cannot be read"),
    "item": ("item", "i0000000000", "not in any final list"),
    "blank": ("item", "", "not in any final list"),
    "twice": ("item", make_opaque_check_item_id("00", "d0-0"), "appears twice"),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_broken_edits_are_named_with_their_line(tmp_path, kind):
    """And with what was expected."""
    column, value, what = BREAKS[kind]
    path = tmp_path / "check.csv"
    write_human_check_file(path, lists())
    rows = rows_of(path)
    rows[7][column] = value
    rewrite(path, rows)
    with pytest.raises(DataError, match=what) as told:
        read_human_check_file(path, lists())
    assert told.value.line == 9
    assert told.value.mend


def test_a_row_that_is_gone_is_named(tmp_path):
    """A whole question may be left out, a passage of one may not."""
    path = tmp_path / "check.csv"
    write_human_check_file(path, lists())
    rows = rows_of(path)
    rewrite(path, rows[6:])
    assert score_human_check(lists(), read_human_check_file(path, lists())[0]).queries == 4
    rewrite(path, [*rows[:3], *rows[4:]])
    with pytest.raises(DataError, match=r"question 00 lacks a passage.*all 6 rows"):
        read_human_check_file(path, lists())


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"), (b"item,place,grade\n", "remark"), (b"item,place,grade,remark\n", "no rows"),
        (b"\xff\xfei\x00", "UTF-16"), (b"item,place,grade,remark\na,b\n", "2: "),
    ],
)  # fmt: skip
def test_files_that_are_none(tmp_path, content, what):
    path = tmp_path / "check.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=what):
        read_human_check_file(path, lists())


def test_only_tables_are_written(tmp_path):
    with pytest.raises(UsageError, match=r"\.csv or \.tsv"):
        write_human_check_file(tmp_path / "check.xlsx", lists())


EDITS = st.lists(st.tuples(st.none() | st.integers(1, 8), st.none() | st.integers(1, 5)), min_size=12, max_size=12)


@given(EDITS)
def test_figures_are_those_of_other_libraries(tmp_path_factory, edits):
    """Tau of scipy per question, kappa of scikit-learn over all, with blanks left out on both sides."""
    path = tmp_path_factory.mktemp("check") / "check.csv"
    own = lists(2)
    write_human_check_file(path, own)
    rows = rows_of(path)
    for row, (place, grade) in zip(rows, edits, strict=True):
        row["place"], row["grade"] = "" if place is None else place, "" if grade is None else grade
    rewrite(path, rows)
    found = score_human_check(own, read_human_check_file(path, own)[0])
    taus = []
    for part in (slice(0, 6), slice(6, 12)):
        placed = [(i + 1, place) for i, (place, _) in enumerate(edits[part]) if place is not None]
        if len({place for _, place in placed}) > 1:
            taus.append(kendalltau(*zip(*placed, strict=True)).statistic)
    assert found.tau.n == len(taus)
    if taus:
        assert found.tau.value == pytest.approx(np.mean(taus))
    graded = [(p.grade, grade) for p, (_, grade) in zip([p for one in own for p in one.passages], edits, strict=True)
              if grade is not None]  # fmt: skip
    assert (found.graded, found.changed) == (len(graded), sum(a != b for a, b in graded))
    if len({grade for pair in graded for grade in pair}) > 1:
        expected = cohen_kappa_score(*zip(*graded, strict=True), weights="quadratic", labels=[1, 2, 3, 4, 5])
        assert found.kappa.value == pytest.approx(expected)


@given(st.integers(1, 60), st.floats(0.01, 1), st.integers(0, 5))
def test_a_share_of_the_questions(n, share, seed):
    """At least one, in their order, always the same for a seed; other seeds draw others."""
    ids = [f"q{i}" for i in range(n)]
    drawn = sample_question_ids(ids, share, seed)
    assert len(drawn) == min(n, max(1, round(share * n)))
    assert drawn == [one for one in ids if one in drawn] == sample_question_ids(ids, share, seed)
    if n > 30 and 0.3 < share < 0.7:
        assert drawn != sample_question_ids(ids, share, seed + 1)


@pytest.fixture
def run(tmp_path):
    """The folder of a golden run with five questions done and one failed."""
    path = tmp_path / "run"
    own = lists()
    names = [one.query_id for one in own] + ["broken"]
    for one in own:
        folder = SingleQueryFolder(path, f"q{one.query_id}")
        content = [
            {"qid": one.query_id, "question": one.question, "doc_id": p.doc_id, "text": p.text, "grade": p.grade,
             "final_rank": p.place}
            for p in one.passages
        ]  # fmt: skip
        write_file_atomically(folder.ranked(20), "".join(format_value_as_json(row) + "\n" for row in content))
        write_file_atomically(folder.stage_success_path("S6"), "")
    told = {"task": "golden", "dataset": "made", "system": "made", "status": "done"}
    cells = [{"query_id": name, "folder": f"q{name}", **told} for name in names]
    RunFolder(path).write_manifest(
        {"protocol": "rag", "kind": "golden", "arguments": {"options": {"top": 20}}, "cells": cells}
    )
    settings_ = GoldenRunSettings("c", "q", "e", "r", "j", "bayes", 1)
    write_golden_record(
        path / "golden.json",
        GoldenRunRecord(settings_, (GoldenQuerySummary("00", "?", "q00", "done"),), labels={"n_queries": 5}),
    )
    return path


def test_lists_of_a_run(run):
    """As they stand in its folder; what failed is not among them."""
    assert read_final_lists(run) == lists()


def test_from_sample_to_score(run, tmp_path):
    """What is said is kept with the run and in its record, until the lists it is about are others."""
    file = tmp_path / "check.csv"
    drawn = write_sampled_lists_for_human_check(run, file, HumanCheckSampling(share=0.4))
    assert len(drawn) == 2
    with pytest.raises(UsageError, match="already exists"):
        write_sampled_lists_for_human_check(run, file)
    rows = rows_of(file)
    rows[0]["grade"], rows[0]["place"] = "3", "9"
    rewrite(file, rows)
    found = score_edited_check_file(run, file)
    assert (found.queries, found.changed, found.moved) == (2, 1, 1)
    assert read_human_checks_of_current_lists(run) == (found,)
    golden = read_golden_record(run / "golden.json")
    assert golden.human == (found,)
    assert golden.labels["n_human_validated"] == 2
    folder = SingleQueryFolder(run, f"q{drawn[0].query_id}")
    rows = [json.loads(line) for line in folder.ranked(20).read_text("utf-8").split("\n") if line]
    write_file_atomically(folder.ranked(20), "".join(format_value_as_json({**row, "grade": 1}) + "\n" for row in rows))
    assert read_human_checks_of_current_lists(run) == ()


def test_the_command_line(run, tmp_path):
    """Says what to do, then what came of it; broken edits are one line."""
    file = tmp_path / "check.csv"
    runner = CliRunner()
    said = runner.invoke(app, ["rag", "check", "sample", str(run), "--share", "1", "--out", str(file)])
    assert said.exit_code == 0, said.output
    assert "5 questions with 30 passages" in said.output
    assert "embassay rag check score" in said.output
    said = runner.invoke(app, ["rag", "check", "score", str(run), str(file)])
    assert "nothing was changed" in said.output
    rows = rows_of(file)
    rows[1]["grade"], rows[1]["remark"], rows[4]["place"] = "5", "names the cause", "0,5"
    rewrite(file, rows)
    said = runner.invoke(app, ["rag", "check", "score", str(run), str(file)])
    assert said.exit_code == 0, said.output
    assert "1 moved, 1 with a different grade, 1 with a remark" in said.output
    assert "names the cause" in said.output
    told = json.loads(runner.invoke(app, ["rag", "check", "score", str(run), str(file), "--json"]).output)
    assert (told["changed"], told["table"][3][4]) == (1, 1)
    rows[1]["grade"] = "55"
    rewrite(file, rows)
    said = runner.invoke(app, ["rag", "check", "score", str(run), str(file)])
    assert isinstance(said.exception, DataError)
    assert said.exception.line == 3


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1.1}, {"excerpt": 0}])
def test_samples_that_mean_nothing(wrong):
    with pytest.raises(UsageError, match="cannot have"):
        HumanCheckSampling(**wrong)


def test_folders_that_are_no_golden_set(tmp_path, run):
    with pytest.raises(UsageError, match="no golden set"):
        read_final_lists(tmp_path)
    for one in lists():
        SingleQueryFolder(run, f"q{one.query_id}").stage_success_path("S6").unlink()
    with pytest.raises(UsageError, match="No question"):
        read_final_lists(run)


def test_ungraded_passages_are_left_out_of_the_grades(tmp_path):
    """They can be placed all the same."""
    own = [replace(lists(1)[0], passages=(FinalListPassage("a", 1, None, "x"), FinalListPassage("b", 2, 4, "y")))]
    path = tmp_path / "check.csv"
    write_human_check_file(path, own)
    rows = rows_of(path)
    rows[0]["grade"] = "5"
    rewrite(path, rows)
    found = score_human_check(own, read_human_check_file(path, own)[0])
    assert (found.placed, found.changed, found.exact.n) == (2, 0, 1)


def test_what_the_person_would_say_of_all_lists():
    """Shares and the mean over every final list, from the graded ones and the judge's; by whole questions."""
    rng = np.random.default_rng(4)
    every, said = [], []
    for place in range(40):
        passages = []
        for rank in range(1, 7):
            grade = int(rng.integers(1, 6))
            passages.append(FinalListPassage(f"d{rank}", rank, grade, "text"))
            if place < 12:
                said.append(PersonPassageJudgement(f"q{place}", f"d{rank}", rank, max(1, grade - (rank % 2)), ""))
        every.append(QuestionFinalList(f"q{place}", "Why?", tuple(passages)))
    found = score_human_check(every, said)
    mean = {one.name: one for one in found.corrected}["mean grade"]
    judged = [passage.grade for one in every for passage in one.passages]
    assert (mean.n, mean.total) == (72, 240)
    assert mean.judge == pytest.approx(np.mean(judged))
    assert mean.low < np.mean(judged) - 0.4 < mean.high
    assert mean.is_narrowed_by_judge
    assert found.off[-1].mean == pytest.approx(mean.judge - mean.value, abs=0.15)
    none = score_human_check(every, [PersonPassageJudgement("q0", "d1", 1, None, "")])
    assert none.corrected == ()


def test_the_judge_is_looked_at_by_place():
    """It is half a grade too high on average at the first places, right further down; each passage counts in one band,
    and there are no bands where all that is checked stands in one."""
    rng = np.random.default_rng(5)
    every, said = [], []
    for place in range(10):
        grades = rng.integers(2, 6, 12).tolist()
        passages = tuple(FinalListPassage(f"d{rank}", rank, grade, "text") for rank, grade in enumerate(grades, 1))
        every.append(QuestionFinalList(f"q{place}", "Why?", passages))
        said += [
            PersonPassageJudgement(f"q{place}", one.doc_id, one.place, one.grade - (one.place <= 3 and place % 2), "")
            for one in passages
        ]
    off = {one.said: one for one in score_human_check(every, said).off}
    bands = {name: one for name, one in off.items() if name.startswith("at ranks")}
    assert {name: one.n for name, one in bands.items()} == {
        "at ranks 1 to 3": 30,
        "at ranks 4 to 10": 70,
        "at ranks 11 to 30": 20,
    }
    assert [one.mean for one in bands.values()] == [0.5, 0.0, 0.0]
    first = bands["at ranks 1 to 3"]
    assert 0 < first.low < 0.5 < first.high
    assert off["all"].mean == pytest.approx(0.5 * 30 / 120)
    top = [one for one in said if one.place <= 3]
    assert not any(one.said.startswith("at ranks") for one in score_human_check(every, top).off)
