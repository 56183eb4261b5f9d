"""Complete linkage against scipy and scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering

from embassay.errors import ModelError, UsageError
from embassay.measures.clusters import cluster_by_complete_linkage
from embassay.measures.kernels import find_nearest_items_by_distances, merge_all_clusters


def scikit_learn(distances, n_clusters):
    square = squareform(distances.astype(np.float64))
    model = AgglomerativeClustering(n_clusters, linkage="complete", metric="precomputed")
    return model.fit(square).labels_


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@st.composite
def problems(draw):
    """Condensed distances, many of them tied, and a number of clusters."""
    n = draw(st.integers(2, 40))
    size = n * (n - 1) // 2
    values = draw(
        st.one_of(
            arrays(np.float32, size, elements=st.floats(0, 2, width=32)),
            arrays(np.int8, size, elements=st.integers(0, 3)).map(lambda whole: whole.astype(np.float32)),
        )
    )
    return values, n, draw(st.integers(1, n))


@given(problems())
def test_the_partition_is_scikit_learns(problem):
    """Ties and non-metric distances included; labels count up in the order of first items."""
    distances, n, n_clusters = problem
    labels = cluster_by_complete_linkage(distances.copy(), n, n_clusters)
    assert same_partition(labels, scikit_learn(distances, n_clusters))
    assert list(dict.fromkeys(labels.tolist())) == list(range(n_clusters))


@given(problems())
def test_heights_are_scipys(problem):
    """Merge heights are exactly those of scipy's complete linkage."""
    distances, n, _ = problem
    nearest, near, finite = find_nearest_items_by_distances(distances, n)
    expected = linkage(distances.astype(np.float64), "complete")[:, 2]
    _, _, heights = merge_all_clusters(distances, nearest, near)
    assert finite
    assert np.array_equal(np.sort(heights), expected.astype(np.float32))


def test_a_larger_problem_agrees():
    """1,500 points in 30 groups, at several cuts."""
    rng = np.random.default_rng(7)
    points = rng.standard_normal((30, 16))[rng.integers(0, 30, 1500)] + 0.3 * rng.standard_normal((1500, 16))
    distances = pdist(points, "cosine").astype(np.float32)
    for n_clusters in (2, 30, 700):
        labels = cluster_by_complete_linkage(distances.copy(), 1500, n_clusters)
        assert same_partition(labels, scikit_learn(distances, n_clusters))


def test_by_hand():
    """Points 0, 1, 3, 10 on a line: {0, 1} at 1, then 3 joins them at 3, then 10 at 10."""
    distances = pdist(np.array([[0.0], [1], [3], [10]])).astype(np.float32)
    assert cluster_by_complete_linkage(distances.copy(), 4, 4).tolist() == [0, 1, 2, 3]
    assert cluster_by_complete_linkage(distances.copy(), 4, 3).tolist() == [0, 0, 1, 2]
    assert cluster_by_complete_linkage(distances.copy(), 4, 2).tolist() == [0, 0, 0, 1]
    assert cluster_by_complete_linkage(distances.copy(), 4, 1).tolist() == [0, 0, 0, 0]


def test_one_item_is_one_cluster():
    """There is nothing to merge."""
    assert cluster_by_complete_linkage(np.empty(0, dtype=np.float32), 1, 1).tolist() == [0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_distances_that_are_not_finite_are_refused(bad):
    """One is enough, wherever it is."""
    for place in range(6):
        distances = np.ones(6, dtype=np.float32)
        distances[place] = bad
        with pytest.raises(ModelError, match="not finite"):
            cluster_by_complete_linkage(distances, 4, 2)


@pytest.mark.parametrize(
    ("distances", "n", "n_clusters", "message"),
    [
        (np.ones(6), 4, 2, "float64"),
        (np.ones(5, dtype=np.float32), 4, 2, r"shape \(6,\)"),
        (np.ones((4, 4), dtype=np.float32), 4, 2, r"shape \(4, 4\)"),
        (np.ones(6, dtype=np.float32), 4, 0, "Cannot make 0 clusters of 4"),
        (np.ones(6, dtype=np.float32), 4, 5, "Use 1 to 4"),
        (np.ones(12, dtype=np.float32)[::2], 4, 2, "writeable, contiguous"),
        (np.broadcast_to(np.float32(1), 6), 4, 2, "writeable, contiguous"),
    ],
)
def test_what_does_not_fit_is_refused(distances, n, n_clusters, message):
    """Type, shape, layout and number of clusters are checked."""
    with pytest.raises(UsageError, match=message):
        cluster_by_complete_linkage(distances, n, n_clusters)


@pytest.mark.slow
def test_numba_loads_only_when_clustering():
    """Importing the module is light."""
    code = "import sys, embassay.measures.clusters; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
