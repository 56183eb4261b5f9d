"""SAGE task 4: V-measure of complete-linkage clusters against gold labels (SAGE A.5)

Every set is an independent problem with as many clusters as it has labels, and sets are what is resampled. Of a dataset
of one set its texts are, their clusters held: that says how much the score owes to these texts, not to this set.
"""

from __future__ import annotations

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
    make_undefined_score,
    sum_skipped_items_by_reason,
)
from embassay.protocols.sage.tasks import SageContext
from embassay.records import LabelledTexts, Score, SkippedItems, TaskOutcome

HEADLINE = "v_measure"


def evaluate_system(system: Similarity, data: LabelledTexts, context: SageContext) -> TaskOutcome:
    """Evaluate a system on every set of a clustering dataset; one-label sets and lost texts are skipped."""
    items, scores, skipped, warnings = Items(), [], [], []
    alone = _find_only_set_with_several_labels(data)
    for name in sorted(set(data.sets)):
        rows = [i for i, of_set in enumerate(data.sets) if of_set == name]
        if len({data.labels[i] for i in rows}) < 2:
            skipped.append(SkippedItems("set with a single label", 1, (name,)))
            continue
        drawn = _cap_rows_of_set(data, rows, system, context)
        if len(drawn) < len(rows):
            warnings.append(
                f"set {name!r}: {len(drawn)} of {len(rows)} texts, sampled by label ({system.kind} systems)"
            )
        order = order_positions_by_text_hash([data.texts[i] for i in drawn])
        drawn = [drawn[place] for place in order.tolist()]
        distances, lost = _measure_text_distances(system, data, drawn)
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(
                HEADLINE, items, skipped, reason=f"set {name!r}: {lost.too_many_lost_reason}"
            )
        skipped += lost.skipped
        left = [drawn[i] for i in np.flatnonzero(~lost.lost_mask)]
        scores.append(_score_clustering_of_set(distances, data, left, name, items))
        if name == alone:
            clusters = dict(zip(sorted(left), items.columns["value"][-len(left) :], strict=True))
            whole = bootstrap_v_measure_over_texts(data, name, clusters, context)
    if alone is not None and scores:
        return _make_clustering_outcome(whole, scores, items, sum_skipped_items_by_reason(skipped), tuple(warnings))
    return _make_clustering_outcome(
        average_scores_over_sets(scores, context), scores, items, sum_skipped_items_by_reason(skipped), tuple(warnings)
    )


def _cap_rows_of_set(data: LabelledTexts, rows: list[int], system: Similarity, context: SageContext) -> list[int]:
    """The rows of a set, or as many as the cap allows, drawn by label."""
    cap = context.options.embedding_cap if system.kind == "embedding" else context.options.string_cap
    if len(rows) <= cap:
        return rows
    labels = [data.labels[i] for i in rows]
    drawn = draw_stratified([data.ids[i] for i in rows], labels, cap, context.seed)
    return [rows[i] for i in drawn]


def _measure_text_distances(
    system: Similarity, data: LabelledTexts, rows: list[int]
) -> tuple[NDArray[np.float32], Lost]:
    """Condensed distances of the members that have a vector, and the others."""
    texts = [data.texts[i] for i in rows]
    distances = system.distances(texts)
    lost = Lost(system, [data.ids[i] for i in rows], "texts")
    lost.note_items_with_unencoded_text(texts)
    if not lost:
        return distances, lost
    n, kept = len(rows), ~lost.lost_mask
    # Where each row begins in the condensed upper triangle, as scipy lays it out.
    starts = (row * (2 * n - row - 1) // 2 for row in range(n))
    parts = [distances[start : start + n - 1 - row][kept[row + 1 :]] for row, start in enumerate(starts) if kept[row]]
    return np.concatenate(parts), lost


def _score_clustering_of_set(
    distances: NDArray[np.float32], data: LabelledTexts, rows: list[int], name: str, items: Items
) -> Score:
    """Score by V-measure the clusters of one set, whose distances are in the order of these rows."""
    linked = cluster_by_complete_linkage(distances, len(rows), len({data.labels[i] for i in rows}))
    # argsort of an argsort gives each row's rank, its place once the rows are sorted.
    clusters = restore_cluster_labels_to_item_order(np.argsort(np.argsort(rows)), linked)
    rows = sorted(rows)
    labels = [data.labels[i] for i in rows]
    value = v_measure(labels, clusters.tolist())
    items.add([name], np.array([value]), HEADLINE, "set")
    items.add([data.ids[i] for i in rows], clusters, "cluster", name)
    return Score(HEADLINE, value, len(rows), variant="set", subset=name, method="one of the sets")


def _find_only_set_with_several_labels(data: LabelledTexts) -> str | None:
    """Find the only set with two labels or more of a dataset; None where there are several."""
    labels: dict[str, set[str]] = {}
    for name, label in zip(data.sets, data.labels, strict=True):
        labels.setdefault(name, set()).add(label)
    proper = [name for name, members in labels.items() if len(members) > 1]
    return proper[0] if len(proper) == 1 else None


def _make_clustering_outcome(
    whole: Estimate | None,
    scores: list[Score],
    items: Items,
    skipped: tuple[SkippedItems, ...],
    warnings: tuple[str, ...],
) -> TaskOutcome:
    """The headline with the sets it is made of."""
    if whole is None:
        headline = make_undefined_score(HEADLINE, 0, "no set with two labels or more")
        return TaskOutcome((headline,), {}, items.columns, skipped, warnings)
    texts, row = sum(score.n for score in scores), whole.score(HEADLINE)
    low, high = (end if end is None else min(max(end, 0.0), 1.0) for end in (row.ci_low, row.ci_high))
    headline = Score(HEADLINE, row.value, texts, low, high, method=row.method)
    return TaskOutcome(
        (headline, *scores),
        {HEADLINE: whole.component()},
        items.columns,
        skipped,
        warnings,
        {"texts": texts, "sets": len(scores)},
    )
