"""PTEB task 4: average precision of similarity as the sign that two texts belong together (PTEB section 5).

Both texts of a pair are paraphrased. Pairs of one similarity count as one step, as in scikit-learn. (The main score of
mteb is the maximum over several similarity functions; this is its cosine alone.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures.summary import resample_average_precision
from embassay.protocols.kernel.estimates import Estimate
from embassay.protocols.kernel.groups import describe_bootstrap_units
from embassay.protocols.tasks.task import (
    PtebContext,
    list_pair_texts,
    make_pair_similarities_and_items,
    make_task_outcome,
    paraphrase_both_texts_of_pairs,
    resample_statistic,
)
from embassay.records import LabelledTextPairs, TaskOutcome

HEADLINE = "average_precision"

list_texts, replace_texts = list_pair_texts, paraphrase_both_texts_of_pairs


def evaluate_system(system: Similarity, data: LabelledTextPairs, context: PtebContext) -> TaskOutcome:
    """Score one system on the pairs; items are each pair's `similarity` and `gold` label."""
    similar, lost, items = make_pair_similarities_and_items(system, data, data.labels)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    n = len(data) - len(lost.rows)
    groups = context.number_item_groups(data.ids)
    precision = average_precision(similar, data.labels, lost.lost_mask, context, groups)
    return make_task_outcome(HEADLINE, precision, items, n=n, skipped=lost.skipped, counts={"pairs": n})


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

    def resample_average_precision_of_pairs(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return resample_average_precision(labels, similar, counts)

    value = float(resample_average_precision_of_pairs((~lost)[None, :].astype(np.int64))[0])
    draws = resample_statistic(resample_average_precision_of_pairs, context, "pairs", lost=lost, groups=groups)
    method = describe_bootstrap_units("pairs", LabelledTextPairs, groups)
    return Estimate(value, int((~lost).sum()), draws.replicates, method, units=draws.units)
