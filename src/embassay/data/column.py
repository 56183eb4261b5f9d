"""A column of texts that lies in a file: written text after text in bounded memory, read by place.

bytes of all texts | n + 1 offsets of 8 bytes | magic, n, bytes, checksum

All numbers are little-endian. Files are read by position and not mapped into memory: pages of a mapped file count as
the process's own memory until they are given back, and a mapped file that another process cuts kills the reader.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import warnings
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from sys import byteorder
from tempfile import mkdtemp
from threading import Lock
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from embassay.data.rows import RowSource, SourceRow, read_row_id, skip_and_collect_faulty_rows
from embassay.data.views import make_repeated_row_key_error
from embassay.errors import DataError
from embassay.records import SkippedItems


class SeenIds:
    """The ids seen so far. While they are few each stands with its line; `condense` leaves 8 bytes of each."""

    def __init__(self) -> None:
        self._lines: dict[str, int] | None = {}
        self._hashes = array("q")
        self._told = 0
        self.count = 0

    def add(self, number: int, key: str, row: SourceRow) -> None:
        """Note the id of row `number`, from 1. DataError where it appears twice, unless the ids are condensed."""
        self.count += 1
        if self._lines is not None:
            if key in self._lines:
                raise make_repeated_row_key_error(row, "id", key, self._lines[key])
            self._lines[key] = row.line
        # Rows whose id cannot be read have no hash of their own; what is read again for them is no id either.
        self._hashes.extend(0 for _ in range(number - 1 - len(self._hashes)))
        self._hashes.append(hash(key))

    def discard_ids_and_keep_hashes(self) -> None:
        """Hold hashes only; `find_positions_of_repeated_texts` then tells what `add_row_id` did not."""
        self._lines, self._told = None, len(self._hashes)

    def make_errors_for_repeated_ids(self, source: RowSource) -> list[DataError]:
        """Find the ids that repeat, as errors in file order, after the ids were condensed.

        The rows are read again where two ids have one hash: then nearly always one appears twice.
        """
        if self._lines is not None:
            return []
        suspects = {number + 1 for group in group_equal_hashes(self._hashes) for number in group.tolist()}
        if not suspects:
            return []
        first: dict[str, SourceRow] = {}
        faults: list[DataError] = []
        with skip_and_collect_faulty_rows(lambda _error: None):  # the first reading has met them
            for number, row in enumerate(source.rows(["id"]), 1):
                if number in suspects and (key := _read_row_id(row)) is not None:
                    if key not in first:
                        first[key] = row
                    elif number > self._told:
                        faults.append(make_repeated_row_key_error(row, "id", key, first[key].line))
        return faults


def _read_row_id(row: SourceRow) -> str | None:
    try:
        return read_row_id(row, "id")
    except DataError:
        return None


EXAMPLES = 3
LONG_TEXT = 1_000_000
"""Characters over which a text gets a warning."""


def count_empty_long_and_repeated_texts(ids: Sequence[str], texts: Sequence[str]) -> tuple[SkippedItems, ...]:
    """Empty texts, very long ones, and repeats of an earlier one: each with its count and the ids of the first.

    >>> [one.reason for one in count_empty_long_and_repeated_texts(["1", "2", "3"], ["a", "", "a"])]
    ['empty documents in the corpus', 'repeats of an earlier text']
    """
    empty, long, hashes = array("q"), array("q"), array("q")
    for i, text in enumerate(texts):
        hashes.append(hash(text))
        if not text:
            empty.append(i)
        if len(text) > LONG_TEXT:
            long.append(i)
    repeated = (
        [i for i in find_positions_of_repeated_texts(hashes, texts.__getitem__) if texts[i]] if len(texts) else []
    )
    kinds = (
        ("empty documents in the corpus", empty),
        (f"texts longer than {LONG_TEXT:,} characters", long),
        ("repeats of an earlier text", repeated),
    )
    # Empty ones are told of first, the others in the order in which they come up.
    ordered = [kinds[0], *sorted(kinds[1:], key=lambda kind: kind[1][0] if kind[1] else 0)]
    return tuple(
        SkippedItems(reason, len(places), tuple(ids[i] for i in islice(places, EXAMPLES)))
        for reason, places in ordered
        if places
    )


def find_positions_of_repeated_texts(hashes: array[int], text: Callable[[int], str]) -> list[int]:
    """Find the places, ascending, whose text was at an earlier place already.

    `hashes` are those of all texts by one function, (n,); `text(place)` is only asked where two of them are equal.
    """
    return sorted(place for _, place in pair_repeats_with_first_text(hashes, text))


def pair_repeats_with_first_text(hashes: array[int], text: Callable[[int], str]) -> Iterator[tuple[int, int]]:
    """Pair the first place of a text with each later place of it, in no particular order."""
    for group in group_equal_hashes(hashes):
        firsts: dict[str, int] = {}
        for i in group.tolist():
            first = firsts.setdefault(text(i), i)
            if first != i:
                yield first, i


def group_equal_hashes(hashes: array[int]) -> Iterator[NDArray[np.int64]]:
    """Group the places of every hash that is there more than once, ascending."""
    values = np.frombuffer(hashes, np.int64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return
    # A run of equal hashes is a run of neighbours in `same`.
    breaks = np.flatnonzero(np.diff(same) > 1)
    starts, stops = same[np.r_[0, breaks + 1]], same[np.r_[breaks, len(same) - 1]] + 2
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield order[start:stop]


MAGIC = b"SBTEXTS1"
CHECKSUM = 16
_FOOTER = struct.Struct(f"<8sQQ{CHECKSUM}s")
_STEP = 2**22
ERRORS = "surrogatepass"
"""Half of a surrogate pair, which some readers let through, comes back as it was."""


class TextColumnFooter(NamedTuple):
    """How many texts a file holds, of how many bytes together, and the checksum of bytes and offsets."""

    n: int
    size: int
    checksum: bytes

    def pack_footer(self) -> bytes:
        """Pack the footer as it stands at the end of the file."""
        return _FOOTER.pack(MAGIC, self.n, self.size, self.checksum)


class TextColumnFile:
    """An open file of texts; safe to share between threads and with forked processes.

    DataError where there is no such file, or it is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise self._make_unreadable_cache_error(error) from error
        self._descriptor = descriptor
        self._seeking = Lock()
        # Columns and their slices share the file: it is closed when none of them is left.
        weakref.finalize(self, os.close, descriptor)
        self.footer = self._read_footer()

    def text(self, place: int) -> str:
        """The text at `place`, from 0."""
        start, stop = self.read_text_offsets(place, place + 1).tolist()
        return self.read(start, stop - start).decode("utf-8", ERRORS)

    def read_text_offsets(self, start: int, stop: int) -> NDArray[np.int64]:
        """Where the texts from `start` begin, and where the last before `stop` ends: (stop - start + 1,)."""
        content = self.read(self.footer.size + 8 * start, 8 * (stop - start + 1))
        return np.frombuffer(content, "<i8").astype(np.int64, copy=False)

    def read(self, start: int, length: int) -> bytes:
        """`length` bytes from `start`; DataError where the file has become shorter."""
        parts: list[bytes] = []
        while length > 0:
            part = self._read_byte_range(start, length)
            if not part:
                raise self.make_damaged_cache_error("a truncated file")
            parts.append(part)
            start, length = start + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def has_valid_checksum(self) -> bool:
        """Whether its content has the checksum that it was written with; reads all of it."""
        checksum = hashlib.blake2b(digest_size=CHECKSUM)
        missing, position = self.footer.size + 8 * (self.footer.n + 1), 0
        while missing:
            part = self.read(position, min(missing, _STEP))
            checksum.update(part)
            position, missing = position + len(part), missing - len(part)
        return checksum.digest() == self.footer.checksum

    def make_damaged_cache_error(self, found: str) -> DataError:
        """The error for a file that is not what was written."""
        return DataError(
            "the cached texts of a corpus are damaged", path=self.path, found=found,
            mend="Delete them with `embassay cache clear --corpora` and run again."
        )  # fmt: skip

    def _read_byte_range(self, start: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            # Threads and forked processes share the descriptor, and with it a position.
            return os.pread(self._descriptor, length, start)
        with self._seeking:  # not POSIX
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, length)

    def _read_footer(self) -> TextColumnFooter:
        size = os.fstat(self._descriptor).st_size
        if size < _FOOTER.size:
            raise self.make_damaged_cache_error(f"{size} bytes")
        magic, count, texts, checksum = _FOOTER.unpack(self.read(size - _FOOTER.size, _FOOTER.size))
        if magic != MAGIC or size != texts + 8 * (count + 1) + _FOOTER.size:
            raise self.make_damaged_cache_error("no whole footer")
        return TextColumnFooter(count, texts, checksum)

    def _make_unreadable_cache_error(self, error: OSError) -> DataError:
        return DataError(
            "the cached texts of a corpus cannot be read on this machine",
            path=self.path,
            found=error.strerror or str(error),
            mend="If they were deleted, run again; on a cluster, set EMBASSAY_CACHE to a folder that all "
            "machines can read.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen_column_file, (self.path, self.footer.checksum)


_open: weakref.WeakValueDictionary[tuple[str, bytes], TextColumnFile] = weakref.WeakValueDictionary()


def reopen_column_file(path: Path, checksum: bytes) -> TextColumnFile:
    """Reopen the file that was sent here as its path, once; DataError where it is another by now."""
    file_ = _open.get((str(path), checksum))
    if file_ is not None:
        return file_
    file = TextColumnFile(path)
    if file.footer.checksum != checksum:
        raise file.make_damaged_cache_error("different texts from those sent")
    _open[str(path), checksum] = file
    return file


_WAITING = 2**20


class TextColumnWriter:
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
            self._flush_waiting_texts()
        if len(self._offsets) * 8 >= _WAITING:
            self._flush_waiting_offsets()

    def finish(self) -> None:
        """Write what is left, and see that it is on the disk."""
        self._flush_waiting_texts()
        self._flush_waiting_offsets()
        # The offsets go behind the texts, in steps: all at once they may not fit into memory.
        self._offsets_stream.seek(0)
        while part := self._offsets_stream.read(_STEP):
            self._write_checksummed_bytes(part)
        self._stream.write(TextColumnFooter(self.count, self.size, self._checksum.digest()).pack_footer())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._close_and_delete_offsets_file()

    def discard_written_files(self) -> None:
        """Remove what has been written."""
        with suppress(OSError):
            self._stream.close()
        self._close_and_delete_offsets_file()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> TextColumnWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: object, _t: TracebackType | None) -> None:
        if not self._stream.closed:
            self.discard_written_files()

    def _flush_waiting_texts(self) -> None:
        self._write_checksummed_bytes(bytes(self._waiting))
        self._waiting.clear()

    def _flush_waiting_offsets(self) -> None:
        if byteorder == "big":
            self._offsets.byteswap()
        self._offsets_stream.write(self._offsets.tobytes())
        del self._offsets[:]

    def _write_checksummed_bytes(self, part: bytes) -> None:
        self._checksum.update(part)
        self._stream.write(part)

    def _close_and_delete_offsets_file(self) -> None:
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

    def __init__(self, file: TextColumnFile, start: int = 0, stop: int | None = None) -> None:
        self._file = file
        self._start = start
        self._stop = file.footer.n if stop is None else stop

    @classmethod
    def open(cls, path: Path | str) -> TextColumn:
        """All texts of the file at `path`."""
        return cls(TextColumnFile(Path(path)))

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def size(self) -> int:
        """Bytes of the texts in UTF-8."""
        ends = (
            self._file.read_text_offsets(self._start, self._start),
            self._file.read_text_offsets(self._stop, self._stop),
        )
        return int(ends[1][0] - ends[0][0])

    def has_valid_checksum(self) -> bool:
        """Whether the whole file is as it was written; reads all of it."""
        return self._file.has_valid_checksum()

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
            yield from self._read_texts_in_blocks(first, min(first + _MANY, self._stop))

    def _read_texts_in_blocks(self, start: int, stop: int) -> Iterator[str]:
        """Read few texts, in blocks."""
        offsets = self._file.read_text_offsets(start, stop)
        at = 0
        while at < stop - start:
            # As many texts as end within a block, and one at least, however long.
            past = int(np.searchsorted(offsets, offsets[at] + _BLOCK, side="right")) - 1
            past = min(max(past, at + 1), stop - start)
            base = int(offsets[at])
            block = self._file.read(base, int(offsets[past]) - base)
            ends = (offsets[at : past + 1] - base).tolist()
            for left, right in pairwise(ends):
                yield block[left:right].decode("utf-8", ERRORS)
            at = past

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TextColumn) and self._is_same_part_of_same_file(other):
            return True
        return bool(same) if (same := have_same_texts(self, other)) is not NotImplemented else NotImplemented

    def _is_same_part_of_same_file(self, other: TextColumn) -> bool:
        mine, theirs = self._file.footer, other._file.footer
        return mine == theirs and (self._start, self._stop) == (other._start, other._stop)

    def __reduce__(self) -> tuple[Any, ...]:
        return TextColumn, (self._file, self._start, self._stop)

    def __repr__(self) -> str:
        return f"TextColumn({str(self.path)!r}, {self._start}, {self._stop})"


