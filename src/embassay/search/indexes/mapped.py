"""Memory maps: pages that were read stay in the process until the system is told that they are done with."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
