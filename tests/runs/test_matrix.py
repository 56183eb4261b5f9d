"""Questions by systems: what matters first, what is bounded, and the round trip through a run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.runs.matrix import (
    MOST_CELLS,
    QuestionWithRightPassages,
    build_question_matrix,
    read_question_matrices,
    write_question_matrices,
)

LISTS = {
    "a": {"q1": ["x", "r1"], "q2": ["r2"], "q3": ["x", "y"], "q4": ["r4"]},
    "b": {"q1": ["r1", "x"], "q2": ["x"], "q3": ["y", "x"], "q4": ["r4", "x"]},
}
QUESTIONS = [
    QuestionWithRightPassages(f"q{place}", (f"r{place}",), f"question {place}", "tag") for place in range(1, 5)
]
TEXTS = {name: f"text of {name} " * 40 for name in ("x", "y", "r1", "r2", "r3", "r4")}


def test_what_tells_systems_apart_comes_first() -> None:
    """By hand: b alone has r1 first (gain 1/2 - 1/3), a alone has r2 at all (1/2), nobody r3, both r4."""
    matrix = build_question_matrix("docs", QUESTIONS, LISTS, TEXTS)
    assert [(row.id, row.outcome, row.ranks) for row in matrix.rows] == [
        ("q2", "differ", (1, 0)), ("q1", "differ", (2, 1)), ("q3", "fail", (0, 0)), ("q4", "alike", (1, 1))
    ]  # fmt: skip
    assert matrix.total == {"differ": 2, "fail": 1, "alike": 1}
    assert set(matrix.passages) == set(TEXTS)
    assert all(len(text) <= 244 for text in matrix.passages.values())


def test_places_known_to_a_greater_depth() -> None:
    """Beyond ten a passage is not found, however far; two such systems fail alike."""
    ranks = {"a": {"q3": 11}, "b": {"q3": 80}}
    [row] = build_question_matrix("docs", QUESTIONS[2:3], LISTS, TEXTS, ranks).rows
    assert (row.ranks, row.outcome) == ((11, 80), "fail")


@pytest.mark.parametrize("systems", [1, 3, 12, 20])
def test_a_large_run_is_bounded_and_says_so(systems: int) -> None:
    """Rows times systems stay within what a page can hold, and all questions are counted."""
    questions = [QuestionWithRightPassages(f"q{place}", ("r1",)) for place in range(500)]
    lists = {f"s{place}": {f"q{q}": ["r1"] for q in range(place, 500)} for place in range(systems)}
    matrix = build_question_matrix("docs", questions, lists, TEXTS)
    assert len(matrix.rows) * len(matrix.systems) <= MOST_CELLS
    assert matrix.left_out == 500 - len(matrix.rows) > 0
    assert (len(matrix.systems), matrix.more_systems) == (min(systems, 12), max(systems - 12, 0))


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    """And a run without one has none."""
    assert read_question_matrices(tmp_path) == ()
    matrix = build_question_matrix("docs", QUESTIONS, LISTS, TEXTS)
    write_question_matrices(tmp_path, [matrix, build_question_matrix("empty", [], LISTS, TEXTS)])
    assert read_question_matrices(tmp_path) == (matrix,)
