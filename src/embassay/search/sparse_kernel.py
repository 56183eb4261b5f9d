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
def products_of_two(  # noqa: PLR0913 - numba takes arrays, no records
    starts: Array, terms: Array, weights: Array, other_starts: Array, other_terms: Array, other_weights: Array,
    a: Array, b: Array, out: Array,
) -> None:  # fmt: skip
    """Add to `out[i]` the sum of weight products over the terms of row a[i] of one matrix and row b[i] of another."""
    for pair in range(out.shape[0]):
        i, j = starts[a[pair]], other_starts[b[pair]]
        while i < starts[a[pair] + 1] and j < other_starts[b[pair] + 1]:
            if terms[i] == other_terms[j]:
                out[pair] += weights[i] * other_weights[j]
                i += 1
                j += 1
            elif terms[i] < other_terms[j]:
                i += 1
            else:
                j += 1


@compiled
def sums_of_largest(products: Array, queries: Array, documents: Array, out: Array) -> None:
    """Into `out[q, d]` the sum, over the columns `queries[q]:queries[q + 1]` of `products`, of the largest value in the
    rows `documents[d]:documents[d + 1]`; -1 for each column where there are no rows."""
    largest = products[0].copy() if products.shape[0] else products.sum(axis=0)
    for d in range(out.shape[1]):
        largest[:] = -1.0
        for row in range(documents[d], documents[d + 1]):
            if row == documents[d]:
                largest[:] = products[row]
            else:
                for column in range(products.shape[1]):
                    value = products[row, column]
                    largest[column] = value if value > largest[column] else largest[column]
        for q in range(out.shape[0]):
            total = 0.0
            for column in range(queries[q], queries[q + 1]):
                total += largest[column]
            out[q, d] = total
