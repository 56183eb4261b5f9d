"""Queries with candidates in every layout that they come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError
from embassay.records import RerankingSet


def _write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _plain(data: RerankingSet) -> list[tuple[tuple[str, ...], tuple[str, ...], list[float]]]:
    relevance = (gains.tolist() for gains in data.relevance)
    return list(zip(data.queries, data.candidates, relevance, strict=True))


EXPECTED = [(("q",), ("a", "b", "c"), [1.0, 0.0, 0.0])]


def test_every_layout_gives_the_same(tmp_path: Path) -> None:
    """One row per query, one row per candidate, and the tables of a retrieval set with what was found."""
    nested = _write(tmp_path / "n.jsonl", {"query": "q", "positive": ["a"], "negative": ["b", "c"]})
    flat = [{"query": "q", "text": text, "label": int(text == "a")} for text in "abc"]
    folder = tmp_path / "set"
    folder.mkdir()
    _write(folder / "corpus.jsonl", *({"_id": text, "text": text} for text in "abcd"))
    _write(folder / "queries.jsonl", {"_id": "1", "text": "q"})
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n1\td\t1\n")
    _write(folder / "top_ranked.jsonl", {"query-id": "1", "corpus-ids": ["a", "b", "c"]})
    for spec in (nested, _write(tmp_path / "f.jsonl", *flat), str(folder)):
        assert _plain(open_dataset(spec).load("reranking").data) == EXPECTED


def test_several_queries_of_one_item(tmp_path: Path) -> None:
    """An item may have several wordings, as a list or under one query_id; gains may be graded."""
    nested = _write(tmp_path / "n.jsonl", {"query": ["q", "r"], "positive": "a", "negative": ["b"]})
    assert _plain(open_dataset(nested).load("reranking").data) == [(("q", "r"), ("a", "b"), [1.0, 0.0])]
    rows = [
        {"query_id": 7, "query": query, "text": text, "label": gain}
        for query, text, gain in [("q", "a", 2), ("r", "b", 0)]
    ]
    data = open_dataset(_write(tmp_path / "f.jsonl", *rows)).load("reranking").data
    assert data.ids == ("7",)
    assert _plain(data) == [(("q", "r"), ("a", "b"), [2.0, 0.0])]


def test_what_is_left_out(tmp_path: Path) -> None:
    """Queries that nothing can be said of, and blank candidates, are counted."""
    rows = [
        {"query": "no negative", "positive": ["a"], "negative": []},
        {"query": "no positive", "positive": [" "], "negative": ["b"]},
        {"query": "", "positive": ["a"], "negative": ["b"]},
        {"query": "good", "positive": ["a"], "negative": ["b"]},
    ]
    loaded = open_dataset(_write(tmp_path / "n.jsonl", *rows)).load("reranking")
    assert loaded.data.ids == ("4",)
    assert [(left.reason, left.count) for left in loaded.skipped] == [
        ("candidates without text", 1),
        ("queries without an irrelevant candidate", 1),
        ("queries without a relevant candidate", 1),
        ("queries without text", 1),
    ]


def test_limit_counts_queries(tmp_path: Path) -> None:
    """Candidates of a drawn query stay together, whatever the order of the file."""
    rows = [
        {"query": f"q{n}", "text": f"{text}{n}", "label": gain} for n in range(9) for text, gain in (("a", 1), ("b", 0))
    ]
    one = open_dataset(_write(tmp_path / "f.jsonl", *rows)).load("reranking", limit=3, seed=1).data
    other = open_dataset(_write(tmp_path / "g.jsonl", *rows[::-1])).load("reranking", limit=3, seed=1).data
    assert (len(one), set(one.ids)) == (3, set(other.ids))
    assert all(len(candidates) == 2 for candidates in one.candidates)


def test_a_label_below_0(tmp_path: Path) -> None:
    """It is an error with its line."""
    path = _write(tmp_path / "f.jsonl", {"query": "q", "text": "a", "label": -1})
    with pytest.raises(DataError, match=r"f.jsonl:1: the value of 'label' .*found -1"):
        open_dataset(path).load("reranking")


def test_languages_of_candidates(tmp_path: Path) -> None:
    """Each language is a subset."""
    rows = [
        {"query": lang, "text": text, "label": gain, "lang": lang}
        for lang in ("en", "fr")
        for text, gain in (("a", 1), ("b", 0))
    ]
    subsets = open_dataset(_write(tmp_path / "f.jsonl", *rows)).subsets("reranking")
    assert {lang: one.load("reranking").data.queries for lang, one in subsets.items()} == {
        "en": (("en",),),
        "fr": (("fr",),),
    }
