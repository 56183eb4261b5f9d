"""Lines of text files, plain or gzipped; what is not text is a DataError with its line."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from embassay.bounded import bounded_lines, unpacking
from embassay.data.faults import fault
from embassay.errors import DataError

_BLANK = 1_000_000
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""Line number (from 1) and line, ended as in the file: by \n, \r\n or \r, mixed as they come.

    A UTF-8 byte order mark is dropped. DataError for an empty file, a gzip file that is cut, damaged or not
    one, one that unpacks to far more than text does, lines longer than LINE, bytes that are not UTF-8 and NUL bytes.
    """
    number = blank = 0
    for block in _blocks(path):
        # Blocks are cut after \n only; what remains inside one are lone \r, as many as it has bytes.
        for line in (match[0] for match in _LINE.finditer(block)) if b"\r" in block else (block,):
            number += 1
            blank = blank + 1 if len(line) < 3 and line.isspace() else 0
            if blank > _BLANK:
                raise DataError(
                    f"{_BLANK:,} blank lines in a row",
                    path=path,
                    line=number,
                    mend="Check how the file was written.",
                )
            yield number, _decoded(path, number, line)
    if number == 0:
        raise DataError(
            "the file is empty.", path=path, mend="Check that it was written or downloaded completely."
        )


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with opened(path) as stream:
            lines = bounded_lines(stream, path)
            first = next(lines, b"")
            if first.startswith(_UTF16):
                raise DataError("the file is UTF-16", path=path, expected="UTF-8", mend="Save it as UTF-8.")
            if first := first.removeprefix(_BOM):
                yield first
            yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            "the gzip file is cut off or damaged",
            path=path,
            found=str(error),
            mend="Copy or download it again.",
        ) from error


def opened(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz; DataError if name and content disagree on that."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_GZIP))
    except OSError as error:
        raise DataError(
            "the file cannot be read", path=path, found=error.strerror or str(error),
            mend="Check its name, and that you may read it.",
        ) from error  # fmt: skip
    named = path.name.lower().endswith(".gz")
    if magic and named != (magic == _GZIP):
        found = "no gzip header" if named else "a gzip header"
        mend = "Rename it without .gz, or pack it." if named else "Add .gz to its name."
        raise DataError("the file is not what its name says", path=path, found=found, mend=mend)
    return unpacking(path.open("rb"), path, path.stat().st_size) if named else path.open("rb")


def _decoded(path: Path, number: int, line: bytes) -> str:
    if b"\0" in line:
        raise DataError(
            "the file is binary", path=path, line=number, expected="text in UTF-8", found="a NUL byte",
            mend="Give a JSONL, CSV, TSV or Parquet file.",
        )  # fmt: skip
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        fault(
            DataError(
                f"byte {error.start + 1} of the line is not UTF-8",
                path=path,
                line=number,
                found=f"0x{line[error.start]:02x}",
                mend="Save the file as UTF-8.",
            )
        )
    # Only where faults are collected: the rest of the line can still be checked.
    return line.decode("utf-8", errors="replace")
