"""SAGE task 4: V-measure of complete-linkage clusters against gold labels (SAGE A.5)

Every set is an independent problem with as many clusters as it has labels. A dataset of one set has no interval:
what would have to be resampled is the set.
"""

from __future__ import annotations

import numpy as np

from semblance.contracts import Similarity
from semblance.data import draw_stratified
from semblance.measures import v_measure
from semblance.measures.linkage import complete_linkage
from semblance.protocols.sage.context import Context, Items, estimate, undefined
from semblance.records import LabelledTexts, Score, Skipped, TaskOutcome

HEADLINE = "v_measure"


def evaluate(system: Similarity, data: LabelledTexts, context: Context) -> TaskOutcome:
    """Score one system on every set of one dataset; sets of one label are skipped and counted."""
    cap = context.options.embedding_cap if system.kind == "embedding" else context.options.string_cap
    items, values, scores, skipped, warnings = Items(), [], [], [], []
    for name in sorted(set(data.sets)):
        rows = [i for i, of_set in enumerate(data.sets) if of_set == name]
        labels = [data.labels[i] for i in rows]
        if len(set(labels)) < 2:
            skipped.append(Skipped("set with a single label", 1, (name,)))
            continue
        if len(rows) > cap:
            warnings.append(
                f"set {name!r}: {cap} of {len(rows)} texts, drawn by label (the cap of {system.kind} systems)"
            )
            drawn = draw_stratified([data.ids[i] for i in rows], labels, cap, context.seed)
            rows, labels = [rows[i] for i in drawn], [labels[i] for i in drawn]
        clusters = cluster(system, [data.texts[i] for i in rows], len(set(labels)))
        value = v_measure(labels, clusters.tolist())
        values.append(value)
        items.add([name], np.array([value]), HEADLINE, "set")
        items.add([data.ids[i] for i in rows], clusters, "cluster", name)
        scores.append(
            Score(HEADLINE, value, len(rows), variant="set", subset=name, method="single set: no interval")
        )
    if not values:
        headline = undefined(HEADLINE, 0, "no set with two labels or more")
        return TaskOutcome((headline,), {}, items.columns, tuple(skipped), tuple(warnings))
    method = f"bootstrap over {len(values)} sets" if len(values) > 1 else "single set: no interval"
    whole = estimate(np.array(values)[:, None], lambda means: means[..., 0], context, "sets", method)
    texts = sum(score.n for score in scores)
    row = whole.score(HEADLINE)
    headline = Score(HEADLINE, row.value, texts, row.ci_low, row.ci_high, method=method)
    return TaskOutcome(
        (headline, *scores),
        {HEADLINE: whole.component()},
        items.columns,
        tuple(skipped),
        tuple(warnings),
        {"texts": texts, "sets": len(values)},
    )


def cluster(
    system: Similarity, texts: list[str], n_clusters: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Complete-linkage clusters of the texts under 1 - similarity."""
    return complete_linkage(system.distances(texts), len(texts), n_clusters)