def have_same_texts(mine: Sequence[str], other: object) -> Any:
    """Whether `other` is a sequence of the same texts; NotImplemented where it is none."""
    if not isinstance(other, Sequence) or isinstance(other, str | bytes):
        return NotImplemented
    return len(mine) == len(other) and all(x == two for x, two in zip(mine, other, strict=True))


class PickedTexts(Sequence[str]):
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
            return PickedTexts(self._column, self._places[index].copy())
        return self._column[int(self._places[range(len(self))[index]])]

    def __iter__(self) -> Iterator[str]:
        return (self._column[i] for i in map(int, self._places))

    def __eq__(self, other: object) -> bool:
        return bool(same) if (same := have_same_texts(self, other)) is not NotImplemented else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return PickedTexts, (self._column, self._places)

    def __repr__(self) -> str:
        return f"Picked({self._column!r}, {len(self)} texts)"


_PART = ".part"
_LOCK = ".lock"
_whole: set[tuple[str, int, int, int]] = set()
"""Columns that this process has found whole: path, size, time and inode."""


@dataclass(frozen=True)
class KeptCorpusDescription:
    """What a kept corpus is: the files it was read from, the languages seen, what was left out and what is odd."""

    source: tuple[str, ...]
    documents: int
    langs: tuple[str, ...]
    skipped: tuple[SkippedItems, ...] = ()
    noted: tuple[SkippedItems, ...] = ()


