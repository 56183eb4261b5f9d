"""The hook for pre-commit, as pre-commit itself runs it in a repository made for it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="needs pre-commit"),
]
ROOT = Path(__file__).parents[2]
USABLE = '{"text": "The kettle boils", "label": "kitchen"}\n{"text": "The atlas is old", "label": "books"}\n'
CUT = '{"text": "The kettle boils", "label": "kitchen"}\n{"text": "The atl\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that takes our hook with this checkout's command in place of an installation."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    command = hook["entry"].replace("embassay", f"{sys.executable} -m embassay", 1)
    local = {**hook, "language": "system", "entry": command}
    place = tmp_path / "repository"
    place.mkdir()
    (place / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": [local]}]}))
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    return place


def run_hook(repository: Path) -> subprocess.CompletedProcess[str]:
    """pre-commit over what is staged."""
    subprocess.run(["git", "add", "--all"], cwd=repository, check=True)
    home = {"PRE_COMMIT_HOME": str(repository.parent / "home"), "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run"], cwd=repository, capture_output=True, text=True, check=False,
        env={**os.environ, **home}
    )  # fmt: skip


def test_usable_data_may_be_committed(repository: Path) -> None:
    """A file that a run can use passes; files that are no data are not looked at."""
    (repository / "notes.jsonl").write_text(USABLE)
    (repository / "settings.json").write_text("{")
    ran = run_hook(repository)
    assert ran.returncode == 0, ran.stdout
    assert "Passed" in ran.stdout


def test_a_cut_line_stops_the_commit(repository: Path) -> None:
    """Of several files all are checked, and the line is named."""
    (repository / "a.jsonl").write_text(CUT)
    (repository / "notes.jsonl").write_text(USABLE)
    (repository / "z.csv").write_text("x,y\n1,2\n")
    ran = run_hook(repository)
    assert ran.returncode != 0
    assert "exit code: 4" in ran.stdout
    assert "a.jsonl:2" in ran.stdout
    assert "there is no column 'text'" in ran.stdout


def test_a_repository_without_data_is_left_alone(repository: Path) -> None:
    """Nothing to check is no failure."""
    (repository / "README.md").write_text("# Nothing here\n")
    ran = run_hook(repository)
    assert ran.returncode == 0
    assert "Skipped" in ran.stdout
