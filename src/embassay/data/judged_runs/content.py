"""The bytes of a file of runs or judgements, unpacked and checked, and its lines."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from embassay.errors import DataError
from embassay.limits import (
    ROWS,
    WHOLE,
    announce_reading,
    iterate_within_reading_time_limit,
    read_bounded_file,
    unpack_gzip,
)

PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_OBJECT_START = re.compile(rb"\s*\{\s*([\"'}]|$)")


def read_unpacked_bytes(path: Path) -> bytes:
    r"""All bytes of `path`, unpacked if they are gzipped, whatever its name says.

    Text comes without a UTF-8 byte order mark and with \n for \r\n and \r. DataError for a file that cannot be read,
    is larger than the limits, empty, cut or damaged, UTF-16, binary (unless Parquet) or not UTF-8, with the line where
    there is one.
    """
    try:
        with announce_reading(path.name):
            content = read_bounded_file(path, WHOLE)
    except OSError as error:
        raise DataError(
            "the file cannot be read", path=path, found=error.strerror or str(error),
            mend="Check its name and your read permission."
        ) from error  # fmt: skip
    if content.startswith(_GZIP):
        content = _unpack_content(path, content)
    if content.startswith(PARQUET):
        return content
    if not content.removeprefix(_BOM).strip():
        raise DataError("the file is empty.", path=path, mend="Check that it was written or downloaded completely.")
    if len(content) > ROWS.most and content.count(b"\n") > ROWS.most:
        raise ROWS.make_exceeded_error(path)
    return _clean_text_bytes_or_raise(path, content)


def split_nonblank_lines(path: Path, content: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line that is not blank."""
    with announce_reading(path.name, "line") as progress:
        for number, line in enumerate(iterate_within_reading_time_limit(content.split(b"\n"), path, "line"), start=1):
            progress.done = number
            if line.strip():
                yield number, line


def find_line_number(content: bytes, offset: int) -> int:
    """The number, from 1, of the line that the byte at `offset` stands in."""
    return content.count(b"\n", 0, offset) + 1


def begins_like_json_object(content: bytes) -> bool:
    """Whether a text begins as a JSON object does: an id in a table may begin with a brace as well."""
    return _OBJECT_START.match(content) is not None


def find_first_nonblank_line(content: bytes) -> bytes:
    """The first line that is not blank; there is one in what `read_unpacked_bytes` gives."""
    start = 0
    while True:
        end = content.find(b"\n", start)
        line = content[start:] if end < 0 else content[start:end]
        if line.strip() or end < 0:
            return line
        start = end + 1


def find_line_of_row(content: bytes, row: int, *, header: bool) -> int:
    """The number of the line that holds row `row` (from 0): blank lines, and a header, are none."""
    wanted = row + header
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            if wanted == 0:
                return number
            wanted -= 1
    raise IndexError(row)


def _unpack_content(path: Path, content: bytes) -> bytes:
    try:
        return unpack_gzip(content, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            "the gzip file is truncated or damaged", path=path, found=str(error),
            mend="Copy or download it again."
        ) from error  # fmt: skip


def _clean_text_bytes_or_raise(path: Path, content: bytes) -> bytes:
    if content.startswith(_UTF16):
        raise DataError("the file is UTF-16", path=path, expected="UTF-8", mend="Save it as UTF-8.")
    content = content.removeprefix(_BOM)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\0" in content:
        raise DataError(
            "the file is binary", path=path, line=find_line_number(content, content.index(b"\0")),
            expected="text in UTF-8, or Parquet", found="a NUL byte",
            mend="Use a TREC, TSV, CSV, JSONL or Parquet file."
        )  # fmt: skip
    if not content.isascii():
        _check_utf8(path, content)
    return content


def _check_utf8(path: Path, content: bytes) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = find_line_number(content, error.start)
        place = error.start - content.rfind(b"\n", 0, error.start)
        raise DataError(
            f"byte {place} of the line is not UTF-8", path=path, line=line,
            found=f"0x{content[error.start]:02x}", mend="Save the file as UTF-8."
        ) from error  # fmt: skip