@dataclass(frozen=True)
class CorpusOnDisk:
    """A corpus that lies in `folder`."""

    folder: Path
    about: KeptCorpusDescription
    ids: TextColumn
    texts: TextColumn
    langs: TextColumn | None = None

    @property
    def columns(self) -> tuple[TextColumn, ...]:
        """The columns of the corpus, those that there are."""
        return (self.ids, self.texts, *([self.langs] if self.langs else ()))


def find_kept_corpus(shelf: Path, key: str) -> CorpusOnDisk | None:
    """The corpus kept under `key`; None where there is none. One that is damaged is removed with a RuntimeWarning."""
    folder = shelf / key
    if not folder.is_dir():
        return None
    try:
        corpus = open_kept_corpus(folder)
        if all(map(_has_valid_checksum, corpus.columns)):
            return corpus
    except DataError:
        pass
    warnings.warn(f"The cached corpus {folder} is damaged and will be rebuilt.", RuntimeWarning, stacklevel=2)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def open_kept_corpus(folder: Path) -> CorpusOnDisk:
    """The corpus in `folder`, its content not checked; DataError where a part is missing or no part of it."""
    corpus = CorpusOnDisk(folder, _read_corpus_description(folder / "about.json"), *open_corpus_columns(folder))
    whole = all(len(column) == corpus.about.documents for column in corpus.columns)
    if not whole or (corpus.about.langs and not corpus.langs):
        raise DataError(
            "the cached corpus is damaged", path=folder, found="columns that are missing or differ in length"
        )
    return corpus


