"""`embassay hume sample` and `simulate` as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import UsageError
from embassay.protocols.hume.collection import collect_study_annotations
from embassay.protocols.hume.sampling import NoSuiteDataAvailable
from embassay.protocols.hume.study import read_study


def test_a_study_from_the_sample_data(embassay, tmp_path) -> None:
    """A table, three files, what comes next; the same command again changes no byte; simulated people answer it."""
    command = ("hume", "sample", "-d", "sample", "--lang", "eng", "--n", "12", "--out", "study")
    said = embassay(*command).stdout
    for word in ("task", "family", "lang", "source", "sample-clustering: 6 of 6 gold clusters.", "hume serve study"):
        assert word in said
    files = {path.name: path.read_bytes() for path in (tmp_path / "study").iterdir()}
    assert files.keys() == {"study.json", "items.jsonl", "gold.jsonl"}
    embassay(*command, env={"PYTHONHASHSEED": "7"})
    assert {path.name: path.read_bytes() for path in (tmp_path / "study").iterdir()} == files
    done = embassay("hume", "simulate", "study", "--annotators", "3", "--noise", "0.2").stdout
    assert "144 answers of 3 simulated annotators" in done
    assert "No one annotated" in done
    folder = read_study(tmp_path / "study")
    answers = collect_study_annotations(folder)
    assert {one.kind for one in answers} == {"simulated"}
    assert len({(one.annotator_id, one.item_id) for one in answers}) == len(answers) == 3 * len(folder.items)


def test_own_data_with_every_option(embassay, tmp_path) -> None:
    """Columns by --map, words for labels, a dry run that writes nothing, one JSON object."""
    rows = "".join(f"{k},note {k} on {'tea' if k % 2 else 'ink'},{k % 2}\n" for k in range(30))
    (tmp_path / "notes.csv").write_text(f"nr,body,kind\n{rows}", "utf-8")
    command = (
        "hume", "sample", "-d", "notes.csv", "-t", "classification", "--map", "id=nr,text=body,label=kind", "--n", "8",
        "--lang", "en", "--label-name", "1=tea", "--label", "1=About tea.", "--name", "first", "--out", "s",
    )  # fmt: skip
    told = json.loads(embassay(*command, "--dry-run", "--json").stdout)
    assert told["study"] is None
    assert not (tmp_path / "s").exists()
    written = json.loads(embassay(*command, "--json").stdout)
    assert written == {**told, "study": "s"}
    assert [(one["task"], one["lang"], one["n"]) for one in written["tasks"]] == [("notes", "eng", 8)]
    study = read_study(tmp_path / "s").study
    assert study.name == "first"
    assert [(one.name, one.description) for one in study.tasks[0].labels] == [("0", ""), ("tea", "About tea.")]
    refused = embassay(*command, "--seed", "2", check_code=2)
    assert "s contains another study" in refused.stderr


@pytest.mark.parametrize("name", ["hume", "hume-sources"])
def test_a_suite_of_which_nothing_is_here_is_planned_but_not_drawn(name, tmp_path, monkeypatch) -> None:
    """The plan has every set in its size, as those of the runs do; a study of nothing is an error still."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    missing = {one.dataset for one in read_all_suites()[name].members}
    planned = CliRunner().invoke(app, ["hume", "sample", "-d", name, "--dry-run", "--json"])
    assert planned.exit_code == 0, planned.output
    assert "embassay-plan" not in planned.stdout
    told = json.loads(planned.stdout)
    # Nothing is said of texts that nobody has seen.
    assert {tuple(task["notes"]) for task in told["tasks"]} == {()}
    assert told["study"] is None
    assert set(told["not_fetched"]) == missing
    if name == "hume":
        # The sizes that HUME published: 26 pairs of a set and a language.
        assert len(told["tasks"]) == 26
        assert {task["task"]: task["n"] for task in told["tasks"]}["hume-robust04"] == 49
    drawn = CliRunner().invoke(app, ["hume", "sample", "-d", name, "--out", str(tmp_path / "s")])
    assert isinstance(drawn.exception, NoSuiteDataAvailable)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "s"), "no data to sample from"),
        (("--config", "round.yaml", "--out", "s"), r"round.yaml:2: unknown key 'tasks\[1\].dat'"),
        (("-d", "sample", "--config", "round.yaml", "--out", "s"), "--config cannot be combined with data settings"),
        (("-d", "sample", "--scale", "5-0", "--out", "s"), "Cannot read --scale '5-0'"),
        (("-d", "sample", "--label", "joy", "--out", "s"), "Cannot read --label 'joy'"),
        (("-d", "sample", "--guidelines", "no.md", "--out", "s"), "guidelines no.md cannot be read"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], said: str, tmp_path, monkeypatch) -> None:
    """One sentence for what is wrong."""
    monkeypatch.chdir(tmp_path)
    Path("round.yaml").write_text("tasks:\n  - dat: sample\n", "utf-8")
    result = CliRunner().invoke(app, ["hume", "sample", *words])
    assert isinstance(result.exception, UsageError)
    assert re.search(said, result.exception.message)
    assert not Path("s").exists()


def test_no_study_to_simulate(embassay) -> None:
    """It is said which command writes one."""
    refused = embassay("hume", "simulate", ".", check_code=4).stderr
    assert "This folder contains no study" in refused
    assert "embassay hume sample" in refused
