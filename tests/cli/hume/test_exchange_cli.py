"""`embassay hume import` and `export` as a user types them."""

from __future__ import annotations

import json

import pytest

from embassay.protocols.hume.study import write_annotations
from hume_exchange_answers import answers
from hume_small import small_study


@pytest.fixture
def study(tmp_path):
    path = small_study(tmp_path / "study", 6)
    write_annotations(path, "ann", answers(path, "ann"))
    return path


def test_there_and_back(embassay, study, tmp_path):
    """What was read, taken and left out is said; again it is refused, and replaced on purpose."""
    said = embassay("hume", "export", study, "--format", "csv", "--out", "x.csv").stdout
    assert "24 answers of 1 annotators: ann." in said
    other = small_study(tmp_path / "other", 6)
    said = embassay("hume", "import", other, "x.csv").stdout
    assert "Read x.csv as csv." in said
    assert "ann, mood: 6 answers, complete" in said
    assert "Items marked as impossible to judge: 4." in said
    done = embassay("hume", "import", other, "x.csv", check_code=2)
    assert "ann.jsonl already contains" in done.stderr
    assert "--replace" in done.stderr
    told = json.loads(embassay("hume", "import", other, "x.csv", "--replace", "--json").stdout)
    assert told["replaced"] == 24


def test_tasks_for_other_tools(embassay, study, tmp_path):
    """A folder with two files for each task."""
    for form, ends in (("label-studio", "config.xml"), ("argilla", "settings.json")):
        said = embassay("hume", "export", study, "--format", form, "--out", form).stdout
        assert "The export contains no answers." in said
        assert len(list((tmp_path / form).iterdir())) == 8
        assert (tmp_path / form / f"mood.{ends}").exists()


def test_scores_for_mteb(embassay, study, tmp_path):
    embassay("hume", "export", study, "--format", "mteb", "--out", "results", "--revision", "2026")
    assert (tmp_path / "results" / "baseline__Human" / "2026" / "mood.json").exists()


def test_mistakes(embassay, study, tmp_path):
    """File and line, and nothing is written."""
    (tmp_path / "bad.csv").write_text("item_id,annotator_id,value\nmood-00,bob,7\n")
    done = embassay("hume", "import", study, "bad.csv", check_code=4)
    assert "bad.csv:2: the answer to mood-00 is '7'" in done.stderr
    assert not (study / "annotations" / "bob.jsonl").exists()
    assert "no such file" in embassay("hume", "import", study, "none.csv", check_code=4).stderr