def open_corpus_columns(folder: Path) -> tuple[TextColumn, TextColumn, TextColumn | None]:
    """Ids, texts, and languages where there are some."""
    langs = TextColumn.open(folder / "langs") if (folder / "langs").exists() else None
    return TextColumn.open(folder / "ids"), TextColumn.open(folder / "texts"), langs


def move_corpus_into_place(written: Path, about: KeptCorpusDescription, folder: Path) -> CorpusOnDisk:
    """Move the columns in `written` to `folder`, where a whole corpus of the same key may be by now: then that one."""
    _write_corpus_description(written / "about.json", about)
    try:
        written.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    return open_kept_corpus(folder)


@contextmanager
def make_corpus_scratch_folder(shelf: Path) -> Iterator[Path]:
    """Make a folder to write a corpus in; what is left of it is removed, and of killed processes too."""
    with ExitStack() as held:
        # Nobody else clears between the making of the folder and its lock: without one it looks left behind.
        with _hold_file_lock(shelf, "new"):
            remove_unfinished_corpora(shelf)
            folder = Path(mkdtemp(prefix=".", suffix=_PART, dir=shelf))
            held.enter_context(_hold_file_lock(shelf, folder.name))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            (shelf / f"{folder.name}{_LOCK}").unlink(missing_ok=True)


