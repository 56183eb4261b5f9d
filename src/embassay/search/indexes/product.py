"""Product quantisation: vectors cut into parts, each part replaced by the nearest of a few learned ones.

Jégou, Douze and Schmid 2011; with a learned rotation before the cut, OPQ, Ge, He, Ke and Sun 2013.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.randomness import generator
from embassay.search.indexes.faiss_index import FaissIndex, faiss_library, one_thread, recipe_of, stacked
from embassay.search.indexes.vectors import Floats, Vectors, shape_of

SAMPLE = 16_384
"""Vectors to learn from: 64 for each of 256 values; with more, learning takes longer and finds hardly more."""
_VALUES_PER_PART = 8
_ROUNDS = 25
_ROTATIONS = 10
"""Of learning the rotation and the parts in turn, where faiss takes 50: more changes little and takes minutes."""


def pq(
    vectors: Vectors,
    *,
    name: str = "pq",
    digest: str,
    folder: Path | None = None,
    m: int | None = None,
    nbits: int = 8,
    sample: int = SAMPLE,
) -> FaissIndex:
    """Vectors in `m` parts (by default of about 8 values), each one of 2^nbits; every code is compared.

    The parts are learned from `sample` of the vectors. `m` must divide the dimensions."""
    return _product("pq", vectors, (name, digest, folder), m, (nbits, sample))


def opq(
    vectors: Vectors,
    *,
    name: str = "opq",
    digest: str,
    folder: Path | None = None,
    m: int | None = None,
    nbits: int = 8,
    sample: int = SAMPLE,
) -> FaissIndex:
    """As `pq`, the vectors rotated first so that the parts are as independent as can be."""
    return _product("opq", vectors, (name, digest, folder), m, (nbits, sample))


def _product(
    kind: str,
    vectors: Vectors,
    where: tuple[str, str, Path | None],
    m: int | None,
    learning: tuple[int, int],
) -> FaissIndex:
    name, digest, folder = where
    n, dim = shape_of(vectors)
    m = nearest_divisor(dim, max(1, dim // _VALUES_PER_PART)) if m is None else m
    nbits, sample = learning
    _check(kind, n, dim, m=m, nbits=nbits, sample=sample)
    faiss = faiss_library(kind)
    # Of a sample that takes all vectors, the size makes no difference.
    recipe = recipe_of(kind, {"m": m, "nbits": nbits, "sample": min(sample, n)}, digest)
    return FaissIndex(name, recipe, folder, lambda: _built(faiss, kind, stacked(vectors), m, learning))


def _built(faiss: Any, kind: str, vectors: Floats, m: int, learning: tuple[int, int]) -> Any:
    nbits, sample = learning
    codes = faiss.IndexPQ(vectors.shape[1], m, nbits, faiss.METRIC_INNER_PRODUCT)
    _set(codes.pq.cp, len(vectors))
    index = codes
    if kind == "opq":
        rotation = faiss.OPQMatrix(vectors.shape[1], m)
        rotation.niter, rotation.max_train_points = _ROTATIONS, sample
        parts = faiss.ProductQuantizer(vectors.shape[1], m, nbits)
        _set(parts.cp, len(vectors))
        rotation.niter_pq_0, rotation.niter_pq = 10, 4
        rotation.pq = parts
        index = faiss.IndexPreTransform(rotation, codes)
    with one_thread(faiss):
        index.train(_sampled(vectors, sample))
        index.add(vectors)
    return index


def _set(clustering: Any, n: int) -> None:
    clustering.niter = _ROUNDS
    # We draw the sample ourselves; faiss would cut it once more, and write to stderr where it finds it small.
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, n


def _sampled(vectors: Floats, sample: int) -> Floats:
    """The vectors to learn from, in their order: drawn by how many there are, so that equal ones give equal codes."""
    if sample >= len(vectors):
        return vectors
    rows = generator(0, "index training", str(len(vectors))).choice(len(vectors), sample, replace=False)
    return vectors[np.sort(rows)]


def nearest_divisor(dim: int, m: int) -> int:
    """The divisor of `dim` nearest to `m`, the lower of two.

    >>> nearest_divisor(384, 50), nearest_divisor(100, 12)
    (48, 10)
    """
    return min((one for one in range(1, dim + 1) if dim % one == 0), key=lambda one: (abs(one - m), one))


def _check(kind: str, n: int, dim: int, *, m: int, nbits: int, sample: int) -> None:
    if m < 1 or dim % m:
        raise UsageError(
            f"The index {kind!r} cannot cut {dim} dimensions into {m} equal parts.",
            mend=f"Use m={nearest_divisor(dim, m)}.",
        )
    if not 1 <= nbits <= 12:
        raise UsageError(
            f"The index {kind!r} cannot use parts of {nbits} bits.", mend="nbits is from 1 to 12."
        )
    if min(n, sample) < 2**nbits:
        fits = max(0, min(n, sample).bit_length() - 1)
        raise UsageError(
            f"The index {kind!r} learns {2**nbits} values of each part and has {min(n, sample)} vectors to learn "
            f"from.",
            mend=f"Use nbits={fits}, or the index flat." if fits else "Use the index flat.",
        )
