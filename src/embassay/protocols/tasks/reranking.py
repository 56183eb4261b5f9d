"""PTEB task 5: mean average precision of candidates sorted by their similarity to the query (PTEB section 5).

Queries and candidates are paraphrased. A candidate has its highest similarity to any of a query's texts. Among
candidates of equal similarity the irrelevant come first, so that ties favour nobody (trec_eval breaks them by document
id); or they are one step of the curve, as in scikit-learn and HTEB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.measures import average_precision, pair_average_precision
from embassay.protocols.kernel.estimates import Items, Lost, estimate
from embassay.protocols.tasks.task import (
    ItemTextsAndWordings,
    OriginalAndParaphrasedData,
    Place,
    PtebContext,
    Wording,
    iterate_texts_with_numbered_places,
    make_numbered_text_ids,
    make_skipped_items_of_reason,
    make_task_outcome,
    measure_highest_anchor_similarity,
)
from embassay.records import RerankingSet, TaskOutcome

HEADLINE = "map"
ONE_SIDED = "queries left without a relevant or an irrelevant candidate"

Values = NDArray[np.float64]


Precision = Callable[[Values, Values], float]
"""Average precision of a query by the relevance and the similarity of its candidates, (candidates,) each."""


def evaluate_system(
    system: Similarity, data: RerankingSet, context: PtebContext, precision: Precision | None = None
) -> TaskOutcome:
    """Score one system; items are the average precision, `ap`, of each query, by default
    `average_precision_of_worst_order`."""
    return evaluate_reranking_by_similarities(
        system, data, measure_highest_anchor_similarity(system, data.queries, data.candidates), context, precision
    )


def evaluate_reranking_by_similarities(
    system: Similarity,
    data: RerankingSet,
    similar: Sequence[Values],
    context: PtebContext,
    precision: Precision | None = None,
) -> TaskOutcome:
    """`evaluate_system` where the similarity of every query's candidates, (candidates,) each, is known already."""
    items = Items()
    queries, candidates = _find_lost_queries_and_candidates(system, data)
    for lost in (queries, candidates):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, items)
    values = _compute_average_precisions(data, similar, precision or average_precision_of_worst_order)
    items.add(data.ids, values, "ap")
    left = make_skipped_items_of_reason(
        ONE_SIDED, data.ids, np.flatnonzero(~np.isnan(values) | queries.lost_mask).tolist()
    )
    n = int((~np.isnan(values)).sum())
    counts = {"queries": n, "candidates": sum(map(len, data.candidates)) - len(candidates.rows)}
    skipped = (*queries.skipped, *candidates.skipped, *left)
    if not n:
        reason = "no query has both a relevant and an irrelevant candidate"
        return make_task_outcome(HEADLINE, reason, items, n=0, skipped=skipped, counts=counts)
    mean = estimate(values[:, None], lambda means: means[..., 0], context, "queries", "bootstrap over queries")
    return make_task_outcome(HEADLINE, mean, items, n=n, skipped=skipped, counts=counts)


def list_texts(data: RerankingSet) -> Iterator[Place]:
    """List every query's texts, then its candidates, each with its place."""
    for row, key in enumerate(data.ids):
        yield from iterate_texts_with_numbered_places("query", (key,), (data.queries[row],))
        yield from iterate_texts_with_numbered_places("candidate", (key,), (data.candidates[row],))


def replace_texts(data: RerankingSet, wording: Wording) -> OriginalAndParaphrasedData:
    """Queries and candidates, paraphrased. A text that has none drops itself, and a query that has none left, or no
    relevant or no irrelevant candidate, drops out."""
    asked = ItemTextsAndWordings.of("query", "query texts", data.ids, data.queries, wording)
    offered = ItemTextsAndWordings.of("candidate", "candidates", data.ids, data.candidates, wording)
    queries, candidates = (asked.list_reworded_text_numbers_of_items, offered.list_reworded_text_numbers_of_items)
    rows = [
        row for row, gains in enumerate(data.relevance) if queries[row] and _has_both_relevances(gains[candidates[row]])
    ]
    kept = _KeptRerankingRows(rows, queries, candidates)
    lost = (*asked.lost(), *offered.lost(), *make_skipped_items_of_reason(ONE_SIDED, data.ids, rows))
    original = kept.of(data, data.queries, data.candidates) if lost else data
    return OriginalAndParaphrasedData(original, kept.of(data, asked.after, offered.after), len(rows), len(data), lost)


@dataclass(frozen=True)
class _KeptRerankingRows:
    """Which queries stay, and by the number of a query which of its texts and candidates."""

    rows: Sequence[int]
    queries: Sequence[Sequence[int]]
    candidates: Sequence[Sequence[int]]

    def of(self, data: RerankingSet, queries: Any, candidates: Any) -> RerankingSet:
        """Make the data with these texts only."""
        return RerankingSet(
            tuple(data.ids[row] for row in self.rows),
            tuple(tuple(queries[row][i] for i in self.queries[row]) for row in self.rows),
            tuple(tuple(candidates[row][i] for i in self.candidates[row]) for row in self.rows),
            tuple(data.relevance[row][self.candidates[row]] for row in self.rows),
        )


def _find_lost_queries_and_candidates(system: Similarity, data: RerankingSet) -> tuple[Lost, Lost]:
    """The queries of which no text could be encoded, and the candidates that could not."""
    failures = getattr(system, "failures", {})
    queries = Lost(system, data.ids, "queries")
    # A query with a text that was encoded is not lost, so it is shown as that text.
    queries.note_items_with_unencoded_text(
        [next((text for text in group if text not in failures), group[0]) for group in data.queries]
    )
    candidates = Lost(system, make_numbered_text_ids(data.ids, data.candidates), "candidates")
    candidates.note_items_with_unencoded_text([text for group in data.candidates for text in group])
    return queries, candidates


def _compute_average_precisions(data: RerankingSet, similar: Sequence[Values], precision: Precision) -> Values:
    """The average precision of every query, (queries,); NaN where no relevant or no irrelevant candidate is left."""
    values = np.full(len(data.relevance), np.nan)
    for row, (scores, gains) in enumerate(zip(similar, data.relevance, strict=True)):
        known = ~np.isnan(scores)
        if _has_both_relevances(gains[known]):
            values[row] = precision(gains[known], scores[known])
    return values


def average_precision_of_worst_order(gains: Values, scores: Values) -> float:
    """With the irrelevant first among candidates of equal similarity.

    >>> average_precision_of_worst_order(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    0.5
    """
    order = [str(place) for place in np.lexsort((gains, -scores)).tolist()]
    return float(average_precision({place: float(gains[int(place)]) for place in order}, order))


def average_precision_by_steps(gains: Values, scores: Values) -> float:
    """With candidates of equal similarity as one step, as in scikit-learn.

    >>> round(average_precision_by_steps(np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.1])), 4)
    0.5833
    """
    return pair_average_precision(gains > 0, scores)


def _has_both_relevances(gains: Values) -> bool:
    """Whether the query has both a relevant and an irrelevant candidate."""
    return bool((gains > 0).any() and (gains == 0).any())
