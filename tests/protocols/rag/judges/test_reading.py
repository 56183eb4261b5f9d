"""What counts as a grade and as an order, and what is wrong with everything else."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.kernel.inputs import make_letter_labels
from embassay.protocols.rag.judges.chat import (
    CompletedPassageOrder,
    MalformedJudgement,
    parse_grade_answer,
    parse_order_answer,
    parse_partial_order_answer,
)

GRADES = {
    '{"grade": 4}': 4, 'The grade is {"grade": 3}.': 3, 'Sure!\n```json\n{"grade": 2}\n```': 2,
    ' {"grade":1}\n': 1, '```json\n{"grade": 5}\n```': 5, '```\n{"grade": 2}```': 2,
}  # fmt: skip
NO_GRADES = {
    '{"grade": true}': "truth value: true",
    '{"grade": 0}': "out of range: 0",
    '{"grade": 6}': "out of range: 6",
    '{"grade": -3}': "out of range: -3",
    '{"grade": 3.5}': "not a whole number: 3.5",
    '{"grade": 4.0}': "not a whole number: 4.0",
    '{"grade": NaN}': "not a whole number: NaN",
    '{"grade": null}': "not a whole number: null",
    '{"grade": {"value": 4}}': "not a whole number",
    '{"grade": "4"}': 'text instead of a grade: "4"',
    '{"grade": [4, 5]}': "several grades: [4, 5]",
    '{"grade": 4, "grade": 2}': "several grades: [4, 2]",
    '{"grade": 4, "why": "it says so"}': "more keys than requested: why",
    '{"rating": 4}': "no grade: rating",
    "{}": "no grade: an empty object",
    "4": "a number without a key: 4",
    "[4]": "no JSON object: [4]",
    "true": "no JSON object: true",
    "": "empty",
    "``````": "empty",
    'It is {"grade": 4} or {"grade": 5}.': 'text around the JSON: It is {"grade": 4} or {"grade": 5}.',
    '{"grade": 4}{"grade": 2}': "text around the JSON",
    '{"grade": ': "broken or cut JSON",
    '{"grade": 4': "broken or cut JSON",
    "I'm sorry, but I can't help with that.": "no JSON: I'm sorry",
    '{"grade": ٤}': "broken or cut JSON",
    '{"grade": ' + "[" * 100_000: "broken or cut JSON",
    '{"grade": ' + "9" * 5_000 + "}": "",
}
ORDERS = {'{"order": ["B", "A", "C"]}': (1, 0, 2), '```json\n{"order": ["A", "B", "C"]}\n```': (0, 1, 2)}
NO_ORDERS = {
    '{"order": ["A", "B"]}': "missing label: C",
    '{"order": []}': "missing label: A, B, C",
    '{"order": ["A", "B", "B"]}': "repeated label: B",
    '{"order": ["A", "B", "C", "A"]}': "repeated label: A",
    '{"order": ["A", "B", "D"]}': "unknown label: D",
    '{"order": ["a", "b", "c"]}': "unknown label: a",
    '{"order": [1, 2, 3]}': "not a list of labels: [1, 2, 3]",
    '{"order": [true]}': "not a list of labels",
    '{"order": "A, B, C"}': 'not a list of labels: "A, B, C"',
    '{"order": null}': "not a list of labels: null",
    '{"order": ["A", "B", "C"], "order": ["B", "A", "C"]}': "several orders",
    '["A", "B", "C"]': "no JSON object",
    "B is best, then A.": "no JSON: B is best",
    '{"ranking": ["A", "B", "C"]}': "no order: ranking",
    '{"order": ["A", "B"': "broken or cut JSON",
    "": "empty",
}


@pytest.mark.parametrize(("text", "grade"), GRADES.items())
def test_a_grade(text, grade):
    """The JSON that was asked for; a code fence around it does no harm."""
    assert parse_grade_answer(text) == grade


@pytest.mark.parametrize(("text", "why"), NO_GRADES.items(), ids=lambda text: text[:30])
def test_no_grade(text, why):
    """Nothing is rounded, cut or picked out; what was wrong is said, and in few words."""
    with pytest.raises(MalformedJudgement) as told:
        parse_grade_answer(text)
    assert str(told.value).startswith(why)
    assert str(told.value).startswith(told.value.kind)
    assert len(str(told.value)) < 120


@pytest.mark.parametrize(("text", "order"), ORDERS.items())
def test_an_order(text, order):
    """Every label once, best first."""
    assert parse_order_answer(text, make_letter_labels(3)) == order


@pytest.mark.parametrize(("text", "why"), NO_ORDERS.items(), ids=lambda text: text[:30])
def test_no_order(text, why):
    """An order that is not whole is none."""
    with pytest.raises(MalformedJudgement) as told:
        parse_order_answer(text, make_letter_labels(3))
    assert str(told.value).startswith(why)


@given(st.integers(2, 60).flatmap(lambda n: st.permutations(range(n))))
def test_every_permutation_is_read_as_it_is(order):
    """With as many labels as a prompt may show, repaired or not."""
    names = make_letter_labels(len(order))
    text = json.dumps({"order": [names[place] for place in order]})
    assert parse_order_answer(text, names) == tuple(order)
    assert parse_partial_order_answer(text, names) == CompletedPassageOrder(tuple(order))


@given(st.lists(st.sampled_from([*make_letter_labels(6), "X", ""]), max_size=12))
def test_a_mended_order_is_a_permutation(said):
    """What the answer names comes first and in its order, what it leaves out last and as it was shown."""
    names = make_letter_labels(6)
    text = json.dumps({"order": said})
    named = list(dict.fromkeys(names.index(label) for label in said if label in names))
    if not named:
        with pytest.raises(MalformedJudgement, match="unknown label"):
            parse_partial_order_answer(text, names)
        return
    found = parse_partial_order_answer(text, names)
    assert sorted(found.order) == list(range(6))
    assert list(found.order[: len(named)]) == named
    assert list(found.order[len(named) :]) == sorted(set(range(6)) - set(named))
    assert (found.missing, found.unknown) == (6 - len(named), len(said) - len(named))


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_answer_breaks_the_reader(text):
    """It is a grade from 1 to 5, an order, or MalformedJudgement."""
    with suppress(MalformedJudgement):
        assert parse_grade_answer(text) in (1, 2, 3, 4, 5)
    with suppress(MalformedJudgement):
        assert sorted(parse_order_answer(text, make_letter_labels(3))) == [0, 1, 2]
    with suppress(MalformedJudgement):
        assert sorted(parse_partial_order_answer(text, make_letter_labels(3)).order) == [0, 1, 2]


@given(st.integers(1, 700))
def test_labels_are_distinct(n):
    """However many passages there are."""
    assert len(set(make_letter_labels(n))) == n


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{relevance_score}", "a placeholder"), ("3.0", "a number without a key"),
        ("Relevance Category: 2\n\nThe passage names the river.", "a grade in words"),
        ("I would rate the relevance of this passage as 0.", "a grade in words"),
        ("on a boat " * 40, "repetition"), (",,\n\n,,\n" * 20, "repetition"), ("I cannot judge this.", "no JSON"),
        ("", "empty"),
    ],
)  # fmt: skip
def test_odd_answers_are_refused_by_their_shape(text, kind):
    """So that a list of failures says what a model does wrong."""
    with pytest.raises(MalformedJudgement) as caught:
        parse_grade_answer(text)
    assert caught.value.kind == kind
