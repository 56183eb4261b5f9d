"""Machine summaries with ratings and references, and paraphrases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError


def _write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_nested_and_flat_are_the_same(tmp_path: Path) -> None:
    """One row per text as MTEB has it, or one per machine summary."""
    nested = _write(
        tmp_path / "n.jsonl",
        {"text": "t", "human_summaries": ["h", "i"], "machine_summaries": ["m", "n"], "relevance": [1, 4.5]},
    )
    mapping = {"references": "human_summaries", "summaries": "machine_summaries"}
    flat = [
        {"doc_id": 1, "text": "t", "references": ["h", "i"], "summary": summary, "relevance": relevance}
        for summary, relevance in (("m", 1), ("n", 4.5))
    ]
    loaded = [
        open_dataset(nested, mapping=mapping).load("summaries").data,
        open_dataset(_write(tmp_path / "f.jsonl", *flat)).load("summaries").data,
    ]
    for data in loaded:
        assert (data.ids, data.texts, data.references) == (("1",), ("t",), (("h", "i"),))
        assert (data.summaries, data.relevance[0].tolist()) == ((("m", "n"),), [1.0, 4.5])


def test_a_rated_summary_is_not_one_to_compare_documents_with(tmp_path: Path) -> None:
    """Sixteen rows of one document are not sixteen documents."""
    row = {"text": "t", "references": "h", "summary": "m", "relevance": 1}
    assert open_dataset(_write(tmp_path / "f.jsonl", row)).shapes() == ("summaries",)


def test_what_is_left_out(tmp_path: Path) -> None:
    """Summaries that are blank or not rated, and texts without either kind."""
    rows = [
        {"text": "t", "references": ["h"], "summaries": ["", "m", "n"], "relevance": [1, None, 2]},
        {"text": "u", "references": [], "summaries": ["m"], "relevance": [1]},
        {"text": "v", "references": ["h"], "summaries": [], "relevance": []},
        {"text": None, "references": ["h"], "summaries": ["m"], "relevance": [1]},
    ]
    loaded = open_dataset(_write(tmp_path / "n.jsonl", *rows)).load("summaries")
    assert loaded.data.summaries == (("n",),)
    assert {left.reason: left.count for left in loaded.skipped} == {
        "summaries without text": 1,
        "summaries without a rating": 1,
        "texts without a reference": 1,
        "texts without a rated summary": 1,
        "no text": 1,
    }


def test_ratings_must_match(tmp_path: Path) -> None:
    """One rating per summary."""
    row = {"text": "t", "references": ["h"], "summaries": ["m", "n"], "relevance": [1]}
    with pytest.raises(DataError, match=r"n.jsonl:1: .*expected a list of 2 numbers, one per summary"):
        open_dataset(_write(tmp_path / "n.jsonl", row)).load("summaries")


def test_paraphrases(tmp_path: Path) -> None:
    """Every text once, of pairs both; the fewest wordings say how many runs there can be."""
    path = _write(
        tmp_path / "p.jsonl",
        {"text": "a", "paraphrases": ["b", "c"], "text2": "d", "paraphrases2": ["e"]},
        {"text": "a", "paraphrases": ["b", "c"], "text2": "f", "paraphrases2": []},
    )
    loaded = open_dataset(path).load("paraphrases")
    assert loaded.data.map_text_to_wordings() == {"a": ("b", "c"), "d": ("e",)}
    assert (len(loaded.data), loaded.data.runs) == (2, 1)
    assert [(left.reason, left.count) for left in loaded.skipped] == [("no paraphrases2", 1)]


def test_paraphrases_that_disagree(tmp_path: Path) -> None:
    """A text has one list of wordings."""
    rows = ({"text": "a", "paraphrases": [other]} for other in "bc")
    with pytest.raises(DataError, match=r"p.jsonl:2: the text 'a' appeared earlier with different"):
        open_dataset(_write(tmp_path / "p.jsonl", *rows)).load("paraphrases")
