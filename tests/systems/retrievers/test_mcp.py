"""Tools of an MCP server as retrievers, in real processes of the official SDK."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.remote import run_in_remote_loop_and_wait
from embassay.systems.retrievers import open_retriever
from embassay.systems.retrievers.mcp import find_question_argument, parse_tool_answer_parts_as_json
from stub.retrieving import find

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("mcp") is None, reason="needs the mcp extra")]
SERVER = f"{sys.executable} {Path(__file__).parents[2] / 'stub' / 'tools.py'}"
QUESTION = "When does the bus leave?"


@pytest.mark.parametrize("tool", ["search", "search_texts"])
def test_a_tool_is_asked_for_as_many_as_are_wanted(tool: str) -> None:
    """Whatever it calls its arguments, and whether it gives a list or a text with one."""
    retriever = open_retriever(f"mcp:{SERVER}#{tool}", 3)
    try:
        answer = run_in_remote_loop_and_wait(lambda: retriever.ask(QUESTION)).value
    finally:
        run_in_remote_loop_and_wait(retriever.close)
    assert [hit["id"] if isinstance(hit, dict) else hit for hit in answer] == find(QUESTION, 3)


def test_a_tool_that_fails_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words of the tool."""
    monkeypatch.setattr("embassay.systems.remote.calls._LONGEST_BACKOFF", 0.001)
    retriever = open_retriever(f"mcp:{SERVER}#failing", 3)
    try:
        with pytest.raises(ModelError, match="no index for"):
            run_in_remote_loop_and_wait(lambda: retriever.ask(QUESTION))
    finally:
        run_in_remote_loop_and_wait(retriever.close)


@pytest.mark.parametrize(
    ("target", "kind", "reason"),
    [
        (f"{SERVER}#nothing", UsageError, "It has search, search_texts"),
        (f"{SERVER}#ambiguous", UsageError, "left, right"),
        (f"{sys.executable} -c pass#search", ModelError, "cannot be used"),
        ("no-such-command-here#search", ModelError, "cannot be used"),
        ("only-a-command", UsageError, "does not name"),
    ],
)
def test_what_cannot_be_used(target: str, kind: type[Exception], reason: str) -> None:
    """A tool that is not there, one whose question cannot be told, a server that ends."""
    with pytest.raises(kind, match=reason):
        open_retriever(f"mcp:{target}", 3)


def test_the_question_is_found_among_the_arguments() -> None:
    """By a usual name before the only text."""
    text = {"type": "string"}
    assert find_question_argument({"tenant": text, "query": text}, ["tenant"]) == "query"
    assert find_question_argument({"tenant": text, "needle": text}, ["needle"]) == "needle"


def test_texts_are_documents_unless_they_are_json() -> None:
    """Several parts are several documents."""
    assert parse_tool_answer_parts_as_json(['{"hits": []}']) == {"hits": []}
    assert parse_tool_answer_parts_as_json(["One.", "Two."]) == ["One.", "Two."]
    assert parse_tool_answer_parts_as_json(['{"id": "a"}', '{"id": "b"}']) == [{"id": "a"}, {"id": "b"}]
