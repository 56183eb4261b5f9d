"""The vectors that an index is made of: one array or several, in memory or mapped."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.search.blocks import blocks


def forget(array: NDArray[Any]) -> None:
    """Tell the system that these rows of a file mapped for reading are not needed now; read again, they are the same.

    Does nothing for other arrays, for maps that may be written, and where the system cannot be told (Windows).
    """
    origin: Any = array
    mode = None
    while isinstance(origin, np.ndarray):
        mode = getattr(origin, "mode", mode)
        origin = origin.base
    # Of a private copy (mode "c") changed pages would be lost.
    if mode != "r" or not isinstance(origin, mmap.mmap) or not hasattr(origin, "madvise") or not array.size:
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    first = int(np.frombuffer(origin, dtype=np.uint8).__array_interface__["data"][0])
    start = (low - first) // mmap.PAGESIZE * mmap.PAGESIZE
    origin.madvise(mmap.MADV_DONTNEED, start, high - first - start)


Floats = NDArray[np.float32]
Vectors = Floats | Sequence[Floats]
"""Float32 (n, d), or shards of it: a sequence of (n_i, d)."""

_READ_BYTES = 2**25


def shards_of(vectors: Vectors) -> Sequence[Floats]:
    """The shards of `vectors`; an array is its own only one."""
    return [vectors] if isinstance(vectors, np.ndarray) else vectors


def shape_of(vectors: Vectors) -> tuple[int, int]:
    """Vectors and dimensions of all shards together."""
    if isinstance(vectors, np.ndarray):
        return vectors.shape[0], vectors.shape[1]
    shapes = [shard.shape for shard in vectors]
    return sum(n for n, _ in shapes), shapes[0][1]


def checked(vectors: Vectors) -> Vectors:
    """`vectors`, if they are float32 with two axes and one number of dimensions; UsageError otherwise."""
    shapes = []
    for shard in shards_of(vectors):
        if not isinstance(shard, np.ndarray) or shard.dtype != np.float32 or shard.ndim != 2:
            found = f"{shard.dtype} {shard.shape}" if isinstance(shard, np.ndarray) else type(shard).__name__
            raise UsageError(
                f"An index cannot be made of {found}.", mend="Give float32 vectors, shape (n, dimensions)."
            )
        shapes.append(shard.shape)
    if len({dim for _, dim in shapes}) != 1 or shapes[0][1] == 0:
        raise UsageError(
            f"An index cannot be made of shards of shapes {shapes[:5]}.",
            mend="Give at least one shard, all of as many dimensions, at least 1.",
        )
    return vectors


def digest_of(vectors: Vectors) -> str:
    """A fingerprint of shape and values, 32 hexadecimal digits, the same however the vectors are cut into shards."""
    n, dim = shape_of(vectors)
    digest = hashlib.blake2b(f"{n} {dim} <f4 ".encode(), digest_size=16)
    for rows in row_blocks(vectors):
        digest.update(np.ascontiguousarray(rows, dtype="<f4").data.cast("B"))
    return digest.hexdigest()


def row_blocks(vectors: Vectors) -> Iterator[Floats]:
    """The vectors in order, 32 MiB or less at a time."""
    for shard in shards_of(vectors):
        size = max(1, _READ_BYTES // (4 * shard.shape[1]))
        yield from (shard[rows] for rows in blocks(len(shard), size))
