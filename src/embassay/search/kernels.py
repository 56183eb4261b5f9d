"""The compiled loops of search: over products of vectors, and over the terms that texts share.

Every query has a row of candidates: `columns[row, :counts[row]]`, ascending, with their `scores`. Functions release the
interpreter lock, and each row is the work of one thread.

Texts are ragged: row i has `terms[starts[i]:starts[i + 1]]`, ascending, with a count or weight each. Where an
index is read, terms are its own (places in its vocabulary), and only rows above `lowest` are visited. Threads
are the caller's: numba's own default pool ends the process when two threads enter it at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.machine import compile_with_numba_on_first_call

Array = NDArray[Any]

_STRIDE = 64
"""So many products are compared at once before any of them is looked at."""


@compile_with_numba_on_first_call
def _round_down_to_float32(value: float) -> Any:
    """The highest float32 that is not above `value`."""
    near = np.float32(value)
    return np.nextafter(near, np.float32(-np.inf)) if near > value else near


@compile_with_numba_on_first_call
def _has_product_above(stride: Array, bar: float) -> bool:
    """Whether one of `_STRIDE` products is at least `bar`: a loop of fixed length and integers as wide as the products,
    so that it is compiled to vector instructions."""
    passing = np.int32(0)
    for lane in range(_STRIDE):
        passing += np.int32(stride[lane] >= bar)
    return bool(passing > 0)


@compile_with_numba_on_first_call
def drop_far_candidates_of_row(columns: Array, scores: Array, counts: Array, row: int, k: int, margin: float) -> float:
    """Drop the candidates of a row that are further than `margin` below its k-th best; the k-th best score, -inf where
    there are fewer."""
    count = counts[row]
    if count < k:
        return -np.inf
    kth = _find_kth_highest(scores[row, :count].copy(), k)
    n = 0
    for place in range(count):
        if scores[row, place] >= kth - margin:
            columns[row, n], scores[row, n] = columns[row, place], scores[row, place]
            n += 1
    counts[row] = n
    return float(kth)


@compile_with_numba_on_first_call
def _find_kth_highest(values: Array, k: int) -> Any:
    """The k-th highest of `values`, which are moved about and hold no NaN (Hoare 1961). numba takes seconds to compile
    its own `np.partition`."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k - 1 <= j:
            last = j
        elif k - 1 >= i:
            first = i
        else:
            break
    return values[k - 1]


@compile_with_numba_on_first_call
def trim_rows_to_top_k_margin(candidates: tuple[Array, ...], k: int) -> None:
    """`drop_far_candidates_of_row` in every row of `candidates` (see `add_inner_products_as_candidates`)."""
    columns, scores, counts, best, margins = candidates
    for row in range(len(counts)):
        best[row] = max(best[row], drop_far_candidates_of_row(columns, scores, counts, row, k, margins[row]))


@compile_with_numba_on_first_call
def add_inner_products_as_candidates(
    products: Array, first: int, places: Array, candidates: tuple[Array, ...], k: int
) -> None:
    """Add to each row's candidates the `products` (rows, block) that are not more than its margin below its k-th best.

    `candidates` are `columns`, `scores`, `counts`, the k-th best scores so far and the margins. `first` is the number
    of the block's first column, `places` where each row begins; after the call, where it has come to: before the end of
    the block if the row is full of candidates too close to each other to be told apart here.
    """
    columns, scores, counts, best, margins = candidates
    width, room = products.shape[1], columns.shape[1]
    for row in range(products.shape[0]):
        line, into, scored = products[row], columns[row], scores[row]
        bar = _round_down_to_float32(best[row] - margins[row])
        place, count = places[row], counts[row]
        while place < width:
            end = min(place + _STRIDE, width)
            if end - place == _STRIDE and not _has_product_above(line[place:end], bar):
                place = end
                continue
            if count + _STRIDE > room:
                counts[row] = count
                best[row] = max(best[row], drop_far_candidates_of_row(columns, scores, counts, row, k, margins[row]))
                bar, count = _round_down_to_float32(best[row] - margins[row]), counts[row]
                if 2 * count > k + room:
                    break
            # Every product is written down and the next one over it, unless it passes: no branch to guess wrong.
            for lane in range(place, end):
                into[count] = first + lane
                scored[count] = line[lane]
                count += np.int64(line[lane] >= bar)
            place = end
        places[row], counts[row] = place, count


