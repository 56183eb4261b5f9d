"""What a wording may not do: answer, ask back, speak of itself, lose or add a slot; and what is a copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.pteb.checks import (
    count_numbers_by_value,
    describe_lost_number_or_name,
    explain_wording_as_answer,
    find_proper_names,
    is_near_copy,
    is_question,
)
from embassay.protocols.pteb.paraphrasing import make_paraphrase_verdict_of_answer
from embassay.protocols.wordings.records import (
    ParaphraseOutcome,
    ParaphraseSamplingAndRetryOptions,
    make_wording_quality_rows,
)

ASKED = "what is the number of my library card"


@pytest.mark.parametrize(
    ("wording", "why"),
    [
        ("the number of your library card is 4711", "asks back"),
        ("it is printed on the back", "a statement instead of a question"),
        ("im sorry but i do not have access to library cards", "responds like an assistant"),
        ("which library are you referring to", "asks back"),
        ("could you please provide more details about the card", "responds like an assistant"),
        ("Paraphrase: what number does my library card have?", "talks about itself"),
        ("What number has my card? (Note: the meaning is kept)", "talks about itself"),
    ],
)
def test_answers_in_place_of_a_wording(wording, why):
    """Each in the words of its fault; with `meaning` the gate rejects it, without it does not look."""
    assert why in explain_wording_as_answer(ASKED, wording)
    assert make_paraphrase_verdict_of_answer(ASKED, wording, lang="en", meaning=True).outcome == "answered"
    assert make_paraphrase_verdict_of_answer(ASKED, wording, lang="en").outcome in ("ok", "refused")


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        (ASKED, "please tell me my library card's number"), (ASKED, "i need my library card number"),
        (ASKED, "my library card has which number?"), ("tell me the time", "what time is it"),
        ("How can I help you?", "What may I do for you?"), ("The fox sleeps.", "The fox is asleep."),
        ("Please give your name.", "Kindly state your name."),
    ],
)  # fmt: skip
def test_wordings_are_let_through(text, wording):
    """Questions as requests and the other way round, and what speaks to somebody as its text does."""
    assert explain_wording_as_answer(text, wording) == ""


def test_numbers_are_compared_by_value():
    """Digits, words and ordinals; what is also a word is none."""
    assert count_numbers_by_value("on May 21st at 07:05") == count_numbers_by_value(
        "at seven past five on the twenty-first"
    ) | {"5": 1}
    assert not count_numbers_by_value("one first second, none of them")
    assert describe_lost_number_or_name("a table for nine", "a table for 9 people") == ""
    assert "'9' is missing" in describe_lost_number_or_name("a table for nine", "a table for several")
    assert "'4' was added" in describe_lost_number_or_name("a table for nine", "a table for nine at 4")


def test_names_may_change_their_case_and_no_more():
    """Short abbreviations may be written out; the first word of a sentence is no name."""
    assert find_proper_names("Rain in Osage City, OH. Will it?") == {"osage", "city"}
    assert describe_lost_number_or_name("Will it rain in Osage, OH?", "is rain likely in osage ohio") == ""
    assert "'osage' is missing" in describe_lost_number_or_name("Will it rain in Osage?", "will it rain there")
    assert "'texas' was added" in describe_lost_number_or_name(
        "Will it rain in Osage?", "Will it rain in Osage, Texas?"
    )
    assert describe_lost_number_or_name("will it rain", "Will Bill Get Wet") == ""
    assert (
        make_paraphrase_verdict_of_answer("Will it rain in Osage?", "Will it be wet?", lang="en", meaning=True).outcome
        == "slot lost"
    )


def test_copies_but_for_signs():
    """Are copies, which are usable and counted."""
    assert is_near_copy("Will it rain in  Rome ?", "will it rain, in Rome!")
    assert make_paraphrase_verdict_of_answer("Will it rain in  Rome ?", "Will it rain in Rome?").outcome == "copied"
    assert not is_near_copy("Will it rain?", "Will it rain here?")


def test_rows_of_meaning_are_there_where_it_was_looked_at():
    """And a manifest of a run without it is as it was."""
    rows = [ParaphraseOutcome("a text", "en", "", "", "answered", "why", rejected="answered;slot lost")]
    found = {row.measure for row in make_wording_quality_rows(rows, dataset="d", system="s", variant="", seed=1)}
    assert {"failed:answered", "rejected:answered", "rejected:slot lost"} <= found
    assert "failed:slot lost" not in found
    assert "meaning" not in ParaphraseSamplingAndRetryOptions().as_dict()
    assert ParaphraseSamplingAndRetryOptions(meaning=True).as_dict()["meaning"] is True


@given(st.text(max_size=80))
def test_a_text_is_no_fault_of_its_own(text):
    """The same again answers nothing and loses nothing."""
    assert explain_wording_as_answer(text, text) == ""
    assert describe_lost_number_or_name(text, text) == ""
    assert is_near_copy(text, text)
    assert is_question(text) == is_question(text.strip())
