"""How much of what exact search finds an index finds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.errors import UsageError


def recalls(found: Ranked, exact: Ranked, k: int) -> NDArray[np.float64]:
    """The share of each query's first k of exact search that are among its first k found, (q,), 0 to 1.

    By number: of vectors that tie at place k, the one that exact search keeps counts. Where there are fewer than k to
    find, those are all; where there are none, 1. UsageError for another number of queries, and for rankings shorter
    than k. Source: spec rag 3.4, index quality check.
    """
    q, depth = exact.indices.shape
    if len(found.indices) != q or k < 1 or min(depth, found.indices.shape[1]) < k:
        raise UsageError(
            f"Cannot compare the first {k} of rankings {found.indices.shape} and {exact.indices.shape}.",
            mend="Search the same queries, both to at least k.",
        )
    wanted = exact.indices[:, :k]
    # One pair of a query and a number is one integer.
    most = max(int(wanted.max(initial=0)), int(found.indices.max(initial=0))) + 2
    offsets = np.arange(q)[:, None] * most + 1
    hit = np.isin(wanted + offsets, found.indices[:, :k] + offsets) & (wanted >= 0)
    there = np.count_nonzero(wanted >= 0, axis=1)
    return np.where(there == 0, 1.0, np.count_nonzero(hit, axis=1) / np.maximum(there, 1))


def recall(found: Ranked, exact: Ranked, k: int) -> float:
    """The mean of `recalls`. UsageError without queries.

    >>> one = Ranked(np.array([[4, 7]]), np.array([[0.9, 0.8]]))
    >>> other = Ranked(np.array([[7, 5]]), np.array([[0.8, 0.7]]))
    >>> recall(other, one, 2)
    0.5
    """
    each = recalls(found, exact, k)
    if not len(each):
        raise UsageError("There is no recall without queries.", mend="Search at least one.")
    return float(each.mean())
