"""Clusterings: complete linkage on a distance matrix, and agreement of clusters with gold labels.

Labels and clusters are one hashable value per item; only who is with whom counts, so they may be renamed
freely. No items at all is undefined: NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError, UsageError
from embassay.measures.registry import measure


def cluster_by_complete_linkage(distances: NDArray[np.float32], n: int, n_clusters: int) -> NDArray[np.int64]:
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
    from embassay.measures.kernels import find_nearest_items_by_distances, merge_all_clusters

    _check_condensed_distances(distances, n, n_clusters)
    nearest, near, finite = find_nearest_items_by_distances(distances, n)
    if not finite:
        raise ModelError("The distances to cluster contain values that are not finite.")
    lower, upper, heights = merge_all_clusters(distances, nearest, near)
    order = np.argsort(heights, kind="stable")[: n - n_clusters]
    return _label_merged_clusters(n, lower[order], upper[order])


def order_positions_by_text_hash(texts: Sequence[str]) -> NDArray[np.int64]:
    """Sort the positions of texts in an order that nothing but what they say decides, (n,).

    Where distances are equal, clusters depend on the order of the items; in this one they know neither rows nor ids,
    and a file that is sorted by label gains nothing. Texts of the same words in another order keep their place.
    """
    keys = [(_hash_text(" ".join(sorted(text.lower().split()))), _hash_text(text)) for text in texts]
    return np.array(sorted(range(len(texts)), key=keys.__getitem__), dtype=np.int64)


def _hash_text(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def restore_cluster_labels_to_item_order(order: NDArray[np.int64], clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters of items that were clustered in this order, (n,), as the items stand; labels count from 0 in the order
    of each cluster's first item.

    >>> restore_cluster_labels_to_item_order(np.array([2, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, 1, 1]
    """
    placed = np.empty(len(order), dtype=np.int64)
    placed[order] = clusters
    names: dict[int, int] = {}
    return np.array([names.setdefault(cluster, len(names)) for cluster in placed.tolist()], dtype=np.int64)


