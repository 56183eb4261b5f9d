"""A read-only column of texts that lie in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np

from embassay.data.streamed.column_file import ERRORS, ColumnFile

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
