"""Which paraphraser is taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.pteb.candidates import (
    CandidateParaphraserMeans,
    CandidateSelectionRule,
    select_paraphraser,
    select_undominated_paraphrasers,
)

GEMMA = CandidateParaphraserMeans("gemma3-27b", 4.26, 0.81, 0.27)
GPT = CandidateParaphraserMeans("gpt-oss-20b", 4.44, 0.55, 1.24)
QWEN = CandidateParaphraserMeans("qwen3-32b", 4.39, 0.63, 5.35)
COPIER = CandidateParaphraserMeans("copier", 5.0, 0.0, 0.0)


def test_table_4():
    """The published figures give the published choice. None of the three beats another."""
    found = select_paraphraser([QWEN, GPT, GEMMA])
    assert found.selected == "gemma3-27b"
    assert found.because == "which has the largest edit distance of the 3 that meet the rule: an edit distance of 0.81"
    assert found.front == ("qwen3-32b", "gpt-oss-20b", "gemma3-27b")
    assert found.rejected == {}


def test_a_copier_is_never_taken():
    """Not even where it is alone, or nearly a copier."""
    assert select_paraphraser([COPIER, GPT]).selected == "gpt-oss-20b"
    alone = select_paraphraser([COPIER])
    assert (alone.selected, alone.because) == ("", "no candidate meets the rule")
    assert alone.rejected == {"copier": "an edit distance of 0.00, under 0.1, so it copies"}
    assert not select_paraphraser([CandidateParaphraserMeans("nearly", 4.99, 0.05, 0.1)]).selected


def test_who_loses_the_meaning_is_not_taken():
    """However much it rewords."""
    found = select_paraphraser([CandidateParaphraserMeans("inventor", 3.99, 1.0, 0.1), GPT])
    assert found.selected == "gpt-oss-20b"
    assert "3.99, under 4" in found.rejected["inventor"]
    assert (
        select_paraphraser(
            [CandidateParaphraserMeans("inventor", 3.99, 1.0, 0.1)], CandidateSelectionRule(similarity=3.5)
        ).selected
        == "inventor"
    )


def test_a_missing_value_is_no_small_one():
    """The candidate is out, with its own reason."""
    found = select_paraphraser([CandidateParaphraserMeans("broken", None, 0.9, 0.1, "sts12: 9% had no rating"), QWEN])
    assert (found.selected, found.front) == ("qwen3-32b", ("qwen3-32b",))
    assert found.rejected == {"broken": "sts12: 9% had no rating"}


def test_ties_go_to_the_faster():
    """Equal to two decimals is equal; an unknown runtime is the slowest."""
    slow, fast = (CandidateParaphraserMeans("slow", 4.5, 0.804, 2.0), CandidateParaphraserMeans("fast", 4.1, 0.80, 1.0))
    found = select_paraphraser(
        [
            slow,
            fast,
            CandidateParaphraserMeans("unknown", 4.5, 0.804),
            CandidateParaphraserMeans("less", 4.5, 0.79, 0.1),
        ]
    )
    assert found.selected == "fast"
    assert found.because == "with an edit distance of 0.80, tied with 2 others, and the shortest runtime"


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.none() | st.floats(0, 9)), min_size=1, max_size=8))
def test_the_front(values):
    """Nobody on it is beaten, everybody off it is; it is never empty, and the order does not matter."""
    candidates = [CandidateParaphraserMeans(f"c{i}", *value) for i, value in enumerate(values)]
    front = select_undominated_paraphrasers(candidates)
    assert front

    def beats(a, b):
        pairs = [(a.similarity, b.similarity), (a.edit_distance, b.edit_distance)]
        pairs.append((-(a.seconds if a.seconds is not None else 1e9), -(b.seconds if b.seconds is not None else 1e9)))
        return all(x >= y for x, y in pairs) and any(x > y for x, y in pairs)

    for one in candidates:
        assert (one in front) == (not any(beats(other, one) for other in candidates))
    assert {one.name for one in select_undominated_paraphrasers(candidates[::-1])} == {one.name for one in front}
    assert select_paraphraser(candidates).selected == select_paraphraser(candidates[::-1]).selected


def test_the_rule_is_said():
    """With its numbers."""
    assert str(CandidateSelectionRule()) == (
        "The rule selects the largest edit distance among candidates with a mean similarity of at least 4 and an "
        "edit distance of at least 0.1 (below that, a candidate counts as a copy). Ties (to two decimals) go to "
        "the shorter runtime."
    )
    with pytest.raises(AttributeError):
        CandidateSelectionRule().similarity = 3  # type: ignore[misc]
