"""What documents ask of themselves: every question has its answer left, and is itself taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.text.questions import KINDS, TitledPassage, make_pseudo_questions

REST = "It has many more words than anybody would need to find it again here."
PASSAGES = (
    TitledPassage("a#1", f"# Night baking\n\nBread is baked here at night by six. {REST}", "Night baking", "a"),
    TitledPassage("a#2", f"## Sour dough\n\nThe dough rests for a whole day. {REST}", "Night baking > Sour dough", "a"),
    TitledPassage("b#1", f"## How do I get my money back?\n\nWrite to the shop within five days. {REST}", "Shop", "b"),
    TitledPassage(
        "c#1", f"## Sour dough\n\nAnother bakery rests it only for hours. {REST}", "Day baking > Sour dough", "c"
    ),
)


def asked(kind: str, **how: object) -> list[tuple[str, tuple[str, ...]]]:
    found = make_pseudo_questions(PASSAGES, kinds=[kind], **how)  # type: ignore[arg-type]
    return [(one.text, one.answers) for one in found.questions]


def test_titles_find_all_passages_of_a_document() -> None:
    """One word is no question."""
    assert asked("title") == [("Night baking", ("a#1", "a#2")), ("Day baking", ("c#1",))]


def test_headings_in_two_places_ask_nothing() -> None:
    assert asked("heading") == []
    assert make_pseudo_questions(PASSAGES, kinds=["heading"]).rejected == {"heading": {"in two places": 2}}


def test_questions_find_what_follows_them() -> None:
    assert asked("faq") == [("How do I get my money back?", ("b#1",))]


def test_sentences_are_taken_out() -> None:
    """The sentence that all have is nobody's; a passage that is to stay whole gives none."""
    found = asked("sentence")
    assert ("Bread is baked here at night by six.", ("a#1",)) in found
    assert all(text != REST for text, _ in found)
    assert ("a#1",) not in [answers for _, answers in asked("sentence", whole={"a#1"})]


def test_what_is_asked_is_gone_and_enough_is_left() -> None:
    found = make_pseudo_questions(PASSAGES)
    after = {one.id: one for one in found.passages}
    before = {one.id: one for one in PASSAGES}
    for one in found.questions:
        assert all(one.text not in after[key].full_text for key in one.answers)
        assert len(after[one.answers[0]].body.split()) >= 8
        if one.start is not None:
            assert before[one.answers[0]].body[one.start : one.end] == one.text


def test_a_kind_that_is_none() -> None:
    with pytest.raises(UsageError, match="no kind"):
        make_pseudo_questions(PASSAGES, kinds=["facts"])


@given(st.permutations(PASSAGES), st.integers(0, 5))
def test_the_draw_depends_on_ids_alone(passages: list[TitledPassage], seed: int) -> None:
    """Not on the order of the files."""
    first = make_pseudo_questions(PASSAGES, limit=1, seed=seed)
    other = make_pseudo_questions(passages, limit=1, seed=seed)
    assert {(one.kind, one.text) for one in first.questions if one.kind in KINDS[2:]} == {
        (one.kind, one.text) for one in other.questions if one.kind in KINDS[2:]
    }


@given(st.lists(st.text("ab .?\n#-|", max_size=120), max_size=6))
def test_any_text_is_borne(bodies: list[str]) -> None:
    passages = [TitledPassage(f"d#{place}", body, "x y > z w", "d") for place, body in enumerate(bodies)]
    found = make_pseudo_questions(passages)
    assert [one.id for one in found.passages] == [one.id for one in passages]
