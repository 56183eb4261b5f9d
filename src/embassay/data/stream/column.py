"""A column of texts that lies in a file: written text after text in bounded memory, read by place.

bytes of all texts | n + 1 offsets of 8 bytes | magic, n, bytes, checksum

All numbers are little-endian. Files are read by position and not mapped into memory: pages of a mapped file count as
the process's own memory until they are given back, and a mapped file that another process cuts kills the reader.
"""

from __future__ import annotations

import hashlib
import os
import struct
import weakref
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from sys import byteorder
from threading import Lock
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, overload

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


_WAITING = 2**20


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


_BLOCK = 2**22
"""Bytes of texts that an iteration holds at once, unless one text is longer."""
_MANY = 4096


class TextColumn(Sequence[str]):
    """The texts from `start` to `stop` of a file: what a tuple of them would be, but for the memory.

    A slice is another view of the same file. Equal to any sequence of the same texts. It pickles as path and range, so
    another process must see the file. Reading raises DataError where the file is gone or damaged.
    """

    __slots__ = ("_file", "_start", "_stop")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, file: ColumnFile, start: int = 0, stop: int | None = None) -> None:
        self._file = file
        self._start = start
        self._stop = file.footer.n if stop is None else stop

    @classmethod
    def open(cls, path: Path | str) -> TextColumn:
        """All texts of the file at `path`."""
        return cls(ColumnFile(Path(path)))

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def size(self) -> int:
        """Bytes of the texts in UTF-8."""
        ends = self._file.offsets(self._start, self._start), self._file.offsets(self._stop, self._stop)
        return int(ends[1][0] - ends[0][0])

    def is_whole(self) -> bool:
        """Whether the whole file is as it was written; reads all of it."""
        return self._file.is_whole()

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return tuple(self[place] for place in range(start, stop, step))
            return TextColumn(self._file, self._start + start, self._start + max(start, stop))
        place = range(len(self))[index]  # IndexError as of a list, and indices from the end
        return self._file.text(self._start + place)

    def __iter__(self) -> Iterator[str]:
        for first in range(self._start, self._stop, _MANY):
            yield from self._some(first, min(first + _MANY, self._stop))

    def _some(self, start: int, stop: int) -> Iterator[str]:
        """Few texts, read in blocks."""
        offsets = self._file.offsets(start, stop)
        at = 0
        while at < stop - start:
            past = int(np.searchsorted(offsets, offsets[at] + _BLOCK, side="right")) - 1
            past = min(max(past, at + 1), stop - start)
            base = int(offsets[at])
            block = self._file.read(base, int(offsets[past]) - base)
            ends = (offsets[at : past + 1] - base).tolist()
            for left, right in pairwise(ends):
                yield block[left:right].decode("utf-8", ERRORS)
            at = past

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TextColumn) and self._is_same(other):
            return True
        return bool(same) if (same := equal(self, other)) is not NotImplemented else NotImplemented

    def _is_same(self, other: TextColumn) -> bool:
        mine, theirs = self._file.footer, other._file.footer
        return mine == theirs and (self._start, self._stop) == (other._start, other._stop)

    def __reduce__(self) -> tuple[Any, ...]:
        return TextColumn, (self._file, self._start, self._stop)

    def __repr__(self) -> str:
        return f"TextColumn({str(self.path)!r}, {self._start}, {self._stop})"


def equal(mine: Sequence[str], other: object) -> Any:
    """Whether `other` is a sequence of the same texts; NotImplemented where it is none."""
    if not isinstance(other, Sequence) or isinstance(other, str | bytes):
        return NotImplemented
    return len(mine) == len(other) and all(one == two for one, two in zip(mine, other, strict=True))


class Picked(Sequence[str]):
    """The texts at `places` (k,) of a column, in that order: what a limit leaves of a large corpus."""

    __slots__ = ("_column", "_places")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, column: TextColumn, places: NDArray[np.int64]) -> None:
        self._column, self._places = column, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return Picked(self._column, self._places[index].copy())
        return self._column[int(self._places[range(len(self))[index]])]

    def __iter__(self) -> Iterator[str]:
        return (self._column[place] for place in map(int, self._places))

    def __eq__(self, other: object) -> bool:
        return bool(same) if (same := equal(self, other)) is not NotImplemented else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return Picked, (self._column, self._places)

    def __repr__(self) -> str:
        return f"Picked({self._column!r}, {len(self)} texts)"
