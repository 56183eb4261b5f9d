"""What annotators are told."""

from __future__ import annotations

import pytest

from embassay.protocols.hume.sampling.draws import (
    builtin_practice_items,
    make_groups_practice_item,
    make_label_practice_item,
    make_marks_practice_item,
    make_rating_practice_item,
)
from embassay.protocols.hume.sampling.options import (
    QUESTIONS,
    LabelWordAndMeaning,
    complete_rating_scale,
    make_guidelines,
    make_label_choices_in_vote_order,
)
from embassay.protocols.hume.study import FAMILIES, Family, LabelChoice, PracticeItem, RatingScale


@pytest.mark.parametrize("family", FAMILIES)
def test_guidelines_have_no_places_left_open(family: Family) -> None:
    """Labels and levels stand in the text, and every family has a question."""
    text = make_guidelines(family, make_label_choices_in_vote_order(["x", "y"], {}), complete_rating_scale(None))
    assert text.strip() == text.rstrip()
    assert "$" not in text
    assert "alone" in text
    assert QUESTIONS[family].endswith("?")


def test_guidelines_name_every_label_and_level() -> None:
    """One line each, with the description where there is one; the number of groups is not told."""
    text = make_guidelines(
        "classification",
        make_label_choices_in_vote_order(["0", "1"], {"1": LabelWordAndMeaning(name="joy", description="Glad.")}),
    )
    assert "- **0**\n- **joy**: Glad.\n" in text
    rated = make_guidelines("sts", scale=complete_rating_scale(None))
    assert [rated.count(f"- **{level}**: ") for level in range(6)] == [1] * 6
    assert rated.count("Example: ") == 6
    assert "from 0 to 5" in rated
    own = make_guidelines("sts", scale=RatingScale(anchors={"0": "nothing", "5": "all"}))
    assert "- **0**: nothing\n- **5**: all\n" in own
    assert "up to you" in make_guidelines("clustering")


def test_order_of_labels() -> None:
    """Numbers by size, texts by their letters: a tied vote goes to the first."""
    assert [one.value for one in make_label_choices_in_vote_order(["10", "2", "1"], {})] == ["1", "2", "10"]
    assert [one.value for one in make_label_choices_in_vote_order(["b", "10", "2"], {})] == ["10", "2", "b"]
    assert make_label_choices_in_vote_order(["card_arrival"], {})[0].name == "card arrival"


def test_scales() -> None:
    """Our words on 0 to 5, own ones as they are, only the ends on another scale."""
    assert len(complete_rating_scale(RatingScale(step=0.5)).anchors) == 6
    assert complete_rating_scale(RatingScale(low=1, high=4)).anchors.keys() == {"1", "4"}
    assert complete_rating_scale(RatingScale(anchors={"0": "no"})).anchors == {"0": "no"}


@pytest.mark.parametrize(("family", "n"), [("sts", 3), ("reranking", 3), ("clustering", 1), ("classification", 0)])
def test_own_practice(family: Family, n: int) -> None:
    """Ours fit the shapes of the items; a classification has labels of its own."""
    found = builtin_practice_items(family)
    assert len(found) == n
    assert all(one.explanation for one in found)
    for one in found:
        many = one.payload.get("documents") or one.payload.get("texts")
        assert many is None or len(one.answer) == len(many)


def test_practice_of_the_data() -> None:
    """The answer is one that can be given, the explanation says what the data have."""
    joy = LabelChoice(value="1", name="joy", description="Glad.")
    assert make_label_practice_item("yes!", joy) == PracticeItem(
        payload={"text": "yes!"}, answer="1", explanation="In the data, the label is joy. Glad."
    )
    rated = make_rating_practice_item("a", "b", 3.4, complete_rating_scale(None))
    assert rated.answer == 3.0
    assert rated.explanation.startswith("In the data, the rating is 3.4, which is nearest to 3. Roughly")
    assert (
        make_rating_practice_item("a", "b", 3.5, complete_rating_scale(RatingScale(step=0.5))).explanation.count(
            "nearest"
        )
        == 0
    )
    marks = make_marks_practice_item({"query": "q", "documents": []}, [1, 0, 1])
    assert "documents 1 and 3 are relevant" in marks.explanation
    groups = make_groups_practice_item(["a", "b", "c"], ["secret", "other", "secret"])
    assert groups.answer == ["1", "2", "1"]
    assert "secret" not in groups.model_dump_json()
