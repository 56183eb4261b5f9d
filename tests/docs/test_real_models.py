"""The command that runs real models: its steps name what there is, it resumes, its pages name no place of a machine."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stub import StubServer
from stub.chat import Turn
from stub.paraphrasing import paraphrasing

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "real_models.py"
PAIRS = [
    (f"A {animal} {does} in the {place}.", f"In the {place} there is a {animal}.", score)
    for animal, does, score in (("dog", "sleeps", 4.0), ("heron", "stands", 3.0), ("fox", "runs", 1.5))
    for place in ("garden", "harbour", "forest", "meadow")
]


def _commands(*more: str) -> dict[str, list[str]]:
    """Every step's command, by its name."""
    command = [sys.executable, str(SCRIPT), "--data", "data", "--list", *more]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    blocks = [block.splitlines() for block in listed.strip().split("\n\n")]
    return {block[0].partition(": ")[2]: shlex.split(block[1]) for block in blocks}


@pytest.mark.slow
@pytest.mark.parametrize("size", ["tiny", "small", "evening", "night"])
def test_every_file_and_command_of_a_step_is_there(size: str) -> None:
    """All parts, at every size."""
    from embassay.cli.main import app

    groups = {group.name for group in app.registered_groups} | {
        one.name or one.callback.__name__ for one in app.registered_commands if one.callback
    }
    listed = _commands("--size", size)
    wanted = {
        "encoders",
        "ratings",
        "golden-scifact",
        "injections",
        "hteb",
        "hume-score",
        "answers",
        "pteb",
        "names",
        "sage",
    }
    assert wanted <= set(listed)
    for words in listed.values():
        assert words[0] == "python" or words[1] in groups
        assert all(Path(word).exists() for word in words if word.endswith((".yaml", ".py")))


@pytest.mark.slow
def test_models_of_ones_own_take_the_place_of_the_folders() -> None:
    """One line, as the page says, puts a new model into the tables."""
    words = _commands("--encoder", "st:my/model", "--llm", "ollama:mine", "--only", "pteb")["pteb"]
    assert "st:my/model" in words
    assert words[words.index("-p") + 1] == "ollama:mine"
    assert not any("127.0.0.1" in word for word in words)
    page = (ROOT / "docs" / "real_data.md").read_text(encoding="utf-8")
    assert "--encoder SPEC" in page
    assert "python benchmarks/real_models.py --models MODELS --data DATA" in page


@pytest.mark.nightly
@pytest.mark.shared
def test_every_command_that_can_be_planned_has_a_plan(tmp_path: Path) -> None:
    """On the real data, with an encoder of this machine and a model that nobody asks: grades and columns fit."""
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the data are absent")
    llm = "openai:writer?base_url=http://127.0.0.1:9/v1"
    chosen = ("--size", "tiny", "--encoder", "wordllama", "--llm", llm, "--out", str(tmp_path))
    environment = os.environ | {"EMBASSAY_DATA": str(data), "OPENAI_API_KEY": "none"}
    for step, words in _commands(*chosen).items():
        made_here = step in ("cranfield-runs",)
        plannable = words[0] == "embassay" and words[1] != "hume"
        if not made_here and not plannable:
            continue
        command = [sys.executable, *words[1:]] if made_here else [sys.executable, "-m", *words, "--dry-run"]
        planned = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert planned.returncode == 0, f"{step}: {planned.stderr[-500:]}"


@pytest.mark.parametrize("name", ["benchmarks/results/real_models.md", "docs/real_data.md"])
def test_pages_name_no_place_of_a_machine(name: str) -> None:
    """Models go by their names."""
    path = ROOT / name
    if path.is_file():
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("127.0.0.1", "base_url", "st:/", "/var/", "/tmp/") if word in text]


def _made_data(folder: Path, vocabulary: Path) -> None:
    (folder / "sts").mkdir(parents=True)
    (folder / "tokenizer").mkdir()
    shutil.copy(vocabulary, folder / "tokenizer" / vocabulary.name)
    with gzip.open(folder / "sts" / "stsb_en_test.jsonl.gz", "wt", encoding="utf-8") as stream:
        for number, (first, second, score) in enumerate(PAIRS):
            row = {"id": f"p{number}", "text": first, "text2": second, "score": score, "lang": "en"}
            stream.write(json.dumps(row) + "\n")


def _started(stub: StubServer, folder: Path) -> subprocess.Popen[bytes]:
    """The command with one encoder and one writer of paraphrases, in a group of its own."""
    command = [
        sys.executable, str(SCRIPT), "--data", str(folder.parent / "data"), "--out", str(folder / "out"),
        "--size", "tiny", "--only", "pteb", "--encoder", "wordllama", "--pages", str(folder / "pages"),
        "--llm", f"openai:writer?base_url={stub.url}/v1&concurrency=1&name=stub",
    ]  # fmt: skip
    environment = os.environ | {"EMBASSAY_CACHE": str(folder / "cache"), "OPENAI_API_KEY": "none"}
    return subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL)


def _finished(stub: StubServer, folder: Path) -> list[str]:
    """The rows of the run that it ends with, but for how long the server took to answer."""
    assert _started(stub, folder).wait() == 0
    assert (folder / "pages" / "benchmarks" / "results" / "real_models.md").is_file()
    lines = (folder / "out" / "pteb" / "results.jsonl").read_text("utf-8").splitlines()
    return [line for line in lines if json.loads(line)["measure"] != "seconds"]


@pytest.mark.nightly
@pytest.mark.shared
def test_killed_three_times_it_ends_with_the_same_results(tmp_path: Path) -> None:
    """Whatever it was doing: each time more paraphrases are there, and none is asked for twice."""
    vocabulary = ROOT.parent / "shared" / "data" / "tokenizer" / "cl100k_base.tiktoken"
    if not vocabulary.is_file():
        pytest.skip("the vocabulary of cl100k is absent")
    _made_data(tmp_path / "data", vocabulary)
    asked: list[str] = []
    behaviour = paraphrasing()

    def says(turn: Turn) -> Any:
        asked.append(turn.last)
        time.sleep(0.05)  # so that a kill finds it at work
        return behaviour(turn)

    with StubServer(chat=says) as stub:
        whole = _finished(stub, tmp_path / "whole")
        needed, kills = len(asked), (1, 3, 6)
        asked.clear()
        for enough in kills:
            running = _started(stub, tmp_path / "killed")
            while len(asked) < enough and running.poll() is None:
                time.sleep(0.02)
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        killed = _finished(stub, tmp_path / "killed")
    assert killed == whole
    # What was in flight at a kill is asked for once more.
    assert needed <= len(asked) <= needed + len(kills)
