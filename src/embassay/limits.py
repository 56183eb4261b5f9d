"""How much of what others wrote is read before it is refused: every limit, its reason, and how to raise it.

A limit stops what no honest file is, long before the machine suffers. Each is raised by the environment variable that
its refusal names, EMBASSAY_LIMIT_ and its name: a number, or a size like `8GiB`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from embassay.errors import DataError, UsageError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class Limit:
    """At most `usual` of something, bytes or a count, and why so many."""

    name: str
    usual: int
    of: str
    why: str
    bytes: bool = True

    @property
    def variable(self) -> str:
        """The environment variable that raises it."""
        return f"EMBASSAY_LIMIT_{self.name.upper()}"

    @property
    def most(self) -> int:
        """What is allowed now; UsageError where the variable holds no number."""
        said = os.environ.get(self.variable, "").strip()
        return size_of(said, self.variable) if said else self.usual

    @property
    def raised(self) -> str:
        """The variable set to twice what is allowed now, as a shell exports it."""
        shown = shown_size(2 * self.most) if self.bytes else str(2 * self.most)
        return f"{self.variable}={shown.removesuffix(' bytes').replace(' ', '').replace(',', '')}"

    def shown(self, number: int) -> str:
        """`number` of what is limited, in words."""
        return shown_size(number) if self.bytes else f"{number:,}"

    def exceeded(self, path: Path | str | None = None, line: int | None = None) -> DataError:
        """The refusal of what is larger, which names the variable."""
        return DataError(
            f"{self.of} larger than is read" if self.bytes else f"more {self.of} than are read",
            path=path, line=line, expected=f"{self.shown(self.most)} at most",
            mend=f"If the file is what it should be, allow more: export {self.raised}",
        )  # fmt: skip


WHOLE = Limit(
    "whole", 4 * 2**30, "a file",
    "runs and judgements are held in memory; ten million lines of a run are 500 MB",
)  # fmt: skip
DOCUMENT = Limit(
    "document", 256 * 2**20, "a document",
    "JSON, CSV and YAML that are read in one piece (studies, exports of annotation tools, manifests) take ten times "
    "their size in memory",
)  # fmt: skip
LINE = Limit(
    "line", 64 * 2**20, "a line",
    "a line of JSON Lines, or a row of CSV, is one item: the longest novels have 10 MB",
)  # fmt: skip
COLUMNS = Limit("columns", 10_000, "columns", "wide tables have hundreds of columns", bytes=False)
FILES = Limit(
    "files", 1_000_000, "files in a folder",
    "the published results of MTEB are some hundred thousand files",
    bytes=False,
)  # fmt: skip
TIMES = Limit(
    "times", 100, "times a packed file's own size",
    "text unpacks to 3 to 20 times its packed size, a bomb to a thousand",
    bytes=False,
)  # fmt: skip
TABLE = Limit(
    "table", 8 * 2**30, "a Parquet file",
    "the process that reads Parquet may use so much memory beside the file",
)  # fmt: skip
NODES = Limit(
    "nodes", 100_000, "values in a YAML file, aliases written out,",
    "descriptions and configurations are written by hand",
    bytes=False,
)  # fmt: skip
ANSWER = Limit(
    "answer", 256 * 2**20, "a server's answer",
    "2,048 vectors of 4,096 numbers are 180 MB of JSON",
)  # fmt: skip

LIMITS: tuple[Limit, ...] = (WHOLE, DOCUMENT, LINE, COLUMNS, FILES, TIMES, TABLE, NODES, ANSWER)

SMALL = 256 * 2**20
"""Bytes that a packed file may unpack to whatever its own size: TIMES counts above them."""


def size_of(text: str, what: str = "The size") -> int:
    """A number of bytes, or of anything, from its text; UsageError, which begins with `what`, for what is none.

    >>> size_of("1.5 GiB"), size_of("64MB"), size_of("10000")
    (1610612736, 67108864, 10000)
    """
    match = _SIZE.fullmatch(text.strip().replace(",", "").replace("_", ""))
    number = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if number < 1:
        raise UsageError(f"{what} cannot be {text!r}.", mend="Write a size like 512MiB or 8GiB, or a number.")
    return number


def shown_size(number: int) -> str:
    """Bytes in the largest unit that leaves a whole number, or nearly.

    >>> shown_size(64 * 2**20), shown_size(10_000), shown_size(3 * 2**30 // 2)
    ('64 MiB', '10,000 bytes', '1.5 GiB')
    """
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        value = number / 2**power
        if value >= 1 and number * 10 % 2**power == 0:
            return f"{value:.1f}".removesuffix(".0") + f" {unit}"
    return f"{number:,} bytes"
