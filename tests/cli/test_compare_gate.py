"""`embassay compare` and `embassay gate` as a user runs them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from written_runs import write_run

RNG = np.random.default_rng(2)
ITEMS = RNG.uniform(0.3, 0.7, 120)


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", {"good": ITEMS + 0.1, "poor": ITEMS - RNG.uniform(0, 0.1, 120)})


def test_compare(embassay, run):
    said = embassay("compare", run, "-a", "good", "-b", "poor", width=80).stdout
    assert said.startswith("good beats poor overall by 0.1")
    assert max(map(len, said.splitlines())) <= 80
    both = json.loads(embassay("compare", run, "-a", "good", "-b", "poor", "--json").stdout)
    assert [one["task"] for one in both["contrasts"]] == ["overall", "robustness"]
    everyone = embassay("compare", run).stdout
    assert "overall. good beats every other system." in everyone
    assert json.loads(embassay("compare", run, "--json").stdout)["fields"][0]["entrants"][0]["system"] == "good"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("-a", "god", "-b", "poor"), "Did you mean 'good'?"), (("-a", "good"), "b, is missing"),
     (("-b", "good"), "a, is missing"), (("-t", "sts"), "no task 'sts'")],
)  # fmt: skip
def test_wrong_names(embassay, run, arguments, said):
    assert said in embassay("compare", run, *arguments, check_code=2).stderr


def test_gate(embassay, run, tmp_path):
    met = embassay("gate", run, "--min", "sage.overall[good]>=0.5").stdout
    assert met.startswith("The threshold is met.")
    junit, markdown = tmp_path / "out" / "gate.xml", tmp_path / "gate.md"
    missed = embassay(
        "gate", run, "--min", "sage.overall[good]>=0.9", "--max", "sage.overall[poor]<=0.9", "--no-worse-than", run,
        "--junit", junit, "--markdown", markdown, check_code=1,
    )  # fmt: skip
    assert missed.stdout.startswith("1 of 6 thresholds missed.")
    assert 'failures="1"' in junit.read_text()
    assert "1 of 6 thresholds missed" in markdown.read_text()
    found = json.loads(embassay("gate", run, "--min", "sage.overall[good]>=0.9", "--json", check_code=1).stdout)
    assert found["met"] is False


def test_gate_says_what_is_wrong(embassay, run, tmp_path):
    assert "There is no threshold" in embassay("gate", run, check_code=2).stderr
    assert "is not a threshold" in embassay("gate", run, "--min", "overall>1", check_code=2).stderr
    assert "no run here" in embassay("gate", tmp_path / "none", "--min", "sage.overall[good]>=0", check_code=4).stderr
