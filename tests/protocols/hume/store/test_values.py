"""What is an answer to an item, by family, and the order in which people meet items."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError
from embassay.protocols.hume.store import convert_answer_for_storage, draw_annotator_item_order
from embassay.protocols.hume.study import LabelChoice, RatingScale, StudyItemSource, StudyTask

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=9,
)


def _task(family, **more):
    return StudyTask(
        name="t", family=family, lang="eng", title="t", question="?", guidelines="g", n=1,
        source=StudyItemSource(dataset="d"),
        labels=[LabelChoice(value=one, name=str(one)) for one in (0, "joy")] if family == "classification" else [],
        **more,
    )  # fmt: skip


PAYLOAD = {"query": "q", "documents": [{"id": str(at), "text": "x"} for at in range(3)]}


@given(value=JSON, family=st.sampled_from(["classification", "clustering", "reranking", "sts"]))
def test_every_value_is_stored_as_json_or_refused(value, family) -> None:
    """Nothing else happens; and what is kept, checked again, is itself."""
    task = _task(family)
    try:
        kept = convert_answer_for_storage(task, PAYLOAD, value)
    except DataError:
        return
    assert json.loads(json.dumps(kept, allow_nan=False).encode("utf-8")) == kept
    assert convert_answer_for_storage(task, PAYLOAD, kept) == kept


@pytest.mark.parametrize(
    ("scale", "good", "bad"),
    [
        (None, [0, 5, 3.0, "2"], [0.5, -1, 5.5, 6]),
        (RatingScale(step=0.5), [0.5, 4.5, 5], [0.25, 5.5]),
        (RatingScale(low=1, high=4), [1, 4], [0, 0.999, 5]),
        (RatingScale(low=0, high=1, step=0.1), [0.1, 0.3, 0.7, 0.1 + 0.2], [0.15, 1.1]),
    ],
)
def test_ratings_stand_on_a_step_of_the_scale(scale, good, bad) -> None:
    """In spite of what adding tenths does."""
    task = _task("sts", scale=scale)
    assert [convert_answer_for_storage(task, {}, one) for one in good] == [float(one) for one in good]
    for one in bad:
        with pytest.raises(DataError, match="This answer"):
            convert_answer_for_storage(task, {}, one)


ids = st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=30)


@given(ids, st.integers(0, 9), st.text(max_size=5))
def test_an_order_is_a_permutation_that_depends_on_nothing_else(items, seed, annotator) -> None:
    """Not on the order in the file, nor on which other items there are."""
    order = draw_annotator_item_order(seed, annotator, "t", items)
    assert sorted(order) == sorted(items)
    assert draw_annotator_item_order(seed, annotator, "t", reversed(items)) == order
    assert draw_annotator_item_order(seed, annotator, "t", items[1:]) == tuple(
        one for one in order if one not in items[:1]
    )


def test_orders_differ_by_person_task_and_seed_and_stay() -> None:
    """An order of today is the order of tomorrow."""
    items = [f"i{at}" for at in range(8)]
    made = [
        draw_annotator_item_order(*key, items)
        for key in ((1, "ann", "t"), (1, "bob", "t"), (1, "ann", "u"), (2, "ann", "t"))
    ]
    assert len(set(made)) == 4
    assert made[0] == ("i7", "i6", "i1", "i3", "i2", "i4", "i0", "i5")
