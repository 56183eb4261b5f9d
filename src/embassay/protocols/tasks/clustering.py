"""PTEB task 3: V-measure of k-means clusters against gold labels, the mean over sets (PTEB section 5).

All texts are paraphrased. Every set is a problem of its own with as many clusters as it has labels. Sets are what is
resampled; of a dataset of one set its texts are, their clusters held, as in SAGE. A system without
vectors clusters by complete linkage of its distances (equal ones in an order that only what the texts say decides), a
set larger than `clustering_cap` by a draw of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import draw_stratified
from embassay.measures import v_measure
from embassay.measures.clusters import (
    cluster_by_complete_linkage,
    order_positions_by_text_hash,
    restore_cluster_labels_to_item_order,
)
from embassay.protocols.kernel.estimates import (
    Estimate,
    Items,
    Lost,
    average_scores_over_sets,
    bootstrap_v_measure_over_texts,
)
from embassay.protocols.tasks.task import (
    OriginalAndParaphrasedData,
    Place,
    PtebContext,
    VectorSimilarity,
    Wording,
    apply_wording_to_texts,
    iterate_texts_with_item_places,
    make_paraphrased_data_of_rows,
    make_task_outcome,
)
from embassay.records import LabelledTexts, Score, SkippedItems, TaskOutcome

HEADLINE = "v_measure"
# batch_size as in the paper (spec pteb 5).
BATCH = 500
MOST_GROUPS, TIE = 30, 1e-9

Clusters = NDArray[np.int64]
Clusterer = Callable[[list[int]], tuple[list[int], Clusters]]
"""From rows of the data to those of them that are clustered and their clusters."""


def evaluate_system(
    system: Similarity, data: LabelledTexts, context: PtebContext, *, give_k: bool = True
) -> TaskOutcome:
    """Score one system on every set; items are the `cluster` of each text and the `v_measure` of each set.

    A system is told how many clusters gold has; without `give_k` it takes the number, from 2 to half of the texts and
    `MOST_GROUPS`, whose clusters have the highest mean silhouette, of equals the smallest.
    """
    items = Items()
    if isinstance(system, VectorSimilarity):
        how, clustered = "k-means", _make_vector_clusterer(system, data, context.seed, give_k)
    else:
        how, clustered = "complete linkage", _make_distance_clusterer(system, data, context, give_k)
    if not give_k:
        how += ", number of clusters by silhouette"
    lost = Lost(system, data.ids, "texts")
    lost.note_items_with_unencoded_text(data.texts)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    scores: list[Score] = []
    first: tuple[str, dict[int, int]] = "", {}
    skipped, notes = [*lost.skipped], []
    for name, kept in sorted(_group_rows_by_set(data, ~lost.lost_mask).items()):
        if len({data.labels[row] for row in kept}) < 2:
            skipped.append(SkippedItems("sets with a single label", 1, (name,)))
            continue
        drawn, clusters = clustered(kept)
        if len(drawn) < len(kept):
            notes.append(f"set {name!r}: {len(drawn)} of {len(kept)} texts, sampled by label")
        labels = [data.labels[row] for row in drawn]
        kinds = len(set(labels))
        if 2 * kinds > len(labels):
            # A cluster for each text would be almost pure, and V-measure is not corrected for chance.
            notes.append(f"set {name!r}: {len(labels)} texts have {kinds} labels, so random clusters also score high")
        value = v_measure(labels, clusters.tolist())
        items.add([name], np.array([value]), HEADLINE)
        items.add([data.ids[row] for row in drawn], clusters, "cluster")
        scores.append(Score(HEADLINE, value, len(drawn), variant="set", subset=name, method=f"{how}, one set"))
        if len(scores) == 1:
            first = name, dict(zip(drawn, clusters.tolist(), strict=True))
    alone = len(scores) == 1
    estimate = (
        bootstrap_v_measure_over_texts(data, *first, context) if alone else average_scores_over_sets(scores, context)
    )
    return _make_outcome_over_sets(how, estimate, scores, items, skipped, notes)


def list_texts(data: LabelledTexts) -> Iterator[Place]:
    """List every text of the dataset with its place."""
    return iterate_texts_with_item_places("text", data.ids, data.texts)


def replace_texts(data: LabelledTexts, wording: Wording) -> OriginalAndParaphrasedData:
    """Replace every text by its paraphrase; one that has none drops out of its set."""
    wordings = apply_wording_to_texts(list_texts(data), wording)
    rows = [row for row, text in enumerate(wordings) if text is not None]
    return make_paraphrased_data_of_rows(data, {"texts": wordings}, rows, "texts")


def cluster_by_k_means(vectors: NDArray[np.float32], n_clusters: int, seed: int) -> Clusters:
    """The cluster of each vector (n, dim) by scikit-learn's mini-batch k-means, started once from `seed`."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # One thread, so that the last bits do not depend on how many cells run at once.
    with threadpool_limits(limits=1):
        model = MiniBatchKMeans(n_clusters, batch_size=BATCH, n_init="auto", random_state=seed)
        return np.asarray(model.fit_predict(vectors), dtype=np.int64)


