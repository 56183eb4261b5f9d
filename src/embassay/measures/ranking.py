"""Measures of rankings against judgements: nDCG, AP, RR, recall and precision.

Each has a public function (judgements and what was retrieved, for one query or many; rules of `judge`) and
the measure itself on `Judged` places. A query without relevant documents has no best ranking to be compared
with: it is undefined, NaN, for every one of them. (trec_eval says 0 there and lets such queries lower the
mean.)
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judgements import (
    AllGains,
    AllRetrieved,
    Judged,
    RelevantDocumentRanks,
    Values,
    check_cutoff,
    count_up_within_sorted_groups,
    divide_where_positive,
    judge,
    judge_arrays,
)
from embassay.measures.registry import measure

Gain = Literal["linear", "exponential"]
Level = int | float | None
"""The least gain of a relevant document; None: any gain above 0, and from grade 4 on where grades are from 1 to 5."""

_ranking = partial(
    measure, direction="higher", range="[0, 1]", needs="judgements, ranking", undefined="no relevant document is judged"
)
# 2^1024 is no float, and a sum of gains needs some room below it.
_LARGEST_EXPONENT = 1000


def ndcg(qrels: AllGains, retrieved: AllRetrieved, k: int | None = None, gain: Gain = "linear") -> Values:
    """Normalised discounted cumulative gain at `k` (None: the whole ranking).

    The sum of gain / log2(rank + 1) over the top k, divided by that of the best possible ranking of all
    judged documents. `gain` is the judged gain itself ("linear", as in trec_eval) or 2^gain - 1 ("exponential").
    Judgements and rankings are for one query or, as mappings from query ids, for many, with one value per
    judged query. Range 0 to 1, higher is better; NaN for a query without relevant documents. For ties, unjudged
    and repeated documents, see `judge`. Source: Järvelin and Kekäläinen 2002; SAGE A.6 (linear) and A.8
    (exponential) [A21].
    Raises UsageError for k below 1, an unknown gain, or an exponential gain too large for a float.

    >>> ndcg({"a": 1, "b": 0}, ["c", "a", "b"], 10)
    0.6309297535714575
    >>> ndcg({"q1": {"a": 2}, "q2": {"a": 1}}, {"q1": {"a": 0.9, "b": 0.3}}, 10)
    array([1., 0.])
    """
    judged = judge(qrels, retrieved)
    return judged.answer(_ndcg(judged, cutoff=k, gain=gain))


def ndcg_arrays(gains: ArrayLike, ideal: ArrayLike, k: int, gain: Gain = "linear") -> NDArray[np.float64]:
    """`ndcg` of many queries from arrays: gains of what was retrieved (q, w) and of all judged (q, m) -> (q,).

    Row i of `gains` is in rank order, 0 for a document that is unjudged or absent; row i of `ideal` in any
    order, filled up with 0. Range, undefined queries and errors as for `ndcg`; shapes that do not fit are a
    UsageError.

    >>> ndcg_arrays([[0, 1], [2, 1]], [[1, 0], [2, 1]], 10)
    array([0.63092975, 1.        ])
    """
    return _ndcg(judge_arrays(gains, ideal), cutoff=k, gain=gain)


def average_precision(qrels: AllGains, retrieved: AllRetrieved, k: int | None = None) -> Values:
    """Mean precision at the ranks of the relevant documents; documents not in the top `k` count 0.

    Divided by the number of relevant documents, even if it exceeds k (trec_eval's map_cut). Range 0 to 1, higher is
    better; all else is as for `ndcg`. Source: trec_eval.

    >>> average_precision({"a": 1, "b": 1}, ["a", "c", "b"])
    0.8333333333333333
    """
    judged = judge(qrels, retrieved)
    return judged.answer(_average_precision(judged, cutoff=k))


def reciprocal_rank(qrels: AllGains, retrieved: AllRetrieved, k: int | None = None) -> Values:
    """1 / rank of the first relevant document; 0 if there is none in the top `k`.

    Range 0 to 1, higher is better; all else is as for `ndcg`. Source: trec_eval.

    >>> reciprocal_rank({"a": 1, "b": 1}, ["c", "b", "a"], 10)
    0.5
    """
    judged = judge(qrels, retrieved)
    return judged.answer(_reciprocal_rank(judged, cutoff=k))


def recall(qrels: AllGains, retrieved: AllRetrieved, k: int | None = None) -> Values:
    """Share of the relevant documents that are in the top `k` (None: anywhere in the ranking).

    Range 0 to 1, higher is better; all else is as for `ndcg`. Source: trec_eval.

    >>> recall({"a": 1, "b": 1}, ["c", "b", "a"], 2)
    0.5
    """
    judged = judge(qrels, retrieved)
    return judged.answer(_recall(judged, cutoff=k))


def precision(qrels: AllGains, retrieved: AllRetrieved, k: int) -> Values:
    """Number of relevant documents in the top `k`, divided by k even if fewer were retrieved.

    Range 0 to 1, higher is better; all else is as for `ndcg`. Source: trec_eval.

    >>> precision({"a": 1, "b": 1}, ["c", "b", "a"], 2)
    0.5
    """
    judged = judge(qrels, retrieved)
    return judged.answer(_precision(judged, cutoff=k))


@_ranking("nDCG", source="Järvelin and Kekäläinen 2002; SAGE A.6, A.8 [A21]; trec_eval ndcg_cut")
def _ndcg(judged: Judged, *, cutoff: int | None = None, gain: Gain = "linear") -> NDArray[np.float64]:
    """Discounted gain of the ranking over that of the best possible one."""
    if gain not in ("linear", "exponential"):
        raise UsageError(f"There is no gain function {gain!r}.", mend="Use 'linear' or 'exponential'.")
    check_cutoff(cutoff)
    best = _sum_discounted_gain(judged, judged.ideal, cutoff, gain)
    reached = _sum_discounted_gain(judged, judged.found, cutoff, gain)
    # The same gains summed in another order may pass 1 in the last bit.
    return np.minimum(divide_where_positive(reached, best), 1.0)


@_ranking("AP", source="trec_eval map, map_cut")
def _average_precision(judged: Judged, *, cutoff: int | None = None, rel: Level = None) -> NDArray[np.float64]:
    """Mean precision at the ranks of the relevant documents."""
    places = _keep_relevant_places(judged, judged.found, rel)
    precisions = np.where(
        _mark_ranks_within_cutoff(places, cutoff), count_up_within_sorted_groups(places.query) / places.rank, 0.0
    )
    return divide_where_positive(
        _sum_values_by_query(places, precisions, judged.queries), _count_relevant_by_query(judged, rel)
    )


@_ranking("RR", source="trec_eval recip_rank")
def _reciprocal_rank(judged: Judged, *, cutoff: int | None = None, rel: Level = None) -> NDArray[np.float64]:
    """One over the rank of the first relevant document."""
    places = _keep_relevant_places(judged, judged.found, rel)
    first = _mark_ranks_within_cutoff(places, cutoff) & (count_up_within_sorted_groups(places.query) == 1)
    values = _sum_values_by_query(places, np.where(first, 1 / places.rank, 0.0), judged.queries)
    return np.where(_count_relevant_by_query(judged, rel) > 0, values, np.nan)


@_ranking("R", source="trec_eval recall")
def _recall(judged: Judged, *, cutoff: int | None = None, rel: Level = None) -> NDArray[np.float64]:
    """Share of the relevant documents that was found."""
    return divide_where_positive(_count_relevant_in_top(judged, cutoff, rel), _count_relevant_by_query(judged, rel))


@_ranking("P", source="trec_eval P")
def _precision(judged: Judged, *, cutoff: int, rel: Level = None) -> NDArray[np.float64]:
    """Share of the top documents that is relevant."""
    return np.where(
        _count_relevant_by_query(judged, rel) > 0, _count_relevant_in_top(judged, cutoff, rel) / cutoff, np.nan
    )


def _keep_relevant_places(judged: Judged, places: RelevantDocumentRanks, rel: Level) -> RelevantDocumentRanks:
    """Keep the places with a gain of `rel` or more (None: what the judgements call relevant)."""
    least = judged.relevant if rel is None else rel
    if least is None:
        return places
    if not least > 0:
        raise UsageError(f"rel is {least}, but it must be a gain or grade above 0.")
    good = places.gain >= least
    return RelevantDocumentRanks(places.query[good], places.rank[good], places.gain[good])


def _count_relevant_by_query(judged: Judged, rel: Level) -> NDArray[np.float64]:
    relevant = _keep_relevant_places(judged, judged.ideal, rel)
    return np.bincount(relevant.query, minlength=judged.queries).astype(np.float64)


def _count_relevant_in_top(judged: Judged, cutoff: int | None, rel: Level) -> NDArray[np.float64]:
    places = _keep_relevant_places(judged, judged.found, rel)
    return _sum_values_by_query(places, _mark_ranks_within_cutoff(places, cutoff).astype(np.float64), judged.queries)


def _mark_ranks_within_cutoff(places: RelevantDocumentRanks, cutoff: int | None) -> NDArray[np.bool_]:
    check_cutoff(cutoff)
    return places.rank <= (np.inf if cutoff is None else cutoff)


def _sum_values_by_query(
    places: RelevantDocumentRanks, values: NDArray[np.float64], queries: int
) -> NDArray[np.float64]:
    return np.bincount(places.query, values, minlength=queries).astype(np.float64)


def _sum_discounted_gain(
    judged: Judged, places: RelevantDocumentRanks, cutoff: int | None, gain: Gain
) -> NDArray[np.float64]:
    worth = places.gain - judged.worthless
    if gain == "exponential":
        if worth.max(initial=0) > _LARGEST_EXPONENT:
            raise UsageError(f"A gain of {worth.max():g} is too large for 2^gain - 1.", mend="Use the linear gain.")
        worth = np.exp2(worth) - 1
    inside = _mark_ranks_within_cutoff(places, cutoff)
    return _sum_values_by_query(places, np.where(inside, worth / np.log2(places.rank + 1), 0.0), judged.queries)
