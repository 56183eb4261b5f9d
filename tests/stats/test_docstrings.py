"""The examples in the docstrings of the statistics."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["intervals", "mixed", "ranks", "resampling", "tests"])
def test_examples_run(name: str) -> None:
    """Every example of the module gives what it shows."""
    result = doctest.testmod(importlib.import_module(f"embassay.stats.{name}"))
    assert result.attempted
    assert not result.failed
