"""Texts and tokens for the lexical systems."""

import gzip
import json
from pathlib import Path

import pytest

from embassay.text import open_tokenizer

SCIFACT = Path(__file__).parents[3] / ".." / "shared" / "data" / "retrieval" / "scifact"


@pytest.fixture(scope="session")
def words():
    """The tokenizer that needs nothing."""
    return open_tokenizer("words")


@pytest.fixture(scope="session")
def abstracts() -> list[str]:
    """400 titles with abstracts of SciFact."""
    path = SCIFACT / "corpus.jsonl.gz"
    if not path.exists():
        pytest.skip("the development datasets are not beside the checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(400), strict=False)]
    return [f"{row['title']} {row['text']}" for row in rows]


@pytest.fixture(scope="session")
def claims() -> list[str]:
    """40 queries of SciFact."""
    path = SCIFACT / "queries.jsonl.gz"
    if not path.exists():
        pytest.skip("the development datasets are not beside the checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line, _ in zip(lines, range(40), strict=False)]
