"""SAGE task 4: V-measure of complete-linkage clusters against gold labels (SAGE A.5)

Every set is an independent problem with as many clusters as it has labels. A dataset of one set has no interval:
what would have to be resampled is the set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import draw_stratified
from embassay.measures import v_measure
from embassay.measures.linkage import complete_linkage
from embassay.protocols.estimates import Items, estimate, undefined
from embassay.protocols.lost import Lost
from embassay.protocols.sage.context import Context
from embassay.records import LabelledTexts, Score, Skipped, TaskOutcome

HEADLINE = "v_measure"


def evaluate(system: Similarity, data: LabelledTexts, context: Context) -> TaskOutcome:
    """Score one system on every set of one dataset; sets of one label and lost members are skipped and counted."""
    items, scores, skipped, warnings = Items(), [], [], []
    for name in sorted(set(data.sets)):
        rows = [i for i, of_set in enumerate(data.sets) if of_set == name]
        if len({data.labels[i] for i in rows}) < 2:
            skipped.append(Skipped("set with a single label", 1, (name,)))
            continue
        drawn = _drawn(data, rows, system, context)
        if len(drawn) < len(rows):
            warnings.append(
                f"set {name!r}: {len(drawn)} of {len(rows)} texts, drawn by label (the cap of {system.kind} systems)"
            )
        distances, lost = _distances(system, data, drawn)
        if lost.too_many:
            return lost.without_score(HEADLINE, items, skipped, reason=f"set {name!r}: {lost.too_many}")
        skipped += lost.skipped
        scores.append(_score(distances, data, [drawn[i] for i in np.flatnonzero(~lost.mask)], name, items))
    return _outcome(scores, items, _summed(skipped), tuple(warnings), context)


def _drawn(data: LabelledTexts, rows: list[int], system: Similarity, context: Context) -> list[int]:
    """The rows of a set, or as many as the cap allows, drawn by label."""
    cap = context.options.embedding_cap if system.kind == "embedding" else context.options.string_cap
    if len(rows) <= cap:
        return rows
    labels = [data.labels[i] for i in rows]
    drawn = draw_stratified([data.ids[i] for i in rows], labels, cap, context.seed)
    return [rows[i] for i in drawn]


def _distances(system: Similarity, data: LabelledTexts, rows: list[int]) -> tuple[NDArray[np.float32], Lost]:
    """Condensed distances of the members that have a vector, and the others."""
    texts = [data.texts[i] for i in rows]
    distances = system.distances(texts)
    lost = Lost(system, [data.ids[i] for i in rows], "texts")
    lost.see_texts(texts)
    if not lost:
        return distances, lost
    n, kept = len(rows), ~lost.mask
    starts = (row * (2 * n - row - 1) // 2 for row in range(n))
    parts = [
        distances[start : start + n - 1 - row][kept[row + 1 :]]
        for row, start in enumerate(starts)
        if kept[row]
    ]
    return np.concatenate(parts), lost


def _score(
    distances: NDArray[np.float32], data: LabelledTexts, rows: list[int], name: str, items: Items
) -> Score:
    """V-measure of the clusters of one set."""
    labels = [data.labels[i] for i in rows]
    clusters = complete_linkage(distances, len(rows), len(set(labels)))
    value = v_measure(labels, clusters.tolist())
    items.add([name], np.array([value]), HEADLINE, "set")
    items.add([data.ids[i] for i in rows], clusters, "cluster", name)
    return Score(HEADLINE, value, len(rows), variant="set", subset=name, method="single set: no interval")


def _outcome(
    scores: list[Score],
    items: Items,
    skipped: tuple[Skipped, ...],
    warnings: tuple[str, ...],
    context: Context,
) -> TaskOutcome:
    """The mean over the sets."""
    if not scores:
        headline = undefined(HEADLINE, 0, "no set with two labels or more")
        return TaskOutcome((headline,), {}, items.columns, skipped, warnings)
    method = f"bootstrap over {len(scores)} sets" if len(scores) > 1 else "single set: no interval"
    values = np.array([[score.value] for score in scores], dtype=np.float64)
    whole = estimate(values, lambda means: means[..., 0], context, "sets", method)
    texts, row = sum(score.n for score in scores), whole.score(HEADLINE)
    headline = Score(HEADLINE, row.value, texts, row.ci_low, row.ci_high, method=method)
    return TaskOutcome(
        (headline, *scores),
        {HEADLINE: whole.component()},
        items.columns,
        skipped,
        warnings,
        {"texts": texts, "sets": len(scores)},
    )


def _summed(skipped: list[Skipped]) -> tuple[Skipped, ...]:
    """One entry per reason."""
    by_reason: dict[str, Skipped] = {}
    for one in skipped:
        before = by_reason.get(one.reason, Skipped(one.reason, 0))
        examples = (*before.examples, *one.examples)[:5]
        by_reason[one.reason] = Skipped(one.reason, before.count + one.count, examples)
    return tuple(by_reason.values())
