"""Functions as retrievers: what they are called with, and what they give."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.remote import run_in_remote_loop_and_wait
from embassay.systems.retrievers import RetrieverRequestLimits, convert_retriever_answer_to_json, open_retriever
from embassay.systems.retrievers.function import FunctionRetriever

ONCE = RetrieverRequestLimits(1, attempts=1)


def answer(function: object, depth: int = 3, manners: RetrieverRequestLimits = ONCE) -> object:
    retriever = FunctionRetriever(function, depth, "here:function", manners)  # type: ignore[arg-type]
    return run_in_remote_loop_and_wait(lambda: retriever.ask("How long?")).value


def test_it_is_told_the_depth_where_it_wants_to_know() -> None:
    """By whatever name; a function of the question alone is called with that."""
    assert answer(lambda question, top_k: [question] * top_k) == ["How long?"] * 3
    assert answer(lambda question, limit=10: [limit]) == [3]
    assert answer(lambda question, other=10: [other]) == [10]
    assert answer(lambda question: [question]) == ["How long?"]


def test_coroutines_and_those_who_give_one() -> None:
    """Both are waited for."""

    async def search(question: str) -> list[str]:
        await asyncio.sleep(0)
        return [question]

    assert answer(search) == ["How long?"]
    assert answer(lambda question: search(question)) == ["How long?"]


def test_a_function_that_is_not_told_to_bear_more_is_asked_one_at_a_time(tmp_path: Path) -> None:
    """Unless it is a coroutine, or its spec says so."""
    (tmp_path / "mine.py").write_text("def find(q): return []\nasync def also(q): return []\n")
    opened = {
        spec: open_retriever(f"mine.py:{spec}", 5, base=tmp_path).manners.concurrency
        for spec in ("find", "also", "find?concurrency=8")
    }
    assert opened == {"find": 1, "also": 4, "find?concurrency=8": 8}


class Hit(NamedTuple):
    id: str
    score: float


@dataclass
class Node:
    name: str

    def to_dict(self) -> dict[str, str]:
        return {"id_": self.name}


def test_what_functions_give_becomes_json() -> None:
    """Pairs, arrays, objects that can write themselves."""
    assert convert_retriever_answer_to_json([("d7", 0.5), "d2"]) == [["d7", 0.5], "d2"]
    assert convert_retriever_answer_to_json(np.array(["d1", "d2"])) == ["d1", "d2"]
    assert convert_retriever_answer_to_json([(np.int64(7), np.float32(0.5))]) == [[7, 0.5]]
    assert convert_retriever_answer_to_json([Hit("d1", 0.25)]) == [["d1", 0.25]]
    assert convert_retriever_answer_to_json(Node(name) for name in "ab") == [{"id_": "a"}, {"id_": "b"}]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda question: None, "None"),
        (lambda question: object(), "object"),
        (lambda question: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_its_reason(function: object, reason: str) -> None:
    """Never an empty list; where it is in their file is told."""
    with pytest.raises(ModelError, match=reason) as raised:
        answer(function)
    if reason == "ZeroDivisionError":
        assert "test_function.py, line" in str(raised.value)


def test_a_failure_that_passes_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as its manners say."""
    calls: list[str] = []

    def search(question: str) -> list[str]:
        calls.append(question)
        if len(calls) < 3:
            raise RuntimeError("shard lost")
        return ["d1"]

    monkeypatch.setattr("embassay.systems.remote.calls._LONGEST_BACKOFF", 0.001)
    assert answer(search, manners=RetrieverRequestLimits(1, attempts=3)) == ["d1"]
    assert len(calls) == 3


def test_one_that_hangs_is_left() -> None:
    """After its time; nothing waits for its thread."""
    held = threading.Event()
    with pytest.raises(ModelError, match="no answer in time"):
        answer(lambda question: held.wait(), manners=RetrieverRequestLimits(1, timeout=0.05, attempts=1))
    held.set()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("nowhere_at_all:find", "nowhere_at_all"),
        ("mine.py:nothing", "nothing"),
        ("mine.py:number", "not a function"),
        ("broken.py:find", "broken.py, line 2"),
        ("absent.py:find", "there is no file absent.py"),
        ("mine.py:find?speed=3", "speed"),
        ("mine.py:find?concurrency=many", "whole number"),
        ("just-a-name", "is not a retriever"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, spec: str, reason: str) -> None:
    """Says which part of it is at fault, and where in their file."""
    (tmp_path / "mine.py").write_text("number = 3\ndef find(question): return []\n")
    (tmp_path / "broken.py").write_text("\nraise ValueError('no key')\n")
    with pytest.raises(UsageError, match=reason.replace(".", r"\.")):
        open_retriever(spec, 5, base=tmp_path)