def lock_corpus_key(shelf: Path, key: str) -> AbstractContextManager[bool]:
    """Lock the corpus's key: a second process waits for the corpus instead of making it too."""
    return _hold_file_lock(shelf, key)


def remove_unfinished_corpora(shelf: Path) -> int:
    """Remove what killed processes left; the bytes freed. Folders that are being written stay."""
    freed = 0
    for folder in shelf.glob(f".*{_PART}"):
        # A lock that is free shows that its writer is dead: the system frees the locks of dead processes.
        with suppress(OSError), _hold_file_lock(shelf, folder.name, wait=False) as is_left:
            if is_left:
                freed += measure_folder_bytes(folder)
                shutil.rmtree(folder, ignore_errors=True)
                (shelf / f"{folder.name}{_LOCK}").unlink(missing_ok=True)
    return freed


def measure_folder_bytes(folder: Path) -> int:
    """Measure the bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.glob("*") if file.is_file())


@contextmanager
def _hold_file_lock(shelf: Path, name: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock within, if it can be had; the system gives it back when the process ends."""
    from filelock import lock_descriptor

    shelf.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (shelf / f"{name}{_LOCK}").open("a") as stream:
        yield lock_descriptor(stream.fileno(), blocking=wait)


def _has_valid_checksum(column: TextColumn) -> bool:
    status = column.path.stat()
    stamp = (str(column.path), status.st_size, status.st_mtime_ns, status.st_ino)
    if stamp not in _whole and column.has_valid_checksum():
        _whole.add(stamp)
    return stamp in _whole


def _write_corpus_description(path: Path, about: KeptCorpusDescription) -> None:
    with path.open("w", encoding="utf-8") as stream:
        json.dump(asdict(about), stream, ensure_ascii=True)
        stream.flush()
        os.fsync(stream.fileno())


def _read_corpus_description(path: Path) -> KeptCorpusDescription:
    try:
        plain: dict[str, Any] = json.loads(path.read_text("utf-8"))
        counted = {
            name: tuple(SkippedItems(one["reason"], one["count"], tuple(one["examples"])) for one in plain[name])
            for name in ("skipped", "noted")
        }
        return KeptCorpusDescription(tuple(plain["source"]), int(plain["documents"]), tuple(plain["langs"]), **counted)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError("the cached corpus is damaged", path=path, found=str(error)) from error


@dataclass(frozen=True)
class KeptCorpusSizeAndSource:
    """A kept corpus: the files it was read from, its documents (None where it is damaged) and bytes."""

    source: str
    documents: int | None
    bytes: int


@dataclass(frozen=True)
class KeptCorpora:
    """The corpora kept in `path`, the largest first, and their bytes with what killed processes left."""

    path: Path
    corpora: tuple[KeptCorpusSizeAndSource, ...]
    bytes: int


def summarize_kept_corpora(folder: Path) -> KeptCorpora:
    """Summarize the corpora kept in a folder; nothing where there is none."""
    shelved = sorted(
        map(_summarize_kept_corpus, _list_corpus_folders(folder)), key=lambda kept: (-kept.bytes, kept.source)
    )
    leftovers = sum(map(measure_folder_bytes, folder.glob(".*/")))
    return KeptCorpora(folder, tuple(shelved), sum(kept.bytes for kept in shelved) + leftovers)


def clear_kept_corpora(folder: Path) -> int:
    """Delete what is kept in a folder, also what killed processes left; gives the bytes freed.

    A corpus that a process reads goes on being read by it; one that is being written stays.
    """
    freed = remove_unfinished_corpora(folder)
    for kept in _list_corpus_folders(folder):
        freed += measure_folder_bytes(kept)
        shutil.rmtree(kept, ignore_errors=True)
    return freed


def _list_corpus_folders(folder: Path) -> list[Path]:
    return [path for path in folder.glob("[!.]*/") if path.is_dir()]


def _summarize_kept_corpus(folder: Path) -> KeptCorpusSizeAndSource:
    size = measure_folder_bytes(folder)
    try:
        about = open_kept_corpus(folder).about
    except DataError:
        return KeptCorpusSizeAndSource("damaged", None, size)
    return KeptCorpusSizeAndSource(", ".join(about.source), about.documents, size)
