"""Near-duplicates among candidates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.search import fusion
from embassay.search.fusion import collect_word_shingles, compute_shingle_jaccard, find_distinct_text_positions

TEXTS = st.lists(
    st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), max_size=12
)  # few words, so that copies happen
THRESHOLDS = st.floats(0.05, 1)


def by_definition(texts, threshold, size):
    """Every text against every kept one, with sets of joined words."""
    runs = []
    for text in texts:
        found = text.split()
        runs.append({" ".join(found[i : i + size]) for i in range(max(1, len(found) - size + 1))})
    kept = []
    for position in range(len(texts)):
        near = [len(runs[position] & runs[k]) / len(runs[position] | runs[k]) for k in kept]
        if not any(similarity >= threshold for similarity in near):
            kept.append(position)
    return kept


@given(TEXTS, THRESHOLDS, st.integers(1, 4))
def test_it_is_what_the_definition_says(texts, threshold, size):
    """The index of shingles finds what comparing all pairs finds."""
    assert list(find_distinct_text_positions(texts, threshold, size).kept) == by_definition(texts, threshold, size)


@given(TEXTS, THRESHOLDS)
def test_every_text_is_kept_or_a_copy(texts, threshold):
    """In order; a copy is of an earlier kept text that it resembles, and of none that it resembles more."""
    found = find_distinct_text_positions(texts, threshold)
    assert list(found.kept) == sorted(found.kept)
    assert sorted((*found.kept, *found.copies)) == list(range(len(texts)))
    for copy, original in found.copies.items():
        earlier = [position for position in found.kept if position < copy]
        similarity = compute_shingle_jaccard(texts[copy], texts[original])
        assert original in earlier
        assert similarity >= threshold
        assert similarity == max(compute_shingle_jaccard(texts[copy], texts[other]) for other in earlier)


@given(TEXTS, THRESHOLDS)
def test_doing_it_twice_changes_nothing(texts, threshold):
    """What is kept holds no near copies."""
    kept = [texts[position] for position in find_distinct_text_positions(texts, threshold).kept]
    assert find_distinct_text_positions(kept, threshold).kept == tuple(range(len(kept)))


@given(TEXTS)
def test_a_threshold_above_one_drops_none(texts):
    """Not even exact copies."""
    found = find_distinct_text_positions(texts, 1.01)
    assert found.kept == tuple(range(len(texts)))
    assert not found.copies


def test_an_exact_copy_goes_at_one():
    """Also where case, marks and the composition of letters differ."""
    found = find_distinct_text_positions(["Café au lait, please.", "tea", "CAFE\u0301 AU LAIT - PLEASE"], 1)
    assert found.kept == (0, 1)
    assert found.copies == {2: 0}


def test_by_hand():
    """the cat sat, cat sat down | the cat sat, cat sat up: one of three."""
    assert collect_word_shingles("the cat sat down") == {("the", "cat", "sat"), ("cat", "sat", "down")}
    assert compute_shingle_jaccard("the cat sat down", "The cat sat up.") == pytest.approx(1 / 3)
    assert find_distinct_text_positions(["the cat sat down", "The cat sat up."], 1 / 3).kept == (0,)
    assert find_distinct_text_positions(["the cat sat down", "The cat sat up."], 0.34).kept == (0, 1)


def test_short_texts_and_texts_without_words():
    """A text shorter than a run is one run; texts without words are alike, and unlike all others."""
    assert find_distinct_text_positions(["red fox", "red", "red fox", "", "?!"], 0.5).copies == {2: 0, 4: 3}
    assert compute_shingle_jaccard("", "red") == 0


@pytest.mark.parametrize(("threshold", "size"), [(0, 3), (-1, 3), (float("nan"), 3), (0.8, 0)])
def test_what_cannot_be_is_refused(threshold, size):
    """Not everything dropped without a word."""
    with pytest.raises(UsageError, match="Near-duplicates"):
        find_distinct_text_positions(["a"], threshold, size)


@pytest.mark.usefixtures("no_hang")
def test_the_words_of_a_candidate_are_cut_once(monkeypatch):
    """It is a stage of a query: 200 passages of 150 words, half of them copies."""
    cut = []
    whole = fusion.collect_word_shingles
    monkeypatch.setattr(fusion, "collect_word_shingles", lambda *given: cut.append(given) or whole(*given))
    texts = [" ".join(f"w{(i // 2 * 7919 + j * 31) % 5000}" for j in range(150)) for i in range(200)]
    found = find_distinct_text_positions(texts, 0.8)
    assert len(found.kept) == 100
    assert len(cut) == 200
