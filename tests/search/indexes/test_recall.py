"""Recall against exact search, and the tuning rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import RankedCandidates
from embassay.errors import UsageError
from embassay.search.indexes.store import compute_recall_per_query, recall


def ranked(*rows: list[int]) -> RankedCandidates:
    indices = np.array(rows)
    return RankedCandidates(indices, np.where(indices < 0, -np.inf, -np.arange(indices.shape[1], dtype=float)))


def test_worked_example():
    """Two of three; all of the one that there is; nothing there, nothing missed; only the first k count."""
    exact = ranked([4, 7, 2, 9], [5, -1, -1, -1], [-1, -1, -1, -1], [1, 2, 3, 4])
    found = ranked([2, 4, 8, 7], [6, 5, -1, -1], [0, 1, 2, 3], [4, 5, 6, 1])
    np.testing.assert_allclose(compute_recall_per_query(found, exact, 3), [2 / 3, 1, 1, 0])
    assert recall(found, exact, 3) == pytest.approx((2 / 3 + 2) / 4)


@given(
    rows=st.lists(st.tuples(st.permutations(list(range(8))), st.permutations(list(range(8)))), min_size=1, max_size=6),
    k=st.integers(1, 8),
)
def test_equals_sets(rows, k):
    """The share of common numbers, query by query."""
    found, exact = ranked(*(a for a, _ in rows)), ranked(*(b for _, b in rows))
    expected = [len(set(a[:k]) & set(b[:k])) / k for a, b in rows]
    np.testing.assert_allclose(compute_recall_per_query(found, exact, k), expected)


@pytest.mark.parametrize("k", [0, 3])
def test_refuses_what_was_not_searched_that_deep(k):
    """A recall at 3 of two found would be too low, and nobody would know."""
    with pytest.raises(UsageError, match=f"top {k}"):
        recall(ranked([1, 2]), ranked([1, 2]), k)
    with pytest.raises(UsageError, match="at least one query"):
        recall(
            RankedCandidates(np.empty((0, 4), int), np.empty((0, 4))),
            RankedCandidates(np.empty((0, 4), int), np.empty((0, 4))),
            2,
        )
