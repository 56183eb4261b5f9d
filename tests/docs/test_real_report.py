"""The report of real data: its steps name what there is, and the page tells of its command."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "real_report.py"


def _commands(*more: str) -> dict[str, list[str]]:
    """Every step's command, by its name."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--data", "data", "--list", *more], capture_output=True, text=True, check=True
    )
    blocks = [block.splitlines() for block in done.stdout.strip().split("\n\n")]
    return {block[0].removeprefix("# "): shlex.split(block[1]) for block in blocks}


@pytest.mark.parametrize("more", [(), ("--quick",), ("--hume-results", "results.json.gz")])
def test_every_file_that_a_step_reads_is_there(more: tuple[str, ...]) -> None:
    """Descriptions of datasets, configurations and scripts are in the repository; options are those of the commands."""
    from embassay.cli.main import app

    groups = {group.name for group in app.registered_groups} | {
        one.name or one.callback.__name__ for one in app.registered_commands if one.callback
    }
    found = _commands(*more)
    assert {"sage", "pteb", "scifact", "cranfield", "sweep", "names", "noise", "scripted", "report"} <= set(found)
    assert ("people" in found) == ("--hume-results" in more)
    for words in found.values():
        assert words[0] == "python" or words[1] in groups
        assert all(Path(word).exists() for word in words if word.endswith((".yaml", ".py")))


def test_quickly_is_less() -> None:
    """Four tasks in place of five, and the same systems."""
    whole, quick = _commands()["sage"], _commands("--quick")["sage"]
    assert whole.count("-t") == 5
    assert quick.count("-t") == 4
    assert whole.count("-s") == quick.count("-s") == 6


def test_the_page_has_the_command() -> None:
    """What the page tells to type is what the script takes."""
    page = (ROOT / "docs" / "real_data.md").read_text(encoding="utf-8")
    assert "python benchmarks/real_report.py --data DATA --out runs/real --workers 2 --hume-results" in page
    assert "No paraphrases" in page
    assert "No annotators" in page