@compile_with_numba_on_first_call
def compute_vector_pair_dot_products(left: Array, rows: Array, right: Array, out: Array) -> None:
    """The inner product of `left[rows[i]]` and `right[i]` in float64, always summed in the same order."""
    dim = left.shape[1]
    whole = dim - dim % 8
    for i in range(len(rows)):
        row = rows[i]
        # Eight sums at once: one alone would wait for each addition.
        a = b = c = d = e = f = g = h = 0.0
        for j in range(0, whole, 8):
            a += np.float64(left[row, j]) * right[i, j]
            b += np.float64(left[row, j + 1]) * right[i, j + 1]
            c += np.float64(left[row, j + 2]) * right[i, j + 2]
            d += np.float64(left[row, j + 3]) * right[i, j + 3]
            e += np.float64(left[row, j + 4]) * right[i, j + 4]
            f += np.float64(left[row, j + 5]) * right[i, j + 5]
            g += np.float64(left[row, j + 6]) * right[i, j + 6]
            h += np.float64(left[row, j + 7]) * right[i, j + 7]
        for j in range(whole, dim):
            a += np.float64(left[row, j]) * right[i, j]
        out[i] = ((a + b) + (c + d)) + ((e + f) + (g + h))


@compile_with_numba_on_first_call
def _find_first_above(rows: Array, start: int, end: int, lowest: int) -> int:
    """The first place in `rows[start:end]`, ascending, that holds more than `lowest`; `end` if none does."""
    while start < end:
        middle = (start + end) // 2
        if rows[middle] <= lowest:
            start = middle + 1
        else:
            end = middle
    return start


@compile_with_numba_on_first_call
def add_term_overlaps(
    starts: Array, terms: Array, counts: Array, lowest: Array,
    index_starts: Array, index_rows: Array, index_counts: Array, out: Array
) -> None:  # fmt: skip
    """Add to `out[r, j]` the terms that row r shares with row j of the index, repetitions clipped."""
    for r in range(out.shape[0]):
        for i in range(starts[r], starts[r + 1]):
            count = counts[i]
            end = index_starts[terms[i] + 1]
            for p in range(_find_first_above(index_rows, index_starts[terms[i]], end, lowest[r]), end):
                out[r, index_rows[p]] += min(count, index_counts[p])


@compile_with_numba_on_first_call
def add_sparse_dot_products(
    starts: Array, terms: Array, weights: Array, lowest: Array,
    index_starts: Array, index_rows: Array, index_weights: Array, out: Array
) -> None:  # fmt: skip
    """Add to `out[r, j]` the sum of weight products over the terms of both; in the order of row r's terms."""
    for r in range(out.shape[0]):
        for i in range(starts[r], starts[r + 1]):
            weight = weights[i]
            end = index_starts[terms[i] + 1]
            for p in range(_find_first_above(index_rows, index_starts[terms[i]], end, lowest[r]), end):
                out[r, index_rows[p]] += weight * index_weights[p]


@compile_with_numba_on_first_call
def add_pair_term_overlaps(
    starts: Array, terms: Array, a_counts: Array, b_counts: Array, a: Array, b: Array, out: Array
) -> None:
    """Add to `out[i]` the terms that rows a[i] and b[i] share, repetitions clipped."""
    for pair in range(out.shape[0]):
        # The terms of a row ascend, so that one walk through both rows finds what they share.
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


@compile_with_numba_on_first_call
def add_sparse_dot_products_of_pairs(  # noqa: PLR0913 - numba takes arrays, no records
    starts: Array, terms: Array, weights: Array, other_starts: Array, other_terms: Array, other_weights: Array,
    a: Array, b: Array, out: Array
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


@compile_with_numba_on_first_call
def fill_sums_of_largest_products(products: Array, queries: Array, documents: Array, out: Array) -> None:
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
                    largest[column] = max(largest[column], value)
        for q in range(out.shape[0]):
            total = 0.0
            for column in range(queries[q], queries[q + 1]):
                total += largest[column]
            out[q, d] = total
