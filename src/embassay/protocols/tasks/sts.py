"""PTEB task 1: Spearman's correlation of similarity and the human score of pairs (PTEB section 5).

Both texts of a pair are paraphrased. The scale of the scores makes no difference to the ranks.
"""

from __future__ import annotations

from embassay.contracts import Similarity
from embassay.protocols.kernel.groups import describe_bootstrap_units
from embassay.protocols.tasks.task import (
    PtebContext,
    estimate_correlation,
    list_pair_texts,
    make_pair_similarities_and_items,
    make_task_outcome,
    paraphrase_both_texts_of_pairs,
)
from embassay.records import ScoredTextPairs, TaskOutcome

HEADLINE = "spearman"

list_texts, replace_texts = list_pair_texts, paraphrase_both_texts_of_pairs


def evaluate_system(system: Similarity, data: ScoredTextPairs, context: PtebContext) -> TaskOutcome:
    """Score one system on the pairs; items are each pair's `similarity` and `gold` score."""
    similar, lost, items = make_pair_similarities_and_items(system, data, data.scores)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    groups = context.number_item_groups(data.ids)
    method = describe_bootstrap_units("pairs", ScoredTextPairs, groups)
    rho = estimate_correlation(similar, data.scores, context, "pairs", groups=groups, method=method)
    n = len(data) - len(lost.rows)
    return make_task_outcome(HEADLINE, rho, items, n=n, skipped=lost.skipped, counts={"pairs": n})
