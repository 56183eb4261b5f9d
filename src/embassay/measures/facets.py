"""Measures of the facets (nuggets, subtopics) that documents have: what is covered, what is told twice, what adds up.

A document may have several facets of a query, and several documents the same one. Facets say what grades cannot: that
two passages with the best grade say the same, and that two middling ones complete each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from embassay.errors import UsageError
from embassay.measures.judgements import (
    ABSENT,
    AllRetrieved,
    FacetsOfQueryDocuments,
    Floats,
    Graded,
    Retrieved,
    Values,
    check_cutoff,
    grade,
    is_mapping_by_query,
    rank_documents,
)
from embassay.measures.registry import measure

FacetsOf = Mapping[str, Collection[str]]
"""Document -> its facets."""
AllFacets = FacetsOf | Mapping[str, FacetsOf]
"""Of one query, or of many by their ids."""
WITHOUT = "the query has no facets"
NONE_FOUND = "no document within the cutoff has a facet"
_of_facets = partial(measure, range="[0, 1]", needs="facets, ranking")


@_of_facets("Facet-Recall", direction="higher", undefined=WITHOUT, source="Zhai, Cohen and Lafferty 2003 (S-recall)")
def _facet_recall(graded: Graded, *, cutoff: int) -> Floats:
    """Share of the query's facets that the first documents have between them."""
    return np.array(
        [_compute_query_facet_recall(query) for query in _iterate_query_facets(graded, cutoff)], dtype=np.float64
    )


@_of_facets("Facet-alpha-nDCG", direction="higher", undefined=WITHOUT, source="Clarke et al. 2008")
def _facet_alpha_ndcg(graded: Graded, *, cutoff: int, alpha: float = 0.5) -> Floats:
    """nDCG in which a document is worth its facets, each less by `alpha` for each time that it stands above."""
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is {alpha}, but it must be from 0 (repeats cost nothing) to 1.")
    return np.array(
        [_compute_facet_ndcg(query, cutoff, alpha) for query in _iterate_query_facets(graded, cutoff)], dtype=np.float64
    )


@_of_facets("Redundancy", direction="lower", undefined=NONE_FOUND, source="ours")
def _redundancy(graded: Graded, *, cutoff: int) -> Floats:
    """Share of those first documents that have facets which add none that doesn't stand above."""
    return np.array(
        [_compute_query_redundancy(query) for query in _iterate_query_facets(graded, cutoff)], dtype=np.float64
    )


@_of_facets("Complementarity", direction="higher", undefined=NONE_FOUND, source="ours")
def _compute_facet_complementarity(graded: Graded, *, cutoff: int) -> Floats:
    """Share of the facets covered by the first documents that the best of these lacks: 0 where one has them all."""
    return np.array(
        [_compute_query_complementarity(query) for query in _iterate_query_facets(graded, cutoff)], dtype=np.float64
    )


def facet_recall(facets: AllFacets, retrieved: AllRetrieved, k: int) -> Values:
    """Subtopic recall at `k`: the share of a query's facets that its first `k` documents cover.

    `facets` maps documents to facets, or query ids to such mappings; `retrieved` is as for `ra_nwg`. Documents without
    facets cover none. Range 0 to 1, higher is better; NaN where the query has no facet. Every query with facets
    counts. Source: Zhai, Cohen and Lafferty 2003.

    >>> facet_recall({"a": ["x", "y"], "b": ["x"], "c": ["z"]}, ["b", "a", "c"], 2)
    0.6666666666666666
    """
    graded = grade_facets(facets, retrieved)
    return graded.answer(_facet_recall(graded, cutoff=k))


def facet_alpha_ndcg(facets: AllFacets, retrieved: AllRetrieved, k: int, alpha: float = 0.5) -> Values:
    """alpha-nDCG at `k`: a facet that n documents above have is worth (1 - alpha) ** n, a document the sum of these;
    discounted by log2(1 + rank) and divided by the same for the usual greedy ideal (ties: more facets, then ids).

    Arguments and NaN as for `facet_recall`. Range 0 to 1, higher is better; the greedy ideal is not always optimal, so
    values above 1 are cut to 1. UsageError for an `alpha` outside 0 to 1. Source: Clarke et al. 2008.

    >>> round(facet_alpha_ndcg({"a": ["x", "y"], "b": ["x"], "c": ["z"]}, ["b", "a", "c"], 3), 4)
    0.8492
    """
    graded = grade_facets(facets, retrieved)
    return graded.answer(_facet_alpha_ndcg(graded, cutoff=k, alpha=alpha))


def redundancy(facets: AllFacets, retrieved: AllRetrieved, k: int) -> Values:
    """Of the first `k` documents that have facets, the share that adds no new facet.

    Arguments as for `facet_recall`. Range 0 to 1, lower is better; NaN where none of the first `k` has a facet.

    >>> redundancy({"a": ["x", "y"], "b": ["x"], "c": ["z"]}, ["a", "b", "c"], 3)
    0.3333333333333333
    """
    graded = grade_facets(facets, retrieved)
    return graded.answer(_redundancy(graded, cutoff=k))


