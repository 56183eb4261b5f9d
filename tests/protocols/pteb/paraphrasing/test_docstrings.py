"""The examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["llm", "paraphrasers", "records"])
def test_examples_run(name):
    """Every example of the module gives what it shows."""
    result = doctest.testmod(importlib.import_module(f"embassay.protocols.pteb.paraphrasing.{name}"))
    assert result.attempted
    assert not result.failed
