"""Runs of one system that differ by chance, through both commands: few false alarms, and falls are found."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from embassay.cli.main import app
from written_runs import write_run

PAIRS, N, NOISE = 60, 25, 0.1


def pair(folder: Path, number: int, fall: float = 0.0) -> tuple[Path, Path]:
    """Two runs over the same items; those of the second are lower by `fall`."""
    rng = np.random.default_rng([9, number])
    easy = rng.beta(0.8, 0.6, N)
    runs = easy + rng.normal(0, NOISE, (2, N))
    runs[1] -= fall
    base, now = (
        write_run(folder / f"{number}-{name}", {"system": values})
        for name, values in zip(("base", "now"), runs, strict=True)
    )
    return base, now


def told(base: Path, now: Path) -> dict[str, float]:
    """What `compare` says of the first row."""
    result = CliRunner().invoke(app, ["compare", str(now), str(base), "-a", "system", "--json"])
    assert result.exit_code == 0, result.output
    row: dict[str, float] = json.loads(result.stdout)["contrasts"][0]
    return row


def alarm(base: Path, now: Path) -> bool:
    """Whether `gate` raised one; its files parse and say the same."""
    junit, markdown = now / "gate.xml", now / "gate.md"
    result = CliRunner().invoke(
        app, ["gate", str(now), "--no-worse-than", str(base), "--junit", str(junit), "--markdown", str(markdown)]
    )
    assert result.exit_code in (0, 1), result.output
    suite = ElementTree.parse(junit).getroot()
    rows = [one for one in MarkdownIt().enable("table").parse(markdown.read_text()) if one.type == "tr_open"]
    assert len(rows) == 1 + int(suite.get("tests", -1)) == 1 + len(suite.findall("testcase"))
    assert (int(suite.get("failures", -1)) > 0) == (result.exit_code == 1)
    return result.exit_code == 1


@pytest.mark.slow
def test_chance_raises_few_alarms(tmp_path: Path) -> None:
    """Of 60 pairs 3 are expected; more than 8 come once in 250 if 5% is kept."""
    apart = alarms = 0
    for number in range(PAIRS):
        base, now = pair(tmp_path, number)
        apart += told(base, now)["p"] < 0.05
        alarms += alarm(base, now)
    assert apart <= 8
    assert alarms <= 8


@pytest.mark.slow
def test_a_fall_that_can_be_seen_is_seen(tmp_path: Path) -> None:
    """One as large as `compare` says of these items, in four of five pairs or more: the gate's test is one-sided, with
    two equal rows corrected by Holm."""
    found = 0
    for number in range(40):
        size = told(*pair(tmp_path / "before", number))["smallest"]
        found += alarm(*pair(tmp_path / "after", number, size))
    assert found >= 26
