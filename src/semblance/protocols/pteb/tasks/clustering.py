"""PTEB task 3: V-measure of k-means clusters against gold labels, the mean over sets (PTEB section 5).

All texts are paraphrased. Every set is a problem of its own with as many clusters as it has labels. A dataset of one
set has no interval: what would have to be resampled is the set. A system without vectors clusters by complete linkage
of its distances, a set larger than `clustering_cap` by a draw of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from semblance.contracts import Similarity
from semblance.data import draw_stratified
from semblance.measures import v_measure
from semblance.measures.linkage import complete_linkage
from semblance.protocols.estimates import Items, estimate
from semblance.protocols.lost import Lost
from semblance.protocols.pteb.context import Context
from semblance.protocols.pteb.tasks.comparison import Embedding
from semblance.protocols.pteb.tasks.outcomes import outcome
from semblance.protocols.pteb.tasks.rewording import Place, places, reworded, rows_of, rows_reworded
from semblance.protocols.pteb.tasks.task import Reworded, Wording
from semblance.records import LabelledTexts, Score, Skipped, TaskOutcome

HEADLINE = "v_measure"
BATCH = 500

Clusters = NDArray[np.int64]


def evaluate(system: Similarity, data: LabelledTexts, context: Context) -> TaskOutcome:
    """Score one system on every set; items are the `cluster` of each text and the `v_measure` of each set."""
    items, scores, skipped, notes = Items(), [], [], []
    for name in sorted(set(data.sets)):
        members = rows_of(data, [row for row, of_set in enumerate(data.sets) if of_set == name])
        if len(set(members.labels)) < 2:
            skipped.append(Skipped("sets with a single label", 1, (name,)))
            continue
        members, clusters, lost, said = _clustered(system, members, context)
        if lost.too_many:
            return lost.without_score(HEADLINE, items, skipped, reason=f"set {name!r}: {lost.too_many}")
        skipped += lost.skipped
        notes += [f"set {name!r}: {one}" if name else one for one in said]
        value = v_measure(members.labels, clusters.tolist())
        items.add([name], np.array([value]), HEADLINE)
        items.add(members.ids, clusters, "cluster")
        scores.append(Score(HEADLINE, value, len(members), subset=name, variant="set"))
    return _outcome(system, scores, items, skipped, notes, context)


def texts(data: LabelledTexts) -> Iterator[Place]:
    """Every text."""
    return places("text", data.ids, data.texts)


def reword(data: LabelledTexts, wording: Wording) -> Reworded:
    """Every text in other words; one that has none drops out of its set."""
    said = reworded(texts(data), wording)
    rows = [row for row, text in enumerate(said) if text is not None]
    return rows_reworded(data, {"texts": said}, rows, "texts")


def k_means(vectors: NDArray[np.float32], n_clusters: int, seed: int) -> Clusters:
    """The cluster of each vector (n, dim) by scikit-learn's mini-batch k-means, started once from `seed`."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # One thread, so that the last bits do not depend on how many cells run at once.
    with threadpool_limits(limits=1):
        model = MiniBatchKMeans(n_clusters, batch_size=BATCH, n_init="auto", random_state=seed)
        return np.asarray(model.fit_predict(vectors), dtype=np.int64)


def _clustered(
    system: Similarity, data: LabelledTexts, context: Context
) -> tuple[LabelledTexts, Clusters, Lost, list[str]]:
    """The members of a set that have a cluster, their clusters, those that were lost, and remarks."""
    if not isinstance(system, Embedding):
        drawn = _drawn(data, context)
        few = len(drawn) < len(data)
        said = [f"{len(drawn)} of {len(data)} texts, drawn by label"] if few else []
        labels = set(drawn.labels)
        clusters = complete_linkage(system.distances(drawn.texts), len(drawn), len(labels))
        return drawn, clusters, Lost(system, drawn.ids, "texts"), said
    vectors = system.vectors(data.texts)
    lost = Lost(system, data.ids, "texts")
    lost.see_texts(data.texts)
    if lost.too_many:
        return data, np.empty(0, dtype=np.int64), lost, []
    kept = data if not lost else rows_of(data, np.flatnonzero(~lost.mask).tolist())
    return kept, k_means(vectors[~lost.mask], len(set(kept.labels)), context.seed), lost, []


def _drawn(data: LabelledTexts, context: Context) -> LabelledTexts:
    """The set, or as much of it as the cap allows, drawn by label: the same texts for every system and wording."""
    cap = context.options.clustering_cap
    if len(data) <= cap:
        return data
    drawn: LabelledTexts = rows_of(data, draw_stratified(data.ids, data.labels, cap, context.seed))
    return drawn


def _outcome(
    system: Similarity,
    scores: list[Score],
    items: Items,
    skipped: list[Skipped],
    notes: list[str],
    context: Context,
) -> TaskOutcome:
    """The mean over the sets."""
    if not scores:
        return outcome(HEADLINE, "no set with two labels or more", items, n=0, skipped=skipped, counts={})
    how = "k-means" if isinstance(system, Embedding) else "complete linkage"
    alone = len(scores) == 1
    method = f"{how}, {'single set: no interval' if alone else f'bootstrap over {len(scores)} sets'}"
    values = np.array([[score.value] for score in scores], dtype=np.float64)
    found = estimate(values, lambda means: means[..., 0], context, "sets", method)
    n = sum(score.n for score in scores)
    per_set = () if alone else (replace(score, method=f"{how}, one set") for score in scores)
    return outcome(
        HEADLINE, found, items, n=n, scores=per_set, skipped=skipped, warnings=notes,
        counts={"texts": n, "sets": len(scores)},
    )  # fmt: skip
