"""The compiled part of exact search; imported only where vectors are searched, because numba loads slowly.

Every query has a row of candidates: `columns[row, :counts[row]]`, ascending, with their `scores`. Functions release the
interpreter lock, and each row is the work of one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.machine import compiled

Array = NDArray[Any]

_STRIDE = 64
"""So many products are compared at once before any of them is looked at."""


@compiled
def _rounded_down(value: float) -> Any:
    """The highest float32 that is not above `value`."""
    near = np.float32(value)
    return np.nextafter(near, np.float32(-np.inf)) if near > value else near


@compiled
def _any_reaches(stride: Array, bar: float) -> bool:
    """Whether one of `_STRIDE` products is at least `bar`: a loop of fixed length and integers as wide as the products,
    so that it is compiled to vector instructions."""
    passing = np.int32(0)
    for one in range(_STRIDE):
        passing += np.int32(stride[one] >= bar)
    return bool(passing > 0)


@compiled
def narrow(columns: Array, scores: Array, counts: Array, row: int, k: int, margin: float) -> float:
    """Drop the candidates of a row that are further than `margin` below its k-th best; the k-th best score, -inf where
    there are fewer."""
    count = counts[row]
    if count < k:
        return -np.inf
    kth = _kth_highest(scores[row, :count].copy(), k)
    kept = 0
    for place in range(count):
        if scores[row, place] >= kth - margin:
            columns[row, kept], scores[row, kept] = columns[row, place], scores[row, place]
            kept += 1
    counts[row] = kept
    return float(kth)


@compiled
def _kth_highest(values: Array, k: int) -> Any:
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


@compiled
def narrow_all(candidates: tuple[Array, ...], k: int) -> None:
    """`narrow` in every row of `candidates` (see `scan`)."""
    columns, scores, counts, best, margins = candidates
    for row in range(len(counts)):
        best[row] = max(best[row], narrow(columns, scores, counts, row, k, margins[row]))


@compiled
def scan(products: Array, first: int, places: Array, candidates: tuple[Array, ...], k: int) -> None:
    """Add to each row's candidates the `products` (rows, block) that are not more than its margin below its k-th best.

    `candidates` are `columns`, `scores`, `counts`, the k-th best scores so far and the margins. `first` is the number
    of the block's first column, `places` where each row begins; after the call, where it has come to: before the end of
    the block if the row is full of candidates too close to each other to be told apart here.
    """
    columns, scores, counts, best, margins = candidates
    width, room = products.shape[1], columns.shape[1]
    for row in range(products.shape[0]):
        line, into, scored = products[row], columns[row], scores[row]
        bar = _rounded_down(best[row] - margins[row])
        place, count = places[row], counts[row]
        while place < width:
            end = min(place + _STRIDE, width)
            if end - place == _STRIDE and not _any_reaches(line[place:end], bar):
                place = end
                continue
            if count + _STRIDE > room:
                counts[row] = count
                best[row] = max(best[row], narrow(columns, scores, counts, row, k, margins[row]))
                bar, count = _rounded_down(best[row] - margins[row]), counts[row]
                if 2 * count > k + room:
                    break
            # Every product is written down and the next one over it, unless it passes: no branch to guess wrong.
            for one in range(place, end):
                into[count] = first + one
                scored[count] = line[one]
                count += np.int64(line[one] >= bar)
            place = end
        places[row], counts[row] = place, count


@compiled
def products_of_pairs(left: Array, rows: Array, right: Array, out: Array) -> None:
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
