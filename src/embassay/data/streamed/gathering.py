"""Collecting a corpus while it is read: in memory while it is small, then in a file."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from embassay.data.streamed.shelf import part
from embassay.data.streamed.writing import ColumnWriter
from embassay.errors import UsageError

IN_MEMORY = 2**26
"""Characters of ids and texts up to which a corpus stays in memory."""


@dataclass
class Gathering:
    """Takes the documents of a corpus one by one; past `IN_MEMORY` they go to a folder on `shelf`.

    Within it, `ids` and `texts` hold what has been taken while that is in memory (`folder` is None then), and the
    columns in `folder` after `finish`. `spilled` is called once, when the corpus turns out to be large. UsageError
    where the folder cannot be written.
    """

    shelf: Path
    spilled: Callable[[], None]

    def __post_init__(self) -> None:
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.folder: Path | None = None
        self.count = 0
        self._size = 0
        self._writers: Sequence[ColumnWriter] = ()
        self._held = ExitStack()

    def __enter__(self) -> Gathering:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, e, t)

    def add(self, key: str, text: str) -> None:
        """Take a document."""
        self.count += 1
        try:
            if self._writers:
                self._write(key, text)
                return
            self.ids.append(key)
            self.texts.append(text)
            self._size += len(key) + len(text)
            if self._size > IN_MEMORY:
                self._spill()
        except OSError as error:
            raise cannot_keep(self.shelf, error) from error

    def finish(self) -> None:
        """Complete the columns, where there are any."""
        try:
            for writer in self._writers:
                writer.finish()
        except OSError as error:
            raise cannot_keep(self.shelf, error) from error

    def keep_until_exit(self) -> None:
        """Leave the columns where they are until this process ends."""
        held, process = self._held.pop_all(), os.getpid()
        # A forked child has the same list of what to do at its end.
        atexit.register(lambda: held.close() if os.getpid() == process else None)

    def _spill(self) -> None:
        self.folder = self._held.enter_context(part(self.shelf))
        names = (self.folder / "ids", self.folder / "texts")
        self._writers = [self._held.enter_context(ColumnWriter(name)) for name in names]
        for key, text in zip(self.ids, self.texts, strict=True):
            self._write(key, text)
        self.ids.clear()
        self.texts.clear()
        self.spilled()

    def _write(self, key: str, text: str) -> None:
        ids, texts = self._writers
        ids.append(key)
        texts.append(text)


def cannot_keep(shelf: Path, error: OSError) -> UsageError:
    """The error for a folder that cannot be written."""
    return UsageError(
        f"The texts of a corpus of over {IN_MEMORY / 2**20:,.0f} MiB are kept in {shelf}, which cannot be written: "
        f"{error.strerror or error}.",
        mend="Free the disk, or set EMBASSAY_CACHE to a folder that can be written.",
    )
