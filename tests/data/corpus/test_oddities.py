"""What is odd about texts, against the plainest way to find it."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from embassay.data.column import count_empty_long_and_repeated_texts, find_positions_of_repeated_texts
from embassay.data.intake import ReasonTally
from embassay.data.views import SmallestHashSample, draw_seeded_positions

FEW = st.sampled_from(["", "a", "b", "c", "dd", "e" * 12])


@given(st.lists(FEW, max_size=30), st.integers(1, 5))
def test_repeats(texts: list[str], kinds: int) -> None:
    """Exact whatever the hash: one with collisions finds the same places."""
    expected = [place for place, text in enumerate(texts) if text in texts[:place]]
    assert find_positions_of_repeated_texts(array("q", map(hash, texts)), texts.__getitem__) == expected
    assert (
        find_positions_of_repeated_texts(array("q", (len(text) % kinds for text in texts)), texts.__getitem__)
        == expected
    )


@given(st.lists(FEW, max_size=30))
def test_same_warnings_as_one_by_one(texts: list[str]) -> None:
    """The counts, examples and order that noting one text after the other gives."""
    ids = [f"d{place}" for place in range(len(texts))]
    one_by_one, at_once = ReasonTally(), ReasonTally()
    for key, text in zip(ids, texts, strict=True):
        if not text:
            one_by_one.count_warned_item("empty documents in the corpus", key)
    for place, text in enumerate(texts):
        if text and text in texts[:place]:
            one_by_one.count_warned_item("repeats of an earlier text", ids[place])
    at_once.add_earlier_counts(noted=count_empty_long_and_repeated_texts(ids, texts))
    assert at_once.warnings() == one_by_one.warnings()


@given(st.sets(st.text(max_size=4), max_size=30), st.integers(1, 35), st.integers(0, 3))
def test_drawn_places(ids: set[str], limit: int, seed: int) -> None:
    """The same draw as the one that holds its items."""
    ordered = sorted(ids)
    required = set(ordered[::3])
    drawn = SmallestHashSample[int](limit, seed, required)
    for place, key in enumerate(ordered):
        drawn.offer_item(key, place)
    assert draw_seeded_positions(ordered, limit, seed, required).tolist() == drawn.list_drawn_items()
