"""Items that stand in training data, and what else a program sees to be wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.hume.sampling.pools import (
    SampledItem,
    find_contradicted_texts,
    find_positions_of_distinct_texts,
    join_pair_text,
    normalise_text_for_comparison,
)
from embassay.protocols.hume.sampling.protocol import (
    SAID,
    THRESHOLD,
    count_items_by_defect,
    describe_item_defects,
    find_training_twins,
    has_text_artefact,
    mark_item_defects_and_find_twins,
)
from embassay.protocols.hume.study import ItemGoldAnswer
from embassay.search.fusion import compute_shingle_jaccard

LONG = "the ferry to the northern island leaves the old harbour every morning at nine"
sentences = st.lists(st.sampled_from("abcde"), min_size=1, max_size=7).map(" ".join)


def test_same_and_near_texts() -> None:
    """A text in other case and spacing is the same, one of few other words is near, another text is neither."""
    near = LONG.replace("nine", "ten")
    assert compute_shingle_jaccard(LONG, near) >= THRESHOLD
    found = find_training_twins(
        [LONG, "Other words", near.upper(), "ferry"], ["zzz", f"  {LONG.upper()} ", "other words!"]
    )
    assert found[0].similarity == 1
    assert found[0].position == 1
    assert THRESHOLD <= found[2].similarity < 1
    assert set(found) == {0, 2}


@given(st.lists(sentences, max_size=6), st.lists(sentences, max_size=6))
def test_twins_are_what_comparing_all_pairs_finds(texts: list[str], trained: list[str]) -> None:
    """The index misses nothing and finds nothing else: equal texts, or long ones that are near enough."""
    found = find_training_twins(texts, trained)
    for place, text in enumerate(texts):
        alike = [
            1.0 if normalise_text_for_comparison(text) == normalise_text_for_comparison(other)
            else min(compute_shingle_jaccard(text, other),
                0.999) if len(text.split()) > 2 and compute_shingle_jaccard(text, other) >= THRESHOLD
            else 0.0
            for other in trained
        ]  # fmt: skip
        best = max(alike, default=0.0)
        assert (place in found) == (best > 0)
        if best:
            assert found[place].similarity == pytest.approx(best)
            assert alike[found[place].position] == pytest.approx(best)


def test_texts_without_words_are_not_all_the_same() -> None:
    """Two emoji share the one empty run of words, which says nothing."""
    assert find_training_twins(["😀", "!!"], ["🙃", "!!"]).keys() == {1}


@pytest.mark.parametrize(
    "text", ["Q&amp;A", "a <br/> b", r"two\nlines", "caf\u00c3\u00a9", "it\u00e2\u20ac\u2122s", "\ufffd"]
)
def test_artefacts(text: str) -> None:
    """Entities, tags, escapes and wrong encodings."""
    assert has_text_artefact(text)


@pytest.mark.parametrize(
    "text", ["R&D; and more", "a < b > c", "two\nlines", "café", "Ã la carte", r"C:\data", r"where $\nu \neq 0$"]
)
def test_no_artefacts(text: str) -> None:
    """Texts that only look a little like them."""
    assert not has_text_artefact(text)


def test_defects_of_items_and_in_words() -> None:
    """Each item has its own; the words count items, not defects."""
    items = [
        SampledItem({"text": LONG}, "x", "1"), SampledItem({"text1": "b c", "text2": "&lt;"}, 1.0, "2"),
        SampledItem({"query": "why", "documents": [{"id": "d1", "text": " "}]}, [1], "3", defects=("same_text",)),
    ]  # fmt: skip
    marked, found = mark_item_defects_and_find_twins(items, ["other", LONG.title(), join_pair_text("&lt;", "b c")])
    assert [item.defects for item in marked] == [
        ("leaked",), ("leaked", "parsing_artefact"), ("same_text", "empty")
    ]  # fmt: skip
    assert {place: twin.position for place, twin in found.items()} == {0: 1, 1: 2}
    rows = [ItemGoldAnswer(id=item.source_id, gold=1, defects=list(item.defects)) for item in marked]
    assert count_items_by_defect(rows) == {"leaked": 2, "parsing_artefact": 1, "empty": 1, "same_text": 1}
    assert describe_item_defects(rows)[0] == "2 of 3 items also in the training data"
    assert describe_item_defects([]) == ()


def test_every_defect_can_be_said() -> None:
    """The closed list of the gold file and the words for it are one."""
    for defect in SAID:
        assert ItemGoldAnswer(id="a", gold=1, defects=[defect]).defects == [defect]


@given(st.lists(st.tuples(st.sampled_from(["a", "A ", "b", "c"]), st.sampled_from("xy"))))
def test_repeats(rows: list[tuple[str, str]]) -> None:
    """The first of each stays; a text with two labels is named, whatever its case."""
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    kept = find_positions_of_distinct_texts(texts)
    assert [normalise_text_for_comparison(texts[place]) for place in kept] == list(
        dict.fromkeys(map(normalise_text_for_comparison, texts))
    )
    wrong = find_contradicted_texts(texts, labels)
    assert wrong == {
        text
        for text in map(normalise_text_for_comparison, texts)
        if len({b for a, b in rows if normalise_text_for_comparison(a) == text}) > 1
    }
