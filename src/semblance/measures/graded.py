"""Rankings of documents with grades from 1 to 5: all that the set measures of the RAG protocol need.

The set measures look at which documents are among the first K, never at their order there (spec rag 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

GRADES = (1, 2, 3, 4, 5)
UNJUDGED = 0
ABSENT = -1
"""In `Graded.top`: a document without a grade, and a place beyond the end of the list."""


@dataclass(frozen=True)
class Graded:
    """What `q` queries retrieved, by grade.

    `counts` (q, 5): documents of grade 1, 2, 3, 4, 5 in each query's graded pool. `top` (q, w): the grade of what
    stands at each rank, repeated documents left out; `UNJUDGED` or `ABSENT` where there is none. `pool` (q, 5): how many
    of each grade the restricted pool holds that PROC is about; None stands for the whole of `top`. `sources` tells
    which documents are of one source (novelty), where that is known. `many` is false for one query on its own.
    """

    counts: NDArray[np.int64]
    top: NDArray[np.int8]
    pool: NDArray[np.int64] | None = None
    sources: Sources | None = None
    many: bool = True


@dataclass(frozen=True)
class Sources:
    """Which source each document is of: codes of `top` (q, w); and the graded pool as columns of one length, sorted by
    query: `query`, `grade`, `code`."""

    top: NDArray[np.int64]
    query: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    grade: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, np.int8))
    code: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
