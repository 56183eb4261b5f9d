"""The examples in the docstrings of the check hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["duplicates", "figures", "inspection", "findings"])
def test_examples(name: str) -> None:
    """They print what they say."""
    result = doctest.testmod(import_module(f"embassay.data.check.{name}"))
    assert result.failed == 0
    assert result.attempted
