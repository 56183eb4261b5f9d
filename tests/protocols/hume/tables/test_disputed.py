"""The items that annotators disagree on: by family, most disputed first, whatever the order of annotators."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.hume.study import Family, StudyItem
from embassay.protocols.hume.tables import LONGEST, find_most_disputed_items


def items(n: int, **payload: Any) -> list[StudyItem]:
    return [StudyItem(f"i{i}", "t", "eng", payload or {"text": f"text {i}"}) for i in range(n)]


def test_ratings_are_apart_by_their_distance() -> None:
    """Over the distance of all ratings of the task, so 0 against 5 is 1 where the scale was used in full."""
    answers = {"ann": {"i0": 0.0, "i1": 2.0, "i2": 3.0}, "bob": {"i0": 5.0, "i1": 4.0, "i2": 3.0}}
    found = find_most_disputed_items("sts", items(3), {"i0": 1.0, "i1": 2.5, "i2": 3.0}, answers)
    assert [(one.item, one.apart) for one in found] == [("i0", 1.0), ("i1", 0.4)]
    assert (found[1].gold, found[1].answers) == ("2.5", {"ann": "2", "bob": "4"})


def test_marks_are_apart_document_by_document() -> None:
    answers = {"ann": {"i0": (1, 0, 0, 0)}, "bob": {"i0": (0, 1, 0, 0)}}
    (found,) = find_most_disputed_items("reranking", items(1, query="who", documents=[]), {"i0": (1, 0, 0, 0)}, answers)
    assert (found.apart, found.gold, found.answers, found.texts) == (0.5, "1", {"ann": "1", "bob": "2"}, ("who",))


def test_groups_are_apart_by_their_company_not_their_names() -> None:
    """The same groups under other names agree; the item that moved is apart from most."""
    ann = {"i0": "x", "i1": "x", "i2": "x", "i3": "y"}
    alike = {item: name.upper() for item, name in ann.items()}
    assert find_most_disputed_items("clustering", items(4), {}, {"ann": ann, "bob": alike}) == ()
    moved = {**alike, "i0": "Y"}
    found = find_most_disputed_items("clustering", items(4), {}, {"ann": ann, "bob": moved})
    assert (found[0].item, found[0].apart) == ("i0", 1.0)
    assert {one.apart for one in found[1:]} == {1 / 3}


def test_long_texts_are_cut_and_single_answers_are_no_dispute() -> None:
    answers = {"ann": {"i0": "a", "i1": "a"}, "bob": {"i0": "b"}}
    (found,) = find_most_disputed_items("classification", items(2, text1="x" * 900, text2="y"), {"i0": "a"}, answers)
    assert len(found.texts[0]) == LONGEST + 2
    assert found.texts[1] == "y"


VALUES: dict[Family, st.SearchStrategy[Any]] = {
    "classification": st.sampled_from(["a", "b", "c"]), "clustering": st.sampled_from(["x", "y", "z"]),
    "reranking": st.tuples(*[st.integers(0, 1)] * 4), "sts": st.integers(0, 5).map(float),
}  # fmt: skip


@pytest.mark.parametrize("family", list(VALUES))
@given(data=st.data())
def test_order_and_number_of_annotators_do_not_matter(family: Family, data: st.DataObject) -> None:
    """0 to 1, falling, at most `most`, alike for annotators in another order; equal answers are never disputed."""
    n = data.draw(st.integers(1, 6))
    answers = {
        name: {f"i{i}": data.draw(VALUES[family]) for i in range(n) if data.draw(st.booleans())} for name in "abc"
    }
    found = find_most_disputed_items(family, items(n), {}, answers, most=3)
    apart = [one.apart for one in found]
    assert len(found) <= 3
    assert all(0 < one <= 1 for one in apart)
    assert apart == sorted(apart, reverse=True)
    turned = find_most_disputed_items(family, items(n), {}, dict(reversed(answers.items())), most=3)
    assert [one.apart for one in turned] == pytest.approx(apart)
    same = dict.fromkeys("abc", answers["a"])
    assert find_most_disputed_items(family, items(n), {}, same) == ()
