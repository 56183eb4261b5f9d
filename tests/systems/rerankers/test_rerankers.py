"""The registry of rerankers."""

from __future__ import annotations

from importlib import import_module

import pytest

from embassay.errors import UsageError
from embassay.systems.rerankers import RERANKERS, open_reranker
from embassay.text import open_tokenizer


def test_every_entry_exists():
    """Each lazy name leads to a class with a docstring, and says what it is."""
    for entry in RERANKERS:
        module, _, attribute = entry.factory.partition(":")
        assert getattr(import_module(module), attribute).__doc__
        assert entry.summary


def test_a_reranker_by_name():
    """The lexical one needs nothing but its name."""
    reranker = open_reranker("overlap", tokenizer=open_tokenizer("words"))
    assert reranker.name == "overlap"
    assert reranker.score("a", ["a", "b"]).tolist() == [1, 0]


def test_near_names_are_suggested():
    """As for systems."""
    with pytest.raises(UsageError, match="Did you mean cohere"):
        open_reranker("coher:rerank-v3.5", tokenizer=open_tokenizer("words"))
