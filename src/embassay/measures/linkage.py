"""Complete-linkage clustering on a condensed distance matrix, in place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError


def complete_linkage(distances: NDArray[np.float32], n: int, n_clusters: int) -> NDArray[np.int64]:
    """Labels (n,) of `n_clusters` clusters; `distances`, condensed float32, n(n-1)/2, is overwritten.

    The partition is that of scikit-learn's AgglomerativeClustering(linkage="complete",
    metric="precomputed"): merges in the order of their height, the largest distance between members,
    until `n_clusters` are left. Labels count from 0 in the order of each cluster's first item. Ties: the
    nearest-neighbour chain starts at the lowest cluster, goes back where the last cluster is as near as any,
    else to the lowest of the nearest; a merged cluster has the place of its later part; merges of equal
    height keep the order in which the chain found them. Memory is n integers a few times beside `distances`.

    UsageError for shapes and counts that do not fit, ModelError for distances that are not finite. Source:
    Müllner 2011, Modern hierarchical, agglomerative clustering algorithms, section 3.2; SAGE A.5.
    """
    from embassay.measures.linkage_kernel import first_neighbours, merge_all

    _check(distances, n, n_clusters)
    nearest, near, finite = first_neighbours(distances, n)
    if not finite:
        raise ModelError("The distances to cluster hold values that are not finite.")
    lower, upper, heights = merge_all(distances, nearest, near)
    order = np.argsort(heights, kind="stable")[: n - n_clusters]
    return _labels(n, lower[order], upper[order])


def _check(distances: NDArray[np.float32], n: int, n_clusters: int) -> None:
    if distances.dtype != np.float32 or distances.shape != (n * (n - 1) // 2,):
        raise UsageError(
            f"Cannot cluster {n} items by distances of type {distances.dtype} and shape {distances.shape}.",
            mend=f"Give condensed float32 distances, shape ({n * (n - 1) // 2},).",
        )
    if not (distances.flags.writeable and distances.flags.c_contiguous):
        raise UsageError("The distances are overwritten and must be a writeable, contiguous array.")
    if not 1 <= n_clusters <= n:
        raise UsageError(f"Cannot make {n_clusters} clusters of {n} items.", mend=f"Ask for 1 to {n}.")


def _labels(n: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters after these merges, whose ends are places of clusters: a place is one of its members."""
    parent = list(range(n))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for one, other in zip(lower.tolist(), upper.tolist(), strict=True):
        parent[root(one)] = root(other)
    roots = [root(item) for item in range(n)]
    label = {found: number for number, found in enumerate(dict.fromkeys(roots))}
    return np.array([label[found] for found in roots], dtype=np.int64)
