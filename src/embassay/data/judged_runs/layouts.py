"""The bytes of a file of runs or qrels, and what its lines look like, told from the first of them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.data.rows import nearest
from embassay.errors import DataError
from embassay.limits import WHOLE, read_bounded, unpacked

PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def read_content(path: Path) -> bytes:
    r"""All bytes of `path`, unpacked if they are gzipped, whatever its name says.

    Text comes without a UTF-8 byte order mark and with \n for \r\n and \r. DataError for a file that cannot be read,
    is larger than the limits, empty, cut or damaged, UTF-16, binary (unless Parquet) or not UTF-8, with the line where
    there is one.
    """
    try:
        content = read_bounded(path, WHOLE)
    except OSError as error:
        raise DataError(
            "the file cannot be read", path=path, found=error.strerror or str(error),
            mend="Check its name, and that you may read it.",
        ) from error  # fmt: skip
    if content.startswith(_GZIP):
        content = _unpacked(path, content)
    if content.startswith(PARQUET):
        return content
    if not content.removeprefix(_BOM).strip():
        raise DataError(
            "the file is empty.", path=path, mend="Check that it was written or downloaded completely."
        )
    return _text(path, content)


def line_at(content: bytes, offset: int) -> int:
    """The number, from 1, of the line that the byte at `offset` stands in."""
    return content.count(b"\n", 0, offset) + 1


def first_line(content: bytes) -> bytes:
    """The first line that is not blank; there is one in what `read_content` gives."""
    start = 0
    while True:
        end = content.find(b"\n", start)
        line = content[start:] if end < 0 else content[start:end]
        if line.strip() or end < 0:
            return line
        start = end + 1


def nth_line(content: bytes, row: int, *, header: bool) -> int:
    """The number of the line that holds row `row` (from 0): blank lines, and a header, are none."""
    wanted = row + header
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            if wanted == 0:
                return number
            wanted -= 1
    raise IndexError(row)


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        return unpacked(content, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            "the gzip file is cut off or damaged", path=path, found=str(error),
            mend="Copy or download it again.",
        ) from error  # fmt: skip


def _text(path: Path, content: bytes) -> bytes:
    if content.startswith(_UTF16):
        raise DataError("the file is UTF-16", path=path, expected="UTF-8", mend="Save it as UTF-8.")
    content = content.removeprefix(_BOM)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\0" in content:
        raise DataError(
            "the file is binary", path=path, line=line_at(content, content.index(b"\0")),
            expected="text in UTF-8, or Parquet", found="a NUL byte",
            mend="Give a TREC, TSV, CSV, JSONL or Parquet file.",
        )  # fmt: skip
    if not content.isascii():
        _check_utf8(path, content)
    return content


def _check_utf8(path: Path, content: bytes) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = line_at(content, error.start)
        place = error.start - content.rfind(b"\n", 0, error.start)
        raise DataError(
            f"byte {place} of the line is not UTF-8", path=path, line=line,
            found=f"0x{content[error.start]:02x}", mend="Save the file as UTF-8.",
        ) from error  # fmt: skip


KEYS = ("query", "doc", "value")
"""The columns that every reader gives."""

_NAMES = {
    "query": ("query_id", "query-id", "qid", "query"),
    "doc": ("doc_id", "corpus-id", "document_id", "docid", "doc-id", "corpus_id", "docno", "pid", "doc"),
}


@dataclass(frozen=True)
class Kind:
    """What a file is to hold: `run` or `qrels`. `target` is what its number is called in `--map`, `names` are the
    columns it is looked for in, best first; `fields` maps the number of columns without a header to what they are."""

    name: str
    target: str
    names: tuple[str, ...]
    fields: Mapping[int, tuple[str, ...]]
    expected: str
    other: str

    @property
    def targets(self) -> dict[str, str]:
        """Our column -> what it is called in `--map`."""
        return {"query": "query_id", "doc": "doc_id", "value": self.target}


RUN = Kind(
    "run", "score", ("score", "sim", "similarity"), {6: ("query", "", "doc", "", "value", "")},
    "6 columns: query Q0 document rank score tag", "qrels",
)  # fmt: skip
QRELS = Kind(
    "qrels", "relevance", ("relevance", "grade", "score", "rel", "label", "judgement", "judgment"),
    {4: ("query", "", "doc", "value"), 3: ("query", "doc", "value")},
    "4 columns: query 0 document grade, or 3: query document grade", "run",
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Lines of fields: what is called so in words, the byte between fields (a blank stands for any white space), what
    each field is (empty: not used), and whether a header comes first."""

    title: str
    separator: str
    fields: tuple[str, ...]
    header: bool = False

    def split(self, line: str) -> list[str]:
        """The fields of a line."""
        if self.separator == " ":
            return line.split()
        if self.separator == ",":
            import csv

            return next(csv.reader([line]))
        return line.split(self.separator)