def cluster_by_best_silhouette(
    n: int, cluster: Callable[[int], Clusters], space: NDArray[np.float32], metric: str
) -> Clusters:
    """The clusters of `n` texts, `cluster(k)`, of the highest mean silhouette in `space`: vectors (n, dim), or with the
    metric "precomputed" distances (n, n). One cluster where no number gives two."""
    from sklearn.metrics import silhouette_score

    best, highest = np.zeros(n, dtype=np.int64), -math.inf
    for k in range(2, min(max(n // 2, 2), MOST_GROUPS, n - 1) + 1):
        clusters = cluster(k)
        # A silhouette needs two clusters at least, and not each text in its own.
        if 1 < len(set(clusters.tolist())) < n:
            score = float(silhouette_score(space, clusters, metric=metric))
            if score > highest + TIE:
                best, highest = clusters, score
    return best


def _make_vector_clusterer(system: VectorSimilarity, data: LabelledTexts, seed: int, give_k: bool) -> Clusterer:
    """k-means on vectors, which are made once however many sets a text is in."""
    place = {text: row for row, text in enumerate(dict.fromkeys(data.texts))}
    vectors = system.vectors(list(place))

    def cluster_by_vectors(rows: list[int]) -> tuple[list[int], Clusters]:
        own = vectors[[place[data.texts[row]] for row in rows]]
        if give_k:
            return rows, cluster_by_k_means(own, len({data.labels[row] for row in rows}), seed)
        return rows, cluster_by_best_silhouette(len(rows), lambda k: cluster_by_k_means(own, k, seed), own, "euclidean")

    return cluster_by_vectors


def _make_distance_clusterer(system: Similarity, data: LabelledTexts, context: PtebContext, give_k: bool) -> Clusterer:
    """Complete linkage of at most as many texts as the cap allows, drawn by label: the same ones for every system and
    wording."""

    def cluster_sampled_rows_by_distance(rows: list[int]) -> tuple[list[int], Clusters]:
        labels = [data.labels[row] for row in rows]
        cap = context.options.clustering_cap
        drawn = [rows[i] for i in draw_stratified([data.ids[row] for row in rows], labels, cap, context.seed)]
        order, n = order_positions_by_text_hash([data.texts[row] for row in drawn]), len(drawn)
        distances = system.distances([data.texts[drawn[place]] for place in order.tolist()])
        if give_k:
            k = len({data.labels[row] for row in drawn})
            return drawn, restore_cluster_labels_to_item_order(order, cluster_by_complete_linkage(distances, n, k))
        from scipy.spatial.distance import squareform

        # Linkage overwrites what it is given.
        space = squareform(np.clip(distances, 0, None), checks=False)
        clusters = cluster_by_best_silhouette(
            n, lambda k: cluster_by_complete_linkage(distances.copy(), n, k), space, "precomputed"
        )
        return drawn, restore_cluster_labels_to_item_order(order, clusters)

    return cluster_sampled_rows_by_distance


def _group_rows_by_set(data: LabelledTexts, kept: NDArray[np.bool_]) -> dict[str, list[int]]:
    """The kept rows of every set."""
    rows: dict[str, list[int]] = {}
    for row in np.flatnonzero(kept).tolist():
        rows.setdefault(data.sets[row], []).append(row)
    return rows


def _make_outcome_over_sets(
    how: str,
    estimate: Estimate | None,
    scores: list[Score],
    items: Items,
    skipped: list[SkippedItems],
    notes: list[str],
) -> TaskOutcome:
    """The mean over the sets."""
    if estimate is None:
        return make_task_outcome(HEADLINE, "no set with two or more labels", items, n=0, skipped=skipped, counts={})
    n = sum(score.n for score in scores)
    return make_task_outcome(
        HEADLINE, replace(estimate, method=f"{how}, {estimate.method}"), items, n=n,
        scores=() if len(scores) == 1 else scores, skipped=skipped, warnings=notes,
        counts={"texts": n, "sets": len(scores)}
    )  # fmt: skip
