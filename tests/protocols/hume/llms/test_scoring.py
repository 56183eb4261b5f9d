"""Scores of language models by hand, and their properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.llms.answers import LlmAnswerRow, score_llm_answers
from embassay.protocols.hume.scoring import score_people_answers
from embassay.protocols.hume.study import TaskSpec

MOOD = TaskSpec("mood", "classification", "eng", (0, 1, 2))
PAIRS = TaskSpec("pairs", "sts", "eng")
SEARCH = TaskSpec("search", "reranking", "eng")


def row(item, value=None, status="ok", run=0, mode="ranking"):
    return LlmAnswerRow(model="m", item_id=item, task="t", run=run, mode=mode, status=status, value=value)


def test_unread_labels_are_wrong_and_are_no_label():
    """Accuracy over all items; macro F1 over the labels that there are."""
    gold = {"a": 0, "b": 1, "c": 1, "d": 0}
    found = score_llm_answers(MOOD, gold, [row("a", 0), row("b", "1"), row("c", status="unparsed"), row("d", 1)])
    assert found.score == 0.5
    assert found.failed == 1
    assert found.scores["f1"] == pytest.approx(
        f1_score([0, 1, 1, 0], [0, 1, 9, 1], labels=[0, 1], average="macro", zero_division=0)
    )
    assert found.values == {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}


def test_unread_ratings_are_left_out():
    """With a count."""
    gold = {str(i): float(i) for i in range(5)}
    rows = [row(str(i), i + (i == 1) * 0.5) for i in range(4)] + [row("4", status="unparsed")]
    found = score_llm_answers(PAIRS, gold, rows)
    assert found.score == pytest.approx(1)
    assert (found.runs[0].items, found.items, found.failed) == (4, 5, 1)


def test_rankings_and_marks():
    """A ranking by plain AP; marks as people's, in blocks of ties; what could not be read stands as it was shown."""
    gold = {"q": (1, 1, 1, 0, 0, 0, 0)}
    assert score_llm_answers(SEARCH, gold, [row("q", [0, 1, 3, 2, 4, 5, 6])]).score == pytest.approx(
        (1 + 1 + 3 / 4) / 3
    )
    assert score_llm_answers(SEARCH, gold, [row("q", status="unparsed")]).score == 1
    late = {"q": (0, 0, 0, 0, 1, 1, 1)}
    assert score_llm_answers(SEARCH, late, [row("q", status="unparsed")]).score == pytest.approx(
        (1 / 5 + 2 / 6 + 3 / 7) / 3
    )
    marked = score_llm_answers(SEARCH, gold, [row("q", [1, 1, 0, 1, 0, 0, 0], mode="binary")])
    assert marked.score == pytest.approx(0.587302, abs=1e-6)
    assert score_llm_answers(SEARCH, gold, [row("q", status="unparsed", mode="binary")]).score == pytest.approx(3 / 7)


def test_runs_are_averaged():
    """Scores, not answers."""
    gold = {"a": 0, "b": 1}
    rows = [row("a", 0), row("b", 1), row("a", 1, run=1), row("b", 1, run=1)]
    found = score_llm_answers(MOOD, gold, rows)
    assert [one.scores["accuracy"] for one in found.runs] == [1.0, 0.5]
    assert found.score == 0.75
    assert found.values == {"a": 0.5, "b": 1.0}


@pytest.mark.parametrize("lost", [1, 2])
def test_failed_and_missing_items_are_left_out_up_to_a_twentieth(lost):
    """Above that there is no score."""
    gold = {f"{i:02}": i % 3 for i in range(20)}
    kept = [row(item, value) for item, value in gold.items()][lost:]
    rows = [*kept, row("00", status="failed")]
    found = score_llm_answers(MOOD, gold, rows)
    assert found.missing == lost - 1
    assert found.failed == lost
    if lost == 1:
        assert found.score == 1
        assert found.runs[0].items == 19
    else:
        assert math.isnan(found.score)
        assert found.reason == "2 of 20 items have no answer (limit: 5%)"


@pytest.mark.parametrize(
    ("rows", "error", "told"),
    [
        ([row("a", 0), row("a", 1)], DataError, "appears twice"),
        ([row("z", 0)], DataError, "has no gold"),
        ([row("a", 7)], DataError, "must be one of"),
        ([row("a")], DataError, "has no value"),
        ([row("a", 0), row("b", 0, mode="binary")], UsageError, "2 modes"),
        ([], UsageError, "0 modes"),
    ],
)
def test_mistakes(rows, error, told):
    with pytest.raises(error, match=told):
        score_llm_answers(MOOD, {"a": 0, "b": 1}, rows)


@pytest.mark.parametrize("value", [[0, 1], [0, 0, 1], [0, 1, 3], None, "012", [True, 0, 2]])
def test_what_is_no_ranking_is_refused(value):
    with pytest.raises(DataError, match="positions 0 to 2"):
        score_llm_answers(SEARCH, {"q": (1, 0, 0)}, [row("q", value)])


def test_clusters_are_not_scored():
    with pytest.raises(UsageError, match="task of clustering"):
        score_llm_answers(TaskSpec("t", "clustering", "eng"), {"a": "x"}, [row("a", "x")])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_whole_answers_score_as_a_person_would(pairs):
    """Every measure."""
    gold = {f"{i:02}": true for i, (true, _) in enumerate(pairs)}
    said = {f"{i:02}": value for i, (_, value) in enumerate(pairs)}
    found = score_llm_answers(MOOD, gold, [row(item, value) for item, value in said.items()])
    assert found.scores == pytest.approx(dict(score_people_answers(MOOD, gold, {"x": said}).scores("first")))
