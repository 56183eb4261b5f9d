"""JSON in answers, and thinking before them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from embassay.contracts import ChatMessage
from embassay.systems.chat.answers import (
    UnfitAnswerError,
    extract_answer_json,
    extract_first_code_fence,
    strip_code_fence,
    strip_tagged_blocks,
    strip_thinking,
)
from embassay.systems.chat.server import (
    add_schema_in_words,
    can_schema_be_enforced_strictly,
    make_closed_json_schema,
    parse_schema_answer,
)


class Inner(BaseModel):
    word: str


class Grade(BaseModel):
    grade: int = Field(ge=0, le=4)
    inner: Inner


class Loose(BaseModel):
    grade: int = 3


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("an answer", "an answer"),
        ("<think>hm</think>\n\nan answer ", "an answer"),
        ("<THINKING>a\nb</THINKING><think>c</think>an answer", "an answer"),
        ("hm, so</think>an answer", "an answer"),
        ("<think>never ends", ""),
        ("<think></think>", ""),
        ("use <think> and </think> for it", "use <think> and </think> for it"),
    ],
)
def test_thinking_is_taken_off(text, answer):
    """Closed, unclosed, never opened; tags inside an answer stay."""
    assert strip_thinking(text) == answer


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": [1, {"b": "}"}]}\n```', '{"a": [1, {"b": "}"}]}'),
        ('The {answer} is: [1, 2] or so {"b": 1}', "[1, 2]"),
    ],
)
def test_json_is_found(text, found):
    """In a fence, among words, with braces in strings; the first that is whole."""
    assert extract_answer_json(text) == found


@pytest.mark.parametrize("text", ["", "no", '{"a": 1', "{a}"])
def test_no_json(text):
    """Is unfit."""
    with pytest.raises(UnfitAnswerError):
        extract_answer_json(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```json\n{}\n```", "{}"),
        (" ```\n5``` ", "5"),
        ("``````", ""),
        ("`````", "`````"),
        ("```a``` and ```b```", "a``` and ```b"),
        ("Here: ```5```", "Here: ```5```"),
        ("```json 5", "```json 5"),
    ],
)
def test_a_fence_around_the_whole(text, inner):
    """Is taken off; one that is not around the whole, or not closed, stays."""
    assert strip_code_fence(text) == inner


@pytest.mark.parametrize(
    ("text", "inner"),
    [("So: ```python\nx\n``` or ```y```", "x"), ("```json```", ""), ("``` 5", None), ("no fence", None)],
)
def test_the_first_fence(text, inner):
    """Without the name of its language; None where none is closed."""
    assert extract_first_code_fence(text) == inner


def test_blocks_are_taken_out_anywhere():
    """Of the tags that are asked for."""
    assert strip_tagged_blocks("a <think>b</THINK>c <thought>d</thought>", ["think"]) == "a c <thought>d</thought>"
    assert strip_tagged_blocks("<think>a<thought>b</think>c") == "c"


def test_what_does_not_fit_is_said():
    """Field by field, so that the model can mend it."""
    assert parse_schema_answer('{"grade": 3, "inner": {"word": "x"}}', Grade) == Grade(grade=3, inner=Inner(word="x"))
    with pytest.raises(
        UnfitAnswerError, match=r"grade: Input should be less than or equal to 4.*inner: Field required"
    ):
        parse_schema_answer('{"grade": 7}', Grade)


def test_schemas_are_closed_and_known_to_be_strict():
    """Every object names its fields; one with a default cannot be held to the letter."""
    schema = make_closed_json_schema(Grade)
    assert schema["additionalProperties"] is schema["$defs"]["Inner"]["additionalProperties"] is False
    assert can_schema_be_enforced_strictly(schema)
    assert not can_schema_be_enforced_strictly(make_closed_json_schema(Loose))


def test_a_schema_in_words():
    """Joins the system message, or becomes one."""
    told = add_schema_in_words([ChatMessage("system", "Be brief."), ChatMessage("user", "?")], {"type": "object"})
    assert told[0].content.startswith("Be brief.\n\nAnswer with one JSON object")
    assert [one.role for one in add_schema_in_words([ChatMessage("user", "?")], {})] == ["system", "user"]
