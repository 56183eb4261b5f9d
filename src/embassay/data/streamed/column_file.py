"""The file of one column of texts: their UTF-8 bytes, where each begins, and a footer with a checksum.

    bytes of all texts | n + 1 offsets of 8 bytes | magic, n, bytes, checksum

All numbers are little-endian. Files are read by position and not mapped into memory: pages of a mapped file count as
the process's own memory until they are given back, and a mapped file that another process cuts kills the reader.
"""

from __future__ import annotations

import hashlib
import os
import struct
import weakref
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError

MAGIC = b"SBTEXTS1"
CHECKSUM = 16
_FOOTER = struct.Struct(f"<8sQQ{CHECKSUM}s")
_STEP = 2**22
ERRORS = "surrogatepass"
"""Half of a surrogate pair, which some readers let through, comes back as it was."""


class Footer(NamedTuple):
    """How many texts a file holds, of how many bytes together, and the checksum of bytes and offsets."""

    n: int
    size: int
    checksum: bytes

    def packed(self) -> bytes:
        """As it stands at the end of the file."""
        return _FOOTER.pack(MAGIC, self.n, self.size, self.checksum)


class ColumnFile:
    """An open file of texts; safe to share between threads and with forked processes.

    DataError where there is no such file, or it is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise self._missing(error) from error
        self._descriptor = descriptor
        self._seeking = Lock()
        weakref.finalize(self, os.close, descriptor)
        self.footer = self._read_footer()

    def text(self, place: int) -> str:
        """The text at `place`, from 0."""
        start, stop = self.offsets(place, place + 1).tolist()
        return self.read(start, stop - start).decode("utf-8", ERRORS)

    def offsets(self, start: int, stop: int) -> NDArray[np.int64]:
        """Where the texts from `start` begin, and where the last before `stop` ends: (stop - start + 1,)."""
        found = self.read(self.footer.size + 8 * start, 8 * (stop - start + 1))
        return np.frombuffer(found, "<i8").astype(np.int64, copy=False)

    def read(self, start: int, length: int) -> bytes:
        """`length` bytes from `start`; DataError where the file has become shorter."""
        parts: list[bytes] = []
        while length > 0:
            part = self._read_some(start, length)
            if not part:
                raise self.damaged("it has become shorter")
            parts.append(part)
            start, length = start + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def is_whole(self) -> bool:
        """Whether its content has the checksum that it was written with; reads all of it."""
        checksum = hashlib.blake2b(digest_size=CHECKSUM)
        left, place = self.footer.size + 8 * (self.footer.n + 1), 0
        while left:
            part = self.read(place, min(left, _STEP))
            checksum.update(part)
            place, left = place + len(part), left - len(part)
        return checksum.digest() == self.footer.checksum

    def damaged(self, found: str) -> DataError:
        """The error for a file that is not what was written."""
        return DataError(
            "the kept texts of a corpus are damaged", path=self.path, found=found,
            mend="Delete them with `embassay cache clear --corpora` and run again: they are made anew.",
        )  # fmt: skip

    def _read_some(self, start: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, length, start)
        with self._seeking:  # not POSIX
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, length)

    def _read_footer(self) -> Footer:
        size = os.fstat(self._descriptor).st_size
        if size < _FOOTER.size:
            raise self.damaged(f"{size} bytes")
        magic, count, texts, checksum = _FOOTER.unpack(self.read(size - _FOOTER.size, _FOOTER.size))
        if magic != MAGIC or size != texts + 8 * (count + 1) + _FOOTER.size:
            raise self.damaged("no whole footer")
        return Footer(count, texts, checksum)

    def _missing(self, error: OSError) -> DataError:
        return DataError(
            "the kept texts of a corpus cannot be read on this machine",
            path=self.path,
            found=error.strerror or str(error),
            mend="Run again where they were deleted; on a cluster, set EMBASSAY_CACHE to a folder that all "
            "machines see.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (self.path, self.footer.checksum)


_open: weakref.WeakValueDictionary[tuple[str, bytes], ColumnFile] = weakref.WeakValueDictionary()


def reopened(path: Path, checksum: bytes) -> ColumnFile:
    """The file that was sent to this process as its path, opened once; DataError where it is another by now."""
    known = _open.get((str(path), checksum))
    if known is not None:
        return known
    file = ColumnFile(path)
    if file.footer.checksum != checksum:
        raise file.damaged("other texts than those that were sent")
    _open[str(path), checksum] = file
    return file
