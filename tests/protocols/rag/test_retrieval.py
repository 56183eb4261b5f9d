"""Rankings of systems as run files: what is found, fused and written, ties in the order given."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.scoring.inputs import fuse_runs, retrieve_passages, write_trec
from embassay.text import open_tokenizer

PASSAGES = {"a": "jet noise near the nozzle", "b": "bread and cheese", "c": "noise of a jet in flight"}
QUESTIONS = {"q1": "jet noise", "q2": "cheese"}


def test_retrieve() -> None:
    """As many passages as were asked for, best first, by id."""
    run = retrieve_passages("bm25", PASSAGES, QUESTIONS, 2, tokenizer=open_tokenizer("words"))
    assert {key for key, _ in run["q1"]} == {"a", "c"}
    assert run["q2"][0][0] == "b"
    assert len(retrieve_passages("bm25", PASSAGES, QUESTIONS, 9, tokenizer=open_tokenizer("words"))["q1"]) == 3


def test_fused() -> None:
    """By reciprocal rank, the first k."""
    one, two = {"q": [("a", 3.0), ("b", 2.0)]}, {"q": [("b", 9.0), ("c", 1.0)]}
    assert [key for key, _ in fuse_runs([one, two], 2)["q"]] == ["b", "a"]


def test_written_runs_keep_their_order(tmp_path: Path) -> None:
    """Equal scores are told apart, so that readers who go by scores see the same ranking."""
    path = write_trec(tmp_path / "runs" / "x.trec", "x", {"q": [("b", 1.0), ("a", 1.0), ("c", 1.0), ("d", 0.5)]})
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    assert [(row[0], row[2], row[3], row[5]) for row in rows] == [
        ("q", key, str(rank), "x") for rank, key in enumerate("bacd", 1)
    ]
    scores = [float(row[4]) for row in rows]
    assert scores == sorted(set(scores), reverse=True)


def test_ids_that_the_format_cannot_hold(tmp_path: Path) -> None:
    """They are refused."""
    with pytest.raises(UsageError, match="without spaces"):
        write_trec(tmp_path / "x.trec", "x", {"q": [("a b", 1.0)]})
