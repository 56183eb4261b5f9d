"""The inverted index over bags, and sums over the terms that texts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.search.blockwise import blocks, cores, in_threads
from embassay.systems.lexical.bags import Bags
from embassay.systems.lexical.tokens import Rows

Summed = Literal["overlaps", "products"]
"""What the terms that two texts share add up to: repetitions clipped, or products of weights."""
_PAIRS_PER_TASK = 4096
SECONDS_PER_TOKEN = 4e-7
"""What a token of a pair takes at most, to read and to compare; about half of it on a processor of 2024."""


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix: row i holds `weights` in the columns `places[starts[i]:starts[i + 1]]`, ascending."""

    starts: NDArray[np.int64]
    places: NDArray[np.integer[Any]]
    weights: NDArray[Any]
    width: int


def weigh(bags: Bags, weights: NDArray[Any]) -> tuple[Sparse, NDArray[np.int64]]:
    """`bags` as rows over their own terms, a weight per entry, and the terms, ascending."""
    vocabulary, places = np.unique(bags.terms, return_inverse=True)
    return Sparse(bags.starts, places, weights, len(vocabulary)), vocabulary


def invert(bags: Bags, weights: NDArray[Any], vocabulary: NDArray[np.int64]) -> Sparse:
    """A row per term of `vocabulary` (ascending) over the rows of `bags`; other terms are left out."""
    from scipy.sparse import csr_array

    places = np.searchsorted(vocabulary, bags.terms)
    known = np.zeros(len(places), dtype=bool)
    inside = places < len(vocabulary)
    known[inside] = vocabulary[places[inside]] == bags.terms[inside]
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(known)))[bags.starts]
    table = csr_array((weights[known], places[known], ends), shape=(len(bags), len(vocabulary))).tocsc()
    return Sparse(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data, len(bags))


def accumulate(
    what: Summed, queries: Sparse, index: Sparse, rows: slice, *, above_diagonal: bool = False
) -> NDArray[Any]:
    """Sums for the given rows and every row of the indexed bags, shape (rows, index.width).

    With `above_diagonal` both sides are the same texts, and columns up to a row's own number stay 0.
    """
    # Machine code takes .3 s to load; a plan, and what only opens a system, do without.
    from embassay.systems.lexical.kernels import add_overlaps, add_products

    kernel = add_overlaps if what == "overlaps" else add_products
    out = np.zeros((rows.stop - rows.start, index.width), dtype=index.weights.dtype)
    lowest = np.arange(rows.start, rows.stop) if above_diagonal else np.full(len(out), -1)
    starts = queries.starts[rows.start : rows.stop + 1]
    kernel(starts, queries.places, queries.weights, lowest, index.starts, index.places, index.weights, out)
    return out


def accumulate_pairs(
    what: Summed, bags: Bags, weights: tuple[NDArray[Any], NDArray[Any]], a: Rows, b: Rows
) -> NDArray[Any]:
    """Sums for the rows a[i] and b[i] of `bags`, weighted per entry, shape (n,)."""
    from embassay.systems.lexical.kernels import pair_overlaps, pair_products

    kernel = pair_overlaps if what == "overlaps" else pair_products
    out = np.zeros(len(a), dtype=weights[0].dtype)

    def work(part: slice) -> None:
        kernel(bags.starts, bags.terms, *weights, a[part], b[part], out[part])

    in_threads(work, list(blocks(len(a), _PAIRS_PER_TASK)), cores())
    return out
