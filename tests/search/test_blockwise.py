"""Scores that exist only block by block give what whole matrices give."""

import numpy as np
import pytest
from scipy.spatial.distance import squareform

from embassay.search import exact as blockwise
from embassay.search import top_k


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blockwise, "CANDIDATE_BLOCK", 7)
    monkeypatch.setattr(blockwise, "_BLOCK_CELLS", 20)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (11, 30)])
def test_ranked_blocks_equal_one_matrix(small_blocks, threads, shape):
    """Ranking by blocks of queries and candidates is ranking the whole."""
    scores = np.random.default_rng(0).integers(0, 4, shape).astype(float)
    found = blockwise.rank_scores_in_blocks(
        lambda columns: lambda rows: scores[rows, columns], shape, 4, threads=threads
    )
    expected = top_k(scores, 4)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 23])
def test_condensed_blocks_are_scipys_order(small_blocks, threads, n):
    """The condensed order is scipy's, and negative distances become 0."""
    square = np.random.default_rng(1).random((n, n)) - 0.1
    square = np.tril(square, -1) + np.tril(square, -1).T
    found = blockwise.compute_condensed_distances(lambda rows: square[rows, rows.start :], n, threads=threads)
    assert found.dtype == np.float32
    expected = squareform(square, checks=False) if n else np.empty(0)
    np.testing.assert_array_equal(found, np.maximum(expected, 0).astype(np.float32))


def test_errors_of_a_thread_reach_the_caller():
    """Nothing is lost in the pool."""

    def fail(rows: slice) -> None:
        raise ValueError(f"row {rows.start}")

    with pytest.raises(ValueError, match="row 0"):
        blockwise.run_in_threads(fail, list(blockwise.cut_range_into_blocks(4, 2)), 2)
