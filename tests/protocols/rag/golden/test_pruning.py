"""Whole buckets until there are enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.golden.grades import make_rows_kept_by_pruning, prune_to_best_grades


def rows_of(*grades):
    return [{"doc_id": f"d{i}", "grade": grade, "rank_rrf": i + 1} for i, grade in enumerate(grades)]


@pytest.mark.parametrize(
    ("counts", "minimum", "size", "stage"),
    [
        ((4, 4, 20, 30, 9), 35, 58, 2),  # spec rag 4: 28 < 35, so grade 2 is added
        ((4, 4, 27, 30, 9), 35, 35, 3),
        ((40, 4, 20, 30, 9), 35, 40, 5),
        ((0, 0, 0, 0, 9), 35, 9, 1),
        ((0, 35, 1, 0, 0), 35, 35, 4),
        ((3, 0, 0, 0, 40), 35, 43, 1),
        ((2, 3, 0, 0, 0), 1, 2, 5),
        ((0, 0, 0, 0, 0), 35, 0, 5),
    ],
)
def test_examples(counts, minimum, size, stage):
    """The example of the protocol, and the edges."""
    grades = [grade for grade, n in zip((5, 4, 3, 2, 1), counts, strict=True) for _ in range(n)]
    found = prune_to_best_grades(rows_of(*grades), minimum)
    assert (found.kept_row_count, found.cut_stage) == (size, stage)


@given(st.lists(st.integers(1, 5), max_size=120), st.integers(1, 60))
def test_buckets_are_whole_and_no_more_than_needed(grades, minimum):
    """All of a grade or none; without its lowest grade there would be too few; best first, by fusion within a grade."""
    rows = rows_of(*grades)
    kept = prune_to_best_grades(rows, minimum).rows
    lowest = min((row["grade"] for row in kept), default=5)
    assert sorted(row["doc_id"] for row in kept) == sorted(row["doc_id"] for row in rows if row["grade"] >= lowest)
    assert len(kept) >= min(minimum, len(rows))
    assert sum(row["grade"] > lowest for row in kept) < minimum
    keys = [(-row["grade"], row["rank_rrf"]) for row in kept]
    assert keys == sorted(keys)


@given(st.permutations(rows_of(5, 4, 3, 3, 2, 2, 2, 1)))
def test_the_order_of_the_rows_does_not_matter(rows):
    assert prune_to_best_grades(rows, 4) == prune_to_best_grades(rows_of(5, 4, 3, 3, 2, 2, 2, 1), 4)


def test_rows_say_where_the_cut_was():
    """Besides all that they said before."""
    [row] = make_rows_kept_by_pruning(
        prune_to_best_grades([{"doc_id": "a", "grade": 4, "rank_rrf": 2, "ts": "t0"}]), "t1"
    )
    assert row == {"doc_id": "a", "grade": 4, "rank_rrf": 2, "ts": "t0", "cut_stage": 4, "cut_size": 1, "cut_ts": "t1"}
