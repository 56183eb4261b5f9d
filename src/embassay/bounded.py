"""Reading what others wrote within the limits of `embassay.limits`."""

from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from embassay.errors import DataError
from embassay.limits import DOCUMENT, FILES, LINE, SMALL, TIMES, WHOLE, Limit

T = TypeVar("T")

_PIECE, _BUFFER = 2**24, 2**17


def read_bounded(path: Path, limit: Limit = DOCUMENT) -> bytes:
    """All bytes of a file, also of one that has no size of its own (a pipe, a device). DataError above `limit`; OSError
    as `open` raises it."""
    most = limit.most
    with path.open("rb") as stream:
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_size > most:
            raise limit.exceeded(path)
        # A regular file in one read, which holds it once only.
        content = stream.read(found.st_size + 1) if found.st_size else _up_to(stream, most + 1)
    if len(content) > most:
        raise limit.exceeded(path)
    return content


def _up_to(stream: IO[bytes], most: int) -> bytes:
    """At most so many bytes. A read of the whole limit at once would ask for its memory."""
    pieces, held = [], 0
    while held < most and (piece := stream.read(min(_PIECE, most - held))):
        pieces.append(piece)
        held += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def unpacking(packed: IO[bytes], path: Path, size: int) -> IO[bytes]:
    """The content of a gzip file of `size` bytes as it is read; reading it raises DataError above TIMES. Closing it
    closes `packed`."""
    return cast(IO[bytes], io.BufferedReader(_Unpacking(packed, Ratio(path, size)), _BUFFER))


def unpacked(content: bytes, path: Path, limit: Limit = WHOLE) -> bytes:
    """A gzip file's content unpacked; DataError above `limit` and above TIMES."""
    with unpacking(io.BytesIO(content), path, len(content)) as stream:
        made = _up_to(stream, limit.most + 1)
    if len(made) > limit.most:
        raise limit.exceeded(path)
    return made


class _Unpacking(io.RawIOBase):
    """A gzip file that counts what it unpacks to."""

    def __init__(self, packed: IO[bytes], ratio: Ratio) -> None:
        super().__init__()
        self._packed, self._ratio = packed, ratio
        self._stream = gzip.GzipFile(fileobj=packed, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        number = self._stream.readinto(buffer)
        self._ratio.add(number)
        return number

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()


class Ratio:
    """What a file of `packed` bytes has unpacked to so far."""

    def __init__(self, path: Path | str, packed: int) -> None:
        self._path = path
        self._left = max(SMALL, TIMES.most * packed)

    def add(self, number: int) -> None:
        """So many bytes more; DataError once they are more than TIMES the packed ones, and more than SMALL."""
        self._left -= number
        if self._left < 0:
            raise DataError(
                "the file unpacks to far more than any text would", path=self._path,
                expected=f"at most {TIMES.most:,} times its own size",
                mend=f"If the file is what it should be, allow more: export {TIMES.raised}",
            )  # fmt: skip


def bounded_lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    r"""The lines of a stream, cut after \n; DataError with its number for one longer than LINE."""
    most, number = LINE.most, 0
    while line := stream.readline(most + 1):
        number += 1
        if len(line) > most:
            raise LINE.exceeded(path, number)
        yield line


def bounded_walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives; DataError once it has seen more than FILES."""
    most, seen = FILES.most, 0
    for place, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > most:
            raise FILES.exceeded(folder)
        yield place, folders, files


def bounded_entries(entries: Iterable[T], path: Path) -> list[T]:
    """What a folder holds, in the order given; DataError for more than FILES."""
    most = FILES.most
    found = list(islice(entries, most + 1))
    if len(found) > most:
        raise FILES.exceeded(path)
    return found