def layout_of(path: Path, content: bytes, kind: Kind, mapping: Mapping[str, str]) -> Layout:
    """The layout of a text file by its first line that is not blank; DataError if that fits none."""
    first = first_line(content).decode("utf-8")
    for separator in "\t", ",", " ":
        fields = Layout("", separator, ()).split(first)
        if found := _headed(path, kind, fields, separator, mapping):
            return found
    tabs, blanks = first.split("\t"), first.split()
    # Tabs alone separate where ids hold blanks: the two then differ in number.
    apart = len(tabs) in kind.fields and len(tabs) != len(blanks)
    if (n := len(tabs if apart else blanks)) in kind.fields:
        title = f"TREC {kind.name}" if n != 3 else "BEIR qrels"
        return Layout(title, "\t" if apart else " ", kind.fields[n])
    raise _unknown(path, content, kind, first)


def chosen_columns(
    path: Path, kind: Kind, columns: Sequence[str], mapping: Mapping[str, str]
) -> dict[str, str]:
    """Our column -> theirs, by `--map` where it names one that is there and by its usual names otherwise; DataError
    for one that is missing."""
    found = {}
    for key, target in kind.targets.items():
        usual = kind.names if key == "value" else _NAMES[key]
        names = (mapping[target], *usual) if target in mapping else usual
        name = next((one for one in names if one in columns), None)
        if name is None:
            near = nearest(mapping.get(target, target), columns) or "COLUMN"
            raise DataError(
                f"there is no column {mapping.get(target, target)!r}", path=path,
                found="columns " + ", ".join(columns), mend=f"Name it with --map {target}={near}.",
            )  # fmt: skip
        found[key] = name
    return found


def _headed(
    path: Path, kind: Kind, fields: Sequence[str], separator: str, mapping: Mapping[str, str]
) -> Layout | None:
    """The layout under a header, None if the line is none: a header names query and document."""
    names = [field.strip() for field in fields]
    lowered = {name.lower() for name in names}
    mapped = {mapping[target] for target in kind.targets.values() if target in mapping}
    if not (mapped & set(names) or all(lowered & set(_NAMES[key]) for key in _NAMES)):
        return None
    if len(names) < 3:
        return None
    known = names if mapped & set(names) else [name.lower() for name in names]
    columns = {theirs: ours for ours, theirs in chosen_columns(path, kind, known, mapping).items()}
    title = {"\t": "TSV", ",": "CSV", " ": "text"}[separator] + " with a header"
    return Layout(title, separator, tuple(columns.get(name, "") for name in known), header=True)


def _unknown(path: Path, content: bytes, kind: Kind, first: str) -> DataError:
    n = len(first.split())
    if n in (RUN if kind is QRELS else QRELS).fields:
        mend = f"This looks like {'a run' if kind.other == 'run' else 'qrels'}: give it with --{kind.other}."
    elif first.lstrip().startswith("["):
        mend = "Write JSON Lines: one object per line, no list around them."
    else:
        mend = "Separate the columns by blanks or tabs, or give JSONL or Parquet with --map."
    return DataError(
        f"the line is not one of a {kind.name} file" if kind is QRELS else "the line is not one of a run",
        path=path, line=nth_line(content, 0, header=False), expected=kind.expected,
        found=f"{n} column{'s' if n != 1 else ''}", mend=mend,
    )  # fmt: skip
