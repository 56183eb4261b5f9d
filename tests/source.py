"""The package's own code as the tests of its rules read it: each file parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "embassay"

on_one_worker = pytest.mark.xdist_group("source")
"""Tests that read the whole package; those who share a worker share what is parsed."""


@cache
def parsed(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree, the tree itself first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
