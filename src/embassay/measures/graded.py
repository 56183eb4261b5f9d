"""Rankings of documents with grades from 1 to 5: all that the set measures of the RAG protocol need.

The set measures look at which documents are among the first K, never at their order there (spec rag 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.measures.judged import Judged, Places, Values, check_choice, check_cutoff, order_in_group

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Grades = Mapping[str, int]
"""The graded pool of one query: document id -> grade from 1 (irrelevant) to 5 (answers clearly)."""
Pools = Grades | Mapping[str, Grades]
"""The graded pool of one query, or query id -> that of each of many."""
Unjudged = Literal["zero", "grade1", "condense", "error"]
"""What a document without a grade is: worth nothing, of grade 1, not there at all, or a mistake."""

GRADES = (1, 2, 3, 4, 5)
RELEVANT = 4
UNJUDGED = 0
ABSENT = -1
"""In `Graded.top`: a document without a grade, and a place beyond the end of the list."""


@dataclass(frozen=True)
class Graded:
    """What `q` queries retrieved, by grade.

    `counts` (q, 5): documents of grade 1, 2, 3, 4, 5 in each query's graded pool. `top` (q, w): the grade of what
    stands at each rank, repeated documents left out; `UNJUDGED` or `ABSENT` where there is none. `pool` (q, 5): how
    many of each grade the restricted pool holds that PROC is about; None stands for the whole of `top`. `sources`
    tells which documents are of one source (novelty), where that is known. `many` is false for one query on its own.
    `pool_sizes` (q,) counts the documents of the restricted pool, graded or not, and `repeated` (q,) those that a list
    named once more; None where nobody counted. `names` are those of the queries, for messages.
    """

    counts: NDArray[np.int64]
    top: NDArray[np.int8]
    pool: NDArray[np.int64] | None = None
    sources: Sources | None = None
    many: bool = True
    pool_sizes: NDArray[np.int64] | None = None
    repeated: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shapes = [self.counts.shape, self.top.shape, *([] if self.pool is None else [self.pool.shape])]
        width = [shape[1:] for shape in (self.counts.shape, *shapes[2:])]
        if any(len(shape) != 2 for shape in shapes) or any(one != (len(GRADES),) for one in width):
            raise UsageError(
                f"Graded rankings cannot have arrays of the shapes {', '.join(map(str, shapes))}.",
                mend="Give counts (queries, 5), top (queries, ranks) and pool (queries, 5).",
            )
        if len({shape[0] for shape in shapes}) != 1:
            raise UsageError(
                f"Graded rankings have {' and '.join(str(shape[0]) for shape in shapes)} queries.",
                mend="Give one row per query in each array.",
            )
        if self.top.size and not ABSENT <= self.top.min() <= self.top.max() <= GRADES[-1]:
            raise UsageError(
                f"The retrieved documents have grades from {self.top.min()} to {self.top.max()}.",
                mend="Give 1 to 5, 0 to one without a grade and -1 beyond the end of a list.",
            )

    def answer(self, values: Floats) -> Values:
        """`values`, one per query, in the shape of the question: a float for one query."""
        return values if self.many else float(values[0])


@dataclass(frozen=True)
class Sources:
    """Which source each document is of: codes of `top` (q, w); and the graded pool as columns of one length, sorted by
    query: `query`, `grade`, `code`."""

    top: NDArray[np.int64]
    query: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    grade: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, np.int8))
    code: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def retrieved_counts(graded: Graded, k: int | None = None) -> Ints:
    """How many of the first `k` (None: of all) are of grade 1, 2, 3, 4, 5: (q, 5)."""
    check_cutoff(k)
    top = graded.top[:, :k]
    return np.stack([np.count_nonzero(top == grade, axis=1) for grade in GRADES], axis=1)


def retrieved_sizes(graded: Graded, k: int | None = None) -> Ints:
    """How many distinct documents are among the first `k` (None: in all), graded or not: (q,)."""
    check_cutoff(k)
    return np.asarray(np.count_nonzero(graded.top[:, :k] != ABSENT, axis=1))


def pool_counts(graded: Graded) -> Ints:
    """Documents of grade 1, 2, 3, 4, 5 in the restricted pool, which is all that was retrieved where none is given."""
    return retrieved_counts(graded) if graded.pool is None else graded.pool


def pool_sizes(graded: Graded) -> Ints:
    """Documents in the restricted pool, with or without a grade where that is known: (q,)."""
    if graded.pool is None:
        return retrieved_sizes(graded)
    return graded.pool.sum(axis=1) if graded.pool_sizes is None else graded.pool_sizes


def treat_unjudged(graded: Graded, how: Unjudged, k: int | None = None) -> Graded:
    """`graded` with its unjudged documents as a measure of the first `k` is to see them.

    `zero` leaves them: worth nothing and no harm. `grade1` makes them irrelevant ones. `condense` takes them out, so
    that those behind move up. `error` raises DataError where one is among the first `k`.
    """
    check_choice("unjudged", how, get_args(Unjudged))
    if how == "zero":
        return graded
    unjudged = graded.top == UNJUDGED
    if how == "grade1":
        return replace(graded, top=np.where(unjudged, np.int8(1), graded.top))
    if how == "condense":
        return _condensed(graded, unjudged)
    where = np.argwhere(unjudged[:, :k])
    if len(where):
        query, rank = where[0]
        name = repr(graded.names[query]) if graded.names else f"number {query + 1}"
        raise DataError(
            f"{len(where)} retrieved documents have no grade, the first at rank {rank + 1} of query {name}.",
            mend="Grade them, or use unjudged='zero', 'grade1' or 'condense'.",
        )
    return graded


def _condensed(graded: Graded, unjudged: NDArray[np.bool_]) -> Graded:
    order = np.argsort(unjudged, axis=1, kind="stable")
    moved = np.take_along_axis(np.where(unjudged, np.int8(ABSENT), graded.top), order, axis=1)
    sources = graded.sources
    if sources is not None:
        sources = replace(sources, top=np.take_along_axis(sources.top, order, axis=1))
    return replace(graded, top=moved, sources=sources)


def as_judged(graded: Graded) -> Judged:
    """The same for the classic measures: gain = grade - 1, relevant from grade 4 on."""
    query, column = np.nonzero(graded.top > 0)
    falling = np.tile(np.array(GRADES[::-1], dtype=np.float64), len(graded.counts))
    counts = graded.counts[:, ::-1].ravel()
    owner = np.repeat(np.arange(len(graded.counts)), graded.counts.sum(axis=1))
    return Judged(
        len(graded.counts),
        Places(query, column + 1, graded.top[query, column].astype(np.float64)),
        Places(owner, order_in_group(owner), np.repeat(falling, counts)),
        graded.many,
        relevant=RELEVANT,
        worthless=GRADES[0],
    )
