"""`embassay data list`, `show` and `fetch`, as a user runs them."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def mirror(tmp_path):
    """A mirror with one dataset, and the environment that names it."""
    folder = tmp_path / "mirror" / "stsbenchmark"
    folder.mkdir(parents=True)
    (folder / "test.csv").write_text("sentence1,sentence2,score\nA cat sleeps.,A cat is asleep.,4.8\n")
    return {"EMBASSAY_DATA": str(tmp_path / "mirror"), "HF_HOME": str(tmp_path / "hf")}


def test_list(embassay, mirror) -> None:
    """A protocol's datasets for a task, with where each would be read from; the sample serves all."""
    found = json.loads(embassay("data", "list", "--protocol", "pteb", "--task", "sts", "--json", env=mirror).stdout)
    places = {one["name"]: one["place"] for one in found}
    assert len(places) == 11
    assert (places["sample"], places["stsbenchmark"], places["sts12"]) == ("package", "mirror", "hub")
    everything = json.loads(embassay("data", "list", "--json", env=mirror).stdout)
    assert {one["place"] for one in everything} == {"package", "mirror", "hub", "by hand"}


def test_list_in_a_table(embassay, mirror) -> None:
    """Wide, it tells licence and repository."""
    table = embassay("data", "list", "--task", "summarization", "--wide", env=mirror).stdout
    assert "summeval" in table
    assert "mteb/summeval" in table
    assert "MIT" in table


def test_show(embassay, mirror) -> None:
    """What is known, where it is, what it would hold, and the rows that are at hand."""
    shown = embassay("data", "show", "stsbenchmark", env=mirror).stdout
    for part in (
        "mteb/stsbenchmark-sts at b0fddb56",
        "licence",
        "1,379",
        "0 to 5",
        "pteb: sts",
        "test.jsonl (sentence1,",
    ):
        assert part in shown
    assert "text=A cat sleeps.  text2=A cat is asleep.  score=4.8" in shown
    absent = " ".join(embassay("data", "show", "bioasq", env=mirror).stdout.split())
    assert "once you have filled it. Register at" in absent
    assert "First rows" not in absent


def test_show_a_file(embassay, tmp_path) -> None:
    """A path is looked at the same way."""
    (tmp_path / "own.csv").write_text("text,label\na,x\n")
    shown = json.loads(embassay("data", "show", "own.csv", "--json").stdout)
    assert shown["facts"]["shapes"] == "documents labelled"
    assert shown["rows"]["labelled"] == [{"text": "a", "label": "x"}]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["fetch"], 2, "Name datasets, a protocol or a task"),
        (["fetch", "stsbench"], 2, "Did you mean stsbenchmark?"),
        (["fetch", "robust04"], 4, "Sign NIST's agreement"),
        (["show", "nowhere.csv"], 2, "The catalogue has no dataset called 'nowhere.csv'"),
    ],
)
def test_mistakes(embassay, mirror, arguments, code, line) -> None:
    """One line that says what is wrong and one that mends it, with the exit code of its kind."""
    assert line in embassay("data", *arguments, env=mirror, check_code=code).stderr


def test_what_is_in_the_mirror_needs_no_hub(embassay, mirror) -> None:
    """A fetch of what is there does nothing."""
    pytest.importorskip("datasets")
    done = embassay("data", "fetch", "stsbenchmark", env={**mirror, "HF_HUB_OFFLINE": "1"})
    assert done.stdout.startswith("stsbenchmark test: was there, ")


def test_a_run_names_the_folder_to_fill(embassay, mirror) -> None:
    """Where neither mirror nor hub has a dataset, the run says in one line what to put where."""
    pytest.importorskip("datasets")
    done = embassay(
        "sage", "run", "-s", "jaccard", "-d", "billsum", "--tokenizer", "words",
        env={**mirror, "HF_HUB_OFFLINE": "1"}, check_code=4,
    )  # fmt: skip
    assert "FiscalNote/billsum test at main cannot be read from the hub" in done.stderr
    assert "mirror/billsum with test.jsonl (text, summary) (see docs/data.md)." in done.stderr


def test_several_files_are_checked_each_alone(embassay, tmp_path) -> None:
    """One report a line with --json; exit code 4 where any of them cannot be used."""
    (tmp_path / "good.csv").write_text("text,label\na,x\nb,y\n")
    (tmp_path / "bad.csv").write_text("x,y\n1,2\n")
    done = embassay("data", "check", "bad.csv", "good.csv", "--json", check_code=4)
    reports = list(map(json.loads, done.stdout.splitlines()))
    assert [(report["path"], report["usable"]) for report in reports] == [("bad.csv", False), ("good.csv", True)]
    assert "usable" in embassay("data", "check", "good.csv").stdout
