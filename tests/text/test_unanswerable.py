"""Questions without an answer: one value changed, that no passage has beside the other words; or of another domain."""

from __future__ import annotations

from embassay.text.unanswerable import (
    PassageWordCoverage,
    draw_questions_unlike_passages,
    find_changeable_values,
    load_off_topic_questions,
    make_unanswerable_questions,
)

PASSAGES = [
    "The ferry Aurora left Bergen in 1987 with 340 passengers on board.",
    "Version 2.4.1 of the timetable was printed for the ferry Borealis.",
    "In spring the harbour master Ingrid Dahl paints the northern pier.",
    "Tickets to Stavanger cost 55 crowns; children under 6 travel free.",
]
QUESTIONS = [
    ("q1", "Which ferry left Bergen in 1987?"),
    ("q2", "What changed in version 2.4.1 of the timetable?"),
    ("q3", "Why does Ingrid Dahl paint the pier?"),
    ("q4", "Do children under 6 travel free?"),
    ("q5", "why are there tickets"),
]


def test_values_of_a_question() -> None:
    """Each piece of text is one value, names at the start of a sentence and in titles are none."""
    text = "Did Ingrid Dahl print 340 copies of 2.4.1 on 3 May 1987?"
    assert [(kind, text[start:end]) for kind, start, end in find_changeable_values(text)] == [
        ("version", "2.4.1"), ("date", "May"), ("date", "1987"), ("number", "340"), ("number", "3"),
        ("entity", "Ingrid Dahl"),
    ]  # fmt: skip
    assert list(find_changeable_values("Rules On Copper Colours")) == []
    assert list(find_changeable_values("the pier")) == []


def test_near_questions_have_one_value_changed_and_no_passage_has_it() -> None:
    """All four kinds come in; a question without a value is counted; the draw depends on the seed and the ids."""
    cover = PassageWordCoverage(PASSAGES)
    made = make_unanswerable_questions(QUESTIONS, cover, 10, seed=1)
    assert made.rejected["no entity, number, date or version"] == 1
    assert {question.value for question in made.questions} >= {"date", "version", "number"}
    before = dict(QUESTIONS)
    for question in made.questions:
        assert question.text == before[question.of].replace(question.was, question.now)
        assert question.now != question.was
        others = cover.list_words_found_in_passages(before[question.of].replace(question.was, ""))
        assert cover.most(others, cover.find_rows_with_words(question.now)) < 0.3
    assert make_unanswerable_questions(QUESTIONS[::-1], cover, 10, seed=1) == made
    assert len(make_unanswerable_questions(QUESTIONS, cover, 2, seed=1).questions) == 2


def test_a_change_that_a_passage_answers_is_not_made() -> None:
    """The corpus has the same sentence with every other number of one digit."""
    passages = [f"Children under {age} travel free on the ferry." for age in range(10)]
    passages += [f"The lamp of pier {number} burns oil at night." for number in range(10, 100)]
    made = make_unanswerable_questions(
        [("q", "Do children under 6 travel free?")], PassageWordCoverage(passages), 5, seed=1
    )
    assert made.questions == ()
    assert made.rejected == {"a passage may answer every changed version": 1}


def test_far_questions_share_few_words_with_any_passage() -> None:
    """Of ours, and of a list of one's own; a question of the same domain is left out and counted."""
    cover = PassageWordCoverage(PASSAGES)
    ours = load_off_topic_questions()
    assert len(set(ours)) == len(ours) > 100
    drawn = draw_questions_unlike_passages(ours, cover, 12, seed=3)
    assert len(drawn.questions) == 12
    mixed = draw_questions_unlike_passages(
        ["Which ferry left Bergen in 1987?", "How long does sourdough rise?"], cover, 5, seed=3
    )
    assert [question.text for question in mixed.questions] == ["How long does sourdough rise?"]
    assert mixed.rejected == {"a passage has most of its words": 1}


def test_cover_weighs_words_by_how_rare_they_are() -> None:
    """ln(1 + 3.5 / 1.5) of 'ferry', which one of four passages has, and ln(1 + 4.5 / 0.5) of an unknown word."""
    cover = PassageWordCoverage(["the ferry sails", "the pier", "the shop", "the mast"])
    assert round(cover.most(["ferry", "zeppelin"]), 4) == round(1.20397 / (1.20397 + 2.30259), 4)
    assert cover.most(["ferry"], cover.find_rows_with_words("pier")) == 0.0
    assert cover.most([]) == 0.0
    assert cover.find_rows_with_words("the ferry").tolist() == [0]
    assert cover.find_rows_with_words("the moon").tolist() == []