def complementarity(facets: AllFacets, retrieved: AllRetrieved, k: int) -> Values:
    """How well the first `k` documents complement each other: the share of the facets they cover that the document with
    the most facets lacks.

    Arguments and NaN as for `redundancy`. Range 0 (one document has all of these facets) to below 1.

    >>> complementarity({"a": ["x", "y"], "b": ["x"], "c": ["z"]}, ["a", "b", "c"], 3)
    0.3333333333333333
    """
    graded = grade_facets(facets, retrieved)
    return graded.answer(_compute_facet_complementarity(graded, cutoff=k))


def grade_facets(facets: AllFacets, retrieved: AllRetrieved) -> Graded:
    """Grade what was retrieved by its facets, in place of grades."""
    many = is_mapping_by_query(facets, retrieved)
    by_query: Mapping[str, FacetsOf] = facets if many else {"": facets}  # type: ignore[assignment]
    lists: Mapping[str, Retrieved] = retrieved if many else {"": retrieved}  # type: ignore[assignment, dict-item]
    rankings = {query: lists.get(query, ()) for query in by_query}
    graded = grade({query: dict.fromkeys(documents, 5) for query, documents in by_query.items()}, rankings)
    codes: dict[str, int] = {}
    top = np.full(graded.top.shape, ABSENT, dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    names: dict[str, int] = {}
    for place, (query, documents) in enumerate(by_query.items()):
        ranked = rank_documents(rankings[query])
        top[place, : len(ranked)] = [codes.setdefault(document, len(codes)) for document in ranked]
        for document, own in sorted(documents.items()):
            code = codes.setdefault(document, len(codes))
            rows += [(place, code, names.setdefault(facet, len(names))) for facet in own]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return replace(graded, facets=FacetsOfQueryDocuments(top, *columns), many=many)


Query = tuple[list[frozenset[int]], dict[int, frozenset[int]]]
"""The facets of each of the first documents, and those of every document that has one, in the order of ids."""


def _iterate_query_facets(graded: Graded, cutoff: int) -> Iterator[Query]:
    """Iterate over every query's facets; UsageError where nobody knows them."""
    check_cutoff(cutoff)
    if graded.facets is None:
        raise UsageError(
            "Facet measures need the facets of each document.",
            mend="Pass --facets FILE, or in Python call grade_facets(facets, retrieved).",
        )
    table = graded.facets
    # The table is sorted by query: these are the ends of each query's stretch.
    ends = np.searchsorted(table.query, np.arange(len(graded.top) + 1))
    for row, (start, end) in enumerate(pairwise(ends)):
        pool: dict[int, set[int]] = {}
        for document, facet in zip(table.document[start:end].tolist(), table.facet[start:end].tolist(), strict=True):
            pool.setdefault(document, set()).add(facet)
        known = {document: frozenset(own) for document, own in pool.items()}
        ranked = table.top[row, :cutoff].tolist()
        yield [known.get(document, frozenset()) for document in ranked if document != ABSENT], known


def _compute_query_facet_recall(query: Query) -> float:
    first, pool = query
    every = frozenset().union(*pool.values())
    return len(frozenset().union(*first)) / len(every) if every else float("nan")


def _compute_query_redundancy(query: Query) -> float:
    having = [own for own in query[0] if own]
    above: set[int] = set()
    adds_none = 0
    for own in having:
        adds_none += own <= above
        above |= own
    return adds_none / len(having) if having else float("nan")


def _compute_query_complementarity(query: Query) -> float:
    covered = frozenset().union(*query[0])
    if not covered:
        return float("nan")
    return (len(covered) - max(map(len, query[0]))) / len(covered)


def _compute_facet_ndcg(query: Query, cutoff: int, alpha: float) -> float:
    first, pool = query
    if not pool:
        return float("nan")
    gained = _sum_discounted_facet_gain(first, alpha)
    # The greedy order is not always the best one, so a ranking may beat it.
    return min(
        gained / _sum_discounted_facet_gain(_order_documents_greedily_by_facets(pool, cutoff, alpha), alpha), 1.0
    )


def _sum_discounted_facet_gain(ranked: Collection[frozenset[int]], alpha: float) -> float:
    seen: dict[int, int] = {}
    total = 0.0
    for rank, own in enumerate(ranked, start=1):
        total += _facet_gain(own, seen, alpha) / float(np.log2(1 + rank))
        _add_facets_to_seen_counts(own, seen)
    return total


def _facet_gain(own: Collection[int], seen: Mapping[int, int], alpha: float) -> float:
    return float(sum((1 - alpha) ** seen.get(facet, 0) for facet in own))


def _add_facets_to_seen_counts(own: Collection[int], seen: dict[int, int]) -> None:
    for facet in own:
        seen[facet] = seen.get(facet, 0) + 1


def _order_documents_greedily_by_facets(
    pool: Mapping[int, frozenset[int]], cutoff: int, alpha: float
) -> list[frozenset[int]]:
    """Order documents greedily by their facets: each time the one that is worth most."""
    left, seen = list(pool.values()), dict[int, int]()
    chosen: list[frozenset[int]] = []
    while left and len(chosen) < cutoff:
        best = max(
            range(len(left)), key=lambda place: (_facet_gain(left[place], seen, alpha), len(left[place]), -place)
        )
        chosen.append(left.pop(best))
        _add_facets_to_seen_counts(chosen[-1], seen)
    return chosen
