"""How much of what others wrote is read before it is refused: every limit, its reason, and how to raise it.

A limit stops what no honest file is, long before the machine suffers. Each is raised by the environment variable that
its refusal names, EMBASSAY_LIMIT_ and its name: a number, or a size like `8GiB`.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import select
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from embassay.errors import DataError, UsageError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class SizeLimit:
    """At most `usual` of something, bytes or a count, and why so many."""

    name: str
    usual: int
    of: str
    why: str
    bytes: bool = True

    @property
    def environment_variable_name(self) -> str:
        """The environment variable that raises it."""
        return f"EMBASSAY_LIMIT_{self.name.upper()}"

    @property
    def most(self) -> int:
        """The limit that is allowed now; UsageError where the variable holds no number."""
        value = os.environ.get(self.environment_variable_name, "").strip()
        return parse_size(value, self.environment_variable_name) if value else self.usual

    @property
    def doubled_limit_setting(self) -> str:
        """The variable set to twice what is allowed now, as a shell exports it."""
        shown = format_size(2 * self.most) if self.bytes else str(2 * self.most)
        return f"{self.environment_variable_name}={shown.removesuffix(' bytes').replace(' ', '').replace(',', '')}"

    def format_limited_number(self, number: int) -> str:
        """Format `number` of what is limited, in words."""
        return format_size(number) if self.bytes else f"{number:,}"

    def make_exceeded_error(self, path: Path | str | None = None, line: int | None = None) -> DataError:
        """Make the error for what exceeds the limit, which names the variable that raises it."""
        return DataError(
            f"{self.of} larger than Embassay's limit" if self.bytes else f"more {self.of} than Embassay's limit",
            path=path, line=line, expected=f"at most {self.format_limited_number(self.most)}",
            mend=f"If the file is correct, raise the limit: export {self.doubled_limit_setting}"
        )  # fmt: skip


WHOLE = SizeLimit(
    "whole", 4 * 2**30, "a file",
    "runs and judgements are held in memory; ten million lines of a run take 500 MB"
)  # fmt: skip
DOCUMENT = SizeLimit(
    "document", 256 * 2**20, "a document",
    "JSON, CSV and YAML that are read in one piece (studies, exports of annotation tools, manifests) take ten times "
    "their size in memory"
)  # fmt: skip
LINE = SizeLimit(
    "line", 64 * 2**20, "a line",
    "a line of JSON Lines, or a row of CSV, is one item; the longest novels are 10 MB"
)  # fmt: skip
COLUMNS = SizeLimit("columns", 10_000, "columns", "wide tables have hundreds of columns", bytes=False)
FILES = SizeLimit(
    "files", 1_000_000, "files in a folder",
    "the published MTEB results are several hundred thousand files",
    bytes=False
)  # fmt: skip
ROWS = SizeLimit(
    "rows", 20_000_000, "rows",
    "MS MARCO has nine million passages; forty million tiny rows take half an hour and 20 GB",
    bytes=False
)  # fmt: skip
TIMES = SizeLimit(
    "times", 100, "times a compressed file's own size",
    "compressed text expands to 3 to 20 times its size, and a zip bomb to 1,000 times",
    bytes=False
)  # fmt: skip
TABLE = SizeLimit(
    "table", 8 * 2**30, "a Parquet file",
    "memory that the process reading Parquet may use beyond the file's size"
)  # fmt: skip
PROSE = SizeLimit(
    "prose", 64 * 2**20, "a text, Markdown or HTML document",
    "the longest novels are 10 MB; converted PDF and Word files can be as long"
)  # fmt: skip
CONVERTED = SizeLimit(
    "converted", 256 * 2**20, "a PDF, Word, PowerPoint or EPUB file",
    "scanned books are 100 MB, nearly all of it images"
)  # fmt: skip
CONVERTER = SizeLimit(
    "converter", 2 * 2**30, "a document in memory",
    "memory that the process converting documents may use"
)  # fmt: skip
SECONDS = SizeLimit(
    "seconds", 60, "seconds for one document",
    "a PDF of a thousand pages takes ten seconds", bytes=False
)  # fmt: skip
CONVERSIONS = SizeLimit(
    "conversions", 1_800, "seconds for all documents of a folder",
    "five thousand PDF files take half an hour, but only once: converted documents are kept", bytes=False
)  # fmt: skip
READING = SizeLimit(
    "reading", 1_800, "seconds to read one file, or to list a folder",
    "twenty million rows take 15 minutes", bytes=False
)  # fmt: skip
NODES = SizeLimit(
    "nodes", 100_000, "values in a YAML file with its aliases expanded",
    "descriptions and configurations are written by hand",
    bytes=False
)  # fmt: skip
ANSWER = SizeLimit(
    "answer", 256 * 2**20, "a server's answer",
    "2,048 vectors of 4,096 numbers take 180 MB as JSON"
)  # fmt: skip

LIMITS: tuple[SizeLimit, ...] = (
    WHOLE,
    DOCUMENT,
    LINE,
    COLUMNS,
    FILES,
    ROWS,
    TIMES,
    TABLE,
    PROSE,
    CONVERTED,
    CONVERTER,
    SECONDS,
    CONVERSIONS,
    READING,
    NODES,
    ANSWER,
)

SMALL = 256 * 2**20
"""Bytes that a packed file may unpack to whatever its own size: TIMES counts above them."""


def parse_size(text: str, what: str = "The size") -> int:
    """A number of bytes, or of anything, from its text; UsageError, which begins with `what`, for what is none.

    >>> parse_size("1.5 GiB"), parse_size("64MB"), parse_size("10000")
    (1610612736, 67108864, 10000)
    """
    match = _SIZE.fullmatch(text.strip().replace(",", "").replace("_", ""))
    number = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if number < 1:
        raise UsageError(f"{what} cannot be {text!r}.", mend="Write a size like 512MiB or 8GiB, or a number.")
    return number


def format_size(number: int) -> str:
    """Bytes in the largest unit that leaves a whole number, or nearly.

    >>> format_size(64 * 2**20), format_size(10_000), format_size(3 * 2**30 // 2)
    ('64 MiB', '10,000 bytes', '1.5 GiB')
    """
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        value = number / 2**power
        # One decimal is enough to say it exactly.
        if value >= 1 and number * 10 % 2**power == 0:
            return f"{value:.1f}".removesuffix(".0") + f" {unit}"
    return f"{number:,} bytes"


T = TypeVar("T")

_PIECE, _BUFFER = 2**24, 2**17


def read_bounded_file(path: Path, limit: SizeLimit = DOCUMENT) -> bytes:
    """All bytes of a file, also of one that has no size of its own (a pipe, a device). DataError above `limit`; OSError
    as `open` raises it."""
    most = limit.most
    if is_pipe(path):
        return _read_pipe_once(path, limit)
    with path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            raise limit.make_exceeded_error(path)
        # A regular file in one read, which holds it once only.
        content = stream.read(status.st_size + 1) if status.st_size else _read_at_most_bytes(stream, most + 1, path)
    if len(content) > most:
        raise limit.make_exceeded_error(path)
    return content


def _read_at_most_bytes(stream: IO[bytes], most: int, path: Path) -> bytes:
    """Read at most so many bytes of a stream, without asking for all their memory at once."""
    pieces = list(iterate_within_reading_time_limit(_read_stream_pieces(stream, most), path, "piece"))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _read_stream_pieces(stream: IO[bytes], most: int) -> Iterator[bytes]:
    # What there is, and not all that was asked for: a pipe may give a line a minute for ever.
    read = getattr(stream, "read1", stream.read)
    while most > 0 and (piece := read(min(_PIECE, most))):
        most -= len(piece)
        yield piece


def is_pipe(path: Path) -> bool:
    """Whether a path is a pipe, which can be read once only and as fast as somebody writes."""
    return stat.S_ISFIFO(path.stat().st_mode)


_piped: dict[tuple[int, int], bytes] = {}
"""What came through a pipe, by device and inode: readers look at a file more than once."""


def _read_pipe_once(path: Path, limit: SizeLimit) -> bytes:
    """What came through a pipe; waited for where nobody asked for it before."""
    status = path.stat()
    key = status.st_dev, status.st_ino
    if key not in _piped:
        with announce_reading(path.name):
            content = b"".join(iterate_within_reading_time_limit(_read_pipe(path, limit.most + 1), path, "piece"))
        if len(content) > limit.most:
            raise limit.make_exceeded_error(path)
        _piped[key] = content
    return _piped[key]


def _read_pipe(path: Path, most: int) -> Iterator[bytes]:
    """At most so many bytes of a pipe; an empty piece for each second in which nobody writes."""
    # Without O_NONBLOCK opening it waits for a writer, and nothing can end that.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(number, "rb", buffering=0) as stream:
        waiting = select.poll()
        waiting.register(stream, select.POLLIN)
        while most > 0:
            if not waiting.poll(1000):
                yield b""
                continue
            piece = stream.read(min(_PIECE, most))
            if not piece:
                return
            most -= len(piece)
            yield piece


_PAUSE = 0.01


def iterate_within_reading_time_limit(parts: Iterable[T], path: Path | str | None, unit: str) -> Iterator[T]:
    """The parts of a file as they come, of which `unit` is one (line, table); DataError that says how many came once
    reading them has taken longer than READING.

    What is done with a part counts for a hundredth of a second: encoding a corpus as it is read may take a day.
    """
    most, taken, resumed = READING.most, 0.0, time.monotonic()
    for number, part in enumerate(parts, start=1):
        came = time.monotonic()
        taken += came - resumed
        if taken > most:
            raise DataError(
                "reading takes longer than allowed", path=path, expected=f"{most:,} seconds at most",
                found=f"{unit} {number:,} after {taken:,.0f} seconds",
                mend=f"If the file is correct, raise the limit: export {READING.doubled_limit_setting}"
            )  # fmt: skip
        yield part
        resumed = time.monotonic()
        taken += min(resumed - came, _PAUSE)


def open_gzip(packed: IO[bytes], path: Path, size: int) -> IO[bytes]:
    """The content of a gzip file of `size` bytes as it is read; reading it raises DataError above TIMES. Closing it
    closes `packed`."""
    return cast(IO[bytes], io.BufferedReader(_CountingGzipReader(packed, UnpackedSizeGuard(path, size)), _BUFFER))


def unpack_gzip(content: bytes, path: Path, limit: SizeLimit = WHOLE) -> bytes:
    """A gzip file's content unpacked; DataError above `limit` and above TIMES."""
    with open_gzip(io.BytesIO(content), path, len(content)) as stream:
        whole = _read_at_most_bytes(stream, limit.most + 1, path)
    if len(whole) > limit.most:
        raise limit.make_exceeded_error(path)
    return whole


class _CountingGzipReader(io.RawIOBase):
    """A gzip file that counts what it unpacks to."""

    def __init__(self, packed: IO[bytes], ratio: UnpackedSizeGuard) -> None:
        super().__init__()
        self._packed, self._ratio = packed, ratio
        self._stream = gzip.GzipFile(fileobj=packed, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Counted as it is unpacked: what a gzip file says of its own size is modulo 4 GiB, and may be a lie.
        number = self._stream.readinto(buffer)
        self._ratio.add(number)
        return number

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()


class UnpackedSizeGuard:
    """What a file of `packed` bytes has unpacked to so far."""

    def __init__(self, path: Path | str, packed: int) -> None:
        self._path = path
        # A table of one repeated line packs a thousandfold and is no bomb while it is small.
        self._left = max(SMALL, TIMES.most * packed)

    def add(self, number: int) -> None:
        """So many bytes more; DataError once they are more than TIMES the packed ones, and more than SMALL."""
        self._left -= number
        if self._left < 0:
            raise DataError(
                "the file unpacks to far more data than any text would", path=self._path,
                expected=f"at most {TIMES.most:,} times its own size",
                mend=f"If the file is correct, raise the limit: export {TIMES.doubled_limit_setting}"
            )  # fmt: skip


def read_bounded_lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    r"""The lines of a stream, cut after \n; DataError with its number for one longer than LINE, and beyond ROWS and
    READING."""
    most, rows = LINE.most, ROWS.most
    lines = iter(lambda: stream.readline(most + 1), b"")
    with announce_reading(path.name, "line") as progress:
        for number, line in enumerate(iterate_within_reading_time_limit(lines, path, "line"), start=1):
            if len(line) > most:
                raise LINE.make_exceeded_error(path, number)
            if number > rows:
                raise ROWS.make_exceeded_error(path, number)
            progress.done = number
            yield line


@dataclass
class ReadingProgress:
    """What is being read: `done` is how far, counted in `unit`; 0 where that is not known."""

    what: str
    unit: str
    done: int = 0

    def __str__(self) -> str:
        return f"reading {self.what}" + (f", {self.unit} {self.done:,}" if self.done else "")


_read_now: list[ReadingProgress] = []
"""What this process reads, the innermost last."""


@contextmanager
def announce_reading(what: str, unit: str = "") -> Iterator[ReadingProgress]:
    """Announce to `find_current_reading` what is being read, for as long as the block runs."""
    progress = ReadingProgress(what, unit)
    _read_now.append(progress)
    try:
        yield progress
    finally:
        # By identity: two readings may say the same, and generators end in any order.
        _read_now[:] = [other for other in _read_now if other is not progress]


def find_current_reading() -> ReadingProgress | None:
    """What this process is reading now, for whoever tells people that wait."""
    now = _read_now[-1:]
    return now[0] if now else None


DEPTH = 100
"""Most brackets within one another in JSON: what engines and annotation tools write has ten at most."""
_LONG_NUMBER, _LARGE_NUMBER = r"\d{309}", r"\d{309}|[eE]\+?\d{3}"
_HALF = r"\\u[dD][89a-fA-F]"


def parse_bounded_json(content: str | bytes, *, halves: bool = False) -> Any:
    """The value that JSON holds, as `json.loads` gives it.

    ValueError for what is no JSON, and for what nothing behind can take: brackets more than DEPTH deep, an integer that
    no float holds, and half of a surrogate pair in a text, which no file in UTF-8 can hold, unless `halves` are kept.

    >>> parse_bounded_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_bounded_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
    ValueError: brackets are nested more than 100 levels deep
    """
    value = _parse_json(content)
    # Most lines have too few brackets, digits and escapes to be looked through.
    if _count_character_occurrences(content, "[") + _count_character_occurrences(content, "{") > DEPTH:
        _check_nesting_depth(value)
    if _pattern_occurs(_LONG_NUMBER, content):
        _require_integers_fit_float(value)
    if not halves and has_json_surrogate_escape_sequences(content):
        _check_no_surrogate_halves(value)
    return value


def parse_json_written_by_embassay(content: str | bytes) -> Any:
    """The value in a file that Embassay wrote: halves of pairs are kept, as a text may hold them. ValueError as of
    `parse_bounded_json`, and for a number that is not finite: somebody changed it."""
    value = parse_bounded_json(content, halves=True)
    if _pattern_occurs(_LARGE_NUMBER, content) or _pattern_occurs("NaN|Infinity", content):
        _check_numbers_finite(value)
    return value


def has_json_surrogate_escape_sequences(content: str | bytes) -> bool:
    """Whether JSON has an escape of a surrogate, whole pairs included: readers other than ours take halves for NUL."""
    return _pattern_occurs(_HALF, content)


def _parse_json(content: str | bytes) -> Any:
    try:
        return json.loads(content)
    except RecursionError:
        raise _make_bracket_nesting_error() from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        # These two are kinds of ValueError and say what is wrong; what is left is Python's limit on digits.
        raise
    except ValueError:
        raise ValueError("an integer with more than 4,000 digits") from None


def _count_character_occurrences(content: str | bytes, sign: str) -> int:
    return content.count(sign) if isinstance(content, str) else content.count(sign.encode())


def _pattern_occurs(pattern: str, content: str | bytes) -> bool:
    if isinstance(content, str):
        return re.search(pattern, content) is not None
    return re.search(pattern.encode(), content) is not None


def _make_bracket_nesting_error() -> ValueError:
    return ValueError(f"brackets are nested more than {DEPTH} levels deep")


def _check_nesting_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [
            inner for outer in level for inner in _list_direct_child_values(outer) if isinstance(inner, list | dict)
        ]
        if not level:
            return
    raise _make_bracket_nesting_error()


def _list_direct_child_values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _require_integers_fit_float(value: Any) -> None:
    if isinstance(value, int):
        try:
            float(value)
        except OverflowError:
            raise ValueError(f"an integer with {len(str(value)):,} digits") from None
    for inner in _list_direct_child_values(value):
        _require_integers_fit_float(inner)


def _check_numbers_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    for inner in _list_direct_child_values(value):
        _check_numbers_finite(inner)


def _check_no_surrogate_halves(value: Any) -> None:
    try:
        # JSON can spell one half of a pair, as "\ud83d", but UTF-8 cannot hold it.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair, such as half of an emoji") from None


def walk_bounded_folder(
    folder: Path, closed: Callable[[OSError], None] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives; DataError once it has seen more than FILES, or beyond READING. `closed` hears of folders
    that cannot be read."""
    if folder.resolve().parent == folder.resolve():
        raise DataError(
            "The root of the file system is not a data folder", path=folder,
            mend="Name the folder that holds your files."
        )  # fmt: skip
    most, total = FILES.most, 0
    with announce_reading(f"the folder {folder}", "file") as progress:
        for within, folders, files in iterate_within_reading_time_limit(
            os.walk(folder, onerror=closed), folder, "folder"
        ):
            total += len(folders) + len(files)
            if total > most:
                raise FILES.make_exceeded_error(folder)
            progress.done = total
            yield within, folders, files


def list_bounded_folder_entries(entries: Iterable[T], path: Path) -> list[T]:
    """What a folder holds, in the order given; DataError for more than FILES."""
    most = FILES.most
    listed = list(islice(entries, most + 1))
    if len(listed) > most:
        raise FILES.make_exceeded_error(path)
    return listed


def find_path_blocking_access(path: Path) -> Path | None:
    """What keeps this user from reading a file or folder: itself, or the first folder above it that may not be entered.
    None where nothing does, or it is not there."""
    whole = path.expanduser()
    for parent in (*reversed(whole.parents), whole):
        if not os.access(parent, os.F_OK):
            return None
        is_last = parent == whole
        # A folder on the way need only be entered; the last one is to be listed as well.
        access = os.X_OK if not is_last else os.R_OK | os.X_OK if parent.is_dir() else os.R_OK
        if not os.access(parent, access):
            return parent
    return None


def advise_on_denied_reading(path: Path) -> str:
    """Advise what to do about a file or folder that this user may not read."""
    return f"Ask the owner for read access. If you are the owner: chmod u+rX {shlex.quote(str(path))}."
