"""From grades and rankings as people have them, mappings and lists, to `Graded` arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.graded import ABSENT, GRADES, UNJUDGED, Floats, Graded, Grades, Ints, Sources
from embassay.measures.judged import Retrieved, are_many, in_order, scored
from embassay.measures.placing import Scores, check_each, find_ranks, numbers

Facet = Callable[[str], Hashable] | Mapping[str, Hashable] | Mapping[str, Mapping[str, Hashable]]
"""Which source or facet a document is of: a function of its id, id -> source, or query id -> id -> source."""
One = Retrieved | Mapping[str, Retrieved]


def grade(
    grades: Grades | Mapping[str, Grades],
    retrieved: One,
    pool: One | None = None,
    source: Facet | None = None,
) -> Graded:
    """What one query retrieved, or many (query id -> what one query takes), by grade.

    `grades` are document id -> 1 to 5, all that is graded. `retrieved` and `pool`, the restricted pool of PROC, are
    ids, best first, or id -> score; ties as in `judge`. Of a repeated id the first counts. Every graded query counts:
    one that was not retrieved has found nothing, and a retrieved query without grades is left out. `source` says which
    source a document is of, for the novelty variant.
    Raises UsageError for a grade that is none of 1 to 5 or a score that is NaN.

    >>> found = grade({"a": 5, "b": 4, "c": 1}, ["c", "x", "a"])
    >>> found.counts.tolist(), found.top.tolist()
    ([[1, 0, 0, 1, 1]], [[1, 0, 5]])
    """
    many = are_many(grades, retrieved)
    pools: Mapping[str, Grades] = grades if many else {"": grades}  # type: ignore[assignment, dict-item]
    names = list(pools)
    sizes = np.fromiter(map(len, pools.values()), np.int64, len(names))
    query = np.repeat(np.arange(len(names)), sizes)
    each = numbers(map(methodcaller("values"), pools.values()), len(query))
    check_each(np.isin(each, GRADES), "grade", names, query, "1, 2, 3, 4 or 5; map other scales first")
    given = _by_query(retrieved, names, many)
    runs = [scored(one) for one in given]
    top = _placed(pools, runs, query, each)
    restricted = None if pool is None else [scored(one) for one in _by_query(pool, names, many)]
    return Graded(
        _counts(query, each, len(names)),
        top,
        None if restricted is None else _inside(pools, restricted, query, each),
        None if source is None else _sources(pools, runs, source, top.shape[1]),
        many,
        None if restricted is None else np.fromiter(map(len, restricted), np.int64, len(names)),
        np.array([len(one) - len(run) for one, run in zip(given, runs, strict=True)], dtype=np.int64),
        tuple(names) if many else (),
    )


def _by_query(given: One, names: list[str], many: bool) -> list[Retrieved]:
    if not many:
        return [given]  # type: ignore[list-item]
    if not isinstance(given, Mapping):
        raise UsageError(
            "The grades are of many queries, what was retrieved is not.",
            mend="Give query id -> document ids or scores.",
        )
    return [given.get(name, ()) for name in names]  # type: ignore[misc]


def _placed(pools: Mapping[str, Grades], runs: list[Scores], query: Ints, each: Floats) -> NDArray[np.int8]:
    """The grade at each rank, (q, longest run)."""
    sizes = np.fromiter(map(len, runs), np.int64, len(runs))
    columns = np.arange(sizes.max(initial=0))
    top = np.where(columns < sizes[:, None], np.int8(UNJUDGED), np.int8(ABSENT))
    rank = find_ranks(pools, runs, query, np.ones(len(query), dtype=bool))
    found = rank > 0
    top[query[found], rank[found] - 1] = each[found]
    return top


def _counts(query: Ints, each: Floats, queries: int) -> Ints:
    cells = query * len(GRADES) + each.astype(np.int64) - 1
    return np.bincount(cells, minlength=queries * len(GRADES)).reshape(queries, len(GRADES))


def _inside(pools: Mapping[str, Grades], restricted: list[Scores], query: Ints, each: Floats) -> Ints:
    """Grades of the documents that the restricted pools hold, (q, 5)."""
    inside = np.fromiter(
        chain.from_iterable(
            map(pool.__contains__, grades) for grades, pool in zip(pools.values(), restricted, strict=True)
        ),
        dtype=bool,
        count=len(query),
    )
    return _counts(query[inside], each[inside], len(restricted))


def _sources(pools: Mapping[str, Grades], runs: list[Scores], source: Facet, width: int) -> Sources:
    """The source of each document as a number; only which are equal counts."""
    codes: dict[Hashable, int] = {}
    top = np.full((len(runs), width), ABSENT, dtype=np.int64)
    pool: list[int] = []
    for row, run, (query, grades) in zip(top, runs, pools.items(), strict=True):
        of = _function(source, query)
        row[: len(run)] = [codes.setdefault(of(document), len(codes)) for document in in_order(run)]
        pool += [codes.setdefault(of(document), len(codes)) for document in grades]
    return Sources(
        top,
        np.repeat(np.arange(len(pools)), [len(grades) for grades in pools.values()]),
        np.array([value for grades in pools.values() for value in grades.values()], dtype=np.int8),
        np.array(pool, dtype=np.int64),
    )


def _function(source: Facet, query: str) -> Callable[[str], Hashable]:
    """The source of a document of this query, by its id."""
    if not isinstance(source, Mapping):
        return source
    nested = isinstance(next(iter(source.values()), None), Mapping)
    known: Mapping[str, Hashable] = source.get(query, {}) if nested else source  # type: ignore[assignment]

    def of(document: str) -> Hashable:
        if document not in known:
            where = f" of query {query!r}" if nested else ""
            raise UsageError(
                f"There is no source of the document {document!r}{where}.", mend="Name one for each."
            )
        return known[document]

    return of
