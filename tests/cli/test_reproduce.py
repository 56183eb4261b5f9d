"""`embassay reproduce` as a user runs it."""

from __future__ import annotations

import json

import pytest

import made_mirror
from embassay.data.catalogue.suites import read_all_suites

FEW = ("--tokenizer", "words", "--resamples", "50")


@pytest.fixture
def mirror(tmp_path):
    """The sets of SAGE's robustness but one, small."""
    for name in ("billsum", "cnn-dailymail"):
        record = next(one.record for one in read_all_suites()["sage"].members if one.dataset == name)
        made_mirror.write_mirror(record, tmp_path / "mirror", size=6, told=made_mirror.sentences)
    return {"EMBASSAY_DATA": str(tmp_path / "mirror"), "HF_HUB_OFFLINE": "1"}


def test_the_papers_commands_and_what_they_take(embassay, mirror):
    said = embassay("reproduce", "sage", "-s", "jaccard", "-t", "robustness", *FEW, env=mirror).stdout
    assert "embassay sage run -d sage --text-tokens 512 -s jaccard -t robustness" in said
    assert "2 of 32 sets of sage are on this machine" in said
    assert "2 of 3 sets of sage" in said
    assert "cells" in said
    every = embassay("reproduce", "rag").stdout
    assert "--step names" in every
    assert "Needs -d" in every
    assert "--from-mteb" in embassay("reproduce", "hume", "--run", check_code=2).stderr


@pytest.mark.slow
def test_run_and_compare(embassay, mirror, tmp_path):
    words = ("-s", "jaccard", "-t", "robustness", "--text-tokens=64", *FEW)
    done = embassay("reproduce", "sage", *words, "--run", "--out", tmp_path / "run", env=mirror)
    assert "SAGE table 4: robustness" in done.stdout
    assert "2 of 3 sets of sage" in done.stdout
    assert "here: jaccard" in done.stdout
    assert "difference" in done.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["arguments"]["options"]["text_tokens"] == 64
    found = json.loads(embassay("reproduce", "sage", "--from", tmp_path / "run", "--json").stdout)
    four = next(one for one in found["tables"] if one["table"] == "table 4")
    assert {(one["row"], one["column"]) for one in four["compared"]} == {
        ("Jaccard Similarity", "billsum"), ("Jaccard Similarity", "cnn_dailymail"),
    }  # fmt: skip
    assert (
        "| Jaccard Similarity | 0.185 |"
        in embassay("reproduce", "sage", "--from", tmp_path / "run", "--markdown").stdout
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [(("sage", "--from", "x", "--run"), "Leave --run out"), (("sage", "--out", "x"), "Add --run"),
     (("pteb", "--step", "judge"), "no step 'judge'"), (("sage", "--dry-run"), "Leave --dry-run out"),
     (("sage", "--from", "nowhere"), "it has no manifest.json"), (("sage", "--limt", "3"), "--limt"),
     (("beir",), "is not one of")],
)  # fmt: skip
def test_mistakes(embassay, words, said):
    assert said in embassay("reproduce", *words, check_code=2).stderr


@pytest.mark.slow
def test_a_run_stands_where_the_paper_has_nothing_of_its_data(embassay, tmp_path):
    words = ("-d", "sample", "--transformer", "recorded", "-s", "jaccard", "-t", "sts", "--limit", "14", "--runs", "1")
    done = embassay("reproduce", "hteb", "--step", "texts", *words, *FEW, "--run", "--out", tmp_path / "run")
    assert "No table of HTEB can be computed" in done.stdout
    assert (tmp_path / "run" / "report.html").exists()
