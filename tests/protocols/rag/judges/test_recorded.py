"""Answers from a file."""

from __future__ import annotations

import asyncio
import json

import pytest

from embassay.errors import DataError, Unanswered, UsageError
from embassay.protocols.rag.judges import Passage, Question, open_judge

Q = Question("1", "Why?")
A, B, C = (Passage(name, name) for name in "abc")


@pytest.fixture
def recorded(tmp_path):
    """A judge of these lines."""

    def make(*rows, more=""):
        path = tmp_path / "said.jsonl"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return open_judge(f"recorded:{path}{more}")

    return make


def said(doc, grade=None, **more):
    return {"query_id": "1", "doc_id": doc, **({} if grade is None else {"grade": grade}), **more}


def grade(judge, passage, question=Q, **more):
    return asyncio.run(judge.grade(question, passage, **more)).grade


def order(judge, *passages, **more):
    found = asyncio.run(judge.order(Q, passages, **more)).order
    return "".join(passages[place].id for place in found)


def test_grades_and_orders_by_score_or_place(recorded):
    """Whatever is shown and however."""
    judge = recorded(said("a", 3, score=0.5), said("b", 5, score=0.9), said("c", 3, score=0.7))
    assert [grade(judge, one) for one in (A, B, C)] == [3, 5, 3]
    assert order(judge, A, B, C) == order(judge, C, A, B) == "bca"
    judge = recorded(said("a", place=3), said("b", place=1), said("c", place=2))
    assert order(judge, A, B, C) == "bca"
    assert order(judge, A, C) == "ca"


def test_an_order_of_just_these(recorded):
    """A recorded list goes before scores."""
    judge = recorded({"query_id": "1", "order": ["a", "c"]}, said("a", score=1), said("b", score=3), said("c", score=2))
    assert order(judge, A, C) == order(judge, C, A) == "ac"
    assert order(judge, A, B, C) == "bca"


def test_what_is_not_recorded_is_unanswered(recorded):
    """Unless a grade stands in for it, or grades for an order."""
    judge = recorded(said("a", 5), said("b", 2))
    for ask in (lambda: grade(judge, C), lambda: grade(judge, A, Question("2", "?")), lambda: order(judge, A, B)):
        with pytest.raises(Unanswered, match="for the question"):
            ask()
    judge = recorded(said("a", 5), said("b", 2), more="?unjudged=1&orders=grades")
    assert grade(judge, C) == 1
    assert order(judge, C, B, A) == "abc"
    assert order(judge, C, Passage("d", ""), A) == "acd"


def test_repeats(recorded):
    """Where they were recorded they are other answers; else there is but the one."""
    judge = recorded(said("a", 5), said("a", 4, draw=1), said("b", 2))
    assert judge.repeats
    assert [grade(judge, A, draw=draw) for draw in (0, 1, 2)] == [5, 4, 5]
    assert grade(judge, B, draw=1) == 2
    assert not recorded(said("a", 5)).repeats
    judge = recorded({"query_id": "1", "order": ["a", "b"]}, {"query_id": "1", "order": ["b", "a"], "draw": 1})
    assert [order(judge, A, B, draw=draw) for draw in (0, 1, 1000)] == ["ab", "ba", "ba"]


def test_names_and_identities(recorded):
    """What was said makes the identity, not where it stands."""
    one = recorded(said("a", 5), said("b", 4))
    other = recorded(said("b", 4), said("a", 5))
    assert one.identity == other.identity != recorded(said("a", 5)).identity
    judge = recorded(said("a", 5), more="?unjudged=2")
    assert judge.name.endswith("said.jsonl?unjudged=2")
    assert open_judge(judge.name).identity == judge.identity


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([said("a", 6)], "1: .*'grade'"), ([said("a", 3.5)], "'grade'"), ([said("a", True)], "'grade'"),
        ([said("a", "five")], "'grade'"), ([said("a")], "a grade, a score, a place or an order"),
        ([said("a", 5), said("a", 4)], "2: .*two different answers"), ([{"doc_id": "a", "grade": 4}], "'query_id'"),
        ([{"query_id": "1", "order": "a, b"}], "'order'"), ([said("a", 5, draw=-1)], "'draw'"),
        ([{"query_id": "1", "order": ["a", "a"]}], "each document once"), ([said("a", 5), "{broken"], "2: "),
        ([{"query_id": "1", "grade": 4}], "'doc_id'"),
    ],
)  # fmt: skip
def test_lines_that_say_nothing(recorded, rows, what):
    """Are named, with what was expected."""
    with pytest.raises(DataError, match=what):
        recorded(*rows)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(UsageError, match="needs a file"):
        open_judge("recorded")
    with pytest.raises(DataError, match="cannot be read"):
        open_judge(f"recorded:{tmp_path / 'none.jsonl'}")
    (tmp_path / "one.jsonl").write_text(json.dumps(said("a", 5)) + "\n")
    with pytest.raises(UsageError, match="unjudged"):
        open_judge(f"recorded:{tmp_path / 'one.jsonl'}?unjudged=7")
