"""Every line of the page of threats has a test that exists, and the page counts its targets right."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not re.fullmatch(r"[-: |]+", line)]


@cache
def _tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_test_exists(path: str, name: str) -> None:
    """Under its name, in its file, and pytest finds it."""
    assert name.startswith("test_")
    assert name in _tests(path)


def test_every_line_names_one() -> None:
    """A threat without a test is a promise."""
    threats = [row for row in ROWS if len(row.split(" | ")) == 3 and not row.endswith("| Tests |")]
    assert [row for row in threats if "::" not in row] == []
    assert len(threats) > 35


def test_the_number_of_targets() -> None:
    """As the page says it."""
    said = re.search(r"`tests/fuzz` has (\d+) targets", PAGE)
    assert said is not None
    assert int(said[1]) == len(TARGETS)
