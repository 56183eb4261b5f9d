"""PTEB task 4: average precision of similarity as the sign that two texts belong together (PTEB section 5).

Both texts of a pair are paraphrased. Pairs of one similarity count as one step, as in scikit-learn. (The main score of
mteb is the maximum over several similarity functions; this is its cosine alone.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures.summary import counted_average_precision
from embassay.protocols.kernel.estimates import Estimate, Items, Lost
from embassay.protocols.kernel.groups import describe_bootstrap
from embassay.protocols.tasks.task import (
    PtebContext,
    draw_statistic,
    list_pair_texts,
    make_outcome,
    pair_similarity,
    replace_pair_texts,
)
from embassay.records import LabelledPairs, TaskOutcome

HEADLINE = "average_precision"

list_texts, replace_texts = list_pair_texts, replace_pair_texts


def evaluate_system(system: Similarity, data: LabelledPairs, context: PtebContext) -> TaskOutcome:
    """Score one system on the pairs; items are each pair's `similarity` and `gold` label."""
    items = Items()
    similar = pair_similarity(system, data.first, data.second)
    lost = Lost(system, data.ids, "pairs")
    lost.see(similar, data.first, data.second)
    items.add(data.ids, similar, "similarity")
    items.add(data.ids, data.labels, "gold")
    if lost.too_many:
        return lost.without_score(HEADLINE, items)
    n = len(data) - len(lost.rows)
    groups = context.grouped(data.ids)
    precision = average_precision(similar, data.labels, lost.mask, context, groups)
    return make_outcome(HEADLINE, precision, items, n=n, skipped=lost.skipped, counts={"pairs": n})


def average_precision(
    similar: NDArray[np.float64],
    labels: NDArray[np.int8],
    lost: NDArray[np.bool_],
    context: PtebContext,
    groups: NDArray[np.int64] | None = None,
) -> Estimate | str:
    """Average precision of pairs, (n,), with its replicates over them or over `groups` (n,) of them; the reason where
    the pairs left have one label."""
    if len(set(labels[~lost].tolist())) < 2:
        return "all remaining pairs have the same label"

    def statistic(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return counted_average_precision(labels, similar, counts)

    value = float(statistic((~lost)[None, :].astype(np.int64))[0])
    draws = draw_statistic(statistic, context, "pairs", lost=lost, groups=groups)
    method = describe_bootstrap("pairs", LabelledPairs, groups)
    return Estimate(value, int((~lost).sum()), draws.replicates, method, units=draws.units)
