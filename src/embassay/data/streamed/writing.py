"""Writing a column of texts, one text after the other, in memory that does not grow."""

from __future__ import annotations

import hashlib
import os
from array import array
from contextlib import suppress
from pathlib import Path
from sys import byteorder
from types import TracebackType
from typing import BinaryIO

from embassay.data.streamed.column_file import CHECKSUM, ERRORS, Footer

_WAITING = 2**20
_STEP = 2**22


class ColumnWriter:
    """Writes the file at `path`; nobody may read it before `finish`. Left early, it removes what it wrote.

    The offsets, 8 bytes a text, wait in a file beside it until the texts are complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.count = 0
        self._beside = path.with_name(f"{path.name}.offsets")
        self._stream: BinaryIO = path.open("wb")
        try:
            self._offsets_stream: BinaryIO = self._beside.open("w+b")
        except OSError:
            self._stream.close()
            raise
        self._checksum = hashlib.blake2b(digest_size=CHECKSUM)
        self._waiting = bytearray()
        self._offsets = array("q", [0])

    def append(self, text: str) -> None:
        """Add a text."""
        data = text.encode("utf-8", ERRORS)
        self.size += len(data)
        self.count += 1
        self._offsets.append(self.size)
        self._waiting += data
        if len(self._waiting) >= _WAITING:
            self._write_texts()
        if len(self._offsets) * 8 >= _WAITING:
            self._write_offsets()

    def finish(self) -> None:
        """Write what is left, and see that it is on the disk."""
        self._write_texts()
        self._write_offsets()
        self._offsets_stream.seek(0)
        while part := self._offsets_stream.read(_STEP):
            self._put(part)
        self._stream.write(Footer(self.count, self.size, self._checksum.digest()).packed())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._close_offsets()

    def abandon(self) -> None:
        """Remove what has been written."""
        with suppress(OSError):
            self._stream.close()
        self._close_offsets()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: object, _t: TracebackType | None) -> None:
        if not self._stream.closed:
            self.abandon()

    def _write_texts(self) -> None:
        self._put(bytes(self._waiting))
        self._waiting.clear()

    def _write_offsets(self) -> None:
        if byteorder == "big":
            self._offsets.byteswap()
        self._offsets_stream.write(self._offsets.tobytes())
        del self._offsets[:]

    def _put(self, part: bytes) -> None:
        self._checksum.update(part)
        self._stream.write(part)

    def _close_offsets(self) -> None:
        with suppress(OSError):
            self._offsets_stream.close()
        self._beside.unlink(missing_ok=True)
