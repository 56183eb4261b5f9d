"""What goes out by any format comes in again as it was; gold is in none of it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from embassay.errors import UsageError
from embassay.protocols.hume.collection import read_answers_of_files_and_store
from embassay.protocols.hume.exchange.export import export
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.exchange.label_studio import label_studio_config
from embassay.protocols.hume.study import read_study


def kept(path, *told):
    return {
        (row.annotator_id, row.item_id): tuple(getattr(row, name) for name in told)
        for row in read_answers_of_files_and_store(read_study(path))
    }


def out_of(study, form, folder):
    out = folder / "out" if form in ("label-studio", "argilla") else folder / f"out.{form}"
    done = export(study, form, out, answers=True)
    return [
        path for path in done.files if path.suffix != ".xml" and not path.name.endswith(("settings.json", "users.json"))
    ]


@pytest.mark.parametrize("form", ["csv", "jsonl", "label-studio", "argilla"])
@pytest.mark.parametrize("guess", [True, False])
def test_answers_come_back(study, rows, empty, tmp_path, form, guess):
    """Values of all families, flags and comments; times too, where the format has them."""
    files = out_of(study, form, tmp_path)
    done = import_files(empty, files, form=None if guess else form)
    told = ["value", "flag", "comment"] + (["seconds", "ts"] if form != "argilla" else [])
    assert kept(empty, *told) == kept(study, *told)
    assert sum(done.answers.values()) == len(rows) == 48
    assert done.impossible == 8
    assert done.new_annotators == ("ann", "bob")
    assert not done.left_out
    assert {path.name for path in done.written} == {"ann.jsonl", "bob.jsonl"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "label-studio", "argilla"])
def test_gold_is_in_nothing_that_goes_out(study, rows, tmp_path, form, monkeypatch):
    """Not even read: without its file, everything is written the same."""
    (study / "gold.jsonl").unlink()
    for path in out_of(study, form, tmp_path):
        text = path.read_text("utf-8")
        assert "gold" not in text
        assert "topic 1" not in text


@pytest.mark.parametrize("form", ["label-studio", "argilla"])
def test_tasks_go_without_answers(study, rows, tmp_path, form):
    """Unless these are asked for: annotators work alone."""
    done = export(study, form, tmp_path / "out")
    assert done.answers == 0
    for path in done.files:
        text = path.read_text("utf-8")
        assert "garbled" not in text
        if path.name.endswith(("tasks.json", "records.json")):
            assert not any(one.get("annotations") or one.get("responses") for one in json.loads(text))


def test_a_spreadsheet_sees_no_formula(study, rows, tmp_path):
    """And the apostrophe that prevents it goes again."""
    (path,) = out_of(study, "csv", tmp_path)
    text = path.read_text("utf-8")
    assert ",=HYPERLINK" not in text
    assert "\"'=HYPERLINK" in text


def test_configuration_has_every_choice(study, rows, tmp_path):
    """Names of labels with their stored value, levels with their meaning, two choices for each document, in XML."""
    export(study, "label-studio", tmp_path / "out")
    parsed = {path.name.partition(".")[0]: ET.parse(path).getroot() for path in (tmp_path / "out").glob("*.xml")}
    moods = [(one.get("value"), one.get("alias")) for one in parsed["mood"].iter("Choice")]
    assert moods == [("sadness", "0"), ("joy", "1"), ("anger", "2")]
    levels = [(one.get("value"), one.get("alias")) for one in parsed["pairs"].iter("Choice")]
    assert levels[0] == ("0: unrelated", "0")
    assert levels[1] == ("1", None)
    assert len(levels) == 6
    assert parsed["search"].find("Repeater").get("on") == "$documents"
    assert [one.get("name") for one in parsed["topics"].iter("TextArea")] == ["group", "flag", "comment"]


def test_a_task_alone(study, rows, tmp_path):
    """`--task` leaves the others out; one that is not there is said."""
    done = export(study, "csv", tmp_path / "x.csv", tasks=("pairs",))
    assert done.answers == 12
    with pytest.raises(UsageError, match="no task 'moods'"):
        export(study, "csv", tmp_path / "x.csv", tasks=("moods",))


def test_nothing_to_export_is_said(empty, tmp_path):
    with pytest.raises(UsageError, match="Nobody has answered"):
        export(empty, "csv", tmp_path / "x.csv")


def test_a_file_is_no_folder(study, rows, tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        export(study, "csv", tmp_path)
    (tmp_path / "x").touch()
    with pytest.raises(UsageError, match="is a file"):
        export(study, "argilla", tmp_path / "x")


def test_answers_of_the_pages_go_out_too(study, tmp_path):
    """Those in the store of `hume serve`; drafts do not."""
    from embassay.protocols.hume.store import SubmittedAnswer, open_answer_store

    store = open_answer_store(read_study(study))
    store.add_annotator("cat")
    store.save("cat", "mood", SubmittedAnswer("mood-00", 2, 1, seconds=3.0))
    store.save("cat", "search", SubmittedAnswer("search-00", {"draft": [1, None, 0, 0, 0, 0, 0]}, 2))
    store.save("cat", "pairs", SubmittedAnswer("pairs-00", None, 3, flag="empty"))
    store.close()
    export(study, "jsonl", tmp_path / "x.jsonl")
    found = [json.loads(line) for line in Path(tmp_path / "x.jsonl").read_text().splitlines()]
    assert [(row["item_id"], row["value"], row["flag"]) for row in found] == [
        ("mood-00", 2, ""),
        ("pairs-00", None, "empty"),
    ]
    with pytest.raises(UsageError, match=r"in \W?embassay hume serve"):
        import_files(study, [tmp_path / "x.jsonl"], replace=True)


def test_a_configuration_is_xml_whatever_the_words(study):
    """Signs of XML are escaped, and what no XML can hold is left out."""
    task = read_study(study).study.task("mood")
    title = 'a <b> & "c" \x00\x1b'
    root = ET.fromstring(label_studio_config(task.model_copy(update={"title": title})))
    assert root.find("Header").get("value") == 'a <b> & "c"   '
