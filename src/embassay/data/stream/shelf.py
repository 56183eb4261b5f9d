"""The folder of kept corpora: found again by content, never half of one, made anew where damaged, emptied on request.

A corpus is a folder of columns, `ids`, `texts` and `langs` where rows state their language, and `about.json`. It is
written in a folder beside its place that is moved there in one step; while a process writes, it holds a lock beside
that folder, so that what a killed one left can be told and removed. The texts may be private: the folders are the
user's alone.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from embassay.data.stream.column import TextColumn
from embassay.errors import DataError
from embassay.records import Skipped

_PART = ".part"
_LOCK = ".lock"
_whole: set[tuple[str, int, int, int]] = set()
"""Columns that this process has found whole: path, size, time and inode."""


@dataclass(frozen=True)
class About:
    """What a kept corpus is: the files it was read from, the languages seen, what was left out and what is odd."""

    source: tuple[str, ...]
    documents: int
    langs: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    noted: tuple[Skipped, ...] = ()


@dataclass(frozen=True)
class KeptCorpus:
    """A corpus that lies in `folder`."""

    folder: Path
    about: About
    ids: TextColumn
    texts: TextColumn
    langs: TextColumn | None = None

    @property
    def columns(self) -> tuple[TextColumn, ...]:
        """Those that there are."""
        return (self.ids, self.texts, *([self.langs] if self.langs else ()))


def find(shelf: Path, key: str) -> KeptCorpus | None:
    """The corpus kept under `key`; None where there is none. One that is damaged is removed with a RuntimeWarning."""
    folder = shelf / key
    if not folder.is_dir():
        return None
    try:
        kept = opened(folder)
        if all(map(_is_whole, kept.columns)):
            return kept
    except DataError:
        pass
    warnings.warn(f"The kept corpus {folder} is damaged and is made anew.", RuntimeWarning, stacklevel=2)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def opened(folder: Path) -> KeptCorpus:
    """The corpus in `folder`, its content not checked; DataError where a part is missing or no part of it."""
    kept = KeptCorpus(folder, _about(folder / "about.json"), *columns(folder))
    whole = all(len(column) == kept.about.documents for column in kept.columns)
    if not whole or (kept.about.langs and not kept.langs):
        raise DataError(
            "the kept corpus is damaged", path=folder, found="columns that differ in length, or one less"
        )
    return kept


def columns(folder: Path) -> tuple[TextColumn, TextColumn, TextColumn | None]:
    """Ids, texts, and languages where there are some."""
    langs = TextColumn.open(folder / "langs") if (folder / "langs").exists() else None
    return TextColumn.open(folder / "ids"), TextColumn.open(folder / "texts"), langs


def place(written: Path, about: About, folder: Path) -> KeptCorpus:
    """Move the columns in `written` to `folder`, where a whole corpus of the same key may be by now: then that one."""
    _write_about(written / "about.json", about)
    try:
        written.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    return opened(folder)


@contextmanager
def part(shelf: Path) -> Iterator[Path]:
    """A folder to write a corpus in; what is left of it is removed, and what killed processes left too."""
    with ExitStack() as held:
        with _locked(shelf, "new"):
            clear_parts(shelf)
            folder = Path(mkdtemp(prefix=".", suffix=_PART, dir=shelf))
            held.enter_context(_locked(shelf, folder.name))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            (shelf / f"{folder.name}{_LOCK}").unlink(missing_ok=True)


def alone(shelf: Path, key: str) -> AbstractContextManager[bool]:
    """Hold the key's lock: a second process waits for the corpus instead of making it too."""
    return _locked(shelf, key)


def clear_parts(shelf: Path) -> int:
    """Remove what killed processes left; the bytes freed. Folders that are being written stay."""
    freed = 0
    for folder in shelf.glob(f".*{_PART}"):
        with suppress(OSError), _locked(shelf, folder.name, wait=False) as is_left:
            if is_left:
                freed += size_of(folder)
                shutil.rmtree(folder, ignore_errors=True)
                (shelf / f"{folder.name}{_LOCK}").unlink(missing_ok=True)
    return freed


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.glob("*") if file.is_file())


@contextmanager
def _locked(shelf: Path, name: str, *, wait: bool = True) -> Iterator[bool]:
    """Whether the lock is held within; the system gives it back when the process ends, however it does."""
    from filelock import lock_descriptor

    shelf.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (shelf / f"{name}{_LOCK}").open("a") as stream:
        yield lock_descriptor(stream.fileno(), blocking=wait)


def _is_whole(column: TextColumn) -> bool:
    found = column.path.stat()
    stamp = (str(column.path), found.st_size, found.st_mtime_ns, found.st_ino)
    if stamp not in _whole and column.is_whole():
        _whole.add(stamp)
    return stamp in _whole


def _write_about(path: Path, about: About) -> None:
    with path.open("w", encoding="utf-8") as stream:
        json.dump(asdict(about), stream, ensure_ascii=True)
        stream.flush()
        os.fsync(stream.fileno())


def _about(path: Path) -> About:
    try:
        plain: dict[str, Any] = json.loads(path.read_text("utf-8"))
        counted = {
            name: tuple(Skipped(one["reason"], one["count"], tuple(one["examples"])) for one in plain[name])
            for name in ("skipped", "noted")
        }
        return About(tuple(plain["source"]), int(plain["documents"]), tuple(plain["langs"]), **counted)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError("the kept corpus is damaged", path=path, found=str(error)) from error


@dataclass(frozen=True)
class OneKept:
    """A kept corpus: the files it was read from, its documents (None where it is damaged) and bytes."""

    source: str
    documents: int | None
    bytes: int


@dataclass(frozen=True)
class KeptCorpora:
    """The corpora kept in `path`, the largest first, and their bytes with what killed processes left."""

    path: Path
    corpora: tuple[OneKept, ...]
    bytes: int


def kept_corpora(folder: Path) -> KeptCorpora:
    """What is kept in a folder; nothing where there is none."""
    found = sorted(map(_one, _folders(folder)), key=lambda one: (-one.bytes, one.source))
    left = sum(map(size_of, folder.glob(".*/")))
    return KeptCorpora(folder, tuple(found), sum(one.bytes for one in found) + left)


def clear_corpora(folder: Path) -> int:
    """Delete what is kept in a folder, also what killed processes left; gives the bytes freed.

    A corpus that a process reads goes on being read by it; one that is being written stays.
    """
    freed = clear_parts(folder)
    for kept in _folders(folder):
        freed += size_of(kept)
        shutil.rmtree(kept, ignore_errors=True)
    return freed


def _folders(folder: Path) -> list[Path]:
    return [one for one in folder.glob("[!.]*/") if one.is_dir()]


def _one(folder: Path) -> OneKept:
    size = size_of(folder)
    try:
        about = opened(folder).about
    except DataError:
        return OneKept("damaged", None, size)
    return OneKept(", ".join(about.source), about.documents, size)
