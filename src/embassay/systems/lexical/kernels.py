"""The inner loops, compiled. They release the interpreter lock; each cell of `out` is the work of one thread.

Texts are ragged: row i has `terms[starts[i]:starts[i + 1]]`, ascending, with a count or weight each. Where an
index is read, terms are its own (places in its vocabulary), and only rows above `lowest` are visited. Threads
are the caller's: numba's own default pool ends the process when two threads enter it at once.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from embassay.machine import compiled

Array = NDArray[Any]


@compiled
def _first_above(rows: Array, start: int, end: int, lowest: int) -> int:
    """The first place in `rows[start:end]`, ascending, that holds more than `lowest`; `end` if none does."""
    while start < end:
        middle = (start + end) // 2
        if rows[middle] <= lowest:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def add_overlaps(
    starts: Array, terms: Array, counts: Array, lowest: Array,
    index_starts: Array, index_rows: Array, index_counts: Array, out: Array,
) -> None:  # fmt: skip
    """Add to `out[r, j]` the terms that row r shares with row j of the index, repetitions clipped."""
    for r in range(out.shape[0]):
        for i in range(starts[r], starts[r + 1]):
            count = counts[i]
            end = index_starts[terms[i] + 1]
            for p in range(_first_above(index_rows, index_starts[terms[i]], end, lowest[r]), end):
                out[r, index_rows[p]] += min(count, index_counts[p])


@compiled
def add_products(
    starts: Array, terms: Array, weights: Array, lowest: Array,
    index_starts: Array, index_rows: Array, index_weights: Array, out: Array,
) -> None:  # fmt: skip
    """Add to `out[r, j]` the sum of weight products over the terms of both; in the order of row r's terms."""
    for r in range(out.shape[0]):
        for i in range(starts[r], starts[r + 1]):
            weight = weights[i]
            end = index_starts[terms[i] + 1]
            for p in range(_first_above(index_rows, index_starts[terms[i]], end, lowest[r]), end):
                out[r, index_rows[p]] += weight * index_weights[p]


@compiled
def pair_overlaps(
    starts: Array, terms: Array, a_counts: Array, b_counts: Array, a: Array, b: Array, out: Array
) -> None:
    """Add to `out[i]` the terms that rows a[i] and b[i] share, repetitions clipped."""
    for pair in range(out.shape[0]):
        i, j = starts[a[pair]], starts[b[pair]]
        while i < starts[a[pair] + 1] and j < starts[b[pair] + 1]:
            if terms[i] == terms[j]:
                out[pair] += min(a_counts[i], b_counts[j])
                i += 1
                j += 1
            elif terms[i] < terms[j]:
                i += 1
            else:
                j += 1


@compiled
def pair_products(
    starts: Array, terms: Array, a_weights: Array, b_weights: Array, a: Array, b: Array, out: Array
) -> None:
    """Add to `out[i]` the sum of weight products over the terms of both rows a[i] and b[i], ascending."""
    for pair in range(out.shape[0]):
        i, j = starts[a[pair]], starts[b[pair]]
        while i < starts[a[pair] + 1] and j < starts[b[pair] + 1]:
            if terms[i] == terms[j]:
                out[pair] += a_weights[i] * b_weights[j]
                i += 1
                j += 1
            elif terms[i] < terms[j]:
                i += 1
            else:
                j += 1
