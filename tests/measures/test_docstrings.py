"""The examples in the docstrings of the measures."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        *("agreement", "classification", "clusters", "correlation", "grades", "judgements", "ranking"),
        *("registry", "set_scores", "sets", "summary"),
    ],
)
def test_examples_run(name: str) -> None:
    """Every example of the module gives what it shows."""
    result = doctest.testmod(importlib.import_module(f"embassay.measures.{name}"))
    assert result.attempted
    assert not result.failed
