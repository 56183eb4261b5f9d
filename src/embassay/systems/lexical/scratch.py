"""Arrays that wait on disk for their turn."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

_IN_MEMORY = 2**26

Kept = tuple[int, tuple[tuple[str, np.dtype[Any], int], ...]]
"""Where a record begins in the file, and the name, type and length of each of its arrays."""


class Scratch(AbstractContextManager["Scratch"]):
    """Records of flat arrays, kept in memory up to 64 MiB together, beyond that in a file without a name, which is gone
    with the process however that ends. It lies in the system's folder for temporary files (`TMPDIR`)."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._end = 0

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, arrays: Mapping[str, NDArray[Any]]) -> Kept:
        """Put a record down. UsageError where the disk is full."""
        start = self._end
        try:
            self._file.seek(start)
            for array in arrays.values():
                self._end += self._file.write(
                    np.ascontiguousarray(array).data.cast("B") if array.size else b""
                )
        except OSError as error:
            raise UsageError(
                f"The file for what BM25 counts cannot be written ({error.strerror or error}).",
                mend="Set TMPDIR to a folder with room: about 10 bytes for every distinct term of every document.",
            ) from None
        return start, tuple((name, array.dtype, array.size) for name, array in arrays.items())

    def read(self, kept: Kept) -> dict[str, NDArray[Any]]:
        """The record."""
        start, arrays = kept
        self._file.seek(start)
        return {
            name: np.frombuffer(self._file.read(size * dtype.itemsize), dtype=dtype)
            for name, dtype, size in arrays
        }