def _check_condensed_distances(distances: NDArray[np.float32], n: int, n_clusters: int) -> None:
    if distances.dtype != np.float32 or distances.shape != (n * (n - 1) // 2,):
        raise UsageError(
            f"Cannot cluster {n} items by distances of type {distances.dtype} and shape {distances.shape}.",
            mend=f"Pass condensed float32 distances, shape ({n * (n - 1) // 2},).",
        )
    if not (distances.flags.writeable and distances.flags.c_contiguous):
        raise UsageError("The distances are overwritten and must be a writeable, contiguous array.")
    if not 1 <= n_clusters <= n:
        raise UsageError(f"Cannot make {n_clusters} clusters of {n} items.", mend=f"Use 1 to {n}.")


def _label_merged_clusters(n: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label the items of the clusters that these merges make."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    merges = coo_array((np.ones(len(lower)), (lower, upper)), shape=(n, n))
    labels: NDArray[np.int64] = connected_components(merges, directed=False)[1].astype(np.int64)
    return labels


Groups = Sequence[Hashable] | NDArray[np.generic]

_NEEDS = "labels, clusters"
_UNDEFINED = "there are no items"


@dataclass(frozen=True)
class _ContingencyTable:
    """The contingency table of classes and clusters: their sizes, and those of its filled cells."""

    n: int
    classes: NDArray[np.int64]
    clusters: NDArray[np.int64]
    cells: NDArray[np.int64]


@measure(
    "V-measure",
    direction="higher",
    range="[0, 1]",
    needs=_NEEDS,
    undefined=_UNDEFINED,
    source="Rosenberg and Hirschberg 2007; SAGE A.5 [A22]",
)
def v_measure(labels: Groups, clusters: Groups, *, beta: float = 1.0) -> float:
    """Weighted harmonic mean of homogeneity and completeness.

    h = 1 - H(class | cluster) / H(class), or 1 if there is one class; c is the same with roles swapped; V = (1 + beta)
    h c / (beta h + c), or 0 for 0 / 0. Logarithms are natural; beta above 1 favours completeness. Range 0 to 1, higher
    is better; one cluster for several classes (or the reverse) gives 0, a perfect match 1. Source: Rosenberg and
    Hirschberg 2007; SAGE A.5, where the roles of C and K are swapped [A22]. Raises UsageError for unequal lengths or a
    negative beta.

    >>> round(v_measure("aaabbbccc", "555577999"), 6)
    0.786013
    """
    if beta < 0:
        raise UsageError(f"beta is {beta}, but it must be 0 or more.")
    return _compute_v_measure(_build_contingency_table(labels, clusters), beta)


def compute_v_measure_from_counts(counts: NDArray[np.int64]) -> float:
    """The V-measure of a table of counts (classes, clusters), as `v_measure` has it; NaN for an empty one.

    >>> round(compute_v_measure_from_counts(np.array([[3, 0, 0], [1, 2, 0], [0, 0, 3]])), 6)
    0.786013
    """
    return _compute_v_measure(
        _ContingencyTable(int(counts.sum()), counts.sum(axis=1), counts.sum(axis=0), counts.ravel()), 1.0
    )


def _compute_v_measure(table: _ContingencyTable, beta: float) -> float:
    if not table.n:
        return float("nan")
    of_classes, of_clusters = _entropy(table.classes, table.n), _entropy(table.clusters, table.n)
    # Rounding: shared information is never below 0, nor above either entropy.
    shared = max(of_classes + of_clusters - _entropy(table.cells, table.n), 0.0)
    homogeneity = min(shared / of_classes, 1.0) if of_classes else 1.0
    completeness = min(shared / of_clusters, 1.0) if of_clusters else 1.0
    weight = beta * homogeneity + completeness
    return (1 + beta) * homogeneity * completeness / weight if weight else 0.0


@measure(
    "ARI", direction="higher", range="[-0.5, 1]", needs=_NEEDS, undefined=_UNDEFINED, source="Hubert and Arabie 1985"
)
def ari(labels: Groups, clusters: Groups) -> float:
    """Adjusted Rand index: share of item pairs on which both groupings agree, corrected for chance.

    Range -0.5 to 1, higher is better, about 0 for random clusters; also 1 if both put all items together
    or all apart. Source: Hubert and Arabie 1985; Steinley 2004. Raises UsageError for unequal lengths.

    >>> round(ari("aaabbbccc", "555577999"), 6)
    0.642857
    """
    table = _build_contingency_table(labels, clusters)
    if not table.n:
        return float("nan")
    together = _count_same_group_pairs(table.cells)
    class_only = _count_same_group_pairs(table.classes) - together
    cluster_only = _count_same_group_pairs(table.clusters) - together
    if not class_only and not cluster_only:
        return 1.0
    apart = table.n * (table.n - 1) // 2 - together - class_only - cluster_only
    # Python integers: the products pass 2^63 from some 80,000 items on.
    expected = (together + class_only) * (class_only + apart) + (together + cluster_only) * (cluster_only + apart)
    return 2 * (together * apart - class_only * cluster_only) / expected


@measure(
    "AMI",
    direction="higher",
    range="[-1, 1]",
    needs=_NEEDS,
    undefined=_UNDEFINED,
    source="Vinh, Epps and Bailey 2010; scikit-learn",
)
def ami(labels: Groups, clusters: Groups) -> float:
    """Adjusted mutual information with the arithmetic mean of the two entropies, as in scikit-learn.

    Range up to 1, higher is better, about 0 for random clusters. Source: Vinh, Epps and Bailey 2010.
    Raises UsageError for unequal lengths.

    >>> ami([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import adjusted_mutual_info_score

    first, second = _number_distinct_values(labels), _number_distinct_values(clusters)
    _check_label_and_cluster_lengths(first, second)
    return float(adjusted_mutual_info_score(first, second)) if len(first) else float("nan")


def _number_distinct_values(groups: Groups) -> NDArray[np.int64]:
    """Number the distinct values 0, 1, 2 ...; they are told apart as Python does."""
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return np.unique(groups, return_inverse=True)[1].astype(np.int64)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in groups], dtype=np.int64)


def _build_contingency_table(labels: Groups, clusters: Groups) -> _ContingencyTable:
    first, second = _number_distinct_values(labels), _number_distinct_values(clusters)
    _check_label_and_cluster_lengths(first, second)
    width = int(second.max(initial=0)) + 1
    # Each cell of the table as one number; only cells that occur are counted.
    cells = np.unique(first * width + second, return_counts=True)[1]
    return _ContingencyTable(len(first), np.bincount(first), np.bincount(second), cells)


def _check_label_and_cluster_lengths(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> None:
    if len(labels) != len(clusters):
        raise UsageError(
            f"There are {len(labels)} labels and {len(clusters)} clusters.", mend="Pass one of each per item."
        )


def _entropy(sizes: NDArray[np.int64], n: int) -> float:
    # -(1 x log 1) would be -0.0.
    if len(sizes) == 1:
        return 0.0
    shares = sizes[sizes > 0] / n
    return float(-(shares * np.log(shares)).sum())


def _count_same_group_pairs(sizes: NDArray[np.int64]) -> int:
    """Pairs of items that are in one group."""
    return int((sizes * (sizes - 1) // 2).sum())
